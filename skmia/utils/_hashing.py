"""Content hashes of records: equal records get equal 64-bit numbers, whatever holds them."""

import hashlib
import math

import numpy as np
import pandas as pd
from scipy import sparse

from ._containers import is_frame, is_tensor, to_numpy

_LABEL_KEY = np.uint64(0x9E3779B97F4A7C15)
_CANONICAL_NAN = np.float64(np.nan).view(np.uint64)
_BLOCK_ELEMENTS = 1 << 16


def _mix(words):
    """Finalizer of splitmix64: a bijection of 64-bit words whose output bits look independent."""
    words = words ^ (words >> np.uint64(30))
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


def _column_keys(n_columns):
    return _mix(np.arange(1, n_columns + 1, dtype=np.uint64) * _LABEL_KEY)


def _number_words(values):
    """Bit patterns of numbers as float64, so that 1, 1.0 and True are one value."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    words = values.view(np.uint64).copy()
    words[values == 0] = 0  # -0.0 == 0.0
    words[np.isnan(values)] = _CANONICAL_NAN
    return words


def _object_word(value):
    if isinstance(value, int | float | np.number | np.bool_):
        return _number_words([float(value)])[0]
    if value is None or value is pd.NaT or value is pd.NA:
        return _CANONICAL_NAN
    digest = hashlib.blake2b(str(value).encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _column_words(column):
    """Words of one column of any type; text is hashed once per distinct value."""
    column = pd.Series(column)
    if column.dtype.kind != "c" and pd.api.types.is_numeric_dtype(column.dtype):
        return _number_words(column.to_numpy(dtype=np.float64, na_value=np.nan))
    codes, uniques = pd.factorize(column.astype(object), use_na_sentinel=False)
    return np.array([_object_word(value) for value in uniques], dtype=np.uint64)[codes]


def _sum_row_words(words, keys):
    # Zeros add nothing, so a sparse row and its dense form agree. The sum, unlike a chain, needs
    # no order.
    mixed = _mix(words ^ keys)
    mixed[words == 0] = 0
    return mixed.sum(axis=1, dtype=np.uint64)


def _hash_dense(values):
    values = values.reshape(len(values), math.prod(values.shape[1:]))
    keys = _column_keys(values.shape[1])
    hashes = np.empty(len(values), dtype=np.uint64)
    if values.dtype.kind not in "biuf":
        columns = (_column_words(values[:, j]) for j in range(values.shape[1]))
        return _hash_columns(columns, len(values), keys)
    step = max(1, _BLOCK_ELEMENTS // max(1, values.shape[1]))
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        hashes[rows] = _sum_row_words(_number_words(values[rows]), keys)
    return hashes


def _hash_columns(columns, n_rows, keys):
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for words, key in zip(columns, keys, strict=True):
        hashes += _sum_row_words(words[:, None], key)
    return hashes


def _hash_sparse(matrix):
    matrix = sparse.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    keys = _column_keys(matrix.shape[1])[matrix.indices]
    mixed = _mix(_number_words(matrix.data) ^ keys)
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return totals[matrix.indptr[1:]] - totals[matrix.indptr[:-1]]


def hash_records(X, y):
    """Hash the content of each row of ``(X, y)``.

    Parameters
    ----------
    X : ndarray, DataFrame, sparse matrix or torch tensor of n rows
    y : ndarray of shape (n,) or None

    Returns
    -------
    hashes : ndarray of shape (n,), dtype uint64
        Equal for equal rows. Numbers are compared as float64; columns by position, not by name.
    """
    if sparse.issparse(X):
        hashes = _hash_sparse(X)
    elif is_frame(X):
        columns = (_column_words(X.iloc[:, j]) for j in range(X.shape[1]))
        hashes = _hash_columns(columns, len(X), _column_keys(X.shape[1]))
    else:
        hashes = _hash_dense(to_numpy(X) if is_tensor(X) else X)
    if y is not None:
        hashes = hashes + _mix(_column_words(y) ^ _LABEL_KEY)
    return _mix(hashes)
