"""Statement on the false positive rates that can be measured."""

from ...metrics import resolvable_fpr
from ...metrics._intervals import People, check_people
from ..groups import OVERALL
from ..measure import OK
from .base import STATED, BaseCheck


class ResolutionCheck(BaseCheck):
    """Which false positive rates can be measured with so many non-members."""

    name = "resolution"

    def ask(self, case, run, findings):
        n_nonmembers = int((~case.membership).sum())
        resolvable = resolvable_fpr(n_nonmembers)
        too_low = _list_unmeasured(findings.numbers)
        text = (
            f"With {n_nonmembers:,} non-members, rates down to {100 * resolvable:.3g}% (10 false "
            "positives) can be measured."
        )
        if resolvable > 1:
            text = f"With {n_nonmembers} non-members, no rate can be measured: it takes 10."
        elif case.people is not None:
            text += _tell_of_people(case)
        if too_low:
            names = ", ".join(f"{100 * rate:g}%" for rate in too_low)
            text += f" No TPR is given at {names}."
        return self.answer(STATED, text, resolvable)


def _list_unmeasured(numbers):
    """Rates at which no attack has a TPR over all records."""
    rows = numbers[(numbers["scope"] == OVERALL) & (numbers["metric"] == "tpr")]
    unmeasured = (rows["status"] != OK).groupby(rows["max_fpr"], sort=False).all()
    return unmeasured.index[unmeasured].tolist()


def _tell_of_people(case):
    """Say what the rate is if records of a person do not count as independent."""
    others = People(check_people(case.people, len(case.membership))[~case.membership])
    if others.alone:
        return ""
    alike = min(resolvable_fpr(max(1, int(others.worth))), 1.0)
    return (
        f" This holds if records of a person are independent; they belong to "
        f"{len(others.counts):,} people, and if all records of a person are alike, rates down to "
        f"{100 * alike:.3g}% can be measured."
    )
