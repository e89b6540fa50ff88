"""Search for rows and values of candidates in the arrays that a model stores."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from .._core.containers import in_memory, is_frame, is_tensor, to_numpy
from .._core.kinds import is_regressor
from .._core.numbers import as_series, show
from ..victims import SCORES, TRANSFORMED_TARGET, iter_inner_models

# Largest number of decimal places of a column that counts as decimal.
_MOST_DECIMALS = 6
# Count of numbers between two powers of two, in float32 and float64.
_POINTS_32, _POINTS_64 = 2.0**24, 2.0**53


class ColumnStats:
    """What is kept of a column of the candidates: its grid, and the numbers of some values."""

    def __init__(self, values, stored):
        # stored: all numbers of the model, sorted, in single precision
        self.is_text = values.dtype.kind != "f"
        self.n_missing = 0
        if not self.is_text:
            self.n_missing = int(np.isnan(values).sum())
            values = values[np.isfinite(values)]
        self.decimals, self.n_points = None, np.inf
        if not self.is_text and len(values):
            self.ends = values.min(), values.max()
            self.decimals = count_decimals(values)
            self.n_points = self._count_points(values)
            if self.decimals is None:  # values between those of a grid matter if they are stored
                values = values[is_among(to_single(values), stored)]
        self.values, self.counts = np.unique(values, return_counts=True)

    def _count_points(self, values):
        """Count the numbers of this precision between the smallest and the largest value."""
        if self.decimals is not None:
            width = self.ends[1] - self.ends[0]
            return min(np.rint(width * 10.0**self.decimals) + 1, _POINTS_64)
        return _POINTS_32 if are_single(values) else _POINTS_64

    def count(self, values):
        """Count the candidates with each of some values, at least 1."""
        counts = np.ones(len(values), dtype=int)
        if len(self.values):
            place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
            counts = np.where(self.values[place] == values, self.counts[place], 1)
        if self.n_missing:
            counts = np.where(np.isnan(values), self.n_missing, counts)
        return counts

    def share(self, stored, *, single=False):
        """Return the share of all possible numbers of the column that are stored.

        Return share: share in [0, 1]; 0 for text.
        """
        if self.n_points == np.inf:
            return 0.0
        inside = stored[(stored >= self.ends[0]) & (stored <= self.ends[1])]
        if self.decimals is not None:
            inside = inside[np.round(inside, self.decimals) == inside]
        n_points = min(self.n_points, _POINTS_32) if single else self.n_points
        return min(1.0, len(inside) / n_points)


def count_decimals(values):
    """Return the number of decimal places that suffices for all numbers, or None."""
    for digits in range(_MOST_DECIMALS + 1):
        # The first values decide most often.
        if all(np.array_equal(np.round(some, digits), some) for some in (values[:99], values)):
            return digits
    return None


def to_single(values):
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def is_among(values, stored):
    """Return whether each value is one of some sorted ones."""
    if not len(stored):
        return np.zeros(len(values), dtype=bool)
    return stored[np.minimum(np.searchsorted(stored, values), len(stored) - 1)] == values


def are_single(values):
    """Return whether float32 represents all numbers exactly."""
    return np.array_equal(to_single(values).astype(np.float64), values, equal_nan=True)


def compute_chance(share, counts, n):
    """Compute the probability that a value is stored although its record was not used.

    Either the value equals a stored number by accident, or another candidate with the same value
    was used; half of the candidates are members. The probability is at least 1 / (n + 1), because a
    value may occur although it was not seen among n others.
    """
    return np.maximum(1 - (1 - share) * 0.5 ** (np.asarray(counts) - 1.0), 1 / (n + 1))


# Largest number of cells of a sparse matrix that is converted to a dense array.
_LARGEST = 50_000_000

# Replaces missing values in columns of text; no model stores this string.
_MISSING = "\0missing"


class CandidateView(NamedTuple):
    """Candidates in the form in which they reach some part of a model."""

    name: str  # "raw", or the steps that the candidates went through
    columns: dict  # by name, of shape (n,): numbers as float64, everything else as text
    n_source: int  # number of raw columns from which the view was computed
    target: np.ndarray | None = None  # (n,): targets of a regressor, as they reach it
    place: str = ""  # path of the part in which alone its values can be stored; empty for any
    # Paths of the steps that computed it, which cannot store it: their own numbers would be found
    # in it.
    passed: tuple[str, ...] = ()


def make_views(model, records):
    """Make the views of records for all parts of a fitted model."""
    raw = make_columns(records.X)
    # Class labels are not evidence, because every model of the same task stores all of them.
    y = _as_searched_column(np.asarray(records.y)) if is_regressor(model) else None
    views = [
        CandidateView("raw", raw, len(raw), y if y is not None and y.dtype.kind == "f" else None)
    ]
    for inner in iter_inner_models(model, records.X, y):
        if inner.view is not None and inner.X is not None:
            views.append(_view(inner))
    return views


def _view(inner):
    # Targets as they are belong to the raw columns.
    y = inner.y if inner.view.endswith(TRANSFORMED_TARGET) else None
    y = None if y is None else _as_searched_column(np.asarray(y))
    place = inner.path if inner.view.startswith(SCORES) else ""
    return CandidateView(inner.view, make_columns(inner.X), inner.n_source, y, place, inner.passed)


def make_columns(X):
    """Return the columns of a table by name: numbers as float64, everything else as text."""
    if sparse.issparse(X):
        if np.prod(X.shape) > _LARGEST:
            raise ValueError(
                f"Rows of a sparse matrix of shape {show(X.shape)} cannot be searched: it has more "
                f"than {_LARGEST:,} cells. Choose fewer columns or candidates."
            )
        X = X.toarray()
    if is_tensor(X):
        X = to_numpy(X)
    X = in_memory(X)
    if is_frame(X):
        return {str(name): _as_searched_column(X.iloc[:, j]) for j, name in enumerate(X.columns)}
    X = np.asarray(X)
    X = X.reshape(len(X), -1)
    return {str(j): _as_searched_column(X[:, j]) for j in range(X.shape[1])}


def _as_searched_column(values):
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64) + 0.0  # as below, in a tenth of the time
    values = as_series(values, infers=True)
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
        # Adding 0 turns -0 into 0.
        return values.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0
    text = values.astype(object)
    try:
        return text.where(text.notna(), _MISSING).to_numpy(dtype=object).astype(str)
    except UnicodeDecodeError:
        raise ValueError(
            "Cells that hold bytes cannot be searched for; turn them into text."
        ) from None
    except ValueError:
        raise ValueError("Cells that hold several values cannot be searched for.") from None


# Kinds of arrays that do not hold unchanged values of the training data.
_OTHERWISE = {
    "counts",
    "covers",
    "labels",
    "names",
    "per-record",
    "seeds",
    "structure",
    "thresholds",
}
# Kinds of arrays that are known to hold values of the training data.
_KNOWN = {"rows", "values", "edges", "leaf values"}
# A column with at most this number of possible values is not evidence.
_BINARY = 2
# Smallest number of rows at which a table with sorted columns is taken for quantiles.
_FEWEST_SORTED = 4
# A row that is stored by chance with at least this probability does not count.
_COARSE = 0.5


class PreparedArray(NamedTuple):
    """A stored array, prepared for the search."""

    path: str
    table: np.ndarray  # its numbers, as a matrix if the array has two dimensions or more
    distinct: np.ndarray  # its distinct numbers, sorted
    text: np.ndarray  # its distinct strings, sorted
    only_target: bool
    is_known: bool  # whether it holds values of the training data, by its name
    position: tuple | None  # position in a list of arrays, and the length of the list

    def suits(self, k, n_columns):
        """Return whether values of the column with this number can be stored here."""
        if self.only_target:
            return k == n_columns
        # Encoders store one array for each column.
        return self.position is None or self.position[1] != n_columns or self.position[0] == k

    def numbers(self, k, n_columns):
        """Return the sorted distinct numbers with which a column can be compared."""
        has_columns = self.table.ndim == 2 and self.table.shape[1] == n_columns
        return _sort_finite(self.table[:, k]) if has_columns and k < n_columns else self.distinct


def _sort_finite(numbers):
    return np.unique(numbers[np.isfinite(numbers)])


def make_places(state):
    """Return the arrays of a state that can hold rows or values of the training data."""
    lists = Counter(stored.path.rpartition("[")[0] for stored in state.arrays)

    def get_position(path):
        name, _, number = path.rpartition("[")
        is_number = number[:-1].isdigit() and path.endswith("]")
        return (int(number[:-1]), lists[name]) if is_number else None

    return [
        PreparedArray(
            path, *_split_array(array), kind == "leaf values", kind in _KNOWN, get_position(path)
        )
        for path, array, kind, _ in state.arrays
        if kind not in _OTHERWISE and array.dtype.kind in "iufOUT"
    ]


def _split_array(array):
    """Return the numbers of an array, its distinct numbers, and its distinct strings."""
    if sparse.issparse(array):
        # If a sparse matrix is too large, only its stored numbers are searched.
        small = np.prod(array.shape) <= 10 * array.nnz + 1_000_000
        array = array.toarray() if small else array.data
    if array.dtype.kind in "iuf":
        # Adding 0 turns -0 into 0.
        numbers = np.atleast_1d(array.astype(np.float64) + 0.0)
        table = numbers.reshape(-1, numbers.shape[-1]) if numbers.ndim > 1 else numbers
        return table, _sort_finite(table), np.empty(0, dtype=str)
    values = array.ravel().tolist()
    text = [value for value in values if isinstance(value, str)]
    numbers = [float(value) for value in values if isinstance(value, int | float | np.number)]
    numbers = np.array(numbers, dtype=np.float64) + 0.0
    return numbers, _sort_finite(numbers), np.unique(np.array(text, dtype=str))


class ViewStats:
    """Statistics of a view among the candidates of ``fit``."""

    def __init__(self, view, stored):
        self.columns = [ColumnStats(values, stored) for values in list_columns(view)]
        self.n = len(list_columns(view)[0])
        self.has_text = any(column.is_text for column in self.columns[: len(view.columns)])
        # A transformed row may be rounded differently in another batch, so float32 is compared.
        self.is_transformed = view.name != "raw"
        self.n_rows = {}  # by path: number of candidates of each stored row


def as_keys(matrix, single):
    """Turn each row into one value, which is equal for equal rows."""
    matrix = to_single(matrix) if single else matrix.astype(np.float64)
    matrix = np.ascontiguousarray(np.where(np.isnan(matrix), np.nan, matrix))
    return matrix.view(np.dtype((np.void, matrix.dtype.itemsize * matrix.shape[1]))).ravel()


def list_columns(view):
    """Return the columns of a view, followed by the target."""
    return [*view.columns.values(), *([] if view.target is None else [view.target])]


class ViewHits:
    """Hits of records of one view in all places.

    sums (n,): evidence of the columns of each record, each at its best place.

    * rows (n,): evidence of whole rows, or -1; row_places (n,): numbers of their places
    * columns: number of each column with hits, its records, their evidence and places numbers
      (n_places, 4): values that are stored and number expected by chance; the same of rows
    """

    def __init__(self, view, places, stats, *, is_fit):
        # is_fit: of the candidates of ``fit``, whose rows are counted
        columns, n_columns = list_columns(view), len(view.columns)
        n, self._stats = len(columns[0]), stats
        self.sums, self.columns, self.numbers = np.zeros(n), [], np.zeros((len(places), 4))
        self.rows, self.row_places = np.full(n, -1.0), np.full(n, -1)
        places = [
            (p, place)
            for p, place in enumerate(places)
            if place.path.startswith(view.place) and not place.path.startswith(view.passed)
        ]
        for k, (values, column) in enumerate(zip(columns, stats.columns, strict=True)):
            if (values.dtype.kind in "UO") != column.is_text:
                kinds = ("numbers", "text") if column.is_text else ("text", "numbers")
                raise ValueError(
                    f"A column holds {kinds[0]}, and {kinds[1]} in the candidates given to fit."
                )
            if column.n_points > _BINARY:
                self._search_column(k, values, n_columns, places)
        for p, place in places:
            has_rows = place.table.ndim == 2 and place.table.shape[1] == n_columns
            if has_rows and not (stats.has_text or place.only_target):
                self._search_rows(p, place, columns[:n_columns], is_fit)

    def _search_column(self, k, values, n_columns, places):
        column, best, where = self._stats.columns[k], None, None
        single = None if column.is_text else to_single(values)
        is_single = single is None or np.array_equal(single, values, equal_nan=True)
        for p, place in places:
            if not place.suits(k, n_columns):
                continue
            stored = place.text if column.is_text else place.numbers(k, n_columns)
            found = np.flatnonzero(is_among(values, stored))
            rounds = not len(found) and not is_single and are_single(stored)
            if rounds:
                found = np.flatnonzero(is_among(single, stored))
            share = 0.0 if column.is_text else column.share(stored, single=rounds)
            self.numbers[p, 1] += share * (len(values) - len(found))
            if not len(found):
                continue
            distinct, each, n_each = np.unique(
                values[found], return_inverse=True, return_counts=True
            )
            chance = compute_chance(share, column.count(distinct), self._stats.n)
            self.numbers[p, :2] += len(found), n_each @ chance
            trust = _estimate_trust(place, column, len(distinct), stored)
            evidence = -np.log(trust * chance + 1 - trust)[each]
            if best is None:
                best, where = np.zeros(len(values)), np.full(len(values), -1)
            better = evidence > best[found]
            best[found[better]], where[found[better]] = evidence[better], p
        if best is not None:
            self.sums += best
            some = np.flatnonzero(best)
            self.columns.append((k, some, best[some], where[some]))

    def _search_rows(self, p, place, columns, is_fit):
        if _are_quantiles(place.table):
            return
        single = self._stats.is_transformed or are_single(place.distinct)
        stored = set(as_keys(place.table, single).tolist())
        # Rows whose first value is not stored need not be compared.
        first = to_single(columns[0])
        near = is_among(first, np.unique(to_single(place.table[:, 0]))) | np.isnan(first)
        near = np.flatnonzero(near)
        keys = as_keys(np.column_stack([column[near] for column in columns]), single).tolist()
        hit = np.array([key in stored for key in keys], dtype=bool)
        keys, rows = [key for key in keys if key in stored], near[hit]
        counts = self._stats.n_rows
        if is_fit:
            counts[place.path] = Counter(keys)
            if len(rows) or self.numbers[p, 0]:
                everything = self._estimate_shares(columns, stored)
                self.numbers[p, 3] = np.delete(everything, rows).sum()
        if not len(rows):
            return
        share = self._estimate_shares(columns, stored, rows)
        n_each = np.array([max(1, counts[place.path][key]) for key in keys])
        chance = compute_chance(share, n_each, self._stats.n)
        self.numbers[p, 2:] += len(rows), chance.sum()
        evidence = np.where(share < _COARSE, -np.log(chance), -1)
        better = evidence > self.rows[rows]
        self.rows[rows[better]], self.row_places[rows[better]] = evidence[better], p

    def _estimate_shares(self, columns, stored, rows=None):
        """Probability that rows, or all candidates, would be stored if columns were independent."""
        logs = 0.0
        for column, stats in zip(columns, self._stats.columns, strict=False):
            if rows is None:
                _, each, counts = np.unique(column, return_inverse=True, return_counts=True)
                counts = counts[each]
            else:
                counts = stats.count(column[rows])
            logs = logs + np.log(counts / self._stats.n)
        return np.minimum(1, len(stored) * np.exp(logs))


def _estimate_trust(place, stats, n_found, stored):
    """Estimate the share of the values found that are not found by accident.

    An array of another kind, such as sizes or version numbers, holds numbers that are equal to
    values of a coarse column by accident: each number on the grid of the column is equal to one
    with the probability that its neighbors on the grid are values. As there are many arrays, one
    more value in each is taken to be found by accident.
    """
    if place.is_known or stats.decimals is None:
        return 1.0
    stored = stored[np.round(stored, stats.decimals) == stored]
    if not len(stored):  # numbers that were found after rounding to single precision
        return 1.0
    inside = (stats.values >= stored[0]) & (stats.values <= stored[-1])
    n_points = np.rint((stored[-1] - stored[0]) * 10.0**stats.decimals) + 1
    n_by_accident = 1 + len(stored) * inside.sum() / n_points
    return max(0.0, 1 - n_by_accident / n_found)


def _are_quantiles(table):
    """Whether each column is sorted, as in tables of quantiles but not in rows of records."""
    is_large = table.shape[0] >= _FEWEST_SORTED and table.shape[1] > 1
    return is_large and bool((np.diff(table, axis=0) >= 0).all())
