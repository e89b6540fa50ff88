"""Check whether attacks find more than the difference between the sides, if there is one."""

from ..._core.pvalues import is_significant
from ..._core.text import choose_base, count_of, tell_condition
from ...victims import is_trainable
from .._beyond_shift import compare_answers, compare_file
from .._words import describe_with_class
from ._base import BEYOND, BEYOND_OF_FILE, DIFFERENCE, DROPPED, KEPT, NOT_RUN, STATED, BaseCheck
from ._permutation import PermutationCheck


class BeyondShiftCheck(BaseCheck):
    """Whether the strongest attack finds members beyond a difference between the two sides.

    Not asked where the sides do not differ, or nothing was found.
    """

    name = part = "beyond the shift"
    passed = "What the model reveals was measured apart from how the sides differ"
    role = BEYOND
    of_file = DROPPED

    @property
    def differences(self):
        """Names of the checks of a difference between the sides."""
        from . import list_checks  # the list of checks has this one

        return [check.name for check in list_checks(DIFFERENCE)]

    @property
    def reads(self):
        return (PermutationCheck.name, *self.differences)

    def ask(self, case, run, findings):
        null, side = findings.permutation.frame, (1 - case.level) / 2
        outcomes = [findings.checks[name] for name in self.differences if name in findings.checks]
        differ = any(check.is_warning for check in outcomes)
        if not differ or not self.has_found(case, run, null, side):
            return None
        model = case.request.model
        if not hasattr(model, "get_params") or not is_trainable(model):
            return self.answer(NOT_RUN, "The model cannot be trained without some of the members.")
        try:
            found = self.compare(case, run)
        except Exception as error:  # of whatever kind: then the difference can be all that there is
            return self.answer(NOT_RUN, f"It could not be measured: {describe_with_class(error)}")
        if found is None:
            return None
        return self.answer(STATED, _describe_beyond_shift(found), found.excess)

    def has_found(self, case, run, null, side):
        return bool(is_significant(null["pvalue_adjusted"], side).any())

    def compare(self, case, run):
        return compare_answers(case, run, case.seeds["checks"])


class BeyondShiftOfFileCheck(BeyondShiftCheck):
    """Whether the attack on the file finds members beyond a difference between the two sides."""

    name = "beyond the shift, of the file"
    passed = "What the file reveals was measured apart from how the sides differ"
    role = BEYOND_OF_FILE
    of_file = KEPT

    def has_found(self, case, run, null, side):
        return run.file_scores is not None

    def compare(self, case, run):
        return compare_file(case, run, case.seeds["checks"])


def _describe_beyond_shift(found):
    """Return what the attack finds, beside what it finds of members that a model has not seen."""
    seen, unseen = (count_of(auc, 100) for auc in (found.auc, found.auc_unseen))
    attack = f"{found.attack[0].upper()}{found.attack[1:]}"
    text = (
        f"{attack} ranks a member above a non-member {seen} of 100 times. If the model has not "
        f"seen the member, it does so {unseen} of 100 times, which is the difference between the "
        "sides alone. "
    )
    if found.excess.low > 0:
        added, low = (f"{100 * one:.1f}" for one in found.excess[:2])
        text += f"So training adds {added} of 100 times, and at least {low}."
    else:
        text += "What training adds is not beyond chance."
    if found.rate is not None:
        base = choose_base(found.rate)
        seen, unseen = (count_of(share, base) for share in (found.tpr, found.tpr_unseen))
        whens = [tell_condition(fpr, base) for fpr in (found.fpr, found.fpr_unseen)]
        text += f" It recognizes {seen} of {base:,} members"
        text += f", {whens[0]}" if whens[0] != whens[1] else ""
        text += f", and {unseen} of those that a model has not seen, {whens[1]}."
    return text
