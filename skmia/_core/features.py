"""Encoding of records as a matrix of numbers."""

from collections import UserList

import numpy as np
import pandas as pd
from scipy import sparse

from .containers import describe_container, in_memory, is_frame, is_tensor, to_numpy
from .numbers import as_series
from .tokens import BagOfTokens, hold_tokens


class _FeatureColumn:
    """Numbers as they are, times as seconds, anything else as codes in sorted order.

    The order in which values come would reveal membership if members come first, and a tree finds a
    period of dates only where they are in order.
    """

    def __init__(self, values):
        values = as_series(values)
        self._start = values.min() if values.dtype.kind in "mM" else None
        is_number = pd.api.types.is_numeric_dtype(values.dtype) and values.dtype.kind != "c"
        has_codes = self._start is None and not is_number
        self._known = (
            pd.Index(_sort_categories(values.dropna()), dtype=object) if has_codes else None
        )

    def encode(self, values):
        values = as_series(values)
        if self._start is not None:
            return (values - self._start).dt.total_seconds().to_numpy(dtype=np.float32)
        if self._known is None:
            return values.to_numpy(dtype=np.float32, na_value=np.nan)
        return self._known.get_indexer(values.astype(object)).astype(np.float32)


def list_chosen_places(chosen, names, n_columns):
    """Return the places of columns that are given by name, place, mask or slice of either."""
    if isinstance(chosen, slice) and isinstance(chosen.start or chosen.stop, str):
        first = 0 if chosen.start is None else names.index(chosen.start)
        last = n_columns if chosen.stop is None else names.index(chosen.stop) + 1
        return list(range(first, last))
    if not isinstance(chosen, slice):
        # scikit-learn before 1.7 warns when the items of its own list are read.
        chosen = chosen.data if isinstance(chosen, UserList) else chosen
        chosen = list(np.atleast_1d(np.asarray(chosen, dtype=object)))
        if chosen and isinstance(chosen[0], str):
            return [names.index(name) for name in chosen]
        chosen = np.array(chosen) if chosen else []
    return np.arange(n_columns)[chosen].tolist() if isinstance(chosen, slice) or len(chosen) else []


def code_cells(column):
    """Number the distinct cells of a column, a missing one too."""
    try:
        return pd.factorize(column, use_na_sentinel=False)
    except TypeError:  # lists and dicts, which have no hash
        raise ValueError(
            "Cells must hold one value each, such as text or a number; some hold lists or dicts."
        ) from None


def _sort_categories(values):
    distinct = list(code_cells(values.astype(object))[1])
    try:
        return sorted(distinct)
    except TypeError:  # of several kinds
        return sorted(distinct, key=str)


def split_columns(X):
    """Return columns of a container whose columns differ in kind; None where all hold numbers."""
    if is_frame(X):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if is_tensor(X) or sparse.issparse(X) or X.dtype.kind in "biuf":
        return None
    X = X.reshape(len(X), int(np.prod(X.shape[1:])))
    return [X[:, j] for j in range(X.shape[1])]


class FeatureEncoder:
    """Turns records like those given into a matrix: a column per feature, the labels last.

    Values that were not among those given have the code -1, as missing ones have. Sequences of
    tokens become counts of their tokens, because a position of a text is not a feature.
    """

    def __init__(self, records):
        self._bag = BagOfTokens(records.X) if hold_tokens(records) else None
        columns = split_columns(in_memory(records.X))
        self._columns = None if columns is None else [_FeatureColumn(column) for column in columns]
        # One label, or those of several targets.
        self.n_labels = records.y.shape[1] if records.y.ndim == 2 else 1
        self._labels = [_FeatureColumn(column) for column in self._list_labels(records)]

    def _list_labels(self, records):
        return records.y.reshape(len(records), self.n_labels).T

    def encode(self, records):
        """Return the features and labels of each record.

        Return matrix of shape (n, n_features + n_labels): sparse where X is. Infinite values are
        missing: NaN, or 0 in a sparse matrix.
        """
        with np.errstate(over="ignore"):  # what is too large for float32 is infinite
            pairs = zip(self._labels, self._list_labels(records), strict=True)
            label = np.column_stack([known.encode(column) for known, column in pairs])
            X = in_memory(records.X)
            X = X if self._bag is None else self._bag.encode(X)
            if sparse.issparse(X):
                matrix = sparse.hstack(
                    [X.astype(np.float32), sparse.csr_array(label)], format="csr"
                )
                matrix.data[~np.isfinite(matrix.data)] = 0  # trees take no missing value here
                return matrix
            matrix = np.column_stack([self._encode_features(X), label]).astype(np.float32)
        matrix[np.isinf(matrix)] = np.nan  # trees take a missing value, and no infinite one
        return matrix

    def _encode_features(self, X):
        split = split_columns(X)
        known = None if self._columns is None else len(self._columns)
        if known != (None if split is None else len(split)):
            raise ValueError(
                f"The records hold {describe_container(X)}, which has not the columns of those "
                f"before; "
                "give all records in containers of one kind."
            )
        if split is None:
            X = to_numpy(X) if is_tensor(X) else X
            return X.reshape(len(X), -1)
        pairs = zip(self._columns, split, strict=True)
        columns = [known.encode(column) for known, column in pairs]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))


def as_feature_matrix(records):
    """Return the features and label of each record, see :meth:`FeatureEncoder.encode`."""
    return FeatureEncoder(records).encode(records)
