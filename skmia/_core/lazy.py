"""Tables that are not in memory and are read in blocks of rows: dask arrays and Arrow tables."""

from abc import ABC, abstractmethod

import numpy as np


class LazyRows(ABC):
    """Rows that are read when they are asked for; a slice or index array gives rows in memory.

    Parameters
    ----------
    table : object
        Table that holds the rows, or knows where they are.
    """

    def __init__(self, table):
        self._table = table

    @property
    def kind(self):
        """Name of the class of the table."""
        return type(self._table).__name__

    @property
    def ndim(self):
        """Number of axes."""
        return len(self.shape)

    @property
    @abstractmethod
    def shape(self):
        """Number of rows, and shape of a row."""

    @abstractmethod
    def _read(self, key):
        """Return rows in memory."""

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = np.flatnonzero(key) if key.dtype == bool else key % max(1, len(self))
        return self._read(key)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self):
        return f"LazyRows({self.kind}{self.shape})"


class DaskRows(LazyRows):
    """Rows of a dask array."""

    def __init__(self, table):
        if any(np.isnan(size) for size in table.shape):
            raise ValueError(
                "X is a dask array of unknown length; call X.compute_chunk_sizes() before."
            )
        super().__init__(table)

    @property
    def shape(self):
        return tuple(int(size) for size in self._table.shape)

    @property
    def dtype(self):
        """Data type of the values."""
        return self._table.dtype

    def _read(self, key):
        # Work that is already spread over workers is not to be sent to a cluster once more.
        return np.ascontiguousarray(self._table[key].compute(scheduler="synchronous"))


class ArrowRows(LazyRows):
    """Rows of an Arrow table, which are read as a DataFrame.

    The types of a DataFrame would depend on whether a block has missing values; here they depend on
    whether the table has any.
    """

    def __init__(self, table):
        import pyarrow

        table, self._objects = table.unify_dictionaries(), []
        fields = []
        for field, column in zip(table.schema, table.columns, strict=True):
            if column.null_count and pyarrow.types.is_integer(field.type):
                field = field.with_type(pyarrow.float64())
            elif column.null_count and pyarrow.types.is_boolean(field.type):
                self._objects.append(field.name)
            fields.append(field)
        self._schema = pyarrow.schema(fields)
        super().__init__(table)

    @property
    def shape(self):
        return self._table.shape

    def _read(self, key):
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                rows = self._table.slice(start, max(0, stop - start))
            else:
                rows = self._table.take(np.arange(start, stop, step))
        else:
            rows = self._table.take(key)
        frame = rows.cast(self._schema).to_pandas()
        return frame.astype(dict.fromkeys(self._objects, object)) if self._objects else frame


def as_lazy(X):
    """Return rows to read block by block, or None for tables that are in memory."""
    root = type(X).__module__.partition(".")[0]
    if root == "dask" and hasattr(X, "compute") and hasattr(X, "chunks"):
        return DaskRows(X)
    if root == "pyarrow" and hasattr(X, "unify_dictionaries"):
        return ArrowRows(X)
    return X if isinstance(X, LazyRows) else None


def is_lazy(rows):
    return isinstance(rows, LazyRows)


def in_memory(rows):
    """Return all rows in memory, of any container."""
    return rows[:] if is_lazy(rows) else rows
