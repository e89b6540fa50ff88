"""Arrays whose rows are in files and are read when they are asked for."""

import mmap
import tempfile
from abc import ABC, abstractmethod

import numpy as np

# Bytes above which a table with an entry for each record lives in a file.
_MOST_IN_MEMORY = 1 << 24

# Rows of a table that are worked on at once.
_BLOCK_ROWS = 1 << 20

# Columns that are read at once where few of many are taken, and the gap that is skipped.
_SPAN = 1 << 18
_GAP = 1 << 14


class Rows(ABC):
    """Source of rows of equal length, by number."""

    n_columns: int  # length of a row
    tail: tuple = ()  # shape of an entry
    dtype: np.dtype

    @abstractmethod
    def read(self, number, start, stop):
        """Return the columns from ``start`` to ``stop`` of a row, shape (stop - start, *tail)."""


class _Span(Rows):
    """Some neighboring columns of all rows."""

    def __init__(self, rows, start, stop):
        self._rows, self._start, self.n_columns = rows, start, stop - start
        self.tail, self.dtype = rows.tail, rows.dtype

    def read(self, number, start, stop):
        return self._rows.read(number, self._start + start, self._start + stop)


class FiledArray:
    """Read-only array that holds the numbers of its rows and reads their columns on request."""

    # Leading axes are indexed without reading. What is read is an ordinary array that the caller
    # owns, so memory is needed for the columns that are asked for.

    def __init__(self, rows, numbers):
        # The source of the rows, and the number of the row at each place of the leading axes.
        self.rows, self.numbers = rows, numbers

    @property
    def dtype(self):
        return np.dtype(self.rows.dtype)

    @property
    def shape(self):
        return (*self.numbers.shape, self.rows.n_columns, *self.rows.tail)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self):
        """Bytes of the whole array, were it read."""
        return self.size * self.dtype.itemsize

    def __len__(self):
        return len(self.numbers)

    def __repr__(self):
        return f"FiledArray(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("The array is in files, so that reading it makes a copy.")
        return self._read(0, self.rows.n_columns).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key):
        lead, column, rest = self._split(key)
        numbers = self.numbers[lead]
        if isinstance(column, slice) and column == slice(None) and np.ndim(numbers):
            whole = FiledArray(self.rows, numbers)
            return np.asarray(whole)[(..., *rest)] if rest else whole
        part = FiledArray(self.rows, np.asarray(numbers))
        if isinstance(column, slice):
            start, stop, step = column.indices(self.rows.n_columns)
            taken = part._read(start, max(start, stop)) if step == 1 else None
            taken = part.take(np.arange(start, stop, step)) if taken is None else taken
        elif np.ndim(column) == 0:
            taken = part.take([column])[part._at(0)]
        else:
            column = np.asarray(column)
            taken = part.take(np.flatnonzero(column) if column.dtype == bool else column)
        return taken[(..., *rest)] if rest else taken

    def take(self, columns, axis=None):
        """Return some columns in the given order; negative numbers count from the end."""
        if axis is not None and axis % self.ndim != self.numbers.ndim:
            raise ValueError("Of an array in files, columns are taken along the axis of records.")
        columns = np.asarray(columns, dtype=np.intp) % max(1, self.rows.n_columns)
        order = None if (np.diff(columns) >= 0).all() else np.argsort(columns, kind="stable")
        found = self._take_sorted(columns if order is None else columns[order])
        if order is None:
            return found
        taken = np.empty_like(found)
        taken[self._at(order)] = found
        return taken

    def span(self, start, stop):
        """Return the array of neighboring columns, still in files."""
        return FiledArray(_Span(self.rows, start, stop), self.numbers)

    def _take_sorted(self, columns):
        taken = np.empty((*self.numbers.shape, len(columns), *self.rows.tail), self.dtype)
        spans = list(_split_columns(columns))
        for place in np.ndindex(self.numbers.shape):
            for some in spans:
                start, stop = columns[some.start], columns[some.stop - 1] + 1
                values = self.rows.read(self.numbers[place], start, stop)
                taken[place][some] = values[columns[some] - start]
        return taken

    def _at(self, column):
        return (*(slice(None),) * self.numbers.ndim, column)

    def _read(self, start, stop):
        read = np.empty((*self.numbers.shape, stop - start, *self.rows.tail), self.dtype)
        for place in np.ndindex(self.numbers.shape):
            read[place] = self.rows.read(self.numbers[place], start, stop)
        return read

    def _split(self, key):
        """Part a key into the leading axes, the columns, and the axes of an entry."""
        key = key if isinstance(key, tuple) else (key,)
        n_lead = self.numbers.ndim
        if any(part is Ellipsis for part in key):
            place = next(i for i, part in enumerate(key) if part is Ellipsis)
            n_more = self.ndim - (len(key) - 1)
            key = (*key[:place], *(slice(None),) * n_more, *key[place + 1 :])
        key = (*key, *(slice(None),) * (self.ndim - len(key)))
        rest = key[n_lead + 1 :]
        is_full = all(isinstance(part, slice) and part == slice(None) for part in rest)
        return key[:n_lead], key[n_lead], () if is_full else rest


def _split_columns(columns):
    """Yield slices of sorted columns that are read together."""
    start = 0
    while start < len(columns):
        stop = int(np.searchsorted(columns, columns[start] + _SPAN))
        gaps = np.flatnonzero(np.diff(columns[start:stop]) > _GAP)
        stop = start + int(gaps[0]) + 1 if len(gaps) else stop
        yield slice(start, stop)
        start = stop


def rows_of(array):
    """Yield the rows of an array, along its last axis, in pieces that fit a block of memory."""
    if array.ndim > 1:
        for part in array:
            yield from rows_of(part)
        return
    for start in range(0, len(array), _SPAN):
        yield array[start : start + _SPAN]


def empty_table(shape, dtype=np.float64):
    """Return an array to be filled, which is in a temporary file without a name if it is large."""
    # The system writes pages of the file to the disk, and drops them, when memory is short. The
    # array is no np.memmap, which joblib would pass to its workers by the name of the file.
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject or size <= _MOST_IN_MEMORY:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), size))


def cut_table(n_rows, width=1):
    """Yield slices of a table, with rows of some width, that are worked on one after the other."""
    step = max(1, _BLOCK_ROWS // max(1, width))
    for start in range(0, n_rows, step):
        yield slice(start, min(n_rows, start + step))


def take_where(membership, side, values):
    """Return the values of one side, of which a large number is in a file."""
    n_members = np.count_nonzero(membership)
    taken, start = empty_table(n_members if side else len(membership) - n_members, values.dtype), 0
    for rows in cut_table(len(values)):
        part = values[rows][membership[rows] == side]
        taken[start : start + len(part)], start = part, start + len(part)
    return taken


def take_table(values, places):
    """Return the values at some places; all of them in their order are not copied."""
    if len(places) == len(values) and are_neighbors(places):
        return values
    return copy_rows(values, places)


def copy_rows(values, places):
    """Return a copy of the rows at some places."""
    taken = empty_table((len(places), *values.shape[1:]), values.dtype)
    for rows in cut_table(len(places), values[:1].size):
        taken[rows] = values[places[rows]]
    return taken


def put_table(values, places):
    """Return the values in the order of their places, which are all different."""
    table = empty_table(len(values), values.dtype)
    for rows in cut_table(len(values)):
        table[places[rows]] = values[rows]
    return table


def count_up(n, dtype=np.intp):
    """Return the whole numbers from 0 to n - 1."""
    return map_table(lambda rows: np.arange(rows.start, rows.stop), n, dtype)


def map_table(compute, n, dtype):
    """Return what a function of a slice of rows computes, for all n rows."""
    table = empty_table(n, dtype)
    for rows in cut_table(n):
        table[rows] = compute(rows)
    return table


def find_where(mask, side=True):
    """Return the places at which a mask is True, or False."""
    n_members = np.count_nonzero(mask)
    places, start = empty_table(n_members if side else len(mask) - n_members, np.intp), 0
    for rows in cut_table(len(mask)):
        part = rows.start + np.flatnonzero(mask[rows] == side)
        places[start : start + len(part)], start = part, start + len(part)
    return places


def are_neighbors(places):
    """Whether each place follows the one before."""
    return all(
        np.array_equal(places[rows], np.arange(rows.start, rows.stop) + places[0])
        for rows in cut_table(len(places))
    )


def count_below(ordered, values):
    """Return twice the number of sorted values below each value, plus that of equal ones."""
    sides = "left", "right"
    return _look_up(values, lambda part: sum(np.searchsorted(ordered, part, k) for k in sides))


def find_places(ordered, values):
    """Return the place of each value among sorted ones, which hold it."""
    return _look_up(values, lambda part: np.searchsorted(ordered, part), np.intp)


def are_among(ordered, values):
    """Return whether each value is among sorted ones."""
    if not len(ordered):
        return map_table(lambda rows: False, len(values), bool)
    last = len(ordered) - 1
    return _look_up(
        values, lambda part: ordered[np.minimum(np.searchsorted(ordered, part), last)] == part, bool
    )


def _look_up(values, find, dtype=np.float64):
    table = empty_table(len(values), dtype)
    for rows in cut_table(len(values)):
        order = np.argsort(values[rows])  # so that neighbors are looked up one after the other
        table[rows][order] = find(values[rows][order])
    return table


def sorted_table(values):
    """Return sorted values, of which a large number is sorted in a file."""
    table = empty_table(len(values), values.dtype)
    table[:] = values
    table.sort()
    return table


def distinct_table(values):
    """Return sorted values, each once."""
    ordered = sorted_table(values)
    is_new = map_table(lambda rows: _differ(ordered, rows), len(values), bool)
    return ordered if is_new.all() else take_where(is_new, True, ordered)


def find_repeated(values):
    """Return the values, sorted and each once, that occur more than once."""
    ordered = sorted_table(values)
    again = map_table(lambda rows: ~_differ(ordered, rows), len(values), bool)
    return distinct_table(take_where(again, True, ordered))


def _differ(ordered, rows):
    """Return which of some sorted values differ from the one before."""
    start = max(rows.start, 1)
    new = ordered[start : rows.stop] != ordered[start - 1 : rows.stop - 1]
    return new if rows.start else np.append(np.ones(min(1, rows.stop), bool), new)


def find_first(units):
    """Return the first place of each unit, numbered from 0."""
    first = empty_table(units.max() + 1, np.intp)
    for rows in reversed(list(cut_table(len(units)))):  # so that earlier places are written later
        first[units[rows][::-1]] = np.arange(rows.stop - 1, rows.start - 1, -1)
    return first


def sort_places(keys):
    """Return the place of each row in the order of :func:`numpy.lexsort`."""
    *others, key = keys
    n, places = len(key), find_places(sorted_table(key), key)
    # Rows that are equal so far are told apart by the next key, and in the end by their number.
    for key in [*reversed(others), None]:
        if places.sum() == n * (n - 1) // 2:
            break
        finer = count_up(n) if key is None else find_places(sorted_table(key), key)
        places *= n
        places += finer
        places = find_places(sorted_table(places), places)
    return places
