"""The state of a model: its stored arrays and estimators, each with its path."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse


class StoredArray(NamedTuple):
    """One array that a model stores.

    Attributes
    ----------
    path : str
        Path of the array in the model, such as ``"steps[1].tree_.nodes['threshold']"``.
    array : ndarray or sparse matrix
        Stored numbers or text, read-only.
    kind : str
        Kind of the array, by the name of the attribute: ``"rows"``, ``"values"``,
        ``"thresholds"``, ``"edges"``, ``"counts"``, ``"covers"``, ``"leaf values"``, ``"seeds"``,
        ``"per-record"``, ``"labels"``, ``"structure"``, ``"names"`` or ``"other"``.
    columns : tuple of str or None
        Feature names of the estimator that holds the array.
    """

    path: str
    array: np.ndarray
    kind: str
    columns: tuple[str, ...] | None = None


class StoredEstimator(NamedTuple):
    """One estimator inside a model, or the model itself.

    Attributes
    ----------
    path : str
        Path of the estimator in the model, such as ``"steps[1]"``; empty for the model itself.
    estimator : estimator
        The estimator, fitted or not.
    """

    path: str
    estimator: object


class ModelState(NamedTuple):
    """State of a fitted model, as returned by :func:`read_state`.

    Attributes
    ----------
    arrays : tuple of StoredArray
        Each stored array once, at its shortest path.
    unread : tuple of str
        Paths of objects that could not be read, with their types.
    estimators : tuple of StoredEstimator
        The model and each estimator inside it, once, at its shortest path.
    """

    arrays: tuple[StoredArray, ...]
    unread: tuple[str, ...] = ()
    estimators: tuple[StoredEstimator, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Summarize the state with one row per stored array.

        Returns
        -------
        frame : DataFrame
            Table with the columns ``path``, ``kind``, ``shape``, ``dtype`` and ``bytes``.
        """
        rows = [
            (path, kind, array.shape, str(array.dtype), count_bytes(array))
            for path, array, kind, _ in self.arrays
        ]
        return pd.DataFrame(rows, columns=["path", "kind", "shape", "dtype", "bytes"])

    def __repr__(self):
        n_bytes = sum(count_bytes(stored.array) for stored in self.arrays)
        return f"ModelState({len(self.arrays)} arrays, {n_bytes} bytes)"


def count_bytes(array):
    """Return the bytes of an array; for objects, only the pointers count."""
    return int(array.data.nbytes if sparse.issparse(array) else array.nbytes)
