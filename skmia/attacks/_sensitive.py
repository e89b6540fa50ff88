"""Columns of a sensitive attribute, and records completed with another value."""

import numpy as np
import pandas as pd
from scipy import sparse

from .._core.containers import is_frame, is_tensor, to_numpy
from .._core.numbers import show, to_array

# A column with more distinct values is treated as a measurement, whose candidates must be given.
_MOST_VALUES = 100


def _check_table(X):
    if sparse.issparse(X) or X.ndim != 2:
        raise ValueError(
            "Attribute inference needs X with rows and columns, a DataFrame, an array or a "
            f"tensor; got {type(X).__name__} with {X.ndim} axes."
        )


class SensitiveAttribute:
    """One column with several values, or a block of one-hot columns.

    Parameters
    ----------
    X : DataFrame, ndarray or torch tensor of shape (n, n_features)
        Features.
    sensitive : str, int, slice or sequence of them
        Column of the attribute, or the columns of a one-hot block.
    values : array-like of shape (n_values,) or None
        Candidate values. If None, the values that occur are used.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        Candidate values. For a block, the names of its columns, or their positions in X.
    """

    def __init__(self, X, sensitive, values):
        _check_table(X)
        self._n_columns, self._names = X.shape[1], list(X.columns) if is_frame(X) else None
        self.columns = self._read_columns(X, sensitive)
        self.is_block = len(self.columns) > 1
        names = X.columns if is_frame(X) else pd.RangeIndex(X.shape[1])
        if self.is_block:
            if values is not None:
                raise ValueError("values must be None for a one-hot block, which has its own.")
            self.values = np.asarray(names[self.columns])
            self.read(X)
        else:
            name, column = names[self.columns[0]], self._column(X)
            missing = np.asarray(pd.isna(column))
            if missing.any():
                raise ValueError(
                    f"The column {name!r} lacks {missing.sum()} of {len(X)} values, first at "
                    f"position {missing.argmax()}."
                )
            self.values = self._read_values(column, name, values)

    @staticmethod
    def _read_columns(X, sensitive):
        everything = np.arange(X.shape[1])
        if isinstance(sensitive, slice):
            columns = everything[sensitive]
        else:
            single = isinstance(sensitive, str) or not np.iterable(sensitive)
            wanted = [sensitive] if single else sensitive
            names = list(X.columns) if is_frame(X) else everything.tolist()
            missing = [name for name in wanted if name not in names]
            if missing:
                raise ValueError(f"sensitive={missing[0]!r} is not a column of X.")
            columns = np.array([names.index(name) for name in wanted], dtype=int)
        if len(columns) in (0, X.shape[1]):
            raise ValueError(
                f"sensitive must name some but not all of the {X.shape[1]} columns; "
                f"got {len(columns)}."
            )
        return columns

    @staticmethod
    def _read_values(column, name, values):
        try:
            if values is None:
                values = np.sort(pd.unique(np.asarray(column)))
                is_given = False
            else:
                values, is_given = pd.unique(to_array(values, "values").ravel()), True
                pd.Series(values.tolist(), dtype=column.dtype)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"Column {name!r} and values must hold values of one type, such as all text or all "
                f"numbers; got a column of {column.dtype} and values={show(values)}."
            ) from None
        if not is_given:
            if len(values) > _MOST_VALUES:
                raise ValueError(
                    f"The column {name!r} has {len(values)} values; pass candidates as values=."
                )
        if len(values) < 2:
            raise ValueError(f"Column {name!r} needs at least two candidates; got {len(values)}.")
        return values

    def check(self, X):
        """Refuse records that have other columns than those that were fitted."""
        _check_table(X)
        if X.shape[1] != self._n_columns or is_frame(X) != (self._names is not None):
            raise ValueError(
                f"The attack was fitted on {self._n_columns} columns of "
                f"{'an array' if self._names is None else 'a DataFrame'}; got "
                f"{type(X).__name__} with {X.shape[1]}."
            )
        if self._names is not None and list(X.columns) != self._names:
            raise ValueError("The columns have other names, or another order, than in fit.")

    def _column(self, X):
        if is_frame(X):
            return X.iloc[:, self.columns[0]]
        column = X[:, self.columns[0]]
        return to_numpy(column) if is_tensor(column) else column

    def _block(self, X):
        block = X.iloc[:, self.columns] if is_frame(X) else X[:, self.columns]
        return to_numpy(block) if is_tensor(block) else np.asarray(block)

    def read(self, X):
        """Return the values of the records.

        Returns
        -------
        values : ndarray of shape (n,)
        """
        if not self.is_block:
            return np.asarray(self._column(X))
        block = self._block(X)
        one_hot = np.isin(block, (0, 1)).all(axis=1) & (block.sum(axis=1) == 1)
        if not one_hot.all():
            raise ValueError(
                f"A sensitive block must be one-hot; record {np.argmin(one_hot)} is not."
            )
        return self.values[block.argmax(axis=1)]

    def complete(self, X, value):
        """Return the records with the attribute replaced by one value.

        Returns
        -------
        completed : of the type of X
        """
        completed = X.copy() if is_frame(X) else X.clone() if is_tensor(X) else np.array(X)
        if self.is_block:
            content = (self.values == value).astype(float)
            for column, number in zip(self.columns, content, strict=True):
                self._fill(completed, column, number)
        else:
            self._fill(completed, self.columns[0], value)
        return completed

    @staticmethod
    def _fill(X, column, value):
        if is_frame(X):
            name, old = X.columns[column], X.iloc[:, column]
            X[name] = pd.Series([value] * len(X), index=X.index, dtype=old.dtype, name=name)
        else:
            X[:, column] = value

    def drop(self, X):
        """Return the other columns.

        Returns
        -------
        rest : of the type of X
        """
        keep = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        return X.iloc[:, keep] if is_frame(X) else X[:, keep]
