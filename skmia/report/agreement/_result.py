"""The outcome of all questions about a model and a table."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ..._core.text import tell_percent
from ..checks._model_and_table import CANNOT_TELL, PASS, STOP, WARN
from ._file_questions import KnownValuesQuestion, OwnNumbersQuestion
from ._repairs import RepairsQuestion
from ._repeats_question import RepeatsQuestion


@dataclass(frozen=True)
class Agreement:
    """Whether a model and a table belong together, as returned by :func:`check_agreement`.

    Attributes
    ----------
    status : {"stop", "warn", "pass", "cannot tell"}
        "stop" if the model does not know the table, so that no number about its members means
        anything; "warn" if the answers fit the labels less than they should, or differ when the
        model is asked again; "pass" if they fit those of the members better than by chance;
        "cannot tell" otherwise.
    text : str
        What was found, in sentences: figures, cause and cure.
    cause : str or None
        The question by which it was stopped, or warned: "known values", "own numbers", "labels",
        "repairs", "constant answers", "rows", "units", "skill", "recipe" or "repeats".
    cure : str
        What to do, in a sentence; empty without a cause.
    figures : dict
        How well the answers fit the labels: ``members``, ``nonmembers`` of the model, and
        ``clones`` for members that they have not seen, in ``metric`` ("accuracy" or "mean absolute
        error"). A figure is None if it was not measured.
    asked : tuple of str
        Names of the questions that were asked.
    n_models : int
        Number of models that were trained for it.
    notes : tuple of str
        Sentences on questions that were not asked, and why.
    pace : ModelPace or None
        Seconds in which a clone was trained and in which it answered; None if no clone of the model
        was trained.
    half_models : tuple of HalfModel
        How well the clones of the model predict the records, with their training rows, of all
        records; empty if only some were looked at.
    """

    status: Literal["stop", "warn", "pass", "cannot tell"]
    text: str
    cause: str | None = None
    cure: str = ""
    figures: dict = field(default_factory=dict)
    asked: tuple = ()
    n_models: int = 0
    notes: tuple = ()
    pace: Any = field(default=None, compare=False, repr=False)
    half_models: tuple = field(default=(), compare=False, repr=False)

    @property
    def is_stop(self) -> bool:
        """Whether the model does not know the table."""
        return self.status == STOP


_OF_FILE = KnownValuesQuestion.name, OwnNumbersQuestion.name


def conclude_agreement(met, references, replies, asked, notes, n_models):
    """Make the outcome of what the questions found, the first of which is the cause."""
    figures = _list_figures(met, references)
    told = _tell_figures(met, references, figures)
    stops = [one for one in replies if one.status == STOP]
    if stops:
        first = stops[0]
        # What the file tells by itself needs no figures to be believed.
        texts = [first.text, told] if first.question in _OF_FILE else [told, first.text]
        # What makes the model right is the cure, whatever else showed that something is wrong.
        repair = next((one for one in stops if one.question == RepairsQuestion.name), None)
        cure = first.cure
        if repair is not None and first.question == OwnNumbersQuestion.name:
            texts.append(repair.text)
            cure = repair.cure
        status, cause = STOP, first.question
    elif replies:
        first, last = replies[0], replies[-1]
        texts, cure = [told, first.text], first.cure
        if last is not first and last.question == RepeatsQuestion.name:
            # Noise is told beside whatever else is found: it may be the reason for that.
            texts.append(last.text)
            cure = " ".join(filter(None, [cure, last.cure]))
        status, cause = WARN, first.question
    else:
        texts, cure, cause = [told], "", None
        status = PASS if met.is_told and met.fit().rank.low > 0 else CANNOT_TELL
        if status == CANNOT_TELL:
            texts.append(
                "This is not better than chance, so it does not show whether model and table agree."
            )
    text = " ".join(filter(None, [*texts, cure]))
    own = next((one for one in references if one.is_own), None)
    pace, halves = (None, []) if own is None else (own.pace, own.halves)
    told = figures, tuple(asked), n_models, tuple(notes), pace, tuple(halves)
    return Agreement(status, text, cause, cure, *told)


def _list_figures(met, references):
    if not met.is_told:
        return {}
    first = next(iter(references), None)
    return {
        "metric": "mean absolute error" if met.is_value else "accuracy",
        "members": met.fit().plain,
        "nonmembers": met.fit(False).plain,
        "clones": None if first is None else met.fit_of(first).plain,
    }


_UNSEEN = " that has not seen these rows", " that have not seen these rows"


def _tell_figures(met, references, figures):
    """Return how well the model fits its training rows, and clones rows that they have not seen."""
    if not figures:
        return "The model gives only log odds of the labels, so its predictions are not known."
    names = [(one.name, met.fit_of(one).plain) for one in references]
    if met.is_value:
        text = (
            f"The mean absolute error of the model is {figures['members']:.3g} on the rows it was "
            "trained on"
        )
        clones = [f"that of {{}} is {plain:.3g}" for _, plain in names]
    else:
        share = tell_percent(figures["members"])
        text = f"The model is right on {share} of the rows it was trained on"
        clones = [f"{{}} on {tell_percent(plain)}" for _, plain in names]
    who = [f"{name}{_UNSEEN[name.startswith('two')]}" for name, _ in names]
    told = [text, *(clone.format(one) for clone, one in zip(clones, who, strict=True))]
    return f"{'; '.join(told)}."
