"""The rows of an audit with the answers of the model, and of clones that have not seen them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._core.asking import query_victim
from ..._core.containers import take_rows
from ..._core.features import FeatureEncoder
from ..._core.outputs import PREDICTIONS
from ._skill import AnswerScores, make_scores, measure_skill

# Rows that a model is asked for again, with other columns or to see whether answers repeat.
MOST_ASKED = 2_000


class ClonedAnswers(NamedTuple):
    """Answers of models of one recipe, each trained on some of the members."""

    name: str  # such as "two clones"
    models: list
    fresh: AnswerScores  # (n, ...): answers for rows that the answering model has not seen
    is_fresh: np.ndarray  # (n,): rows that have such an answer
    seen: AnswerScores  # (n, ...): answers for the training rows of the model
    is_seen: np.ndarray
    recipe: Any

    @property
    def is_own(self):
        """Whether the recipe is that of the model."""
        return self.recipe.is_own


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
        """One number for each record: of several targets the one that varies most."""
        return values @ self._direction if values.ndim == 2 else values

    @cached_property
    def scores(self):
        return self.read(self.outputs)

    def read(self, outputs):
        """Any answers for these rows in the form of the model's."""
        if self.is_value:
            return AnswerScores(self._project(np.asarray(outputs.values, dtype=np.float64)))
        return make_scores(outputs, self.outputs.classes, self.outputs.kind == "label")

    def measure(self, scores, mask):
        """The skill of some answers for all rows, on some of them."""
        return measure_skill(scores.take(mask), self.truth[mask], self.units[mask])

    def fit(self, inside=True):
        """The skill of the model on members, or on the others."""
        return self._fits[int(inside)]

    @cached_property
    def _fits(self):
        return [self.measure(self.scores, self.inside == side) for side in (False, True)]

    def fit_answers_of(self, scores):
        """The skill of the model on members, if other answers were the labels."""
        truth = scores.values if self.is_value else scores.predicted
        rows = self.inside
        return measure_skill(self.scores.take(rows), truth[rows], self.units[rows])

    def fit_of(self, clones, inside=True):
        """The skill of clones on members that they have not seen, or on the others."""
        return self.measure(clones.fresh, clones.is_fresh & (self.inside == inside))

    def count(self, inside):
        """Number of people, or of distinct records, on one side."""
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
        """Answers of the model for other rows; None if it refuses them."""
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

    @cached_property
    def repeats(self):
        """Whether the model gives equal answers when it is asked twice; None if it cannot be."""
        if self.model is None:
            return None
        some = self.some[:: max(1, len(self.some) // 200)]
        again = self.ask(take_rows(self.records.X, some))
        if again is None:
            return None
        first, second = self.scores.take(some), self.read(again)
        if first.predicted is not None and (first.predicted != second.predicted).mean() > 0.01:
            return False
        spread = np.std(first.values, axis=0).max(initial=0.0)
        return bool(np.median(np.abs(first.values - second.values)) <= 0.01 * spread)
