"""Which rows a model was trained on: the members, the held-out rows, or both."""

import warnings
from copy import deepcopy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator

from .._core.copies import copy_parameters
from .._core.outputs import PREDICTIONS, measure_errors
from .._core.query import unwrap
from .._core.randomness import isolated_randomness
from .._core.sample_weights import fit_weighted, weights_for
from .._core.trained_modules import refuse_trained_module
from ..signals import Confidence
from ..victims import is_trainable
from ._case import is_recipe, train_victim
from ._gaps import measure_gaps
from ._row_count import take_recipe

MEMBERS, HELD_OUT, BOTH = "members", "held-out rows", "both"

# The answers of a model are those of a model that is trained here if they differ by less than this
# share of what the answers of two of them differ by.
_SAME = 0.02
_LEAST = 1e-9

# Standard errors of a side's place between models that have and that have not seen it, and the
# place beyond which it counts as seen, or as not seen.
_N_ERRORS, _SEEN, _WHOLE = 3.3, 0.2, 0.85

# Models are trained on whole sides, which a table on disk may be too large for.
_MOST_RECORDS = 200_000


class TrainedAnswers(NamedTuple):
    """What a model that was trained here answers, as the victim does."""

    answers: np.ndarray  # (n, k)
    fits: np.ndarray  # (n,): how well they fit the labels, higher is better


class SidesReading(NamedTuple):
    """On which rows the victim was trained, and what tells it."""

    rows: str | None  # MEMBERS, HELD_OUT or BOTH; None if nothing tells
    is_exact: bool = False  # whether a model that was trained on them gives the same answers
    step: str | None = None  # the last step, if only that was trained on them


def describe_answers(outputs, y):
    """Return the answers to all records as rows of numbers, and how well each fits its label."""
    if outputs.kind in PREDICTIONS:
        values = np.asarray(outputs.values, dtype=float).reshape(len(y), -1)
        return TrainedAnswers(values, -measure_errors(outputs, y))
    if outputs.classes is None:
        return None
    if outputs.kind == "label":
        codes = outputs.label_index(outputs.values)
        values = np.eye(len(outputs.classes))[codes]
        return TrainedAnswers(values, outputs.is_correct(y).astype(float))
    values = np.asarray(outputs.values, dtype=float).reshape(len(y), -1)
    if outputs.kind == "proba":
        return TrainedAnswers(values, np.asarray(Confidence()(outputs, y), dtype=float))
    return TrainedAnswers(values, outputs.is_correct(y).astype(float))


def name_fitted_step(victim):
    """Return class of a model around a fitted one, whose last step alone fit trains, or None."""
    model = unwrap(victim)
    if not hasattr(model, "get_params"):
        return None
    params = model.get_params(deep=True)
    is_frozen = any(isinstance(part, FrozenEstimator) for part in params.values())
    is_prefit = any(isinstance(part, str) and part == "prefit" for part in params.values())
    return type(model).__name__ if is_frozen or is_prefit else None


class SidesReader:
    """Trains models like the victim on one side, on the other and on both, until it is clear."""

    def __init__(self, case, pool=None):
        self._case, self._pool = case, pool
        self._outputs = case.request.outputs
        members = case.membership
        self._rows = {MEMBERS: members, HELD_OUT: ~members, BOTH: np.ones_like(members)}

    @cached_property
    def _own(self):
        # Only where models are compared: of ten million records it takes half a gigabyte.
        return describe_answers(self._outputs, self._case.records.y)

    @property
    def obstacle(self):
        """Why no models like the victim are trained; None if they can be."""
        request, victim = self._case.request, self._case.victim
        if len(self._case.records) > _MOST_RECORDS:
            return f"It trains models on whole sides, of at most {_MOST_RECORDS:,} records in all."
        is_model = is_trainable(victim) and hasattr(victim, "get_params")
        if self._own is None or request.has_own_recipe or is_recipe(request.victim) or not is_model:
            return "Models like this one cannot be trained to compare it."
        return None

    def read_last_step(self):
        """Return the rows on which the last step of a model around a fitted one was trained."""
        step = name_fitted_step(self._case.victim)
        if step is None:
            return SidesReading(None)
        rows = self._find_same({rows: self._train_step(rows) for rows in self._rows})
        return SidesReading(rows, rows is not None, step)

    def read(self, has_more=False):
        """Return the rows on which the model was trained.

        has_more: whether it was trained on rows beyond the members, so that its fit of the sides
        cannot be compared with that of models of the members.
        """
        trained = {MEMBERS: self._train(MEMBERS)}
        if trained[MEMBERS] is None:
            return SidesReading(None)
        if self._is_near(trained[MEMBERS], _LEAST):
            return SidesReading(MEMBERS, True)
        trained |= {rows: self._train(rows) for rows in (HELD_OUT, BOTH)}
        rows = self._find_same(trained)
        if rows is not None or has_more or None in trained.values():
            return SidesReading(rows, rows is not None)
        return SidesReading(self._weigh(trained))

    def _train(self, rows):
        return self._answer(self._train_whole, rows)

    def _train_step(self, rows):
        return self._answer(self._train_last_step, rows)

    def _answer(self, train, rows):
        """Return what a model that is trained on some rows answers.

        None if it cannot be trained.
        """
        records = self._case.records
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = train(self._rows[rows])
                outputs = records.with_outputs(model)["outputs"]
                if self._outputs.kind == "label" and outputs.kind != "label":
                    outputs = outputs.as_labels()
                found = describe_answers(outputs, records.y)
        except Exception:  # of whatever kind: then nothing is read of it
            return None
        if found is None or found.answers.shape != self._own.answers.shape:
            return None
        return found

    def _train_whole(self, mask):
        case, model = self._case, take_recipe(self._case.victim)
        settings = case.seeds["checks"], case.request.fit_params
        return train_victim(model, case.records, mask, *settings)

    def _train_last_step(self, mask):
        case = self._case
        rows, victim = case.records[mask], case.victim
        frozen = any(
            isinstance(part, FrozenEstimator) for part in victim.get_params(deep=True).values()
        )
        refuse_trained_module(victim)
        model = copy_parameters(victim) if frozen else deepcopy(victim)
        with isolated_randomness(np.random.SeedSequence(case.seeds["checks"])):
            return fit_weighted(model, rows.X, rows.y, weights_for(model, rows), None)

    def _is_near(self, trained, most):
        return self._measure_distance(trained.answers) <= most

    def _measure_distance(self, answers, others=None):
        others = self._own.answers if others is None else others
        return float(np.sqrt(np.mean(np.square(answers - others))))

    def _find_same(self, trained):
        """Return rows of the model that gives the same answers as the victim, if only one does."""
        known = {rows: one for rows, one in trained.items() if one is not None}
        if len(known) < 2:
            return None
        distances = {rows: self._measure_distance(one.answers) for rows, one in known.items()}
        best, second = sorted(distances, key=distances.get)[:2]
        apart = self._measure_distance(known[best].answers, known[second].answers)
        return best if apart > 1e-6 and distances[best] <= _SAME * apart else None

    def _weigh(self, trained):
        """Return the rows by how well the victim fits each side, where no answers are the same."""
        gaps = None if self._pool is None else measure_gaps(self._case, self._pool)
        if gaps is None:
            return None
        members = self._case.membership
        seen_others = self._place(~members, trained[MEMBERS], trained[BOTH], gaps["sd"])
        seen_members = self._place(members, trained[HELD_OUT], trained[BOTH], gaps["sd"])
        if seen_others is None or seen_members is None or seen_others[1] < _SEEN:
            return None
        if seen_members[2] < 0.5 < seen_others[1]:
            return HELD_OUT
        # A model that was trained on many more rows fits both sides alike, and neither as well as
        # its training rows.
        is_whole = min(seen_members[0], seen_others[0]) >= _WHOLE
        return BOTH if is_whole and seen_members[1] > 0.5 and seen_others[1] > 0.5 else None

    def _place(self, side, without, with_them, spread):
        """How far the fit of a side is from a model without it to one with it, and its limits."""
        own, low, high = (one.fits[side] for one in (self._own, without, with_them))
        gap = high.mean() - low.mean()
        if gap <= 0:
            return None
        sampling = (own - low).std() / np.sqrt(len(own))
        error = np.hypot(sampling, np.sqrt(2) * spread) / gap
        place = (own.mean() - low.mean()) / gap
        return place, place - _N_ERRORS * error, place + _N_ERRORS * error
