"""Rows in which one number is replaced, in any container that a model takes."""

import numpy as np
import pandas as pd
from scipy import sparse

from ..._core.containers import as_rows, is_frame, is_tensor, take_rows, to_numpy


class Table:
    """Numeric columns of some rows, and copies of the rows with other numbers.

    Parameters
    ----------
    X : array-like of shape (n, n_columns)

    Attributes
    ----------
    names : list
        Names of the columns; their places if they have none.
    values : ndarray of shape (n, n_columns)
        Numbers in single precision, as float64; NaN in columns that hold something else.

    Raises
    ------
    ValueError
        If the rows are not a table whose numbers can be replaced.
    """

    def __init__(self, X):
        X = as_rows(X)
        if sparse.issparse(X) or X.ndim != 2:
            kind = "a sparse matrix" if sparse.issparse(X) else f"an array of shape {X.shape}"
            raise ValueError(
                f"X must be a table in which single numbers can be replaced; got {kind}."
            )
        self._rows = X
        if is_frame(X):
            self.names = list(X.columns)
            parts = [_read_column(X.iloc[:, j]) for j in range(X.shape[1])]
            values = np.column_stack(parts) if parts else np.empty(X.shape)
        else:
            self.names = list(range(X.shape[1]))
            values = to_numpy(X) if is_tensor(X) else X
            values = values if values.dtype.kind in "iuf" else np.full(X.shape, np.nan)
        with np.errstate(over="ignore"):  # too large for single precision: not finite
            self.values = values.astype(np.float32).astype(np.float64)
        self.values[~np.isfinite(self.values)] = np.nan

    def replace(self, rows, columns, values):
        """Rows in which one number each is another one.

        Parameters
        ----------
        rows, columns : ndarray of shape (m,), dtype int
            A row may occur many times. Column -1 leaves the row as it is.
        values : ndarray of shape (m,)

        Returns
        -------
        X : array-like of shape (m, n_columns)
        """
        if is_frame(self._rows):
            return self._replace_in_frame(rows, columns, values)
        changed, is_changed = take_rows(self._rows, rows), columns >= 0
        if is_tensor(changed):
            numbers = to_numpy(changed).copy()
            numbers[is_changed, columns[is_changed]] = values[is_changed]
            return changed.new_tensor(numbers)
        if changed.dtype.kind in "iu":
            changed = changed.astype(np.float64)
        changed[is_changed, columns[is_changed]] = values[is_changed]
        return changed

    def _replace_in_frame(self, rows, columns, values):
        changed = self._rows.iloc[rows].reset_index(drop=True)
        for j in np.unique(columns[columns >= 0]):
            column = changed.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
            column[columns == j] = values[columns == j]
            changed.isetitem(j, column)
        return changed


def _read_column(column):
    is_number = pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind in "iuf"
    if not is_number:
        return np.full(len(column), np.nan)
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
