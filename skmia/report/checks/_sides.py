"""Check whether the members are the rows that the model was trained on, and the others are not."""

from typing import NamedTuple

import numpy as np

from ..._core.outputs import PREDICTIONS
from ..._core.pvalues import is_significant
from ..._core.text import tell_percent
from ...metrics import auc_interval
from ...signals import Loss
from .._sides import BOTH, HELD_OUT, MEMBERS, SidesReader
from .._validation_rows import stops_on_held_out
from ._base import NOT_RUN, PASSED, SIDES, WARNING, BaseCheck, NextStep
from ._permutation import PermutationCheck
from ._training_rows import TrainingRowsCheck

# What is wrong with the sides. If only a step or the length of training is due to the held-out
# rows, a leak that is found stands.
SWAPPED, IN_MODEL, IN_PART = "swapped", "held-out rows in the model", "held-out rows in a part"


class SideCause(NamedTuple):
    """What is said of one thing that is wrong with the sides."""

    clause: str
    cure: str
    step: NextStep
    question: str = ""  # to begin the first sentence with, in place of the clause


CAUSES = {
    SWAPPED: SideCause(
        "training data and held-out data are swapped",
        "Swap them, and run the audit again.",
        NextStep(
            "Swap the two sides.",
            "`audit(model, train=held_out, held_out=train)`; with records, `1 - membership`.",
        ),
        "Were the two {sides} swapped?",
    ),
    IN_MODEL: SideCause(
        "the held-out rows are in the model",
        "Give held-out rows that the model was not trained on, or list these as members.",
        NextStep(
            "Give held-out rows that the model has not seen.",
            "Or list these rows as members, and give others as held-out.",
        ),
    ),
    IN_PART: SideCause(
        "a part of the model was fitted on the held-out rows",
        "Fit that part on training rows, or give held-out rows that no part of the model has seen.",
        NextStep(
            "Fit that part on training rows.",
            "Such as `CalibratedClassifierCV(estimator, cv=5).fit(X_train, y_train)`; or give "
            "held-out rows that no part has seen.",
        ),
    ),
}


# How the text of the check calls the two sides.
_MEMBERS, _OTHERS = "the rows that are called members", "the others"


def tell_cause(check, files=None):
    """Return what the check found, as the beginning of a page.

    Files are the names of both sides.
    """
    cause, text = CAUSES[name_cause(check)], check.text
    begin = f"{cause.clause[0].upper()}{cause.clause[1:]}."
    if cause.question:
        begin = cause.question.format(sides="files" if files else "sides")
    for words, name in zip((_MEMBERS, _OTHERS), files or (), strict=False):
        text = text.replace(words, name)
    return f"**{begin}** {text}"


def name_cause(check):
    """Return what the check found, if it warns."""
    return check.finding if check.finding in CAUSES else IN_MODEL


class SidesCheck(BaseCheck):
    """Whether the two sides were swapped, or the held-out rows have shaped the model.

    Models like the victim that are trained on the members, on the other rows and on both say which
    of them gives the victim's answers, or fits each side as well as it does. Where attacks find
    members, only the last step of a model around a fitted one is left to be asked for.
    """

    name = "sides"
    role = SIDES
    passed = "Members and non-members are what they are called"
    warned = "Members or non-members are not what they are called"
    reads = (PermutationCheck.name, TrainingRowsCheck.name)
    part = "sides"
    record_seconds = 1e-7

    def ask(self, case, run, findings):
        null, side = findings.permutation.frame, (1 - case.level) / 2
        turned = bool(is_significant(null["pvalue_below"], side).any())
        finds = bool(is_significant(null["pvalue_adjusted"], side).any())
        finds = finds or _finds_by_file(case, run)
        unlisted, fit = findings.of(TrainingRowsCheck.name), measure_fit(case)
        if unlisted is not None and _covers_held_out(case, unlisted, finds):
            return self.answer(WARNING, _describe_count(unlisted, fit), IN_MODEL)
        reader = SidesReader(case, run.pool)
        if reader.obstacle is None:
            step = reader.read_last_step()
            if step.rows in (HELD_OUT, BOTH):
                return self.answer(WARNING, _describe_step(step), IN_PART)
        why = stops_on_held_out(case)
        if why is not None:
            text = f"The training of the model was stopped by the held-out rows: {why}."
            return self.answer(WARNING, text, IN_PART)
        if finds:
            return self.answer(
                PASSED, "Attacks find members among the records that are listed as members."
            )
        return self._read(reader, fit, turned, unlisted is not None)

    def _read(self, reader, fit, turned, has_more):
        """Return the outcome by models that are trained on each side, and on both."""
        reading = reader.read(has_more) if reader.obstacle is None else None
        rows = None if reading is None else reading.rows
        if rows == MEMBERS:
            text = "A model that is trained on the members gives the same answers."
            return self.answer(PASSED, text)
        if rows == BOTH:
            return self.answer(WARNING, _describe_both(reading, fit), IN_MODEL)
        if rows == HELD_OUT or (turned and _is_turned(fit)):
            return self.answer(WARNING, _describe_swap(reading, fit), SWAPPED)
        if reading is None and not turned:
            return self.answer(NOT_RUN, reader.obstacle)
        return self.answer(
            PASSED, "Nothing indicates that the model was trained on the held-out rows."
        )


def _finds_by_file(case, run):
    """Return whether the attack on the file finds members, beyond doubt."""
    if run.file_scores is None:
        return False
    return auc_interval(case.membership, run.file_scores, confidence_level=_SURE).low > 0.5


def _covers_held_out(case, unlisted, finds):
    """Return whether the file counts the held-out rows, all or most, as training rows."""
    n_others = int((~case.membership).sum())
    is_all = unlisted.n_rows == len(case.membership) and not finds
    return is_all or unlisted.n_alike >= _ALL * n_others


def measure_fit(case):
    """Return how well the model fits members and others.

    Words, and the shares or numbers of each.
    """
    outputs, y, members = case.request.outputs, case.records.y, case.membership
    if outputs.kind in PREDICTIONS:
        errors = -Loss()(outputs, y)
        return "error", errors[members], errors[~members]
    if outputs.classes is None:
        return None
    correct = outputs.is_correct(y).astype(float)
    return "share", correct[members], correct[~members]


_SURE = 0.999  # level of the interval of the attack on the file
_ALL = 0.5  # share of the held-out rows that are in the model, beyond which nothing can be said

# Standard errors by which the fit of the others has to be better.
_N_ERRORS = 3.3


def _is_turned(fit):
    """Return whether the model fits the others better than the members, by more than chance."""
    if fit is None:
        return False
    what, members, others = fit
    gap = (others.mean() - members.mean()) * (1 if what == "share" else -1)
    return gap > _N_ERRORS * np.sqrt(members.var() / len(members) + others.var() / len(others))


def _tell_fit_numbers(fit):
    if fit is None:
        return ""
    what, members, others = fit
    if what == "share":
        return (
            f"The model is right on {tell_percent(members.mean())} of {_MEMBERS} and on "
            f"{tell_percent(others.mean())} of {_OTHERS}"
        )
    return (
        f"The squared error of the model is {members.mean():.3g} on {_MEMBERS} and "
        f"{others.mean():.3g} on {_OTHERS}"
    )


def _describe_swap(reading, fit):
    same = ""
    if reading is not None and reading.rows == HELD_OUT:
        verb = "gives the same answers" if reading.is_exact else "fits both sides as it does"
        same = f"a model like it that is trained on the others {verb}"
    told = _tell_fit_numbers(fit)
    told = f"{told}, and {same}" if told and same else told or f"{same[0].upper()}{same[1:]}"
    return f"{told}: the two sides are most likely swapped."


def _describe_both(reading, fit):
    verb = "gives the same answers" if reading.is_exact else "fits both sides as this one does"
    told = _tell_fit_numbers(fit)
    return (
        f"The held-out rows are most likely among the training rows of the model.{told and ' '}"
        f"{told}{'.' if told else ''} A model like it that is trained on both sides {verb}."
    )


def _describe_count(unlisted, fit):
    told = _tell_fit_numbers(fit)
    return (
        f"The held-out rows are most likely among the {unlisted.n_rows:,} training rows that the "
        f"file states.{told and ' '}{told}{'.' if told else ''}"
    )


def _describe_step(reading):
    rows = "the held-out rows" if reading.rows == HELD_OUT else "members and held-out rows together"
    return (
        f"The last step of the model ({reading.step}) was fitted on {rows}: fitted on them again, "
        "it gives the same answers. So the held-out rows are in the model."
    )
