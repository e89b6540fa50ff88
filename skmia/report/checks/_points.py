"""Features of any kind as points with meaningful Euclidean distances."""

import numpy as np
import pandas as pd
from scipy import sparse

from ..._core.containers import is_frame, is_tensor, to_numpy
from ..._core.features import code_cells

# A categorical column with fewer categories than this is encoded in a dense array.
_FEW_CATEGORIES = 64
_BLOCK_ELEMENTS = 1 << 20


class Points:
    """Rows as points: each column divided by its standard deviation.

    Parameters
    ----------
    X : ndarray, DataFrame, sparse matrix or torch tensor of n rows
        Features as for :class:`~skmia.Records`; :func:`find_duplicates` describes how each kind of
        column is scaled.

    Notes
    -----
    A point has coordinates in a dense array and others in a sparse one. They are computed for the
    rows that are requested: for all rows, they would be several times as large as X.
    """

    def __init__(self, X):
        if sparse.issparse(X):
            numbers, codes = np.empty((X.shape[0], 0)), []
            self._sparse = [_scale_sparse(X)]
        else:
            numbers, codes = _split(X)
            self._sparse = []
        self._numbers = _Numbers(numbers, one_unit=not is_frame(X) and X.ndim > 2)
        self._few = [column for column in codes if column.max() < _FEW_CATEGORIES]
        many = [column for column in codes if column.max() >= _FEW_CATEGORIES]
        self._sparse += [_one_hot(column) for column in many]

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
        dense = [self._numbers.take(rows, dtype)]
        for codes in self._few:
            same = codes[rows, None] == np.arange(codes.max() + 1)
            dense.append(same * np.sqrt(dtype(0.5)))
        wide = [matrix[rows].astype(dtype) for matrix in self._sparse]
        return np.hstack(dense), sparse.hstack(wide, format="csr") if wide else None


class _Numbers:
    """Columns of numbers, centered and divided by their standard deviation."""

    def __init__(self, values, one_unit):
        self._values = values
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

    def take(self, rows, dtype):
        values = self._values[rows].astype(np.float64)
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


def _scale_sparse(X):
    """Scale a sparse matrix by standard deviations without centering, so that zeros stay zero."""
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    missing = ~np.isfinite(X.data)
    absent = sparse.csr_array((missing.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    X.data[missing] = 0
    n_rows, n_columns = X.shape
    largest = np.zeros(n_columns)
    np.maximum.at(largest, X.indices, np.abs(X.data))
    largest[largest == 0] = 1
    X.data /= largest[X.indices]
    mean = np.bincount(X.indices, X.data, n_columns) / n_rows
    square = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, n_columns)
    n_zeros = n_rows - np.bincount(X.indices, minlength=n_columns)
    scale = np.sqrt((square + n_zeros * mean**2) / n_rows)
    varies = X.max(axis=0).toarray().ravel() > X.min(axis=0).toarray().ravel()
    X.data *= np.where(varies, 1 / np.where(varies, scale, 1), 0)[X.indices]
    return sparse.hstack([X, absent], format="csr") if missing.any() else X


def _one_hot(codes):
    ones = np.full(len(codes), np.sqrt(0.5))
    shape = len(codes), codes.max() + 1
    return sparse.csr_array((ones, codes, np.arange(len(codes) + 1)), shape=shape)


def _split(X):
    """Split X into an array of numbers of shape (n, k) and the codes of each other column."""
    X = to_numpy(X) if is_tensor(X) else X
    if is_frame(X):
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
    else:
        X = X.reshape(len(X), int(np.prod(X.shape[1:])))
        if X.dtype.kind in "biuf":
            return X, []
        columns = [pd.Series(X[:, j]) for j in range(X.shape[1])]
    columns = [_read_column(column) for column in columns]
    numbers = [column for column in columns if column.dtype.kind == "f"]
    codes = [column for column in columns if column.dtype.kind == "i" and column.max() > 0]
    return np.column_stack(numbers) if numbers else np.empty((len(X), 0)), codes


def _read_column(column):
    """Read numbers and times as floats and anything else as codes, with one for missing values."""
    if column.dtype == object:
        column = column.infer_objects()
    if column.dtype.kind in "mM":
        times = np.full(len(column), np.nan)
        times[column.notna()] = column.dropna().astype(np.int64)
        return times
    if pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return code_cells(column.astype(object))[0].astype(np.int64)
