"""Search for rows and values of candidates in the arrays that a model stores."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_regressor

from .._core.containers import in_memory, is_frame, is_tensor, to_numpy
from .._core.numbers import as_series, show
from ..victims import SCORES, TRANSFORMED_TARGET, iter_inner_models

# Largest number of decimal places of a column that counts as decimal.
_MOST_DECIMALS = 6
# Count of numbers between two powers of two, in float32 and float64.
_POINTS_32, _POINTS_64 = 2.0**24, 2.0**53


class ColumnStats:
    """Values of a column among the candidates, and the grid on which they lie."""

    def __init__(self, values):
        self.n = len(values)
        self.is_text = values.dtype.kind != "f"
        self.n_missing = 0
        if not self.is_text:
            self.n_missing = int(np.isnan(values).sum())
            values = values[np.isfinite(values)]
        self.values, self.counts = np.unique(values, return_counts=True)
        self.decimals, self.n_points = None, np.inf
        if not self.is_text and len(self.values):
            self.decimals = count_decimals(self.values)
            self.n_points = self._count_points()

    def _count_points(self):
        """Count the numbers of this precision between the smallest and the largest value."""
        if self.decimals is not None:
            width = self.values[-1] - self.values[0]
            return min(np.rint(width * 10.0**self.decimals) + 1, _POINTS_64)
        return _POINTS_32 if are_single(self.values) else _POINTS_64

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
        """Return the share of all possible numbers of the column that are stored."""
        # -> share: share in [0, 1]; 0 for text
        if self.is_text or not len(self.values):
            return 0.0
        inside = stored[(stored >= self.values[0]) & (stored <= self.values[-1])]
        if self.decimals is not None:
            inside = inside[np.round(inside, self.decimals) == inside]
        n_points = min(self.n_points, _POINTS_32) if single else self.n_points
        return min(1.0, len(inside) / n_points)


def count_decimals(values):
    """Return the number of decimal places that suffices for all numbers, or None."""
    for digits in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def are_single(values):
    """Whether float32 represents all numbers exactly."""
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float32).astype(np.float64), values, equal_nan=True)


def compute_chance(share, counts, n):
    """Compute the probability that a value is stored although its record was not used."""
    # Either the value equals a stored number by accident, or another candidate with the same value
    # was used; half of the candidates are members. The probability is at least 1 / (n + 1), because
    # a value may occur although it was not seen among n others.
    return np.maximum(1 - (1 - share) * 0.5 ** (np.asarray(counts) - 1.0), 1 / (n + 1))


# Largest number of cells of a sparse matrix that is converted to a dense array.
_LARGEST = 50_000_000

# Replaces missing values in columns of text; no model stores this string.
_MISSING = "\0missing"


class View(NamedTuple):
    """Candidates in the form in which they reach some part of a model.

    Attributes
    ----------
    name : str
        ``"raw"``, or the steps that the candidates went through.
    columns : dict of str to ndarray of shape (n,)
        Columns by name: numbers as float64, everything else as text.
    n_source : int
        Number of raw columns from which the view was computed.
    target : ndarray of shape (n,) or None
        Targets of a regressor, as they reach it.
    place : str
        Path of the part in which alone its values can be stored; empty for any.
    passed : tuple of str
        Paths of the steps that computed it, which cannot store it: their own numbers would be found
        in it.
    """

    name: str
    columns: dict
    n_source: int
    target: np.ndarray | None = None
    place: str = ""
    passed: tuple[str, ...] = ()

    def can_be_in(self, path):
        """Whether a stored array can hold columns of this view."""
        return path.startswith(self.place) and not path.startswith(self.passed)

    @property
    def matrix(self):
        """The columns as a matrix of float64; None if some are text."""
        if any(column.dtype.kind != "f" for column in self.columns.values()):
            return None
        return np.column_stack(list(self.columns.values()))


def make_views(model, records):
    """Make the views of records for all parts of a fitted model."""
    raw = make_columns(records.X)
    # Class labels are not evidence, because every model of the same task stores all of them.
    y = _as_column(np.asarray(records.y)) if is_regressor(model) else None
    views = [View("raw", raw, len(raw), y if y is not None and y.dtype.kind == "f" else None)]
    for inner in iter_inner_models(model, records.X, y):
        if inner.view is not None and inner.X is not None:
            views.append(_view(inner))
    return views


def _view(inner):
    # Targets as they are belong to the raw columns.
    y = inner.y if inner.view.endswith(TRANSFORMED_TARGET) else None
    y = None if y is None else _as_column(np.asarray(y))
    place = inner.path if inner.view.startswith(SCORES) else ""
    return View(inner.view, make_columns(inner.X), inner.n_source, y, place, inner.passed)


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
        return {str(name): _as_column(X.iloc[:, j]) for j, name in enumerate(X.columns)}
    X = np.asarray(X)
    X = X.reshape(len(X), -1)
    return {str(j): _as_column(X[:, j]) for j in range(X.shape[1])}


def _as_column(values):
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


class Place(NamedTuple):
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
        return _sort(self.table[:, k]) if has_columns and k < n_columns else self.distinct


def _sort(numbers):
    return np.unique(numbers[np.isfinite(numbers)])


def make_places(state):
    """Return the arrays of a state that can hold rows or values of the training data."""
    lists = Counter(stored.path.rpartition("[")[0] for stored in state.arrays)

    def get_position(path):
        name, _, number = path.rpartition("[")
        is_number = number[:-1].isdigit() and path.endswith("]")
        return (int(number[:-1]), lists[name]) if is_number else None

    return [
        Place(path, *_split(array), kind == "leaf values", kind in _KNOWN, get_position(path))
        for path, array, kind, _ in state.arrays
        if kind not in _OTHERWISE and array.dtype.kind in "iufOUT"
    ]


def _split(array):
    """Return the numbers of an array, its distinct numbers, and its distinct strings."""
    if sparse.issparse(array):
        # If a sparse matrix is too large, only its stored numbers are searched.
        small = np.prod(array.shape) <= 10 * array.nnz + 1_000_000
        array = array.toarray() if small else array.data
    if array.dtype.kind in "iuf":
        # Adding 0 turns -0 into 0.
        numbers = np.atleast_1d(array.astype(np.float64) + 0.0)
        table = numbers.reshape(-1, numbers.shape[-1]) if numbers.ndim > 1 else numbers
        return table, _sort(table), np.empty(0, dtype=str)
    values = array.ravel().tolist()
    text = [value for value in values if isinstance(value, str)]
    numbers = [float(value) for value in values if isinstance(value, int | float | np.number)]
    numbers = np.array(numbers, dtype=np.float64) + 0.0
    return numbers, _sort(numbers), np.unique(np.array(text, dtype=str))


class ViewStats:
    """Statistics of a view among the candidates of ``fit``."""

    def __init__(self, view):
        self.columns = list(map(ColumnStats, list_columns(view)))
        self.n = self.columns[0].n
        matrix = view.matrix
        self.rows = None if matrix is None else RowStats(matrix, view.name != "raw")


class Column:
    """Distinct values of a column of the records to search for."""

    def __init__(self, values, stats):
        self.stats = stats
        if (values.dtype.kind in "UO") != stats.is_text:
            kinds = ("numbers", "text") if stats.is_text else ("text", "numbers")
            raise ValueError(
                f"A column holds {kinds[0]}, and {kinds[1]} in the candidates given to fit."
            )
        self.values, self.inverse, self.n_each = np.unique(
            values, return_inverse=True, return_counts=True
        )
        with np.errstate(over="ignore"):
            rounded = None if stats.is_text else self.values.astype(np.float32).astype(np.float64)
        is_same = stats.is_text or np.array_equal(rounded, self.values, equal_nan=True)
        self.rounded = None if is_same else rounded

    def find(self, place, k, n_columns):
        """Return the positions of stored values, and the share of possible values in the place."""
        if self.stats.is_text:
            return match_sorted(self.values, place.text), 0.0
        stored = place.numbers(k, n_columns)
        found = match_sorted(self.values, stored)
        single = not len(found) and self.rounded is not None and are_single(stored)
        if single:
            found = np.flatnonzero(np.isin(self.rounded, stored))
        return found, self.stats.share(stored, single=single)


def match_sorted(values, stored):
    """Return the positions of sorted values that are among other sorted values."""
    if not len(values) or not len(stored):
        return np.empty(0, dtype=int)
    place = np.minimum(np.searchsorted(values, stored), len(values) - 1)
    return place[values[place] == stored]


class RowStats:
    """Number of occurrences of each row among the candidates."""

    def __init__(self, matrix, transformed):
        # A transformed row may be rounded differently in another batch, so float32 is compared.
        self.transformed = transformed
        self.counts = [Counter(as_keys(matrix, single).tolist()) for single in (False, True)]

    def count(self, keys, single):
        """Count the candidates with each of some rows, at least 1."""
        return np.array([max(1, self.counts[single][key]) for key in keys.tolist()])


def as_keys(matrix, single):
    """Turn each row into one value, which is equal for equal rows."""
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32 if single else np.float64)
    matrix = np.ascontiguousarray(np.where(np.isnan(matrix), np.nan, matrix))
    return matrix.view(np.dtype((np.void, matrix.dtype.itemsize * matrix.shape[1]))).ravel()


def list_columns(view):
    """Return the columns of a view, followed by the target."""
    return [*view.columns.values(), *([] if view.target is None else [view.target])]


class Hits(NamedTuple):
    """Hits of one view in one place."""

    values: dict  # by number of the column: positions of the stored values, and their evidence
    rows: np.ndarray | None  # (n,): evidence of whole rows; -1 for rows that are not stored
    n_values: int
    expected_values: float
    n_rows: int
    expected_rows: float


def search(place, view, columns, stats):
    """Search for the values and the rows of a view in one place."""
    evidence, n_values, expected = {}, 0, 0.0
    n_columns = len(view.columns)
    for k, column in enumerate(columns):
        if not place.suits(k, n_columns) or column.stats.n_points <= _BINARY:
            continue
        found, share = column.find(place, k, n_columns)
        chance = compute_chance(share, column.stats.count(column.values[found]), stats.n)
        n_hits = column.n_each[found].sum()
        n_values += n_hits
        expected += share * (len(column.inverse) - n_hits) + column.n_each[found] @ chance
        if len(found):
            trust = _estimate_trust(place, column.stats, len(found), place.numbers(k, n_columns))
            evidence[k] = found, -np.log(trust * chance + 1 - trust)
    rows, n_rows, expected_rows = _weigh_rows(place, view, columns, stats)
    return Hits(evidence, rows, int(n_values), float(expected), n_rows, float(expected_rows))


def _estimate_trust(place, stats, n_found, stored):
    """Estimate the share of the values found that are not found by accident."""
    # An array of another kind, such as sizes or version numbers, holds numbers that are equal to
    # values of a coarse column by accident: each number on the grid of the column is equal to one
    # with the probability that its neighbors on the grid are values. As there are many arrays, one
    # more value in each is taken to be found by accident.
    if place.is_known or stats.decimals is None:
        return 1.0
    stored = stored[np.round(stored, stats.decimals) == stored]
    if not len(stored):  # numbers that were found after rounding to single precision
        return 1.0
    inside = (stats.values >= stored[0]) & (stats.values <= stored[-1])
    n_points = np.rint((stored[-1] - stored[0]) * 10.0**stats.decimals) + 1
    n_by_accident = 1 + len(stored) * inside.sum() / n_points
    return max(0.0, 1 - n_by_accident / n_found)


def _weigh_rows(place, view, columns, stats):
    """Return the evidence of whole rows, their number, and the number expected by chance."""
    has_rows = place.table.ndim == 2 and place.table.shape[1] == len(view.columns)
    if stats.rows is None or not has_rows or place.only_target or _are_quantiles(place.table):
        return None, 0, 0.0
    single = stats.rows.transformed or are_single(place.distinct)
    keys = as_keys(view.matrix, single)
    stored = set(as_keys(place.table, single).tolist())
    hit = np.array([key in stored for key in keys.tolist()], dtype=bool)
    share = np.minimum(1, len(stored) * _compute_frequencies(columns[: len(view.columns)], stats.n))
    if not hit.any():
        return None, 0, share.sum()
    chance = compute_chance(share[hit], stats.rows.count(keys[hit], single), stats.n)
    rows = np.full(len(hit), -1.0)
    rows[hit] = np.where(share[hit] < _COARSE, -np.log(chance), -1)
    return rows, int(hit.sum()), share[~hit].sum() + chance.sum()


def _are_quantiles(table):
    """Whether each column is sorted, as in tables of quantiles but not in rows of records."""
    is_large = table.shape[0] >= _FEWEST_SORTED and table.shape[1] > 1
    return is_large and bool((np.diff(table, axis=0) >= 0).all())


def _compute_frequencies(columns, n):
    """Return the frequency of each row if the columns were independent."""
    logs = [np.log(column.stats.count(column.values) / n)[column.inverse] for column in columns]
    return np.exp(np.sum(logs, axis=0))
