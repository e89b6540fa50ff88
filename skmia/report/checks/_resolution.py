"""Statement on the false positive rates that can be measured."""

from ...metrics import resolvable_fpr
from ...metrics.resolution import check_resolution as is_resolved
from .base import STATED, BaseCheck


class ResolutionCheck(BaseCheck):
    """Which false positive rates can be measured with so many non-members."""

    name = "resolution"

    def ask(self, case, run, findings):
        n_nonmembers = int((~case.membership).sum())
        resolvable = resolvable_fpr(n_nonmembers)
        too_low = [rate for rate in case.fprs if not is_resolved(n_nonmembers, rate, "ignore")]
        text = (
            f"With {n_nonmembers:,} non-members, rates down to {100 * resolvable:.3g}% (10 false "
            "positives) can be measured."
        )
        if resolvable > 1:
            text = f"With {n_nonmembers} non-members, no rate can be measured: it takes 10."
        if too_low:
            names = ", ".join(f"{100 * rate:g}%" for rate in too_low)
            text += f" No TPR is given at {names}."
        return self.answer(STATED, text, resolvable)
