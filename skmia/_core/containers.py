"""Operations that differ between the kinds of X."""

import os
import sys
import warnings
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from .visible import visible


class Mapped(NamedTuple):
    """Place of the bytes of an array in a file."""

    path: str
    dtype: np.dtype
    offset: int
    shape: tuple

    def open(self):
        """Map the array, which cannot be written to."""
        if not os.path.exists(self.path):
            raise FileNotFoundError(
                f"The records are mapped from {self.path}, which does not exist here; with "
                "on_disk=True all workers must share its file system."
            )
        return np.asarray(np.memmap(self.path, self.dtype, "r", self.offset, self.shape))


def get_place(array):
    """Return where the bytes of an array are in a file."""
    # -> place: None if it is not mapped from a file, or not without gaps, or differs from the file
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or array.dtype.hasobject:
        return None
    source = array
    while isinstance(source, np.ndarray) and not _is_whole_map(source):
        source = source.base
    if not isinstance(source, np.memmap) or source.filename is None or source.mode == "c":
        return None
    source.flush()
    offset = source.offset + array.ctypes.data - source.ctypes.data
    return Mapped(os.path.abspath(source.filename), array.dtype, offset, array.shape)


def _is_whole_map(array):
    return isinstance(array, np.memmap) and not isinstance(array.base, np.ndarray)


class LazyRows(ABC):
    """Rows that are read when they are asked for; a slice or index array gives rows in memory."""

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
    """Rows of an Arrow table, which are read as a DataFrame."""

    # The types of a DataFrame would depend on whether a block has missing values; here they depend
    # on whether the table has any.

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


def is_frame(X):
    return isinstance(X, pd.DataFrame)


def is_tensor(X):
    # A tensor exists only where torch has been imported already: nothing is imported to ask.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


@contextmanager
def accepting_read_only():
    """Let torch read arrays of records and memory maps, which are read-only and stay so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
        yield


def to_numpy(tensor):
    """Return the values of a tensor; bfloat16, which numpy lacks, becomes float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


class PackedTensor(NamedTuple):
    """A tensor as it travels: its own rows only, in bytes that depend on the content alone."""

    # A tensor that is pickled takes along the whole storage that it is a view of, and its address.

    values: np.ndarray
    shape: tuple
    dtype: str
    device: str


def pack(rows):
    """A form of the rows that pickles to equal bytes for equal content."""
    if not is_tensor(rows):
        return rows
    torch = sys.modules["torch"]
    values = rows.detach().cpu().reshape(-1).view(torch.uint8).numpy()
    dtype = str(rows.dtype).removeprefix("torch.")
    return PackedTensor(values, tuple(rows.shape), dtype, str(rows.device))


def unpack(rows):
    """The rows as they were before :func:`pack`, or where they are mapped from."""
    if isinstance(rows, Mapped):
        return rows.open()
    if not isinstance(rows, PackedTensor):
        return rows
    import torch

    tensor = torch.empty(rows.shape, dtype=getattr(torch, rows.dtype))
    tensor.reshape(-1).view(torch.uint8).numpy()[:] = rows.values
    return tensor.to(rows.device)


def read_only(rows):
    """A view of an array that cannot be written to; other containers as they are."""
    if not isinstance(rows, np.ndarray):
        return rows
    view = rows.view()
    view.flags.writeable = False
    return view


def refuse_masked(values, name):
    """Refuse a masked array that hides values, as what is hidden would be read all the same."""
    n_hidden = np.ma.count_masked(values) if isinstance(values, np.ma.MaskedArray) else 0
    if n_hidden:
        raise ValueError(
            f"{name} is a masked array that hides {n_hidden} of {values.size} values; fill them "
            "(numpy.ma.MaskedArray.filled) or drop their rows."
        )


def _refuse_bytes(frame):
    """Refuse columns of numpy's bytes, which pandas keeps but can neither count nor compare."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if dtype.kind == "S":
            raise ValueError(
                f"Column {visible(name)} of X holds bytes of type {dtype}, with which pandas "
                "cannot work; turn them into text, for example with astype(str)."
            )


def as_rows(X):
    """Turn X into one of the supported containers of rows without copying it."""
    refuse_masked(X, "X")
    lazy = as_lazy(X)
    if lazy is not None:
        rows = lazy
    elif is_tensor(X):
        rows = X.detach() if X.requires_grad else X  # records are not part of a graph
    elif is_frame(X):
        _refuse_bytes(X)
        rows = X
    elif sparse.issparse(X):
        rows = X.tocsr()
    elif hasattr(X, "__len__") or hasattr(X, "__array__"):
        try:
            rows = read_only(np.asarray(X))
        except ValueError:  # lists of different lengths; text beside bytes
            raise ValueError(
                "X must hold rows of equal length, with one value, text or a number, in each cell."
            ) from None
    else:
        rows = None
    if rows is None or rows.ndim == 0:
        raise TypeError(
            "X must be an array, a DataFrame, a sparse matrix or a torch tensor with one row per "
            f"record; got {type(X).__name__}."
        )
    return rows


def take_rows(rows, key):
    """Rows ``key`` (a slice or an index array) of any supported container."""
    if rows is None:
        return None
    if is_frame(rows):
        return rows.iloc[key]
    if is_tensor(rows) and not isinstance(key, slice):
        return rows[sys.modules["torch"].as_tensor(np.array(key), device=rows.device)]
    return rows[key]


def concat_rows(parts):
    """Stack containers of one kind below each other."""
    first = parts[0]
    if first is None:
        return None
    if is_lazy(first):
        parts = [part[:] for part in parts]
        first = parts[0]
    if any(is_tensor(part) != is_tensor(first) for part in parts):
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in parts))
        raise ValueError(f"Containers of different kinds cannot be joined: {kinds}.")
    if is_frame(first):
        if not all(part.columns.equals(first.columns) for part in parts):
            raise ValueError(
                "Tables can be joined only if they have the same columns in the same order."
            )
        return pd.concat(parts, ignore_index=True)
    if len({tuple(part.shape[1:]) for part in parts}) > 1 and not hasattr(first, "concat"):
        shapes = ", ".join(f"{tuple(part.shape[1:])}" for part in parts)
        raise ValueError(f"Rows can be joined when they have one shape; got rows of {shapes}.")
    if is_tensor(first):
        return sys.modules["torch"].cat(parts)
    if sparse.issparse(first):
        return type(first)(sparse.vstack(parts, format="csr"))  # old scipy gives a matrix always
    if hasattr(first, "concat"):
        return first.concat(parts)
    try:
        rows = np.concatenate(parts)
    except TypeError:  # dates beside numbers
        kinds = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
        raise ValueError(f"Arrays of these types cannot be joined: {kinds}.") from None
    if rows.dtype.kind in "US" and any(part.dtype.kind not in "US" for part in parts):
        kinds = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
        raise ValueError(f"Text and numbers cannot be joined in one array: {kinds}.")
    return rows


def describe_rows(rows):
    """Kind, shape and type of a container, for messages and reprs."""
    kind = rows.kind if is_lazy(rows) else type(rows).__name__
    dtype = f", {rows.dtype}" if hasattr(rows, "dtype") else ""
    return f"{kind}{tuple(rows.shape)}{dtype}"
