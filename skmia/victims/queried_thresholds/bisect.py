"""Search for the thresholds of a model of trees by its answers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..._core.numbers import check_count
from ..._core.randomness import check_random_state
from ..._core.types import Rows, Seed
from .columns import Column, get_slack
from .lines import Lines, differ
from .starts import Starts, choose_columns
from .tables import Table

# Queries that a threshold takes, or somewhat more: no search begins that cannot be completed.
_QUERIES_PER_THRESHOLD = 12
# So many batches take all queries.
_BATCHES, _LEAST_BATCH = 40, 20
# So many thresholds are looked at closely, at a distance of so many roundings.
_EXAMINED, _DISTANCE = 10, 8


class FoundThresholds(NamedTuple):
    """Thresholds of a model that was queried, one for each time that a search ended at one.

    Attributes
    ----------
    columns : ndarray of shape (n_found,), dtype int
        Places of the columns.
    rows : ndarray of shape (n_found,), dtype int
        Row that the threshold was met with, if its value of this column is replaced.
    lower, upper : ndarray of shape (n_found,)
        The answer changes between these two numbers of single precision. Most are a few roundings
        apart.
    searched : tuple of int
        Columns that were searched.
    n_queries : int
        Number of queries.
    has_steps : bool
        Whether answers change in steps. Otherwise no threshold is listed.
    """

    columns: np.ndarray
    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    searched: tuple
    n_queries: int
    has_steps: bool


class _Intervals(NamedTuple):
    """Intervals with another answer at each end."""

    rows: np.ndarray
    columns: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    answers_below: np.ndarray
    answers_above: np.ndarray

    def take(self, chosen):
        return _Intervals(*(part[chosen] for part in self))

    def keep_steps(self):
        return self.take(differ(self.answers_below, self.answers_above))

    def split(self, values, answers):
        """Both parts of each interval at a number between, as far as they hold a step."""
        below = self._replace(upper=values, answers_above=answers)
        above = self._replace(lower=values, answers_below=answers)
        return _join([below.keep_steps(), above.keep_steps()])


def _join(parts):
    return _Intervals(*(np.concatenate(part) for part in zip(*parts, strict=True)))


class _Search:
    """All intervals that are being searched, and the thresholds found so far."""

    def __init__(self, lines, columns, starts, batch):
        self.lines, self.columns, self.starts, self.batch = lines, columns, starts, batch
        self.active, self.found, self.continuous = None, [], np.empty(0, dtype=bool)

    def run(self):
        while self._begin() and (self.has_steps or len(self.continuous) < _EXAMINED):
            values, is_found = self._choose()
            if is_found.any():
                self.found.append(self.active.take(is_found))
                self._examine(self.found[-1])
            self.active, values = self.active.take(~is_found), values[~is_found]
            n = min(len(values), self.lines.left)
            if n == 0 and len(values):
                break
            now, later = self.active.take(slice(n)), self.active.take(slice(n, None))
            if n:
                answers = self.lines.query(now.rows, now.columns, values[:n])
                now = now.split(values[:n], answers)
            self.active = _join([now, later])
        return self

    def _begin(self):
        """Fill up with further lines; whether there is anything to search."""
        while True:
            n_active = 0 if self.active is None else len(self.active.rows)
            room = min(self.batch, self.lines.left // _QUERIES_PER_THRESHOLD) - n_active
            new = self.starts.take(room // 2)
            if new is None:
                return n_active > 0
            rows, columns, lower, upper = new
            below = self.lines.query(rows, columns, lower)
            above = self.lines.query(rows, columns, upper)
            new = _Intervals(rows, columns, lower, upper, below, above).keep_steps()
            self.active = new if self.active is None else _join([self.active, new])
            if len(self.active.rows):
                return True

    def _choose(self):
        values, found = np.empty(len(self.active.rows)), np.zeros(len(self.active.rows), dtype=bool)
        for j in np.unique(self.active.columns):
            chosen = self.active.columns == j
            column = self.columns[j]
            lower, upper = self.active.lower[chosen], self.active.upper[chosen]
            values[chosen], found[chosen] = column.choose(lower, upper)
        return values, found

    def _examine(self, found):
        """Find out if answers are the same on one side of a threshold, as trees' answers are."""
        found = found.take(slice(min(_EXAMINED - len(self.continuous), self.lines.left)))
        if not len(found.rows):
            return
        scale = np.array([self.columns[j].scale for j in found.columns])
        beyond = found.upper + _DISTANCE * get_slack(found.upper, scale)
        beyond = beyond.astype(np.float32).astype(np.float64)
        answers = self.lines.query(found.rows, found.columns, beyond)
        self.continuous = np.append(self.continuous, differ(found.answers_above, answers))

    @property
    def has_steps(self):
        """Whether no threshold was looked at closely, or most were steps."""
        return bool(2 * self.continuous.sum() <= len(self.continuous))


def bisect_thresholds(
    victim: BaseEstimator,
    X: Rows,
    *,
    max_queries: int = 40_000,
    columns: Sequence | None = None,
    random_state: Seed = None,
) -> FoundThresholds:
    """Find thresholds of a model of trees by queries.

    If one value of a row is varied, the answer of a model of trees is constant except for steps at
    its thresholds. The search queries each row with its value replaced by a near value of the same
    column. If the answers differ, it bisects the interval between the two values.
    Thresholds of trees are midpoints of two values, or values, so most
    intervals end after about ten queries, without reducing them to neighboring numbers one by one.
    An interval that holds none of these is halved until a few roundings of single precision are
    left. If both halves hold a step, the search goes on in both.

    Parameters
    ----------
    victim : fitted estimator
        Model that returns class probabilities, decision values or the predictions of a regressor,
        such as a :class:`CallableVictim`. Only its answers are used.
    X : array-like of shape (n, n_columns)
        Rows that are varied, as the model takes them. Their values should include those that the
        model was trained on.
    max_queries : int, default=40_000
        Maximum number of queries. A query is the prediction for one row.
    columns : sequence, default=None
        Columns that are varied, by name if X is a DataFrame, otherwise by place. If None, all
        numeric columns with at least a quarter as many distinct values as X has rows.
    random_state : int, RandomState instance or None, default=None
        Controls which rows and columns are searched first. Pass an int for reproducible results.

    Returns
    -------
    found : FoundThresholds
        Columns, rows and intervals of the thresholds. It is empty if the answers change
        continuously, as answers of linear models and nets do, or not at all.

    Raises
    ------
    ValueError
        If the victim returns labels, or no column has enough distinct values.

    See Also
    --------
    skmia.attacks.QueriedThresholdAttack : Infers membership from these thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.victims import bisect_thresholds
    >>> X = np.array([[1.0], [2.0], [4.0], [9.0]])
    >>> tree = DecisionTreeClassifier().fit(X[[0, 1, 3]], [0, 1, 0])
    >>> found = bisect_thresholds(tree, X, max_queries=100, random_state=0)
    >>> np.unique((found.lower + found.upper).round(3) / 2)
    array([1.5, 5.5])
    """
    max_queries = check_count(max_queries, "max_queries")
    table, rng = Table(X), check_random_state(random_state)
    places = choose_columns(table, columns)
    searched = {j: Column(table.values[:, j]).find_places() for j in places}
    lines = Lines(victim, table, max_queries)
    starts = Starts(table, searched, rng)
    search = _Search(lines, searched, starts, max(_LEAST_BATCH, max_queries // _BATCHES)).run()
    parts = search.found if search.has_steps and len(search.continuous) else []
    if parts:
        found = _join(parts)
        found = found.columns, found.rows, found.lower, found.upper
    else:
        found = *np.empty((2, 0), dtype=np.intp), *np.empty((2, 0))
    return FoundThresholds(*found, tuple(places), lines.n_queries, search.has_steps)
