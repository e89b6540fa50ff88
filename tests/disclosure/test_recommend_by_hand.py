"""Limits, records that are wanted and words of a release, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import pytest
from by_hand import expect_answers, tell_refusal

from skmia.disclosure import _recommend, _rules, _sheet
from skmia.inspection import _families, _inspect


def count_needed(estimate, low, high, limit, n_records=100):
    interval = NS(estimate=estimate, low=low, high=high)
    return _recommend._count_needed(NS(n_records=n_records), interval, limit)


def judge_limit(low, high, limit, has_failed=False, name="auc"):
    asked = []

    def at(level, stated):
        asked.append((round(level, 6), round(stated, 6)))
        return NS(estimate=(low + high) / 2, low=low, high=high)

    measurement = NS(name=name, group=None, n_records=100, at=at)
    found = _recommend._judge_limit(measurement, limit, has_failed, NS(alpha=0.05), 2)
    return found.status, found.n_needed, asked


def judge_check(status=None, value=None, least=None):
    check = None if status is None else NS(status=status, value=value, text="Told.")
    try:
        found = _recommend._judge_check("name", NS(level="l", least=least), check)
    except ValueError as error:
        return str(error)
    return found.status


def check_mapping(function, given):
    try:
        return function(given)
    except (TypeError, ValueError) as error:
        return str(error)[:36]


def decide(result, unmet):
    before = _recommend._compare_policy
    _recommend._compare_policy = lambda *given: (result, ["why"])
    try:
        return _recommend._decide(None, None, None, unmet)
    finally:
        _recommend._compare_policy = before


def list_lost(under, limits):
    """Compare numbers, with and without a condition, each a name and a status."""
    return _recommend._list_lost(
        *(
            [NS(name=name, status=status, group="all") for name, status in one]
            for one in (under, limits)
        )
    )


def parse(texts):
    found = tell_refusal(lambda: _rules.parse_conditions("alpha", texts))
    return found[:28] if found else [one.text for one in _rules.parse_conditions("alpha", texts)]


def tell(text):
    return _rules._tell_condition(NS(text=text))


def check_name(name, *others):
    signatures = [{"role": role, "name": one} for role, one in others]
    return (tell_refusal(lambda: _sheet._check_name(name, "auditor", signatures)) or "")[:34]


def check_day(day, created="2026-11-23T10:00:00"):
    try:
        return _sheet._check_day(day, {"created": created})
    except ValueError as error:
        return str(error)


def check_text(text, *given):
    return tell_refusal(lambda: _sheet._check_text(text, "It", *given))


def expect_leakage(n_rows=100, n_nodes=0, n_numbers=0, n_alone=0, n_edges=0):
    structure = {"n_nodes": n_nodes, "n_numbers": n_numbers, "n_alone": n_alone, "n_edges": n_edges}
    document = {"structure": structure, "n_rows": n_rows, "candidates": None}
    return _inspect._expect_by_structure(document).level.name


LOWER = next(iter(_recommend.LOWER_ENDS))
LIMITS = _inspect._STRUCTURE["n_numbers"]
NODES = _inspect._STRUCTURE["n_nodes"]


def get_owner(path, *names):
    places = {name: NS(estimator=name, path=name) for name in names}
    before = _families.get_family
    _families.get_family = lambda estimator: (
        NS(covers=estimator == "a.covers") if estimator else None
    )
    try:
        found = _families._get_owner(path, places)
    finally:
        _families.get_family = before
    return found and found.path


def get_kind(path, kind, owner_path=None):
    owner = None if owner_path is None else NS(estimator=None, path=owner_path)
    before = _families.get_kinds
    _families.get_kinds = lambda estimator: {"known": "rows", "labels": "changed"}
    try:
        return _families._get_kind(NS(path=path, kind=kind), owner)
    finally:
        _families.get_kinds = before


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _recommend: [
        # Half the width .2 reaches .1 with four times as many, and .15 with two digits.
        (lambda: count_needed(0.5, 0.4, 0.7, 0.6), 400),
        (lambda: count_needed(0.5, 0.3, 0.9, 0.4), 400),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.65), 180),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.9), 100),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.6, 3), 12),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.6, 1), 4),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.5), None),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.6, None), None),
        (lambda: count_needed(0.5, 0.4, 0.7, 0.5 + 1e-9), None),
        (lambda: judge_limit(0.4, 0.6, 0.6), (_recommend.PASS, None, [(0.975, 0.95)])),
        (lambda: judge_limit(0.4, 0.6, 0.55)[:2], (_recommend.OPEN, 400)),
        (lambda: judge_limit(0.4, 0.6, 0.6, True)[:2], (_recommend.FAIL, None)),
        (lambda: judge_limit(0.4, 0.6, 0.4, name=LOWER)[0], _recommend.PASS),
        (lambda: judge_limit(0.4, 0.6, 0.3, name=LOWER)[0], _recommend.FAIL),
        (lambda: judge_check(), _recommend.MISSING),
        (lambda: judge_check("cannot be said"), _recommend.MISSING),
        (lambda: judge_check("flagged"), _recommend.FAIL),
        (lambda: judge_check("passed"), _recommend.PASS),
        (lambda: judge_check("flagged", 5, 5), _recommend.PASS),
        (lambda: judge_check("passed", 4.9, 5), _recommend.FAIL),
        (lambda: judge_check("not applicable", None, 5), _recommend.PASS),
        (lambda: judge_check("passed", "a", 5), "The check name must have a number; got 'a'."),
        (lambda: check_mapping(_recommend.check_provenance, None), {}),
        (lambda: check_mapping(_recommend.check_provenance, {"a": "b"}), {"a": "b"}),
        (
            lambda: check_mapping(_recommend.check_provenance, {"a": 1}),
            "provenance must be a mapping of text",
        ),
        (
            lambda: check_mapping(_recommend.check_provenance, {1: "a"}),
            "provenance must be a mapping of text",
        ),
        (
            lambda: check_mapping(_recommend.check_provenance, "a"),
            "provenance must be a mapping of text",
        ),
        (lambda: check_mapping(_recommend._check_spoken, None), {}),
        (
            lambda: check_mapping(_recommend._check_spoken, {_recommend.STORED: None}),
            {_recommend.STORED: None},
        ),
        (
            lambda: check_mapping(_recommend._check_spoken, {_recommend.STORED: "a"}),
            {_recommend.STORED: "a"},
        ),
        (lambda: check_mapping(_recommend._check_spoken, {_recommend.STORED: ""})[:7], "spoken["),
        (lambda: check_mapping(_recommend._check_spoken, {_recommend.STORED: 1})[:7], "spoken["),
        (
            lambda: check_mapping(_recommend._check_spoken, ["a"]),
            "spoken must be a mapping of texts or",
        ),
        (lambda: list_lost([("auc", "pass"), ("gap", "fail")], [("auc", "pass")]), []),
        (lambda: list_lost([("auc", "pass")], [("auc", "fail")]), []),
        (lambda: list_lost([], [("auc", "missing"), ("gap", "not judged")]), []),
        (
            lambda: list_lost([], [("gap", "pass"), ("auc", "fail"), ("tpr", "undecided")]),
            [f"Not measured again: {name} (all)." for name in ("auc", "gap", "tpr")],
        ),
        (
            lambda: list_lost(
                [("auc", "undecided"), ("gap", "fail"), ("tpr", "missing")],
                [("gap", "fail"), ("auc", "fail"), ("tpr", "pass")],
            ),
            [
                "Not measured again: tpr (all).",
                "Not shown to be within its limit: auc (all).",
                "Not shown to be within its limit: gap (all).",
            ],
        ),
        (lambda: decide(_recommend.REFUSE, ["unmet"]), (_recommend.REFUSE, ["why"])),
        (lambda: decide(_recommend.RELEASE, []), (_recommend.RELEASE, ["why"])),
        (lambda: decide(_recommend.RELEASE, ["unmet"]), (_recommend.UNKNOWN, ["unmet"])),
        (lambda: decide(_recommend.UNKNOWN, ["unmet"]), (_recommend.UNKNOWN, ["why", "unmet"])),
    ],
    _rules: [
        (lambda: parse("<= 5"), ["<= 5"]),
        (lambda: parse(["<= 5", "not none"]), ["<= 5", "not none"]),
        (lambda: parse("<= x"), "The condition on alpha must "),
        (lambda: parse("about 5"), "The condition on alpha must "),
        (lambda: parse(5), "The condition on alpha must "),
        (lambda: [tell(text) for text in ("> 5.5", "> 5")], ["more than 5"] * 2),
        (lambda: [tell(text) for text in ("<= 5.5", "<= 5")], ["at most 5"] * 2),
        (lambda: [tell(text) for text in ("< 5.5", "< 5")], ["less than 5.5", "less than 5"]),
        (lambda: tell("not <= 5"), "more than 5"),
        (lambda: [tell(text) for text in ("none", "not none")], ["not given", "given"]),
        (lambda: [tell(text) for text in (">= 5.5", ">= 5")], ["at least 5.5", "at least 5"]),
        (
            lambda: [tell(text) for text in ("not > 5.5", "not < 5.5")],
            ["at most 5", "at least 5.5"],
        ),
        (lambda: [tell(text) for text in ("not >= 5", "== 5")], ["less than 5", "5"]),
        (lambda: [tell(text) for text in ("== a", "not == a")], ["a", "not a"]),
        (lambda: [tell(text) for text in ("all", "not all")], ["all of them", "not all of them"]),
        (
            lambda: [tell(text) for text in ("int", "not int")],
            ["a whole number", "not a whole number"],
        ),
    ],
    _sheet: [
        (lambda: check_name("Ada"), ""),
        (lambda: check_name("A1"), "The name of the auditor must have "),
        (lambda: check_name("Al"), ""),
        (lambda: check_name("a" * 80), ""),
        (lambda: check_name("a" * 81), "The name of the auditor must have "),
        (lambda: check_name("Ada", ("owner", "Bob"), ("auditor", "Ada")), ""),
        (lambda: check_name("Ada", ("owner", "Ada")), "Ada is the owner; the auditor must"),
        (lambda: check_name("ADA", ("owner", "Ada")), "ADA is the owner; the auditor must"),
        (lambda: check_day("2026-11-23"), "2026-11-23"),
        (
            lambda: check_day("2026-11-22"),
            "The date 2026-11-22 is before the audit, which is of 2026-11-23.",
        ),
        (lambda: check_day("23.11."), "The date must be written as 2026-11-23; got '23.11.'."),
        (lambda: check_day("2020-01-01", "unknown"), "2020-01-01"),
        (lambda: check_text(" ".join(["a"] * _sheet._FEWEST_WORDS)), None),
        (
            lambda: check_text(" ".join(["a"] * (_sheet._FEWEST_WORDS - 1)))[:17],
            f"It: {_sheet._FEWEST_WORDS} or more words"[:17],
        ),
        (lambda: check_text("a", 1), None),
        (lambda: check_text("", 1), "It: a text; got ''."),
        (lambda: check_text("a" * _sheet._LONGEST, 1), None),
        (lambda: check_text("a" * (_sheet._LONGEST + 1), 1)[:11], "It: at most"),
    ],
    _inspect: [
        (lambda: expect_leakage(None), "unknown"),
        (lambda: expect_leakage(None, n_numbers=_inspect._FEW_NUMBERS), "slight"),
        (lambda: expect_leakage(None, n_numbers=_inspect._FEW_NUMBERS + 1), "unknown"),
        (lambda: expect_leakage(None, 3, n_numbers=1), "unknown"),
        (lambda: expect_leakage(100), "unknown"),
        (lambda: expect_leakage(1000, n_numbers=1000), "unknown"),
        (
            lambda: expect_leakage(1000, n_numbers=999),
            next((word for word, limit in LIMITS.items() if limit <= 0.999), "slight"),
        ),
        (lambda: expect_leakage(10**6, n_numbers=1), "slight"),
        (
            lambda: [_inspect._grade_structure("n_nodes", limit).name for limit in NODES.values()],
            [*NODES],
        ),
        (lambda: _inspect._grade_structure("n_nodes", min(NODES.values()) * 0.99).name, "slight"),
    ],
    _families: [
        (lambda: _families.is_inside("a.b", "a"), True),
        (lambda: _families.is_inside("a[0]", "a"), True),
        (lambda: _families.is_inside("ab", "a"), False),
        (lambda: _families.is_inside("a", "a"), False),
        (lambda: _families.is_inside("a", ""), True),
        (lambda: get_owner("a.b.c", "a", "a.b"), "a.b"),
        (lambda: get_owner("a.b.c", "", "a"), "a"),
        (lambda: get_owner("a[0].c", "a[0]", "a"), "a[0]"),
        (lambda: get_owner("a.covers.b.c", "a", "a.covers", "a.covers.b"), "a.covers"),
        (lambda: get_owner("x.c", "a"), None),
        (lambda: get_kind("a.known[0]", "values", ""), "rows"),
        (lambda: get_kind("a.known.keys()", "values", ""), "rows"),
        (lambda: get_kind("a.other", "values", ""), "values"),
        (lambda: get_kind("a.known", "values"), "values"),
        (lambda: get_kind("a.labels", "labels", "a"), "labels"),
        (lambda: get_kind("a.labels", "labels", ""), "changed"),
        (lambda: _families.get_strongest([]), None),
        (lambda: _families.get_strongest(_families.LEVELS[::-1]), _families.LEVELS[0]),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
