"""Features of any kind as points with meaningful Euclidean distances."""

import numpy as np
import pandas as pd
from scipy import sparse

from ..._core.containers import is_frame, is_tensor, take_rows, to_numpy
from ..._core.features import code_cells
from ..._core.lazy import in_memory

# A categorical column with fewer categories than this is encoded in a dense array.
_FEW_CATEGORIES = 64
_BLOCK_ELEMENTS = 1 << 20


class Points:
    """Rows as points: each column divided by its standard deviation.

    Parameters
    ----------
    X : container of n rows
        Features as for :class:`~skmia.Records`; :func:`find_duplicates` describes how each kind of
        column is scaled.
    known : ndarray of shape (m,), default=None
        Positions of the rows from which the kind, the scale and the categories of each column are
        learned; other rows are read when they are taken. Two categories that are not among these
        rows are not distinguished. If None, all rows are read at once.

    Notes
    -----
    A point has coordinates in a dense array and others in a sparse one. They are computed for the
    rows that are requested: for all rows, they would be several times as large as X.
    """

    def __init__(self, X, known=None):
        self._X = X
        table = in_memory(X) if known is None else take_rows(X, known)
        self._sparse = _SparseScale(table) if sparse.issparse(table) else None
        self._columns = None if sparse.issparse(table) else _Columns(table)
        read = self._read(table)
        one_unit = not sparse.issparse(table) and not is_frame(table) and table.ndim > 2
        self._numbers = _Numbers(read[0], one_unit)
        self._n_codes = [] if self._columns is None else self._columns.n_codes
        self._all = read if known is None else None

    def _read(self, table):
        """Numbers in an array, the codes of other columns, and what is sparse."""
        if self._sparse is not None:
            return np.empty((table.shape[0], 0)), [], self._sparse.apply(table)
        return *self._columns.read(table), None

    def take(self, rows, dtype):
        """Compute the coordinates of some rows.

        Parameters
        ----------
        rows : ndarray of shape (k,)
            Positions of the rows.
        dtype : dtype
            Type of the coordinates.

        Returns
        -------
        dense : ndarray of shape (k, d)
        wide : csr_array of shape (k, e) or None
            Further coordinates, in a sparse array.
        """
        if self._all is None:
            numbers, codes, wide = self._read(take_rows(self._X, rows))
        else:
            numbers, codes, wide = self._all
            numbers, codes = numbers[rows], [column[rows] for column in codes]
            wide = None if wide is None else wide[rows]
        dense, further = [self._numbers.scale(numbers, dtype)], [] if wide is None else [wide]
        for column, n_codes in zip(codes, self._n_codes, strict=True):
            if n_codes <= _FEW_CATEGORIES:
                dense.append((column[:, None] == np.arange(n_codes)) * np.sqrt(dtype(0.5)))
            else:
                further.append(_one_hot(column, n_codes))
        further = [matrix.astype(dtype) for matrix in further]
        return np.hstack(dense), sparse.hstack(further, format="csr") if further else None


class _Numbers:
    """Columns of numbers, centered and divided by their standard deviation."""

    def __init__(self, values, one_unit):
        found = np.empty((4, values.shape[1]))
        step = max(1, _BLOCK_ELEMENTS // len(values))
        for start in range(0, values.shape[1], step):
            part = values[:, start : start + step].astype(np.float64)
            found[:, start : start + step] = _describe_columns(part)
        self._median, self._mean, self._scale, n_missing = found
        self._has_missing = np.flatnonzero((n_missing > 0) & (n_missing < len(values)))
        varies = self._scale > 0
        if one_unit and varies.any():
            largest = self._scale.max()
            self._scale[varies] = largest * np.sqrt(np.mean((self._scale / largest) ** 2))
        self._kept = slice(None) if varies.all() else np.flatnonzero(varies)

    def scale(self, values, dtype):
        values = values.astype(np.float64)
        missing = ~np.isfinite(values)
        if missing.any():
            values = np.where(missing, self._median, values)
        kept = self._kept
        # Division comes first, because a difference of very large numbers could overflow.
        values = values[:, kept] / self._scale[kept] - self._mean[kept] / self._scale[kept]
        return np.hstack([values, missing[:, self._has_missing]]).astype(dtype)


def _describe_columns(values):
    """Median; mean and standard deviation after imputation; number of missing values."""
    missing = ~np.isfinite(values)
    medians = np.zeros(values.shape[1])
    for j in np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0)):
        medians[j] = np.median(values[~missing[:, j], j])
    values = np.where(missing, medians, values)
    largest = np.abs(values).max(axis=0)
    largest[largest == 0] = 1
    values /= largest  # because squares of very large numbers would overflow
    scale = np.where(values.min(axis=0) < values.max(axis=0), values.std(axis=0), 0)
    return medians, values.mean(axis=0) * largest, scale * largest, missing.sum(axis=0)


class _SparseScale:
    """Divides a sparse matrix by standard deviations without centering, so that zeros stay zero."""

    def __init__(self, X):
        X, missing = _as_finite(X)
        n_rows, n_columns = X.shape
        self._largest = np.zeros(n_columns)
        np.maximum.at(self._largest, X.indices, np.abs(X.data))
        self._largest[self._largest == 0] = 1
        X.data /= self._largest[X.indices]
        mean = np.bincount(X.indices, X.data, n_columns) / n_rows
        square = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, n_columns)
        n_zeros = n_rows - np.bincount(X.indices, minlength=n_columns)
        scale = np.sqrt((square + n_zeros * mean**2) / n_rows)
        varies = X.max(axis=0).toarray().ravel() > X.min(axis=0).toarray().ravel()
        self._factor = np.where(varies, 1 / np.where(varies, scale, 1), 0)
        self._has_missing = missing.any()

    def apply(self, X):
        X, missing = _as_finite(X)
        absent = sparse.csr_array((missing.astype(np.float64), X.indices, X.indptr), shape=X.shape)
        X.data /= self._largest[X.indices]
        X.data *= self._factor[X.indices]
        return sparse.hstack([X, absent], format="csr") if self._has_missing else X


def _as_finite(X):
    """A copy with 0 for values that are not finite, and where these were."""
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    missing = ~np.isfinite(X.data)
    X.data[missing] = 0
    return X, missing


def _one_hot(codes, n_codes):
    ones = np.full(len(codes), np.sqrt(0.5))
    entries = ones, codes, np.arange(len(codes) + 1)
    return sparse.csr_array(entries, shape=(len(codes), n_codes))


class _Columns:
    """Reads tables into an array of numbers of shape (n, k) and the codes of each other column."""

    def __init__(self, table):
        columns = _split(table)
        self._kinds = None if columns is None else [_Column(column) for column in columns]

    @property
    def n_codes(self):
        """Number of codes of each column that :meth:`read` gives as codes."""
        return [kind.n_codes for kind in self._kinds or () if kind.n_codes]

    def read(self, table):
        columns = _split(table)
        if self._kinds is None:
            table = to_numpy(table) if is_tensor(table) else table
            return table.reshape(len(table), int(np.prod(table.shape[1:]))), []
        read = [
            kind.read(column)
            for kind, column in zip(self._kinds, columns, strict=True)
            if not kind.is_constant
        ]
        numbers = [column for column in read if column.dtype.kind == "f"]
        codes = [column for column in read if column.dtype.kind == "i"]
        return np.column_stack(numbers) if numbers else np.empty((len(table), 0)), codes


def _split(table):
    """Columns of a table; None if all of them hold numbers of one type."""
    if is_frame(table):
        return [table.iloc[:, j] for j in range(table.shape[1])]
    if is_tensor(table) or table.dtype.kind in "biuf":
        return None
    table = table.reshape(len(table), int(np.prod(table.shape[1:])))
    return [pd.Series(table[:, j]) for j in range(table.shape[1])]


class _Column:
    """Reads numbers and times as floats and anything else as codes, with one for missing values.

    Attributes
    ----------
    n_codes : int
        Number of codes; 0 of numbers, times and constant columns.
    is_constant : bool
        Whether it is a column of a single category, which does not count.
    """

    def __init__(self, column):
        column = _infer(column)
        self._is_time = column.dtype.kind in "mM"
        is_number = pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c"
        self._known, self.n_codes, self.is_constant = None, 0, False
        if not self._is_time and not is_number:
            distinct = np.asarray(code_cells(column.astype(object))[1], dtype=object)
            self.is_constant = len(distinct) < 2
            self._known = pd.Index(distinct[~pd.isna(distinct)], dtype=object, tupleize_cols=False)
            # Two more: missing values, and what was not there when the categories were learned.
            self.n_codes = 0 if self.is_constant else len(self._known) + 2

    def read(self, column):
        if self._known is not None:
            cells = column.astype(object)
            codes = self._known.get_indexer(cells).astype(np.int64)
            codes[codes < 0] = self.n_codes - 1
            codes[cells.isna().to_numpy()] = self.n_codes - 2
            return codes
        column = _infer(column)
        if self._is_time:
            times = np.full(len(column), np.nan)
            times[column.notna()] = column.dropna().astype(np.int64)
            return times
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = pd.to_numeric(column, errors="coerce")
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _infer(column):
    return column.infer_objects() if column.dtype == object else column
