"""Operations that differ between the kinds of X."""

import os
import sys
import warnings
from abc import ABC, abstractmethod
from contextlib import contextmanager
from copy import copy
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from .escaping import visible
from .optional import import_optional
from .out_of_core import empty_table, find_where, take_table

_TABLE_ROWS = 1 << 16  # that are read at once of a table that is not in memory


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
    """Return where the bytes of an array are in a file.

    Return place: None if it is not mapped from a file, or not without gaps, or differs from the
    file.
    """
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
        return len(self.shape)

    @property
    @abstractmethod
    def shape(self):
        """Number of rows, and shape of a row."""

    @abstractmethod
    def _read(self, key):
        """Return rows in memory."""

    @abstractmethod
    def append(self, others):
        """Return the rows with others of the same class behind them, still not read."""

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
        return self._table.dtype

    def _read(self, key):
        # Work that is already spread over workers is not to be sent to a cluster once more.
        return np.ascontiguousarray(self._table[key].compute(scheduler="synchronous"))

    def append(self, others):
        import dask.array as da

        return type(self)(da.concatenate([self._table, *(other._table for other in others)]))


class TableRows(LazyRows):
    """Rows of a table with named columns, of which blocks are read by its library.

    What as_table gives of other tables, it has itself: columns, select, drop and to_native.
    """

    def __init__(self, table, blocks, lengths, columns):
        super().__init__(table)
        self._blocks, self.columns = blocks, list(columns)
        self._starts = np.cumsum([0, *lengths])
        if not blocks:
            raise ValueError(f"X is a {self.kind} without rows.")

    @property
    def shape(self):
        return int(self._starts[-1]), len(self.columns)

    @abstractmethod
    def _list_tables(self, block):
        """Yield the tables of a block, one below the other, with the columns in their order."""

    def _read(self, key):
        rows = np.arange(*key.indices(len(self))) if isinstance(key, slice) else key
        order = None if (rows[1:] >= rows[:-1]).all() else np.argsort(rows, kind="stable")
        wanted = rows if order is None else rows[order]
        numbers = np.unique(np.searchsorted(self._starts, wanted, "right") - 1)
        parts = self._list_parts(wanted, numbers if len(wanted) else [0])  # one, for its types
        table = self._join(parts, len(wanted))
        return table if order is None else take_rows(table, np.argsort(order))

    def _join(self, parts, n_rows):
        return _join_frames(parts, n_rows)

    def _list_parts(self, wanted, numbers):
        for number in numbers:
            start, stop = np.searchsorted(wanted, self._starts[[number, number + 1]])
            rows = wanted[start:stop] - self._starts[number]
            yield from self._take(self._blocks[number], rows)

    def _take(self, block, rows):
        """Take some rows of a block, which are sorted, from each of its tables."""
        first = 0
        for table in self._list_tables(block):
            start, stop = np.searchsorted(rows, [first, first + len(table)])
            if stop > start or not len(rows):
                yield take_rows(table, rows[start:stop] - first)
            if stop == len(rows):
                return
            first += len(table)

    @property
    def kind(self):
        return f"{type(self._table).__module__.partition('.')[0]}.{super().kind}"

    def append(self, others):
        _check_joined_tables([rows[:0] for rows in (self, *others)])
        joined = copy(self)
        joined._blocks = [block for rows in (self, *others) for block in rows._blocks]
        lengths = [np.diff(rows._starts) for rows in (self, *others)]
        joined._starts = np.cumsum([0, *np.concatenate(lengths)])
        return joined

    def select(self, columns):
        """Return the rows with some of the columns, still not read."""
        chosen = copy(self)
        chosen.columns = list(columns)
        return chosen

    def drop(self, columns):
        """Return the rows without some of the columns, still not read."""
        return self.select([name for name in self.columns if name not in columns])

    def to_native(self):
        """Return the rows themselves."""
        return self


class FileRows(TableRows):
    """Rows of a data set of Arrow, such as a folder of parquet, as frames of pandas."""

    def __init__(self, table):
        import pyarrow as pa
        import pyarrow.dataset as ds

        blocks, lengths, self._settings = [], [], {}
        for file in table.get_fragments():
            is_parquet = isinstance(file, ds.ParquetFileFragment)
            parts = file.split_by_row_group() if is_parquet else [file]
            blocks += parts
            lengths += [
                part.row_groups[0].num_rows if is_parquet else part.count_rows() for part in parts
            ]
            if is_parquet:  # otherwise files are read ahead, several at a time
                how = ds.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
                self._settings = {"fragment_scan_options": how}
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        names = [name for name in table.schema.names if name not in index]
        super().__init__(table, blocks, lengths, names)
        # Files may number categories each in its own way, and a block that lacks no number has
        # another type than one that does: both are those of the whole table.
        self._categories, self._types = {}, {}
        for name in names:
            kind = table.schema.field(name).type
            if pa.types.is_dictionary(kind):
                column = table.to_table(columns=[name]).unify_dictionaries().column(0)
                self._categories[name] = column.combine_chunks().dictionary
            elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
                if table.count_rows(filter=ds.field(name).is_null()):
                    empty = pa.table({name: pa.nulls(1, kind)})
                    empty = empty.replace_schema_metadata(table.schema.metadata)
                    self._types[name] = empty.to_pandas()[name].dtype

    def _list_tables(self, block):
        import pyarrow as pa
        import pyarrow.compute as pc

        schema, how = self._table.schema, {"use_threads": False, "batch_readahead": 0}
        how |= {"batch_size": _TABLE_ROWS, "columns": self.columns, "schema": schema}
        for batch in block.to_batches(**how, **self._settings):
            columns = dict(zip(self.columns, batch.columns, strict=True))
            for name in self._categories.keys() & columns.keys():
                kind, known = schema.field(name).type, self._categories[name]
                codes = pc.index_in(columns[name].dictionary_decode(), known)
                columns[name] = pa.DictionaryArray.from_arrays(
                    codes.cast(kind.index_type), known, ordered=kind.ordered
                )
            table = pa.table(columns).replace_schema_metadata(schema.metadata)
            frame = table.to_pandas(ignore_metadata=False)
            frame.index = pd.RangeIndex(len(frame))
            types = {k: kind for k, kind in self._types.items() if k in columns}
            yield frame.astype(types) if types else frame


class PolarsRows(TableRows):
    """Rows of a lazy frame of polars, as its frames."""

    def __init__(self, table):
        import polars as pl

        n_rows = table.select(pl.len()).collect().item()
        starts = range(0, n_rows, _TABLE_ROWS)
        blocks = [table.slice(start, _TABLE_ROWS) for start in starts]
        lengths = [min(_TABLE_ROWS, n_rows - start) for start in starts]
        super().__init__(table, blocks, lengths, table.collect_schema().names())

    def _list_tables(self, block):
        yield block.select(self.columns).collect()

    def _join(self, parts, n_rows):
        return concat_rows(list(parts))


class DaskFrameRows(TableRows):
    """Rows of a dask frame, as frames of pandas."""

    def __init__(self, table):
        for name, dtype in table.dtypes.items():
            if isinstance(dtype, pd.CategoricalDtype) and not table[name].cat.known:
                raise ValueError("X has categories that dask does not know; call X.categorize().")
        lengths = table.map_partitions(len).compute(scheduler="synchronous")
        blocks = [table.partitions[k] for k in range(table.npartitions)]
        super().__init__(table, blocks, lengths, table.columns)

    def _list_tables(self, block):
        yield block[self.columns].compute(scheduler="synchronous").reset_index(drop=True)


def as_lazy(X):
    """Return rows to read block by block, or None for tables that are in memory."""
    root = type(X).__module__.partition(".")[0]
    if isinstance(X, str | os.PathLike):
        said = f"X must be an array, a DataFrame or the path of parquet; {visible(str(X))} is none"
        if not os.path.exists(X):
            raise ValueError(f"{said}, and no file either.")
        dataset = import_optional("pyarrow.dataset", "arrow")
        try:
            return FileRows(dataset.dataset(X))
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:100]
            raise ValueError(f"{said} ({reason}).") from error
    if root == "dask" and hasattr(X, "compute"):
        if hasattr(X, "chunks"):
            return DaskRows(X)
        return DaskFrameRows(X) if hasattr(X, "columns") else None
    if root == "polars" and hasattr(X, "collect"):
        return PolarsRows(X)
    if root == "pyarrow" and hasattr(X, "get_fragments"):
        return FileRows(X)
    return X if isinstance(X, LazyRows) else None


def is_lazy(rows):
    return isinstance(rows, LazyRows)


def in_memory(rows):
    """Return all rows in memory, and those of any table as a DataFrame of pandas."""
    rows = rows[:] if is_lazy(rows) else rows
    foreign = as_foreign(rows)
    return rows if foreign is None else to_pandas(foreign)


def is_frame(X):
    return isinstance(X, pd.DataFrame)


def frame_to_numpy(X):
    """Return the values of a DataFrame; a bool beside other numbers is a number, not an object."""
    values = X.to_numpy()
    are_numbers = all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)
    if values.dtype != object or not are_numbers or X.isna().any(axis=None):
        return values
    # The type that scikit-learn takes; nullable columns become floats there.
    kinds = [dtype if isinstance(dtype, np.dtype) else np.float64 for dtype in X.dtypes]
    return X.to_numpy(dtype=np.result_type(*kinds))


def as_foreign(X):
    """Return a table of a library other than pandas as narwhals sees it, None for anything else."""
    known = np.ndarray | pd.DataFrame | LazyRows | list | tuple | None
    if isinstance(X, known) or sparse.issparse(X) or is_tensor(X):
        return None
    import narwhals.stable.v2 as nw  # late: it takes 0.04 s, which programs with arrays can save

    try:
        table = nw.from_native(X, pass_through=True)
    except ValueError:  # narwhals reads columns by their names
        raise ValueError("X has columns of one name; give each its own.") from None
    return table if isinstance(table, nw.DataFrame) else None


def take_column(table, name):
    """Return a column of what :func:`as_table` returns, as a Series of pandas."""
    table = in_memory(table.select([name])) if is_lazy(table) else table
    return table[name] if is_frame(table) else to_series(table[name])


def is_foreign(X):
    """Return whether X is a table of a library other than pandas, such as polars or Arrow."""
    return as_foreign(X) is not None


def refuse_foreign_table(X, who):
    """Refuse tables of other libraries where rows are changed."""
    if is_foreign(X):
        raise ValueError(
            f"{who} changes values of records, in arrays and pandas tables; got "
            f"{describe_container(X)}. Convert it: Records(X.to_pandas(), y)."
        )


def to_pandas(foreign):
    """Return a table as a DataFrame of pandas in which each number has the type that it had.

    The methods of polars and Arrow make floats of integers if some are missing.
    """
    columns = {name: to_series(foreign[name]) for name in foreign.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(foreign)))


def to_series(column):
    """Return a column that narwhals reads as a Series of pandas."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum):
        known = column.cat.get_categories().to_list()
        return pd.Series(pd.Categorical(column.to_list(), known))
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        moments = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return pd.Series(moments.to_numpy()).dt.tz_localize("UTC")
    if isinstance(dtype, nw.Float32 | nw.Float64 | nw.Datetime | nw.Duration):
        return pd.Series(column.to_numpy())  # NaN and NaT where values are missing
    if not isinstance(dtype, nw.Boolean) and (not dtype.is_integer() or "128" in str(dtype)):
        return pd.Series(column.to_list(), dtype=object)
    if not column.null_count():
        return pd.Series(column.to_numpy())
    values = column.fill_null(False if isinstance(dtype, nw.Boolean) else 0).to_numpy()
    held = pd.arrays.BooleanArray if values.dtype == bool else pd.arrays.IntegerArray
    return pd.Series(held(np.array(values), np.array(column.is_null().to_numpy())))


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


def copy_frame(X):
    """Return a frame whose rows a model can change in place; other rows as they are.

    Arrays of records are read-only, but scikit-learn writes into those of a frame.
    """
    return X.copy() if is_frame(X) else X


def to_numpy(tensor):
    """Return the values of a tensor; bfloat16, which numpy lacks, becomes float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


class PackedTensor(NamedTuple):
    """A tensor as it travels: its own rows only, in bytes that depend on the content alone.

    A tensor that is pickled takes along the whole storage that it is a view of, and its address.
    """

    values: np.ndarray
    shape: tuple
    dtype: str
    device: str


def pack(rows):
    """Return a form of the rows that pickles to equal bytes for equal content."""
    if not is_tensor(rows):
        return rows
    torch = sys.modules["torch"]
    values = rows.detach().cpu().reshape(-1).view(torch.uint8).numpy()
    dtype = str(rows.dtype).removeprefix("torch.")
    return PackedTensor(values, tuple(rows.shape), dtype, str(rows.device))


def unpack(rows):
    """Return the rows as they were before :func:`pack`, or where they are mapped from."""
    if isinstance(rows, Mapped):
        return rows.open()
    if not isinstance(rows, PackedTensor):
        return rows
    import torch

    tensor = torch.empty(rows.shape, dtype=getattr(torch, rows.dtype))
    tensor.reshape(-1).view(torch.uint8).numpy()[:] = rows.values
    return tensor.to(rows.device)


def read_only(rows):
    """Return a view of an array that cannot be written to; other containers as they are."""
    if not isinstance(rows, np.ndarray):
        return rows
    view = rows.view()
    view.flags.writeable = False
    return view


def check_single_values(X, who):
    """Refuse records in which single values cannot be replaced: without rows and columns."""
    refuse_foreign_table(X, who)
    if sparse.issparse(X) or X.ndim != 2:
        raise ValueError(
            f"{who} needs X with rows and columns, a DataFrame, an array or a tensor; got "
            f"{type(X).__name__} with {X.ndim} axes."
        )


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


# What brings the rows of a table of each library into memory.
_CURES = {"pyspark": "X.toPandas()", "duckdb": "X.to_arrow_table()", "ibis": "X.to_pyarrow()"}
_CURES |= {"pyarrow": "X.to_table()"}


def _refuse_unread(X):
    """Refuse tables that are not in memory, or not known: as an array they would be loaded."""
    marks = "columns", "__dataframe__", "to_table"
    if not any(hasattr(type(X), name) for name in marks):
        return
    root = type(X).__module__.partition(".")[0]
    if root == "pyarrow" and hasattr(X, "to_pandas"):  # a batch
        cure = "pyarrow.Table.from_batches([X])"
    else:
        cure = _CURES.get(root, "X.to_pandas()")
    raise TypeError(
        f"X is a {root} {type(X).__name__}, which is not read as it is; give {cure}, or for more "
        "rows than fit memory a folder of parquet or a memory-mapped array."
    )


def as_rows(X):
    """Turn X into one of the supported containers of rows without copying it."""
    refuse_masked(X, "X")
    lazy, foreign = as_lazy(X), as_foreign(X)
    if foreign is not None:
        return foreign.to_native()
    if lazy is None and not is_frame(X):
        _refuse_unread(X)
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
    """Return rows ``key`` (a slice or an index array) of any supported container."""
    if rows is None:
        return None
    if is_frame(rows):
        return rows.iloc[key]
    if is_tensor(rows) and not isinstance(key, slice):
        return rows[sys.modules["torch"].as_tensor(np.array(key), device=rows.device)]
    is_plain = type(rows) in (np.ndarray, np.memmap) and rows.flags.c_contiguous
    if is_plain and isinstance(key, np.ndarray) and key.dtype.kind in "iu":
        return take_table(rows, key)
    foreign = as_foreign(rows)
    return rows[key] if foreign is None else _take_foreign(foreign, key)


def find_rows(mask):
    """Return the positions of the rows where a mask is True, shape (n_true,)."""
    return find_where(mask)


def empty_rows(n_rows, like, dtype=None):
    """Return an array for so many rows of the shape and type of others, in a file if large."""
    return empty_table((n_rows, *like.shape[1:]), like.dtype if dtype is None else dtype)


def _take_foreign(table, key):
    if isinstance(key, slice):
        start, stop, step = key.indices(len(table))
        if step == 1:
            return table[start : max(start, stop)].to_native()
    return table[np.arange(len(table))[key]].to_native()


def align_columns(rows, like):
    """Return a table with its columns in the order of another one, if they have the same names."""
    table, model = as_table(rows), as_table(like)
    if table is None or model is None or type(rows) is not type(like):
        return rows
    names, wanted = list(table.columns), list(model.columns)
    if names == wanted or len(set(names)) < len(names) or set(names) != set(wanted):
        return rows
    return choose_columns(rows, wanted)


def choose_columns(rows, names):
    """Return columns of a table by their names, in this order."""
    return rows[names] if is_frame(rows) else as_table(rows).select(names).to_native()


def as_table(rows):
    """Return rows of pandas, or those of another table as narwhals sees them; None for no table."""
    return rows if is_frame(rows) or isinstance(rows, TableRows) else as_foreign(rows)


def table_to_rows(values):
    """Return a table of any library as an array of its rows, and anything else as it is."""
    read = load_table(values)
    return frame_to_numpy(read) if is_frame(read) else read


def load_table(values):
    """Return a table of any library as a DataFrame of pandas, and anything else as it is."""
    lazy = None if isinstance(values, str | os.PathLike) else as_lazy(values)
    return in_memory(values if lazy is None else lazy)


# Kinds of columns of pandas of which any two can be joined without another meaning of the values.
_FAMILIES = (
    ("truth values", pd.api.types.is_bool_dtype),
    ("categories", lambda dtype: isinstance(dtype, pd.CategoricalDtype)),
    ("numbers", pd.api.types.is_numeric_dtype),
    ("text", lambda dtype: dtype.kind == "O"),
    ("times", lambda dtype: dtype.kind in "mM"),
)


def _get_family(dtype):
    return next((name for name, is_kind in _FAMILIES if is_kind(dtype)), str(dtype))


def _check_joined_tables(parts):
    """Refuse tables that differ in their columns, or in the types of a column."""
    tables = [as_table(part) for part in parts]
    first = list(tables[0].columns)
    for table in tables[1:]:
        names = list(table.columns)
        if names != first:
            odd = [*(name for name in first if name not in names)]
            odd += [name for name in names if name not in first]
            which = f"; only one has {', '.join(map(visible, map(str, odd[:5])))}" if odd else ""
            raise ValueError(
                f"Tables can be joined only if they have the same columns in the same order{which}."
            )
        kinds = [_list_column_kinds(table) for table in (tables[0], table)]
        for name, one, other in zip(first, *kinds, strict=True):
            if one != other:
                raise ValueError(
                    f"Column {visible(str(name))} cannot be joined: it holds {one} in one table "
                    f"and {other} in another. Convert it to one type."
                )


def _list_column_kinds(table):
    if is_frame(table):
        return [_get_family(dtype) for dtype in table.dtypes]
    return [str(dtype) for dtype in table.schema.values()]


def concat_columns(columns):
    """Join columns of pandas; one of categories keeps the codes of the first column."""
    if isinstance(columns[0].dtype, pd.CategoricalDtype):
        is_ordered = all(getattr(column.dtype, "ordered", True) for column in columns)
        columns = [column.astype("category") for column in columns]
        known = columns[0].cat.categories
        for column in columns[1:]:
            known = known.append(column.cat.categories.difference(known, sort=False))
        dtype = pd.CategoricalDtype(known, ordered=is_ordered)
        columns = [column.astype(dtype) for column in columns]
    return pd.concat(columns, ignore_index=True)


def _concat_frames(parts):
    """Join tables of pandas, column by column."""
    whole = [concat_columns([part.iloc[:, j] for part in parts]) for j in range(parts[0].shape[1])]
    if not whole:
        return pd.concat(parts, ignore_index=True)
    frame = pd.concat(whole, axis=1)
    frame.columns = parts[0].columns
    return frame


def _join_frames(parts, n_rows):
    """Join frames of pandas of equal types, each of which is dropped once it is copied.

    Numbers of one type are one array, which a model can take without a further copy.
    """
    arrays, others, stop = {}, {}, 0
    for part in parts:
        start, stop = stop, stop + len(part)
        for dtype in part.dtypes.unique():
            names = part.columns[part.dtypes == dtype]
            if not isinstance(dtype, np.dtype) or dtype.kind == "O":
                for name in names:
                    others.setdefault(name, []).append(part[name])
                continue
            if dtype not in arrays:
                arrays[dtype] = names, empty_table((len(names), n_rows), dtype)
            arrays[dtype][1][:, start:stop] = part[names].to_numpy().T
    joined = [pd.DataFrame(array.T, columns=names, copy=False) for names, array in arrays.values()]
    joined += [pd.concat(columns, ignore_index=True).to_frame() for columns in others.values()]
    return joined[0] if len(joined) == 1 else pd.concat(joined, axis=1)[list(part.columns)]


def concat_rows(parts, what="rows"):
    """Stack containers of one kind below each other."""
    first = parts[0]
    if first is None:
        return None
    if is_lazy(first):
        return first.append(parts[1:])
    if any(is_tensor(part) != is_tensor(first) for part in parts):
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in parts))
        raise ValueError(f"Containers of different kinds cannot be joined: {kinds}.")
    if is_frame(first):
        _check_joined_tables(parts)
        return _concat_frames(parts)
    if is_foreign(first):
        import narwhals.stable.v2 as nw

        _check_joined_tables(parts)
        return nw.concat([as_foreign(part) for part in parts]).to_native()
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
        raise ValueError(
            f"Text and numbers cannot be joined in one array: {kinds}. Convert the {what} to one."
        )
    return rows


def describe_container(rows):
    """Return the kind, shape and type of a container, for messages and reprs."""
    dtype = f", {rows.dtype}" if hasattr(rows, "dtype") else ""
    return f"{name_kind(rows)}{tuple(rows.shape)}{dtype}"


def name_kind(rows):
    """Return the name of the class of a container, with its library where that is not plain."""
    if is_lazy(rows):
        return rows.kind
    name = type(rows).__name__
    return f"{type(rows).__module__.partition('.')[0]}.{name}" if is_foreign(rows) else name
