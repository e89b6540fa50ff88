"""The rows of an audit with the answers of the model, and of clones that have not seen them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._core.containers import take_rows
from ..._core.features import FeatureEncoder
from ..._core.outputs import PREDICTIONS
from ..._core.query import query_victim, unwrap
from ..._core.randomness import isolated_randomness
from ...victims import CallableVictim
from ._skill import AnswerScores, make_scores, measure_skill

# Rows of each side that a model is asked for again with other columns, and rows of both that it is
# asked for to see whether answers repeat; fewer of a service that counts its queries.
MOST_ASKED, _MOST_REPEATED, _MOST_COUNTED = 2_000, 200, 50

# Answers differ, beyond rounding, if the median is further apart than this share of their spread,
# or if more than this share of the predictions are others.
_ROUNDING, _LEAST_NOISE, _MOST_TURNED = 1e-6, 0.01, 0.01

# What may be left of noise in the means of answers, by the same measures. More answers to one
# record than the last number are not asked for.
_LEFT_NOISE, _LEFT_TURNED, MOST_REPEATS = 0.05, 0.05, 1000


class HalfModel(NamedTuple):
    """How well a clone that was trained on one half of the members predicts all records."""

    inside: np.ndarray  # (n,), dtype bool: its training rows
    fits: np.ndarray  # (n,), as of the check of drift, which compares it with another clone


class ClonedAnswers(NamedTuple):
    """Answers of models of one recipe, each trained on some of the members."""

    name: str  # such as "two clones"
    models: list
    halves: list  # HalfModel of each, if it is of the model's own recipe
    fresh: AnswerScores  # (n, ...): answers for rows that the answering model has not seen
    is_fresh: np.ndarray  # (n,): rows that have such an answer
    seen: AnswerScores  # (n, ...): answers for the training rows of the model
    is_seen: np.ndarray
    recipe: Any
    pace: Any  # what the faster of the models took

    @property
    def is_own(self):
        """Whether the recipe is that of the model."""
        return self.recipe.is_own


class AnswerRepetition(NamedTuple):
    """How far two answers to the same rows are apart, beyond rounding."""

    moved: float  # median distance, as a share of the spread of the answers
    turned: float  # share of the rows with another prediction

    def suffices(self, n_repeats):
        """Return whether the answers, or the means of so many, are equal, or nearly so."""
        if n_repeats == 1:
            return self.moved <= _LEAST_NOISE and self.turned <= _MOST_TURNED
        return n_repeats >= MOST_REPEATS or self.count_missing(n_repeats) <= n_repeats

    def count_missing(self, n_repeats):
        """About how many answers must be averaged so that little noise is left of them.

        Predictions at the border are others in any number of answers, so they count only where the
        answers are labels, which differ from others by one.
        """
        noise = self.moved / _LEFT_NOISE if self.moved else self.turned / _LEFT_TURNED
        if noise <= 1 and n_repeats > 1:
            return n_repeats
        # Twice as many, because what was measured on some rows is uncertain.
        return int(min(MOST_REPEATS, 100 * np.ceil(2 * n_repeats * noise**2 / 100)))


@dataclass(frozen=True, eq=False)
class AnsweredRows:
    """Rows of an audit, and what the model answers for them."""

    case: Any
    rows: np.ndarray | slice  # places among all records
    records: Any
    inside: np.ndarray  # (n,), dtype bool: members
    units: np.ndarray  # (n,): records of one person, or equal ones, have one number
    outputs: Any  # of the model
    model: Any  # the model if it can be asked, else None

    @property
    def is_value(self):
        return self.outputs.kind in PREDICTIONS

    @property
    def is_told(self):
        """Whether answers say what is predicted: log odds of the label alone do not."""
        return self.is_value or self.outputs.classes is not None

    @cached_property
    def truth(self):
        y = self.records.y
        if self.is_value:
            return self._project(np.asarray(y, dtype=np.float64))
        return self.outputs.label_index(y)

    @cached_property
    def _direction(self):
        """The direction in which several targets vary most, each in its own unit."""
        y = np.asarray(self.case.records.y, dtype=np.float64)
        scale = np.where((spread := y.std(axis=0)) > 0, spread, 1.0)
        return np.linalg.eigh(np.cov(((y - y.mean(axis=0)) / scale).T))[1][:, -1] / scale

    def _project(self, values):
        """Return one number for each record: of several targets the one that varies most."""
        return values @ self._direction if values.ndim == 2 else values

    @cached_property
    def scores(self):
        return self.read(self.outputs)

    def read(self, outputs):
        """Return any answers for these rows in the form of the model's."""
        if self.is_value:
            return AnswerScores(self._project(np.asarray(outputs.values, dtype=np.float64)))
        return make_scores(outputs, self.outputs.classes, self.outputs.kind == "label")

    def measure(self, scores, mask):
        """Return the skill of some answers for all rows, on some of them."""
        return measure_skill(scores.take(mask), self.truth[mask], self.units[mask])

    def fit(self, inside=True):
        """Return the skill of the model on members, or on the others."""
        return self._fits[int(inside)]

    @cached_property
    def _fits(self):
        return [self.measure(self.scores, self.inside == side) for side in (False, True)]

    def fit_answers_of(self, scores):
        """Return the skill of the model on members, if other answers were the labels."""
        truth = scores.values if self.is_value else scores.predicted
        rows = self.inside
        return measure_skill(self.scores.take(rows), truth[rows], self.units[rows])

    @cached_property
    def _fits_of_clones(self):
        """What several questions ask of the same clones, which stay here with their skill."""
        return {}

    def fit_of(self, clones):
        """Return the skill of clones on members that they have not seen."""
        known = self._fits_of_clones
        if id(clones) not in known:
            rows = clones.is_fresh & self.inside
            known[id(clones)] = clones, self.measure(clones.fresh, rows)
        return known[id(clones)][1]

    def count(self, inside):
        """Return the number of people, or of distinct records, on one side."""
        return len(np.unique(self.units[self.inside == inside]))

    @cached_property
    def features(self):
        """Columns of the rows as numbers; None if there are none, or too many."""
        try:
            encoder = FeatureEncoder(self.records)
            found = encoder.encode(self.records)[:, : -encoder.n_labels]
        except Exception:  # lists in cells, or records without features
            return None
        if not 0 < found.shape[1] <= 1000:
            return None
        return found.toarray() if hasattr(found, "toarray") else found

    def ask(self, X):
        """Return the answers of the model for other rows; None if it refuses them."""
        try:
            return query_victim(self.model, X)
        except Exception:  # of whatever kind: the question is not asked
            return None

    @cached_property
    def some(self):
        """Places of at most so many rows of each side, in the order of the rows."""
        rng = np.random.default_rng(self.case.seeds["agreement"])
        sides = [np.flatnonzero(self.inside == side) for side in (True, False)]
        drawn = [rng.permutation(side)[:MOST_ASKED] for side in sides]
        return np.sort(np.concatenate(drawn))

    @property
    def is_counted(self):
        """Whether the model is, or asks, a service that counts its queries."""
        return any(hasattr(part, "n_queries_") for part in self._parts)

    @property
    def _parts(self):
        """The model and what it is made of."""
        if self.model is None:
            return []
        parts = self.model.get_params(deep=True) if hasattr(self.model, "get_params") else {}
        return [unwrap(part) for part in (self.model, *parts.values())]

    @property
    def n_repeats(self):
        """Number of answers of a service that each answer is the mean of."""
        victims = (part for part in self._parts if isinstance(part, CallableVictim))
        return max((part.n_repeats for part in victims), default=1)

    @property
    def repeats(self):
        """Whether the model gives equal answers when it is asked twice; None if it cannot be."""
        found = self.repetition
        return None if found is None else found.suffices(self.n_repeats)

    @cached_property
    def repetition(self):
        """How far the answers are apart when the model is asked twice; None if it cannot be."""
        if self.model is None:
            return None
        # In another order and with another seed: global generators give each query of an audit the
        # same random numbers, and an answer may depend on its batch.
        rng = np.random.default_rng(self.case.seeds["agreement"])
        n_asked = _MOST_COUNTED if self.is_counted else _MOST_REPEATED
        asked = rng.permutation(self.some)[:n_asked]
        rows = np.sort(asked)
        order = rng.permutation(len(rows))
        X = take_rows(take_rows(self.records.X, rows), order)
        with isolated_randomness(np.random.SeedSequence(self.case.seeds["agreement"])):
            again = self.ask(X)
        if again is None:
            return None
        return measure_repetition(self.scores.take(rows[order]), self.read(again))


def measure_repetition(first, second):
    """Measure how far two answers to the same rows are apart, beyond rounding."""
    values, others = (np.reshape(one.values, (len(one.values), -1)) for one in (first, second))
    away = np.abs(values - others).max(axis=1)
    moved = away > _ROUNDING * np.abs(values).max()
    turned = 0.0
    if first.predicted is not None:
        turned = float((moved & (first.predicted != second.predicted)).mean())
    spread, median = np.std(values, axis=0).max(), np.median(np.where(moved, away, 0.0))
    if median == 0:
        return AnswerRepetition(0.0, turned)
    return AnswerRepetition(float(median / spread) if spread else np.inf, turned)
