"""Checks of an audit as a list to which others are added."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from cells import slow_but
from sklearn.tree import DecisionTreeClassifier

import skmia
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.report import checks
from skmia.report._document import check_document
from skmia.report._page import render_audit
from skmia.report.checks._base import NOT_RUN, STATED, WARNING, BaseCheck

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)


class Highest(BaseCheck):
    name = "highest AUC"

    def ask(self, case, run, findings):
        frame = findings.numbers
        found = frame[frame["metric"] == "auc"]["estimate"].max()
        return self.answer(STATED, f"The highest AUC is {found:.3f}.", found)


class TooHigh(BaseCheck):
    name = "too high"
    reads = ("highest AUC", "score sign")

    def ask(self, case, run, findings):
        assert findings.checks["score sign"].text
        word = "high" if findings.of("highest AUC") > 0.5 else None
        return self.answer(WARNING, f"{len(run.scores)} attacks, {case.level:g}.", word)


class Nothing(BaseCheck):
    name = "nothing"

    def ask(self, case, run, findings):
        return None


def run_audit():
    records, membership = make_membership_problem(200, random_state=0)
    victim = DecisionTreeClassifier(random_state=0)
    settings = {"attacks": {"loss": ThresholdAttack(), "LiRA": LiRA()}, "shadows": 4}
    return audit(victim, records, membership, fprs=(0.1,), random_state=0, **settings)


@pytest.fixture(scope="module")
def plain():
    return run_audit()


def test_an_added_check_is_asked_after_those_that_it_reads_and_reported_at_its_place(
    plain, monkeypatch
):
    pytest.importorskip("jinja2")
    without = json.loads(plain.to_json())
    monkeypatch.setattr(checks, "CHECKS", (TooHigh(), Nothing(), *checks.CHECKS, Highest()))
    report = run_audit()
    names = list(report.checks)
    assert names[0] == "too high" and names[-1] == "highest AUC" and "nothing" not in names
    document = json.loads(report.to_json())
    first, *middle, last = document["checks"]
    assert (first["status"], first["finding"]) == ("warning", "high")
    assert last["finding"] is None  # a number, which has no place there
    assert middle == without["checks"]
    assert document["results"] == without["results"]
    assert "Warning (too high): 2 attacks, 0.95." in report.summary(verbose=True)
    assert last["text"] in report.to_html()
    assert render_audit(check_document(document)) == report.to_html()


def test_checks_that_cannot_be_put_in_order_are_named(monkeypatch):
    class Circular(Nothing):
        name, reads = "circular", ("too high",)

    class Turned(Nothing):
        name, reads = "too high", ("circular",)

    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, Turned(), Circular()))
    with pytest.raises(ValueError, match=re.escape("in turn: too high, circular.")):
        run_audit()


def test_names_are_told_apart_and_read_names_are_there():
    names = [check.name for check in checks.CHECKS]
    assert len(set(names)) == len(names)
    assert {name for check in checks.CHECKS for name in check.reads} <= set(names)


def test_a_warning_means_for_the_verdict_what_the_role_of_its_check_says():
    by_role = {}
    for check in checks.CHECKS:
        by_role.setdefault(check.role, set()).add(check.name)
    # What stands in each role; the others inform a reader.
    assert by_role | {"note": None} == {
        "known": {"model and table"},
        "sides": {"sides"},
        "unlisted": {"training rows"},
        "difference": {"blind baseline", "difficulty", "drift", "formats", "negative control"},
        "blind": {"duplicates", "positive control"},
        "rates": {"resolution"},
        "chance": {"permuted membership"},
        "persons": {"person level"},
        "recipe": {"shadow models"},
        "small": {"small groups"},
        "beyond": {"beyond the shift"},
        "beyond of file": {"beyond the shift, of the file"},
        "note": None,
    }
    # The file has no shadow models, and checks of the numbers of a service say nothing of it.
    of_file = {check.name: check.of_file for check in checks.CHECKS if check.of_file != "kept"}
    assert of_file == {
        **dict.fromkeys(("person level", "small groups", "rates of single records"), "dropped"),
        **{"beyond the shift": "dropped"},
        **dict.fromkeys(("shadow models", "positive control"), "left out"),
    }


def test_the_table_of_the_guide_names_every_check():
    page = Path(__file__).parents[2] / "doc" / "user_guide" / "verdicts.md"
    table = (
        page.read_text(encoding="utf-8").split("| check | a warning means |")[1].split("\n\n")[0]
    )
    named = re.findall(r"^\| ([^|-]+) \|", table, flags=re.MULTILINE)
    assert sorted(named) == sorted(check.name for check in checks.CHECKS)


def test_what_was_measured_is_the_finding_of_its_check(plain):
    report = plain
    checked = report.checks
    assert dict(checked) == report.findings.checks
    assert checked["permuted membership"].finding is report.permutation
    assert checked["duplicates"].finding is report.duplicates
    assert checked["positive control"].status == NOT_RUN and report.controls == {}
    assert report.results is report.findings.numbers


class Broken(BaseCheck):
    """In place of another check, and fails with an error."""

    def __init__(self, check):
        self.name, self.reads = check.name, check.reads

    def ask(self, case, run, findings):
        raise KeyError("no\nnumbers")


# Whether the verdict stays open, and the checks that fail for lack of the broken one.
BROKEN = {
    "people": ("leak", ["people"]),
    "blind baseline": (
        "unknown",
        ["blind baseline", "beyond the shift", "beyond the shift, of the file"],
    ),
    "permuted membership": (
        "unknown",
        [
            *("sides", "permuted membership", "score sign", "positive control", "small groups"),
            *("beyond the shift", "beyond the shift, of the file"),
        ],
    ),
}


# What follows from the evidence is the same for the two that leave it open.
@pytest.mark.parametrize("name", slow_but(BROKEN, "people", "permuted membership"))
def test_a_check_that_raises_is_a_line_and_the_audit_goes_on(name, monkeypatch):
    pytest.importorskip("jinja2")
    listed = [Broken(check) if check.name == name else check for check in checks.CHECKS]
    monkeypatch.setattr(checks, "CHECKS", tuple(listed))
    report = run_audit()
    evidence, failed = BROKEN[name]
    assert report.evidence == evidence
    assert [check.name for check in report.checks.values() if check.is_error] == failed
    text = "The check failed: KeyError: 'no\\nnumbers'."
    assert report.checks[name].text == text
    assert f"Error ({name}): {text}" in report.summary(verbose=True)
    document = json.loads(report.to_json())
    assert (document["permutation"] is None) == (name == "permuted membership")
    page = render_audit(check_document(document))
    assert page == report.to_html()
    assert ("Remove what made a check fail." in page) == (evidence == "unknown")


def test_a_permutation_test_that_did_not_fail_has_numbers(plain):
    document = json.loads(plain.to_json())
    with pytest.raises(ValueError, match="must have each AUC over all records once"):
        check_document(document | {"permutation": None})
