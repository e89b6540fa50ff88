"""Whether people are found although no record is."""

from ..._core.pvalues import format_pvalue
from ..._core.visible import visible
from .base import STATED, WARNING, BaseCheck


class PersonLevelCheck(BaseCheck):
    """Whether people with several records are found where no number of records is beyond chance.

    An attacker who adds up the evidence of a person's records may succeed where each of them alone
    reveals too little. Not asked without people who have several records.
    """

    name = "person level"

    def ask(self, case, run, findings):
        found, test = findings.person_level, findings.permutation
        if found is None or found["pvalue"] is None or test is None:
            return None
        side = (1 - case.level) / 2
        p = format_pvalue(found["pvalue"], 1 / (1 + found["n_permutations"]))
        numbers = (
            f"{visible(found['attack'])} separates people with AUC {found['auc']:.3f} "
            f"[{found['low']:.3f}, {found['high']:.3f}] ({p})"
        )
        if found["pvalue"] > side:
            return self.answer(STATED, f"{numbers}, which is not beyond chance.")
        if test.frame["pvalue_adjusted"].min() <= side:
            return self.answer(STATED, f"{numbers}, and single records are found as well.")
        text = f"{numbers}, although no number of single records is beyond chance."
        return self.answer(WARNING, text)
