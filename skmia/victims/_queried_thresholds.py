"""Thresholds of a model that is only queried."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

from .._core.containers import (
    as_rows,
    is_frame,
    is_tensor,
    refuse_foreign_table,
    take_rows,
    to_numpy,
)
from .._core.numbers import check_count, show
from .._core.query import query_victim
from .._core.randomness import check_random_state
from .._core.types import Rows, Seed

# Sums over trees are taken in any order where they are computed in parallel.
_ROUNDING = 1e-9


class QueryLines:
    """Answers of a model about rows in which one number is replaced; none is asked for twice."""

    def __init__(self, victim, table, max_queries):
        self.victim, self.table, self.max_queries = victim, table, max_queries
        self.n_queries, self._known = 0, {}

    @property
    def left(self):
        """Number of queries that may still be made."""
        return self.max_queries - self.n_queries

    def query(self, rows, columns, values):
        """Return answers, (m, n_outputs), about rows in which one number each is replaced.

        All lines through a row meet in the row itself.
        """
        columns = np.where(self.table.values[rows, columns] == values, -1, columns)
        values = np.where(columns < 0, 0.0, values)
        keys = list(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True))
        new = {key: k for k, key in enumerate(keys) if key not in self._known}
        if new:
            chosen = np.fromiter(new.values(), dtype=np.intp)
            X = self.table.replace(rows[chosen], columns[chosen], values[chosen])
            self._known.update(zip(new, self._ask(X), strict=True))
            self.n_queries += len(new)
        return np.array([self._known[key] for key in keys])

    def _ask(self, X):
        outputs = query_victim(self.victim, X)
        if outputs.kind == "label":
            raise ValueError(
                "Thresholds are found from class probabilities, decision values or the predictions "
                "of a regressor; the victim returns labels."
            )
        return np.asarray(outputs.values, dtype=np.float64).reshape(len(outputs), -1)


def differ(some, others):
    """Return whether answers differ by more than rounding."""
    size = np.maximum(np.abs(some), np.abs(others)).max(axis=1)
    return np.abs(some - others).max(axis=1) > _ROUNDING * size


class SearchedTable:
    """Numeric columns of some rows, and copies of the rows with other numbers.

    Take X of shape (n, n_columns); return values of shape (n, n_columns): numbers in single
    precision, as float64; NaN in columns that hold something else.
    """

    def __init__(self, X):
        X = as_rows(X)
        refuse_foreign_table(X, "A search for thresholds")
        if sparse.issparse(X) or X.ndim != 2:
            kind = "a sparse matrix" if sparse.issparse(X) else f"an array of shape {X.shape}"
            raise ValueError(
                f"X must be a table in which single numbers can be replaced; got {kind}."
            )
        self._rows = X
        if is_frame(X):
            self.names = list(X.columns)
            values = np.full(X.shape, np.nan)
            for j, kind in enumerate(X.dtypes):
                if pd.api.types.is_numeric_dtype(kind) and kind.kind in "iuf":
                    values[:, j] = X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            self.names = list(range(X.shape[1]))
            values = to_numpy(X) if is_tensor(X) else X
            values = values if values.dtype.kind in "iuf" else np.full(X.shape, np.nan)
        with np.errstate(over="ignore"):  # too large for single precision: not finite
            self.values = values.astype(np.float32).astype(np.float64)
        self.values[~np.isfinite(self.values)] = np.nan

    def replace(self, rows, columns, values):
        """Return rows in which one number each is another one.

        Return X of shape (m, n_columns).
        """
        if is_frame(self._rows):
            changed = self._rows.iloc[rows].reset_index(drop=True)
            for j in np.unique(columns[columns >= 0]):
                column = changed.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
                column[columns == j] = values[columns == j]
                changed.isetitem(j, column)
            return changed
        changed, is_changed = take_rows(self._rows, rows), columns >= 0
        if is_tensor(changed):
            numbers = to_numpy(changed).copy()
            numbers[is_changed, columns[is_changed]] = values[is_changed]
            return changed.new_tensor(numbers)
        if changed.dtype.kind in "iu":
            changed = changed.astype(np.float64)
        changed[is_changed, columns[is_changed]] = values[is_changed]
        return changed


# Most values between the two that a threshold is the midpoint of.
MOST_PASSED = 128
# Most midpoints of a column, which bounds memory.
_MOST_PLACES = 2**21
# A value between belongs to a row at the node with one of these probabilities: few nodes are near
# the root of a tree, and it is not known which.
_SHARES = 0.5 ** np.arange(1, 8)
# Rounding of values to single precision, before or after they are scaled.
_ROUNDING_COLUMNS = 2.0**-23
# A step is found where it lies between two numbers so many roundings apart.
_FOUND = 4.0
_MARGIN = 1.5


def get_slack(values, scale):
    """Return half of the distance within which a threshold and a midpoint count as equal.

    Models split values, or scaled ones, in single precision; a scaler often subtracts something
    like the mean.
    """
    return _ROUNDING_COLUMNS * (np.abs(values) + scale)


class SearchedColumn:
    """Distinct values of a column, and all places that a threshold between them may have."""

    def __init__(self, values):
        values = values[np.isfinite(values)]
        self.values = np.unique(values)
        self.scale = float(np.abs(values).mean()) if len(values) else 0.0

    def find_places(self):
        """List the midpoints and values, and how likely thresholds are to be there."""
        values, m = self.values, len(self.values)
        most = min(MOST_PASSED, m - 1, 1 + _MOST_PLACES // max(m, 1))
        likely = [np.mean(_SHARES**2 * (1 - _SHARES) ** passed) for passed in range(most)]
        places = [values[: -1 - k] / 2 + values[1 + k :] / 2 for k in range(len(likely))]
        weights = [np.full(len(found), w) for found, w in zip(places, likely, strict=True)]
        # Values are as likely as midpoints, as long as nothing is known of the model.
        weights.append(np.full(m, sum(one.sum() for one in weights) / max(m, 1)))
        self.places, which = np.unique(np.concatenate([*places, values]), return_inverse=True)
        self.below = np.append(0, np.cumsum(np.bincount(which, np.concatenate(weights))))
        return self

    def choose(self, lower, upper):
        """Choose where to query next between two numbers that a threshold lies between.

        The weight of places below and above is the same. If one place is left, the queries are made
        just above it and just below. If none is left, the interval is halved.
        """
        places, slack = self.places, get_slack(np.maximum(np.abs(lower), np.abs(upper)), self.scale)
        start, stop = np.searchsorted(places, lower - slack), np.searchsorted(places, upper + slack)
        last = len(places) - 1
        split = self._split(start, stop)
        values = places[np.clip(split - 1, 0, last)] / 2 + places[np.clip(split, 0, last)] / 2
        first, final = places[np.minimum(start, last)], places[np.clip(stop - 1, 0, last)]
        is_one = (start < stop) & (final - first <= 2 * slack)
        above = is_one & (upper > final + 2 * slack)
        below = is_one & ~above & (lower < first - 2 * slack)
        values = np.where(above, final + _MARGIN * slack, values)
        values = np.where(below, first - _MARGIN * slack, values).astype(np.float32)
        outside = (values <= lower) | (values >= upper) | (start >= stop)
        middle = (lower / 2 + upper / 2).astype(np.float32)
        values = np.where(outside, middle, values).astype(np.float64)
        found = (upper - lower <= _FOUND * slack) | (is_one & ~above & ~below)
        return values, found | (values <= lower) | (values >= upper)

    def _split(self, start, stop):
        """Return the place between each start and stop that halves the weight between them best."""
        half = (self.below[start] + self.below[stop]) / 2
        split = np.searchsorted(self.below, half)
        before = np.maximum(split - 1, 0)
        nearer = half - self.below[before] < self.below[np.minimum(split, len(self.places))] - half
        return np.clip(np.where(nearer, before, split), start + 1, np.maximum(stop - 1, start + 1))


# Number of distinct values between a row's own and the first one that it is queried with.
_REACH = 16
# A column is searched if it has at least this share of distinct values.
_LEAST_DISTINCT = 0.25


def locate_searched_columns(table, columns):
    """Return the places of the columns that are searched."""
    n_distinct = [len(np.unique(one[np.isfinite(one)])) for one in table.values.T]
    if columns is None:
        places = [j for j, n in enumerate(n_distinct) if n >= _LEAST_DISTINCT * len(table.values)]
        places = [j for j in places if n_distinct[j] > 1]
        if not places:
            raise ValueError(
                "No numeric column has at least a quarter as many distinct values as there are "
                f"records ({len(table.values)}), so thresholds would not say whose values they "
                f"were computed from; the most is {max(n_distinct, default=0)}."
            )
        return places
    if isinstance(columns, str) or not np.iterable(columns):
        raise ValueError(f"columns must be a list of columns of X; got {show(columns)}.")
    places = sorted({_find_column(name, table.names) for name in columns})
    for j in places:
        if n_distinct[j] < 2:
            raise ValueError(
                f"columns must hold numbers, and different ones; {show(table.names[j])} does not."
            )
    if not places:
        raise ValueError("columns must name at least one column; got none.")
    return places


def _find_column(name, names):
    try:
        return names.index(name)
    except (TypeError, ValueError):  # unknown, or nothing that can be compared with a name
        raise ValueError(
            f"columns must name columns of X; got {show(name)}, and X has {show(names)}."
        ) from None


class SearchStarts:
    """Intervals beside the value of each row, in random order, the near ones of all rows first."""

    def __init__(self, table, columns, rng):
        self._parts = self._draw(table.values, columns, rng)
        self._waiting = None

    def take(self, n):
        """Take the next n intervals at most; None if there is none, or n is below 1."""
        if n < 1:
            return None
        while self._waiting is None or not len(self._waiting[0]):
            self._waiting = next(self._parts, None)
            if self._waiting is None:
                return None
        taken = tuple(part[:n] for part in self._waiting)
        self._waiting = tuple(part[n:] for part in self._waiting)
        return taken

    def _draw(self, values, columns, rng):
        n, order = len(values), rng.permutation(len(values))
        places = np.array(list(columns))
        turns = np.array([rng.permutation(places) for _ in range(n)]).reshape(n, -1)
        near = 0
        most = max(len(one.values) for one in columns.values())
        while near < most:
            far = 2 * near + _REACH
            for turn in turns.T:
                yield self._go(values, columns, order, turn[order], near, far)
            near = far

    def _go(self, values, columns, rows, chosen, near, far):
        """Return intervals from the near-th to the far-th value below and above a row's own."""
        ends = np.full((2, 2, len(rows)), np.nan)
        for j, column in columns.items():
            mine = np.flatnonzero((chosen == j) & np.isfinite(values[rows, j]))
            own = np.searchsorted(column.values, values[rows[mine], j])
            last = len(column.values) - 1
            for side, sign in enumerate((-1, 1)):
                for end, step in enumerate((near, far)):
                    ends[side, end, mine] = column.values[np.clip(own + sign * step, 0, last)]
        lower, upper = np.sort(ends, axis=1).transpose(1, 2, 0).reshape(2, -1)
        some = lower < upper
        return np.repeat(rows, 2)[some], np.repeat(chosen, 2)[some], lower[some], upper[some]


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


class _AnswerIntervals(NamedTuple):
    """Intervals with another answer at each end."""

    rows: np.ndarray
    columns: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    answers_below: np.ndarray
    answers_above: np.ndarray

    def take(self, chosen):
        return _AnswerIntervals(*(part[chosen] for part in self))

    def keep_steps(self):
        return self.take(differ(self.answers_below, self.answers_above))

    def split(self, values, answers):
        """Return both parts of each interval at a number between, as far as they hold a step."""
        below = self._replace(upper=values, answers_above=answers)
        above = self._replace(lower=values, answers_below=answers)
        return _join_intervals([below.keep_steps(), above.keep_steps()])


def _join_intervals(parts):
    return _AnswerIntervals(*(np.concatenate(part) for part in zip(*parts, strict=True)))


class _ThresholdSearch:
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
            self.active = _join_intervals([now, later])
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
            ends = np.append(lower, upper)
            # At once, because a forest takes long for a few rows.
            answers = self.lines.query(np.tile(rows, 2), np.tile(columns, 2), ends)
            below, above = np.split(answers, 2)
            new = _AnswerIntervals(rows, columns, lower, upper, below, above).keep_steps()
            self.active = new if self.active is None else _join_intervals([self.active, new])
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
    table, rng = SearchedTable(X), check_random_state(random_state)
    places = locate_searched_columns(table, columns)
    searched = {j: SearchedColumn(table.values[:, j]).find_places() for j in places}
    lines = QueryLines(victim, table, max_queries)
    starts = SearchStarts(table, searched, rng)
    search = _ThresholdSearch(
        lines, searched, starts, max(_LEAST_BATCH, max_queries // _BATCHES)
    ).run()
    parts = search.found if search.has_steps and len(search.continuous) else []
    if parts:
        found = _join_intervals(parts)
        found = found.columns, found.rows, found.lower, found.upper
    else:
        found = *np.empty((2, 0), dtype=np.intp), *np.empty((2, 0))
    return FoundThresholds(*found, tuple(places), lines.n_queries, search.has_steps)
