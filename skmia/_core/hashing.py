"""Content hashes of records: equal records get equal hashes, whatever container holds them."""

import hashlib
import math
from hashlib import blake2b
from itertools import groupby, pairwise
from struct import iter_unpack
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
from scipy import sparse

from .containers import in_memory, is_foreign, is_frame, is_lazy, is_tensor, take_rows, to_numpy
from .out_of_core import (
    are_among,
    empty_table,
    find_first,
    find_repeated,
    find_smallest,
    number_table,
    take_table,
    take_where,
)

TOKEN_BYTES = 16
_NUMBER_KINDS = "biufcMm"
_LARGEST_CACHE = 1 << 17


def number_bytes(values):
    """Return the bytes of numbers of shape (n, d): -0.0 is 0.0, and all NaN are one.

    Return cells of shape (n, d * width), dtype uint8.
    """
    if values.size == 0:
        return np.zeros((len(values), 0), dtype=np.uint8)
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    if values.dtype.kind == "f":
        values = values + values.dtype.type(0)
        missing = np.isnan(values)
        if missing.any():
            values[missing] = np.nan
        if values.dtype.itemsize > 8:
            # Extended precision has bytes that hold nothing, with whatever was there before.
            mantissa, exponent = np.frexp(values)
            high = mantissa.astype(np.float64)
            low = (mantissa - high).astype(np.float64)
            values = np.stack([high, low, exponent.astype(np.float64)], axis=-1)
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return values.reshape(len(values), -1).view(np.uint8)


class CellTokens:
    """Sixteen bytes for each object: text, numbers, dates, lists.

    Text is text, however it is held. Numbers are compared as Python compares them, so that 1, 1.0
    and True are equal in a column of objects. All missing values are one.
    """

    def __init__(self):
        self._known = {}

    def encode(self, cells):
        """Return tokens of an array of objects of shape (n, d), as uint8 of shape (n, d * 16)."""
        found = b"".join([self._find(cell) for cell in cells.reshape(-1).tolist()])
        return np.frombuffer(found, dtype=np.uint8).reshape(len(cells), -1)

    def _find(self, cell):
        if type(cell) is not str:
            return _hash_object(cell)
        token = self._known.get(cell)
        if token is None:
            if len(self._known) == _LARGEST_CACHE:
                self._known.clear()
            token = self._known[cell] = _hash_object(cell)
        return token


def _hash_object(cell):
    return hashlib.blake2b(_encode_cell(cell), digest_size=TOKEN_BYTES).digest()


def _encode_cell(cell):
    if isinstance(cell, str):
        return b"text " + cell.encode("utf-8", "surrogatepass")
    if isinstance(cell, bytes):
        return b"bytes " + cell
    if isinstance(cell, bool | int | np.integer | np.bool_):
        return b"number %x" % int(cell)
    if isinstance(cell, float | np.floating):
        return _describe_float(cell)
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return b"missing"
    try:
        return b"object " + joblib.hash(cell, hash_name="sha1").encode()
    except Exception as error:  # pickling runs code of the cell's class
        raise TypeError(
            f"A cell holds a {type(cell).__name__}, whose content cannot be read "
            f"({type(error).__name__}: {error}); records are compared by content."
        ) from None


def _describe_float(cell):
    if cell != cell:
        return b"missing"
    as_float = float(cell)
    if as_float != cell:
        return b"long " + repr(cell).encode()
    if as_float.is_integer():
        return b"number %x" % int(as_float)
    return b"number " + as_float.hex().encode()


class HashedColumn(NamedTuple):
    """Cells of one type. ``missing`` marks missing cells if the type of numbers has no NaN."""

    type: str
    values: object  # numbers: ndarray; objects: what take_objects reads
    missing: np.ndarray | None = None


OBJECTS = "object"


def as_column(column):
    """Return the cells of a Series or an array under the name of their type."""
    if isinstance(column, pd.Series):
        return _from_series(column)
    if column.dtype.kind == "V":
        raise TypeError(
            f"Records of a structured array ({column.dtype}) cannot be compared; use a DataFrame."
        )
    if column.dtype.kind not in _NUMBER_KINDS:
        return HashedColumn(OBJECTS, column)
    if column.dtype.kind in "Mm":
        moments = column.astype(column.dtype.newbyteorder("="), copy=False)
        return HashedColumn(column.dtype.name, moments.view(np.int64))
    return HashedColumn(column.dtype.name, column)


def _from_series(column):
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        return as_column(np.asarray(column, dtype=dtype.subtype))
    if isinstance(dtype, pd.DatetimeTZDtype):
        moments = as_column(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return moments._replace(type=f"{moments.type} UTC")
    # pandas' own types of numbers wrap numpy's types.
    held = getattr(dtype, "numpy_dtype", dtype)
    if not isinstance(held, np.dtype) or held.kind not in _NUMBER_KINDS:
        return HashedColumn(OBJECTS, column)
    if held is dtype:
        return as_column(column.to_numpy())
    if held.kind not in "biu":
        missing = held.type("NaT" if held.kind in "Mm" else "nan")
        return as_column(column.to_numpy(dtype=held, na_value=missing))
    values = column.to_numpy(dtype=held, na_value=held.type(0))
    return HashedColumn(held.name, values, column.isna().to_numpy())


def take_objects(values, rows):
    """Return the cells of a slice of rows, as an array of objects."""
    if isinstance(values, pd.Series):
        return values.iloc[rows].to_numpy(dtype=object)
    return values[rows].astype(object)


_BLOCK_BYTES = 1 << 20
_DIGEST_BYTES = 16
_LAZY_ROWS = 1 << 16  # that are read at once of a table that is not of pandas
# A row in which fewer than one number in so many is not zero is hashed by these alone: a sparse
# row and its dense form agree, at the cost of the sparse one.
_FEW = 4


class _HashedNumbers:
    """A table of numbers of one type, dense or sparse."""

    def __init__(self, columns, number_type):
        self._columns = columns
        n_columns = sum(_count_cell_columns(column.values) for column in columns)
        self.types = f"{number_type} x {n_columns}"
        self.row_bytes = _count_bytes(columns, n_columns)
        self._may_miss = any(column.missing is not None for column in columns)

    def forms(self, rows):
        """Yield the parts of a block: the form, which rows have it, and their bytes."""
        values = self._take(rows)
        holes, list_holes = self._list_holes(rows, values)
        few = ~holes & (_FEW * _count_non_zero(values) < values.shape[1])
        yield "dense", ~(holes | few), lambda which: number_bytes(_take_dense(values, which))
        yield "sparse", few, lambda which: _list_sparse(values[which])
        yield "missing", holes, list_holes

    def _list_holes(self, rows, values):
        if not self._may_miss:
            return np.zeros(values.shape[0], dtype=bool), None
        missing = _stack_missing(self._columns, rows, len(values))
        return missing.any(axis=1), lambda which: _hash_missing_cells(
            number_bytes(values[which]), missing[which]
        )

    def _take(self, rows):
        if len(self._columns) == 1 and self._columns[0].values.ndim == 2:
            return self._columns[0].values[rows]
        return np.stack([column.values[rows] for column in self._columns], axis=1)


class _HashedCells:
    """A table of columns of several types, or of objects."""

    def __init__(self, columns):
        self._columns, self._tokens = columns, CellTokens()
        runs = groupby(column.type for column in columns)
        self.types = ", ".join(f"{name} x {sum(1 for _ in run)}" for name, run in runs)
        self.row_bytes = TOKEN_BYTES * len(columns)
        self._may_miss = any(column.missing is not None for column in columns)

    def forms(self, rows):
        cells = self.take(rows)
        if not self._may_miss:
            yield "dense", np.ones(len(cells), dtype=bool), lambda which: cells
            return
        missing = _stack_missing(self._columns, rows, len(cells))
        holes = missing.any(axis=1)
        yield "dense", ~holes, lambda which: cells[which]
        yield "missing", holes, lambda which: _hash_missing_cells(cells[which], missing[which])

    def take(self, rows):
        """Return the bytes of a block, including missing numbers."""
        parts = [self._encode(column, rows) for column in self._columns]
        return np.concatenate(parts, axis=1)

    def _encode(self, column, rows):
        if column.type == OBJECTS:
            return self._tokens.encode(take_objects(column.values, rows)[:, None])
        return number_bytes(column.values[rows, None])


def _count_cell_columns(values):
    return values.shape[1] if values.ndim == 2 else 1


def _count_bytes(columns, n_columns):
    """Return the bytes of a row as it is hashed, about."""
    values = columns[0].values
    if sparse.issparse(values):
        return _FEW * values.dtype.itemsize * values.nnz // max(1, values.shape[0])
    return n_columns * values.dtype.itemsize


def _stack_missing(columns, rows, n_rows):
    # Where, not how many: a nullable column without a missing value equals an ordinary one.
    none = np.zeros(n_rows, dtype=bool)
    return np.stack([none if c.missing is None else c.missing[rows] for c in columns], axis=1)


def _count_non_zero(values):
    if sparse.issparse(values):
        return np.diff(values.indptr)
    return np.count_nonzero(values, axis=1)


def _take_dense(values, which):
    chosen = values if which.all() else values[which]
    return chosen.toarray() if sparse.issparse(chosen) else chosen


def _list_sparse(values):
    """Return the positions and values of the numbers of each row that are not zero."""
    if sparse.issparse(values):
        stops, places, numbers = values.indptr, values.indices, values.data
    else:
        stops = np.concatenate([[0], np.cumsum(_count_non_zero(values))])
        rows, places = np.nonzero(values)
        numbers = values[rows, places]
    numbers = number_bytes(numbers[:, None])
    width = numbers.shape[1]
    places, numbers = places.astype("<u4").tobytes(), numbers.tobytes()
    return [
        places[4 * start : 4 * stop] + numbers[width * start : width * stop]
        for start, stop in pairwise(stops.tolist())
    ]


def _hash_missing_cells(cells, missing):
    places = (np.flatnonzero(row).astype("<u4").tobytes() for row in missing)
    return [where + row.tobytes() for where, row in zip(places, cells, strict=True)]


def _as_hashed_table(X):
    X = in_memory(X)
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        return _HashedNumbers([HashedColumn(X.dtype.name, X)], X.dtype.name)
    if is_frame(X) and X.shape[1]:
        return _join_hashed_columns([as_column(X.iloc[:, j]) for j in range(X.shape[1])])
    # numpy has no bfloat16, so such numbers come as float32.
    rounded = is_tensor(X) and str(X.dtype) == "torch.bfloat16"
    X = to_numpy(X) if is_tensor(X) else np.asarray(X)
    table = as_column(X.reshape(len(X), math.prod(X.shape[1:])))
    if table.type == OBJECTS:
        return _HashedCells([HashedColumn(OBJECTS, column) for column in table.values.T])
    return _HashedNumbers([table], "bfloat16" if rounded else table.type)


def _join_hashed_columns(columns):
    types = {column.type for column in columns}
    if len(types) == 1 and types != {OBJECTS}:
        return _HashedNumbers(columns, *types)
    return _HashedCells(columns)


def _digest_rows(head, rows, labels):
    """Return the digests of rows of bytes, each with its label behind it."""
    if isinstance(rows, np.ndarray):
        joined = np.ascontiguousarray(np.concatenate([rows, labels], axis=1))
        width = joined.shape[1]
        rows = (row for (row,) in iter_unpack(f"{width}s", joined)) if width else [b""] * len(rows)
    else:
        rows = (row + label.tobytes() for row, label in zip(rows, labels, strict=True))
    digests, begin = [], head.copy
    for row in rows:
        row_digest = begin()
        row_digest.update(row)
        digests.append(row_digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


def digest_records(X, y=None):
    """Return 128-bit digests of the content of each row of ``(X, y)``.

    Rows are taken as bytes, in the type of their numbers, and hashed by BLAKE2b, so that one cannot
    make two different rows with one digest. Text is text, missing values are one, and -0.0 equals
    0.0; columns are compared by position, not by name. A cell whose content cannot be told is a
    TypeError.

    Return digests of shape (2, n), dtype uint64.
    """
    n_rows = X.shape[0]
    digests = empty_table((2, n_rows), np.uint64)
    if n_rows > _LAZY_ROWS and (is_lazy(X) or is_foreign(X)):
        for rows in (slice(start, start + _LAZY_ROWS) for start in range(0, n_rows, _LAZY_ROWS)):
            digests[:, rows] = digest_records(take_rows(X, rows), take_rows(y, rows))
        return digests
    table, labels = _as_hashed_table(X), None if y is None else _HashedCells(_list_label_columns(y))
    types = f"{table.types} | {'' if labels is None else labels.types}"
    step = max(1, _BLOCK_BYTES // max(1, table.row_bytes))
    for rows in (slice(start, start + step) for start in range(0, n_rows, step)):
        part = np.empty((len(range(*rows.indices(n_rows))), 2), dtype=np.uint64)
        tails = np.zeros((len(part), 0), np.uint8) if labels is None else labels.take(rows)
        for form, which, take in table.forms(rows):
            if which.any():
                head = blake2b(f"{types} | {form}\0".encode(), digest_size=_DIGEST_BYTES)
                part[which] = _digest_rows(head, take(which), tails[which])
        digests[:, rows] = part.T
    return digests


def _list_label_columns(y):
    """Return the column of the labels, or a column for each of several targets."""
    return [as_column(column) for column in (y.T if np.ndim(y) == 2 else [y])]


def hash_records(X, y):
    """Return the first 64 bits of :func:`digest_records`, shape (n,)."""
    return digest_records(X, y)[0]


def hash_values(X):
    """Return hashes of the rows of X, shape (n,), that are equal where the values are.

    Numbers of any type are compared as floats, whether a table or an array holds them.
    """
    X = in_memory(X)
    if is_frame(X):
        X = pd.DataFrame({j: _as_floats(X.iloc[:, j]) for j in range(X.shape[1])}, index=X.index)
    elif sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        X = X.astype(np.float64)
    return hash_records(X, None)


def _as_floats(column):
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def describe_types(X, y):
    """Return the types of the columns of X, and of y, as they count.

    ``"float64 x 20, labels int64"``.
    """
    types = _as_hashed_table(take_rows(X, slice(0))).types
    if y is None:
        return types
    several = f" x {np.shape(y)[1]}" if np.ndim(y) == 2 else ""
    return f"{types}, labels {as_column(y).type}{several}"


def check_fingerprints(digests):
    """Refuse records with digests that agree in the first word but differ in the second.

    Comparing fingerprints within one set of records is therefore as good as comparing all 128 bits.

    Shapes: digests (2, n).
    """
    second, first = find_copies(digests[0])
    is_forged = digests[1, first] != digests[1, second]
    if is_forged.any():
        first, second = first[is_forged][0], second[is_forged][0]
        raise ValueError(
            f"Records {first} and {second} differ, yet have the same fingerprint. This happens by "
            "chance in one of some ten million tables of a million records; they were probably "
            "made for it. Leave one of them out."
        )


def number_equal(values):
    """Number the distinct values, such as fingerprints, and return the numbers, shape (n,)."""
    return number_table(values)[1]


def find_copies(prints):
    """Find the records of which an equal one comes before, and where that is, shape (2, k)."""
    again = find_repeated(prints)
    if not len(again):
        return np.empty((2, 0), np.intp)
    places = np.flatnonzero(are_among(prints, again))
    _, first, group = np.unique(prints[places], return_index=True, return_inverse=True)
    copies = np.stack([places, places[first[group]]])
    return copies[:, copies[0] != copies[1]]


def find_repeated_prints(prints, membership):
    """Return the fingerprints that several records have, and which of them both sides have."""
    repeated = find_repeated(prints)
    if not len(repeated):
        return repeated, np.zeros(0, dtype=bool)
    sides = (take_where(side, prints) for side in (membership, ~membership))
    return repeated, np.all([are_among(repeated, side) for side in sides], axis=0)


def mark_shared_prints(prints, membership):
    """Return whether each record has an equal one on the other side, shape (n,)."""
    repeated, is_shared = find_repeated_prints(prints, membership)
    return are_among(prints, repeated[is_shared])


def draw_by_content(prints, n):
    """Draw the records of the n smallest fingerprints, which are random, in increasing order."""
    few = np.flatnonzero(prints <= find_smallest(prints, n))
    return few[np.argsort(prints[few], kind="stable")[:n]]


class DigestIndex:
    """Columns of records by their digests."""

    def __init__(self, digests):
        # Within a pool, 64 bits distinguish records (check_fingerprints); against other records,
        # 128 bits are compared.
        self._prints, numbers = number_table(digests[0])
        self._columns = find_first(numbers)
        self._second = take_table(digests[1], self._columns)

    def find(self, digests):
        """Return the column of the first record with each digest; -1 for none."""
        prints, second = digests
        place = np.minimum(np.searchsorted(self._prints, prints), len(self._prints) - 1)
        known = (self._prints[place] == prints) & (self._second[place] == second)
        return np.where(known, self._columns[place], -1)
