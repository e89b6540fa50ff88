"""Check whether an attack ranks members significantly below non-members."""

from ..._core.visible import visible
from ..groups import OVERALL
from ..text import join_names
from .base import MOST_NAMES, PASSED, WARNING, BaseCheck


class SignCheck(BaseCheck):
    """Whether an attack ranks members significantly below non-members."""

    name = "score sign"
    reads = ("permuted membership",)

    def ask(self, case, run, findings):
        null = findings.permutation.frame
        turned = null[null["pvalue_below"] <= (1 - case.level) / 2]
        if turned.empty:
            text = "No attack ranks members significantly below non-members."
            return self.answer(PASSED, text)
        everywhere = turned[turned["scope"] == OVERALL]
        places = dict.fromkeys(
            visible(row.attack)
            if row.scope == OVERALL
            else visible(f"{row.attack} in {row.scope}={row.group}")
            for row in (turned if everywhere.empty else everywhere).itertuples()
        )
        verb = "rank" if len(places) > 1 else "ranks"
        text = (
            f"{join_names(places, MOST_NAMES)} {verb} members significantly below non-members. The "
            "numbers are left as they are; look for a membership column with its values swapped, "
            "or a score with its sign reversed."
        )
        return self.answer(WARNING, text, list(places))
