"""Kinds of the fields of documents: what each takes and refuses, at both ends and beside them."""

import pytest

from skmia.report._json_schema import (
    _PAIR,
    _make_recommendation,
    check_fields,
    count,
    either,
    fields,
    flag,
    many,
    mapping,
    maybe,
    number,
    text,
    word,
)

# A kind, values that it takes, values that it refuses, and the words of the refusal.
KINDS = {
    "number": (number(), (0, -1.5, 1e300, -1e300), ("1", None, True, 1.1e300), "a number;"),
    "rate": (number(0, 1), (0, 1, 0.5, 1 + 1e-13, -1e-13), (1 + 1e-9, -1e-9, 2), "from 0 to 1;"),
    "count": (count(), (0, 7), (-1, 1.0, True, None, "3", 10**301), "a whole number from 0 on;"),
    "count from 2": (count(2), (2, 3), (1, 0), "a whole number from 2 on;"),
    "word": (word("a", "b"), ("a", "b"), ("c", "", 0, None, ["a"]), "one of a, b;"),
    "text": (text, ("", "é"), (0, None, ["a"]), "must be text;"),
    "surrogate": (text, ("\ue000", "\ud7ff"), ("\ud800", "a\udfff"), "text that can be written;"),
    "flag": (flag, (True, False), (0, 1, None, "true"), "true or false;"),
    "maybe": (maybe(count()), (None, 0), (-1, False), "a whole number"),
    "either": (either(flag, word("no")), (True, "no"), (None, "yes", 0), "one of no;"),
    "array": (many(count()), ([], [0, 1]), ({}, "ab", None), "an array;"),
    "item": (many(count()), ([5],), ([5, -1, -2],), r"place\[1\] must be a whole .*; got -1"),
    "fewest": (many(count(), 1, 2), ([0],), ([],), "at least 1 entries; got 0"),
    "most": (many(count(), 1, 2), ([0, 0],), ([0, 0, 0],), "at most 2 entries; got 3"),
    "object": (mapping(count()), ({}, {"a": 1}), ([], None), "an object;"),
    "entry": (mapping(count()), ({"a": 0},), ({"b": 0, "a": -1},), r"place\.a must be a whole"),
    "most entries": (mapping(flag, 1), ({"a": True},), ({"a": True, "b": True},), "1 fields; got"),
    "field": (fields(a=count(), b=flag), ({"a": 0, "b": True},), ({"a": 0, "b": 0},), r"place\.b"),
    "missing": (fields(a=count(), b=flag), ({"a": 0, "b": True, "c": 1},), ({"a": 0},), "lacks b"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_takes_and_refuses_values_at_its_ends(name):
    kind, taken, refused, words = KINDS[name]
    for value in taken:
        kind(value, "place")
    for value in refused:
        with pytest.raises(ValueError, match=words) as caught:
            kind(value, "place")
        assert str(caught.value).startswith("place")


POLICY = {"name": "house", "sha256": "", "text": "", "alpha": 0.05}
NUMBER = {"name": "auc", "group": "all", "limit": 0.6, "interval": [0.5, 0.4, 0.7]}
NUMBER |= {"status": "pass", "n_needed": None}
TRIED = {
    "name": "a",
    "release": "file",
    "cost": 0,
    "helps": True,
    "reasons": [],
    "limits": [NUMBER],
}
CHECK = {"name": "k", "text": "", "level": "block", "status": "fail"}
SIGNED = dict.fromkeys(("role", "name", "signature", "date"), "")
RECOMMENDED = {
    **{"result": "release", "release": "file", "reasons": ["a"], "conditions": []},
    **{"not_asked": [], "not_run": [], "remarks": [], "limits": [NUMBER], "under_conditions": []},
    **{"tried": [TRIED], "checks": [CHECK], "reviews": [], "policy": POLICY, "provenance": {}},
    **{"signatures": [SIGNED], "decision": {"decision": "", "conditions": "", "because": ""}},
    "requirements": [{"name": "stored numbers", "is_met": True, "text": ""}],
}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("result", "perhaps", "one of release, release with conditions, do not release, cannot"),
        ("release", "table", "one of file, service"),
        ("reasons", [], "at least 1 entries"),
        ("tried", [TRIED | {"cost": -1e-9}], "cost must be a number"),
        ("tried", [TRIED | {"release": "table"}], "one of file, service"),
        ("tried", [TRIED] * 201, "at most 200 entries; got 201"),
        ("checks", [CHECK | {"level": "stop"}], "one of block, review, note"),
        ("checks", [CHECK | {"status": "passed"}], "one of pass, fail, missing"),
        ("checks", [CHECK] * 201, "at most 200 entries; got 201"),
        ("reviews", [{"check": "k", "reason": ""}] * 201, "at most 200 entries; got 201"),
        ("signatures", [SIGNED] * 201, "at most 200 entries; got 201"),
        ("requirements", [{"name": "others", "is_met": True, "text": ""}], "one of reference mod"),
        ("requirements", RECOMMENDED["requirements"] * 201, "at most 200 entries; got 201"),
        ("provenance", dict.fromkeys(map(str, range(201)), ""), "200 fields; got"),
        ("decision", RECOMMENDED["decision"] | {"decision": "perhaps"}, "one of , release, "),
        ("limits", [NUMBER | {"interval": [0.5, 0.4]}], "at least 3 entries"),
        ("remarks", "", "an array"),
    ],
)
def test_a_recommendation_has_its_words_and_no_more_than_a_person_reads(name, value, words):
    kind = _make_recommendation("file", "service")
    full = {"tried": [TRIED] * 200, "checks": [CHECK] * 200, "signatures": [SIGNED] * 200}
    full |= {"requirements": RECOMMENDED["requirements"] * 200}
    full |= {"reviews": [{"check": "k", "reason": ""}] * 200}
    full |= {"provenance": dict.fromkeys(map(str, range(200)), "")}
    for taken in (RECOMMENDED, RECOMMENDED | full):
        kind(taken, "")
    with pytest.raises(ValueError, match=words) as caught:
        kind(RECOMMENDED | {name: value}, "")
    assert str(caught.value).startswith(name)


def test_a_difference_of_two_advantages_lies_between_minus_two_and_two():
    pair = {"group": "a", "other": "b", "low": None, "high": 2, "pvalue_adjusted": None}
    _PAIR({**pair, "difference": -2, "reject": False}, "")
    for wrong in (-2.5, 2.5):
        with pytest.raises(ValueError, match="^difference must be a number from -2 to 2; got"):
            _PAIR({**pair, "difference": wrong, "reject": False}, "")


def test_a_field_that_earlier_documents_do_not_have_may_be_missing_and_is_checked_if_there():
    kind = fields(told=flag)
    kind({}, "")
    with pytest.raises(ValueError, match="^told must be true or false"):
        kind({"told": 1}, "")


def test_a_document_is_as_large_and_as_deep_as_allowed_and_no_more(monkeypatch):
    monkeypatch.setattr("skmia.report._json_schema._MOST_VALUES", 6)
    monkeypatch.setattr("skmia.report._json_schema._DEEPEST", 3)

    def take(value, where):
        pass

    for document in ({"a": [1, 2], "b": [3, 4]}, [[[]]], 3):  # 2 + 2 + 2 values, depth 3
        check_fields(document, take)
    with pytest.raises(ValueError, match="it has more than 6 values"):
        check_fields({"a": [1, 2], "b": [3, 4, 5]}, take)
    with pytest.raises(ValueError, match="its arrays and objects are nested more than 3 deep"):
        check_fields([[{"a": []}]], take)
