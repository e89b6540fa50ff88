"""What a check says of itself, in each state and with each of its sentences given or not."""

import pytest

from skmia.report.checks._base import BaseCheck, Check

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
