"""Arrays whose rows are in files and are read when they are asked for."""

from abc import ABC, abstractmethod

import numpy as np

# Columns that are read at once where few of many are taken, and the gap that is skipped.
_SPAN = 1 << 18
_GAP = 1 << 14


class RowSource(ABC):
    """Source of rows of equal length, by number."""

    n_columns: int  # length of a row
    tail: tuple = ()  # shape of an entry
    dtype: np.dtype

    @abstractmethod
    def read(self, number, start, stop):
        """Return the columns from ``start`` to ``stop`` of a row, shape (stop - start, *tail)."""


class _ColumnSpan(RowSource):
    """Some neighboring columns of all rows."""

    def __init__(self, rows, start, stop):
        self._rows, self._start, self.n_columns = rows, start, stop - start
        self.tail, self.dtype = rows.tail, rows.dtype

    def read(self, number, start, stop):
        return self._rows.read(number, self._start + start, self._start + stop)


class FiledArray:
    """Read-only array that holds the numbers of its rows and reads their columns on request.

    Leading axes are indexed without reading. What is read is an ordinary array that the caller
    owns, so memory is needed for the columns that are asked for.
    """

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
        return FiledArray(_ColumnSpan(self.rows, start, stop), self.numbers)

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
        """Return the part a key into the leading axes, the columns, and the axes of an entry."""
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
