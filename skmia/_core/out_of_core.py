"""Arrays with an entry for each of very many records, which are worked on block by block."""

import math
import mmap
import tempfile

import numpy as np

from .moments import cut

# Bytes above which a table with an entry for each record lives in a file.
_MOST_IN_MEMORY = 1 << 24

# Values that are taken at once of a table of several columns.
_BLOCK_VALUES = 1 << 20

# So few values are found in less time than they are sorted in.
_FEW_VALUES = 1 << 10


def empty_table(shape, dtype=np.float64):
    """Return an array to be filled, which is in a temporary file without a name if it is large.

    The system writes pages of the file to the disk, and drops them, when memory is short. The array
    is no np.memmap, which joblib would pass to its workers by the name of the file.
    """
    dtype = np.dtype(dtype)
    size = math.prod(map(int, shape if isinstance(shape, tuple) else [shape])) * dtype.itemsize
    if dtype.hasobject or size <= _MOST_IN_MEMORY:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), size))


# Values at some places


def take_where(mask, values):
    """Return the values where a mask is True, of which a large number is in a file."""
    taken, start = empty_table(np.count_nonzero(mask), values.dtype), 0
    for rows in cut(len(values)):
        part = values[rows][mask[rows]]
        taken[start : start + len(part)], start = part, start + len(part)
    return taken


def find_where(mask):
    """Return the places at which a mask is True, shape (n_true,)."""
    places, start = empty_table(np.count_nonzero(mask), np.intp), 0
    for rows in cut(len(mask)):
        part = rows.start + np.flatnonzero(mask[rows])
        places[start : start + len(part)], start = part, start + len(part)
    return places


def take_table(values, places):
    """Return a copy of the rows at some places."""
    taken = empty_table((len(places), *values.shape[1:]), values.dtype)
    for rows in cut(len(places), max(1, _BLOCK_VALUES // max(1, values[:1].size))):
        taken[rows] = values[places[rows]]
    return taken


def map_table(compute, n, dtype):
    """Return what a function of a slice of rows computes, for all n rows."""
    table = empty_table(n, dtype)
    for rows in cut(n):
        table[rows] = compute(rows)
    return table


def count_up(n):
    """Return the whole numbers from 0 to n - 1."""
    return map_table(lambda rows: np.arange(rows.start, rows.stop), n, np.intp)


# Order


def sorted_table(values):
    """Return sorted values, of which a large number is sorted in a file."""
    table = empty_table(len(values), values.dtype)
    table[:] = values
    table.sort()
    return table


def find_smallest(values, n):
    """Return the n-th smallest of the values."""
    return sorted_table(values)[n - 1]


def count_below(values, others):
    """Return twice the number of the others below each value, plus that of equal ones."""
    ordered, sides = sorted_table(others), ("left", "right")
    return _look_up(values, lambda part: sum(np.searchsorted(ordered, part, k) for k in sides))


def sort_places(keys):
    """Return the place of each row in the order of :func:`numpy.lexsort`."""
    *others, key = keys
    n, places = len(key), number_table(key)[1]
    # Rows that are equal so far are told apart by the next key, and in the end by their number.
    for key in [*reversed(others), None]:
        if places.max(initial=0) == n - 1:  # all of them differ
            break
        finer = count_up(n) if key is None else number_table(key)[1]
        places *= n
        places += finer
        places = number_table(places)[1]
    return places


# Equal values


def number_table(values):
    """Return the sorted values, each once, and the number of the value of each row."""
    ordered = sorted_table(values)
    is_new = map_table(lambda rows: _differ(ordered, rows), len(values), bool)
    ordered = ordered if is_new.all() else take_where(is_new, ordered)
    return ordered, _look_up(values, lambda part: np.searchsorted(ordered, part), np.intp)


def find_repeated(values):
    """Return the values, sorted and each once, that occur more than once."""
    ordered = sorted_table(values)
    again = map_table(lambda rows: ~_differ(ordered, rows), len(values), bool)
    return np.unique(take_where(again, ordered))


def are_among(values, others):
    """Return whether each value is among the others, shape (n,)."""
    if not len(others):
        return np.zeros(len(values), dtype=bool)
    ordered, last = sorted_table(others), len(others) - 1
    return _look_up(
        values, lambda part: ordered[np.minimum(np.searchsorted(ordered, part), last)] == part, bool
    )


def find_first(units):
    """Return the first place of each unit, numbered from 0."""
    first = empty_table(units.max() + 1, np.intp)
    for rows in reversed(list(cut(len(units)))):  # so that earlier places are written later
        first[units[rows][::-1]] = np.arange(rows.stop - 1, rows.start - 1, -1)
    return first


def _look_up(values, find, dtype=np.float64):
    """Return what is found for each value; many values are looked up in their order."""
    if len(values) <= _FEW_VALUES:
        return find(values).astype(dtype)
    table = empty_table(len(values), dtype)
    for rows in cut(len(values)):
        order = np.argsort(values[rows])
        table[rows][order] = find(values[rows][order])
    return table


def _differ(ordered, rows):
    """Return which of some sorted values differ from the one before."""
    start = max(rows.start, 1)
    new = ordered[start : rows.stop] != ordered[start - 1 : rows.stop - 1]
    return new if rows.start else np.append(np.ones(min(1, rows.stop), bool), new)
