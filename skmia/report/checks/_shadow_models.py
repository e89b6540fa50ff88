"""Whether the victim is attacked about as well as the shadow models are."""

from ..._core.visible import visible
from ..groups import OVERALL
from ..measure import OK
from .base import NOT_RUN, PASSED, WARNING, BaseCheck


class ShadowModelsCheck(BaseCheck):
    """Whether the attack succeeds on the victim about as well as on shadow models.

    The finding is "below" or "above" if the AUC on the victim is clearly below or above the AUC on
    shadow models.
    """

    name = "shadow models"

    def ask(self, case, run, findings):
        power = findings.power
        if power is None:
            return self.answer(NOT_RUN, run.repetitions.obstacle)
        last = power["numbers"][-1]
        frame = findings.numbers
        rows = frame[(frame["attack"] == power["attack"]) & (frame["scope"] == OVERALL)]
        own = rows[rows["metric"] == "auc"].iloc[0]
        there = (
            f"{visible(power['attack'])} reaches AUC {last['auc']:.3f} (SD {last['sd']:.3f}) on "
            f"{last['n_models']} shadow models treated as victims"
        )
        if own["status"] != OK:
            return self.answer(NOT_RUN, f"{there}. Too few records to compare this model.")
        numbers = f"{there}, and {own['estimate']:.3f} on this model"
        if not _lies_apart(own, last):
            return self.answer(PASSED, f"{numbers}.")
        if own["estimate"] > last["auc"]:
            text = f"{numbers}. Check that the shadow models are trained the same way."
            return self.answer(WARNING, text, "above")
        text = (
            f"{numbers}. Check that membership names the records it was trained on, and that the "
            "shadow models are trained the same way."
        )
        return self.answer(WARNING, text, "below")


def _lies_apart(own, last):
    """Whether the AUCs differ by more than models and records vary, and by at least 0.02."""
    gap = own["estimate"] - last["auc"]
    sampling = (own["high"] - own["low"]) / 2
    return abs(gap) > max(3 * last["sd"] + sampling, 0.02)
