"""Tables encoded as matrices of numbers, in which features are redrawn."""

import numpy as np
import pandas as pd

from ..._core.containers import is_frame
from ..._core.features import code_cells


class TableCodes:
    """Columns of a table as numbers, and the values that each can take.

    Columns of text, categories and truth values are encoded as the position of the value among the
    values seen; columns of numbers are unchanged.

    Parameters
    ----------
    X : ndarray of shape (n, ...) or DataFrame
        Table that shows the values of each feature.

    Attributes
    ----------
    codes : ndarray of shape (n, n_features)
        Encoded table.
    """

    def __init__(self, X):
        self._is_frame = is_frame(X)
        if self._is_frame:
            self._columns, self._dtypes, self._shape = X.columns, X.dtypes.tolist(), None
            encoded = [_encode(X.iloc[:, j]) for j in range(X.shape[1])]
        elif isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            self._dtypes, self._shape = [X.dtype], X.shape[1:]
            encoded = [(column, None) for column in X.reshape(len(X), -1).T]
        else:
            raise TypeError(
                "Records are synthesized from a DataFrame or an array of numbers; got X as "
                f"{type(X).__name__}{' of ' + str(X.dtype) if hasattr(X, 'dtype') else ''}."
            )
        self._values = [values for _, values in encoded]
        self.codes = np.column_stack([column for column, _ in encoded]).astype(np.float64)
        self._compute_domain()

    def _compute_domain(self):
        """Determine the range of each feature and the step between its values (0: real)."""
        ranges = [_compute_range(column) for column in self.codes.T]
        self._low, self._high, self._step = np.array(ranges).T
        step = np.where(self._step > 0, self._step, 1)
        self._n_values = np.rint((self._high - self._low) / step) + 1

    @property
    def n_features(self):
        return self.codes.shape[1]

    def draw(self, n_rows, rng):
        """Draw rows with each feature uniform over its domain."""
        return self._from_uniform(rng.random((n_rows, self.n_features)))

    def redraw(self, codes, n_changes, rng):
        """Redraw some different features of each row, uniformly over their domain.

        Parameters
        ----------
        codes : ndarray of shape (n, n_features)
            Rows; they are not changed.
        n_changes : ndarray of shape (n,), dtype int
            Number of features to redraw in each row.
        rng : numpy Generator
            Source of the draws.
        """
        changed = choose_features(n_changes, self.n_features, rng)
        rows, columns = np.nonzero(changed)
        redrawn = codes.copy()
        redrawn[rows, columns] = self._from_uniform(rng.random(len(rows)), columns)
        return redrawn

    def _from_uniform(self, uniform, columns=slice(None)):
        low, high, step = self._low[columns], self._high[columns], self._step[columns]
        stepped = low + step * np.floor(uniform * self._n_values[columns])
        return np.where(step > 0, stepped, low + uniform * (high - low))

    def other_value(self, values, columns):
        """Return the other of two values, NaN for features that have more or fewer.

        Parameters
        ----------
        values, columns : ndarray of shape (n,)
            Codes and the features that they belong to.
        """
        flipped = self._low[columns] + self._high[columns] - values
        return np.where(self._n_values[columns] * (self._step[columns] > 0) == 2, flipped, np.nan)

    def decode(self, codes):
        """Decode a matrix of numbers into a table of the form given."""
        if not self._is_frame:
            return codes.astype(self._dtypes[0]).reshape(len(codes), *self._shape)
        columns = {
            j: _decode(codes[:, j], values, dtype)
            for j, (values, dtype) in enumerate(zip(self._values, self._dtypes))
        }
        return pd.DataFrame(columns, copy=False).set_axis(self._columns, axis=1)


def _encode(column):
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), None
    return code_cells(column)


def _decode(codes, values, dtype):
    if values is None:
        is_plain = isinstance(dtype, np.dtype) and not np.isnan(codes).any()
        return codes.astype(dtype) if is_plain else pd.array(codes, dtype=dtype)
    return pd.Series(values.take(codes.astype(np.intp)), dtype=dtype)


def _compute_range(column):
    seen = np.unique(column[~np.isnan(column)])
    if len(seen) == 0:
        raise ValueError("A feature has no value in any record, so it cannot be drawn.")
    low, high = seen[0], seen[-1]
    if len(seen) <= 2:
        return low, high, (high - low) or 1.0
    return low, high, float((seen == np.rint(seen)).all())


def choose_features(n_chosen, n_features, rng):
    """Choose different features at random in each row.

    Parameters
    ----------
    n_chosen : ndarray of shape (n,), dtype int
        Number of features to choose in each row.
    n_features : int
        Number of features to choose from.
    rng : numpy Generator
        Source of the draw.

    Returns
    -------
    chosen : ndarray of shape (n, n_features), dtype bool
    """
    chosen = np.zeros((len(n_chosen), n_features), dtype=bool)
    for size in np.unique(n_chosen):  # only a few sizes occur: each one is halved from the last
        rows = np.flatnonzero(n_chosen == size)
        if size >= n_features:
            chosen[rows] = True
        elif size > 0:
            keys = rng.random((len(rows), n_features), dtype=np.float32)
            columns = keys.argpartition(size - 1, axis=1)[:, :size]
            chosen[rows[:, None], columns] = True
    return chosen
