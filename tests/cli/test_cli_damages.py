"""A damaged audit.json, field by field: one sentence, and never a page of something else."""

import json
import os
from functools import partial
from itertools import accumulate
from operator import getitem

import numpy as np
import pytest
from damages import KINDS, change, make_damages
from quick_audits import permute_less
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.cli import _documents, main
from skmia.report import _json_schema, render_audit

# What may be anything of its kind: another text, or another number in its range, is no damage.
FREE = {
    "created", "versions", "victim", "victim_name", "verdict", "notes", "seeds", "seconds",
    "n_permutations", "n_units", "n_mixed",
}  # fmt: skip
# Objects whose values are all of one kind, or derived again: the last entry stands for the others.
ALIKE = {"level", "seconds", "seeds", "versions"}


@pytest.fixture(scope="module")
def document():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    records = Records(X, rng.integers(0, 2, 240), kind=rng.choice(["a", "b"], 240))
    membership = rng.permutation(240) % 2
    members = records[membership == 1]
    victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    attacks = {"LiRA": LiRA(), "loss": ThresholdAttack(signal="loss")}
    settings = {"group": "kind", "fprs": (0.1, 0.001), "controls": True, "shadows": 8}
    with pytest.MonkeyPatch.context() as patch:
        permute_less(patch)
        report = audit(victim, records, membership, attacks=attacks, random_state=0, **settings)
    found = json.loads(report.to_json())
    # A few points show as much as a hundred, and so do two records.
    for curve in found["curves"]:
        for name in ("fpr", "tpr", "low", "high"):
            curve[name] = [*curve[name][:4], curve[name][-1]]
    for part in (found, found["file"]):
        del part["exposed"][2:]
    return found


def is_free(place, kind, new):
    """Whether a value of this kind is as good as what was there."""
    if "level" in place[:2] or place == (
        "page_level",
    ):  # derived again from the numbers, as the verdict is
        return True
    if kind == "gone":
        # Earlier audits lack the parts on the file, people, the growth of the pool and the policy.
        is_free = place in [
            ("file",),
            ("growth",),
            ("recommendation",),
            ("person_level",),
            ("reference",),
            ("drift",),
        ] or (len(place) == 2 and place[0] in FREE)
        is_free |= "results" in place[:2] and place[-1] == "told"
        is_free |= "exposed" in place[:2] and place[-1] == "n_equal"
        is_free |= place[:2] == ("file", "sources") and place[-1] in ("path", "hits")
        return is_free or isinstance(place[-1], int)
    if kind == "a negative number":
        names = "record", "score", "statistic"
        if place[:2] == ("reference", "gap"):
            names = "victim", "mean", "z"
        return place[0] == "performance" or place[-1] in names
    return new is True and place[-1] in ("reject", "answers_only")


def stands_for_others(document, place):
    """Whether a place is the last one of each such object that it lies in."""
    inside = accumulate(place[:-1], getitem, initial=document)
    return all(
        above not in ALIKE or key == list(one)[-1]
        for above, one, key in zip((None, *place), inside, place)
    )


@pytest.fixture
def draw_once_a_part(monkeypatch):
    """Draw the page, which takes longer than the checks, of the first document of each part."""
    drawn = set()

    def draw(document, part=None):
        if part in drawn:
            return "a page"
        drawn.add(part)
        return render_audit(document)

    return lambda part: monkeypatch.setattr(_documents, "render_audit", partial(draw, part=part))


EVERY = 11  # places, at one of which a field is damaged in each run; no multiple of the values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_field(document, kind, is_whole, tmp_path, capsys, draw_once_a_part):
    path = tmp_path / "audit.json"
    unnoticed = []
    for place, new in [*make_damages(document, kind)][:: 1 if is_whole else EVERY]:
        if not stands_for_others(document, place):
            continue
        draw_once_a_part(place[0])
        path.write_text(json.dumps(change(document, place, new)))
        if main(["report", str(path)]) == 2:
            message = capsys.readouterr().err
            assert str(path) in message and message.count("\n") == 1 and len(message) < 450
        elif not is_free(place, kind, new):  # what is taken was shown
            unnoticed.append(place)
    assert unnoticed == []


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_an_entry_less_or_twice(document, tmp_path, step):
    path = tmp_path / "audit.json"
    for name in ("results", "checks"):
        for number in range(0, len(document[name]), step):
            for new in (document[name][:number], document[name] + [document[name][number]]):
                path.write_text(json.dumps(document | {name: new}))
                assert main(["report", str(path)]) == 2


CONTRADICTIONS = {
    "a green headline over a red table": (("evidence",), "none", "but its numbers and checks say"),
    "counts": (("data", "n_members"), 7, "do not add up"),
    "limits": (("results", 0, "low"), 1.0, "lower limit above its upper one"),
    "a status": (("results", 0, "status"), "too few records", "another status"),
    "a rate of an AUC": (("results", 0, "max_fpr"), 0.1, "must have max_fpr if it is a TPR"),
    "an attack that did not run": (("power", "attack"), "Mine", "power names an attack"),
    "another attack's p-value": (("permutation", "numbers", 0, "group"), "x", "not in results"),
    "a position": (("exposed", 0, "position"), 10**6, "beyond all records"),
    "a curve": (("curves", 0, "fpr", 0), 1.0, "in order"),
    "equal sizes": (("power", "numbers", 0, "n_shadows"), 6, "order of n_shadows"),
    "a word": (("checks", 0, "status"), "fine", "must be one of passed, warning, stated, not run"),
    "a level": (("settings", "confidence_level"), 1, "confidence_level must be a number"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
@pytest.mark.parametrize("command", ["report", "compare"])
def test_contradictions_end_in_one_sentence(document, case, command, tmp_path, capsys):
    place, new, message = CONTRADICTIONS[case]
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(change(document, place, new)))
    assert main([command, str(path), *([str(path)] if command == "compare" else [])]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith(f"skmia {command}: {path} is damaged")
    assert message in error


def test_a_forged_verdict_is_not_shown(document, tmp_path, capsys):
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(document | {"verdict": "No leakage detected. All is well."}))
    assert main(["compare", str(path), str(path)]) == 0
    assert "All is well" not in capsys.readouterr().out
    assert main(["report", str(path)]) == 0
    assert "All is well" not in path.with_suffix(".html").read_text()


@pytest.mark.parametrize(
    "content",
    ["{", "NaN", '{"schema": NaN}', "[" * 100_000, '{"schema": ' + "1" * 5000 + "}", "\x00"],
)
def test_what_is_not_json(content, tmp_path, capsys):
    path = tmp_path / "audit.json"
    path.write_text(content)
    assert main(["report", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"skmia report: {path} is not valid JSON")


def test_bytes_that_are_not_text(tmp_path, capsys):
    path = tmp_path / "audit.json"
    path.write_bytes(b"\xff\xfe{}")
    assert main(["report", str(path)]) == 2
    assert "is not valid JSON" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["suffix", "out", "symbolic link", "hard link"])
def test_a_page_is_not_written_over_its_source(document, way, tmp_path, capsys):
    path = tmp_path / "audit.html"
    path.write_text(json.dumps(document))
    other = tmp_path / "other.html"
    arguments = [] if way == "suffix" else ["--out", str(path if way == "out" else other)]
    if way == "symbolic link":
        other.symlink_to(path)
    elif way == "hard link":
        other.hardlink_to(path)
    assert main(["report", str(path), *arguments]) == 2
    assert "written over its source" in capsys.readouterr().err
    assert json.loads(path.read_text()) == document


@pytest.mark.parametrize("number", [0, 1])
def test_a_page_of_two_audits_is_not_written_over_either(document, number, tmp_path, capsys):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        path.write_text(json.dumps(document))
    assert main(["compare", *map(str, paths), "--out", str(paths[number])]) == 2
    assert f"written over its source {paths[number]}" in capsys.readouterr().err
    assert [json.loads(path.read_text()) for path in paths] == [document, document]


def repeat(name, n_times, *changed):
    """A document in which the first entry of an array is there many times."""

    def change(document):
        rows = document[name]
        extra = [dict(rows[0], **{key: f"{k}" for key in changed}) for k in range(n_times)]
        return document | {name: rows + extra}

    return change


def nest(document):
    inside = []
    for _ in range(500):
        inside = [inside]
    return document | {"settings": document["settings"] | {"more": inside}}


TOO_LARGE = {
    "points": lambda document: (
        document | {"curves": [dict(document["curves"][0], fpr=np.linspace(0, 1, 51_000).tolist())]}
    ),
    "rows": repeat("results", 3_500, "group"),
    "checks": repeat("checks", 1000, "name"),
    "exposed records": repeat("exposed", 21),
    "curves": repeat("curves", 1),
    "notes": lambda document: document | {"notes": ["x"] * 510_000},
    "seeds": lambda document: document | {"seeds": {f"{k}": k for k in range(1000)}},
    "sizes": lambda document: (
        document
        | {
            "power": document["power"]
            | {
                "numbers": [
                    dict(document["power"]["numbers"][0], n_shadows=k) for k in range(1, 1000)
                ]
            }
        }
    ),
    "nested arrays": nest,
}


# Read with a tenth of the limit on values, for which the notes are too many without that.
TENTHS = {"points", "rows"}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_document_that_would_take_minutes_is_refused(
    document, case, tmp_path, capsys, monkeypatch
):
    if case in TENTHS:
        monkeypatch.setattr(_json_schema, "_MOST_VALUES", _json_schema._MOST_VALUES // 10)
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(TOO_LARGE[case](document)))
    assert main(["report", str(path)]) == 2
    message = capsys.readouterr().err
    assert "is damaged" in message and len(message) < 450


def test_a_file_without_an_end_is_read_to_a_limit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("skmia.cli._stored_documents._MOST_BYTES", 10**6)
    path = tmp_path / "audit.json"
    path.write_bytes(b" " * (10**6 + 1))
    assert main(["report", str(path)]) == 2
    assert "has more than 1 MB, as no audit has" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are those of POSIX")
def test_a_pipe_that_nobody_writes_to_is_no_result(tmp_path, capsys):
    path = tmp_path / "audit.json"
    os.mkfifo(path)
    assert main(["report", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"skmia report: {path} is not valid JSON (line 1, column 1)\n"
    )


def test_text_of_a_result_gives_no_orders(document, tmp_path, capsys):
    attack = next(iter(document["settings"]["attacks"]))
    forged = json.dumps("a\n\x1b[2J\u202eb")[1:-1]
    path = tmp_path / "a\x1b[2J.json"
    path.write_text(json.dumps(document).replace(json.dumps(attack)[1:-1], forged))
    other = path.with_name("b\x1b[2J.json")
    other.write_text(path.read_text())
    assert main(["compare", str(path), str(other)]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text and "\u202e" not in text
    assert r"a\x1b[2J" in text
    path.write_text(path.read_text().replace('"skmia.audit"', r'"\u001b"'))
    assert main(["report", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err
