"""What a check says of itself, in each state and with each of its sentences given or not."""

from pathlib import Path

import pytest

from skmia.report.checks import list_checks
from skmia.report.checks._base import (
    CONTROL_PARTS,
    DIFFERENCE,
    DIFFICULTY_ERROR,
    DRIFT_ERROR,
    FORMATS_ERROR,
    BaseCheck,
    Check,
)

SENTENCES = {
    "passed": "All is well",
    "warned": "Something is wrong",
    "stated": "Too little to tell",
}


class ToldCheck(BaseCheck):
    name = "told check"

    def ask(self, case, run, findings):
        return None


def say(status, *given):
    check = ToldCheck()
    for name in SENTENCES:
        setattr(check, name, SENTENCES[name] if name in given else None)
    return check.state(Check("told check", status, ""))


@pytest.mark.parametrize(
    ("status", "given", "statement"),
    [
        ("passed", ("passed", "warned", "stated"), "All is well"),
        ("passed", ("warned", "stated"), "Told check"),
        ("warning", ("passed", "warned", "stated"), "Something is wrong"),
        ("warning", ("passed", "stated"), "Told check"),
        ("stated", ("passed", "warned", "stated"), "Too little to tell"),
        ("stated", ("passed", "warned"), "All is well"),
        ("stated", ("warned",), "Told check"),
        ("not run", ("passed", "warned", "stated"), "All is well"),
        ("error", ("passed", "warned", "stated"), "Told check: the check failed"),
    ],
)
def test_each_state_has_its_statement(status, given, statement):
    assert say(status, *given) == statement


def test_a_check_with_no_words_for_a_warning_says_what_it_asked():
    check = ToldCheck()
    check.passed, check.warned = "Each is compared", ""
    assert check.state(Check("told check", "warning", "")) == "Each is compared"


def test_the_checks_of_a_difference_warn_as_often_together_as_the_guide_says():
    left = 1 - 0.95  # by the usual level of an audit
    errors = {
        "blind baseline": left / 2,
        "difficulty": DIFFICULTY_ERROR,
        "drift": DRIFT_ERROR,
        "formats": FORMATS_ERROR,
        "negative control": left / CONTROL_PARTS,
    }
    assert {check.name for check in list_checks(DIFFERENCE)} == errors.keys()
    always = sum(errors.values()) - errors["negative control"]
    page = Path(__file__).parents[2] / "doc" / "user_guide" / "verdicts.md"
    guide = page.read_text(encoding="utf-8")
    assert f"at most {always:.1%} of the audits" in guide
    assert f"{sum(errors.values()):.1%} with `controls=True`" in guide
