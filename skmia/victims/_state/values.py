"""What was read of a model: arrays, each with its place."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse


class StoredArray(NamedTuple):
    """One array that a model stores.

    Attributes
    ----------
    path : str
        Where it stands in the model, such as ``"steps[1].tree_.nodes['threshold']"``.
    array : ndarray or sparse matrix
        The stored numbers or text, read-only.
    kind : str
        ``"rows"``, ``"values"``, ``"thresholds"``, ``"edges"``, ``"counts"``, ``"covers"``, ``"leaf
        values"``, ``"seeds"``, ``"per-record"``, ``"labels"``, ``"structure"``, ``"names"`` or
        ``"other"``, by the name of the attribute.
    columns : tuple of str or None
        Names of the features that the estimator which holds the array was fitted on.
    """

    path: str
    array: np.ndarray
    kind: str
    columns: tuple[str, ...] | None = None


class StoredEstimator(NamedTuple):
    """One estimator inside of a model, or the model itself.

    Attributes
    ----------
    path : str
        Where it stands in the model, such as ``"steps[1]"``; empty for the model itself.
    estimator : estimator
        The object itself, fitted or not.
    """

    path: str
    estimator: object


class ModelState(NamedTuple):
    """What a fitted model stores, read by :func:`read_state`.

    Attributes
    ----------
    arrays : tuple of StoredArray
        Each stored array once, at its shortest path.
    unread : tuple of str
        Paths of objects that could not be read, with their types.
    estimators : tuple of StoredEstimator
        The model and each estimator inside of it, once, at its shortest path.
    """

    arrays: tuple[StoredArray, ...]
    unread: tuple[str, ...] = ()
    estimators: tuple[StoredEstimator, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Summary with one row per stored array.

        Returns
        -------
        frame : DataFrame
            The columns ``path``, ``kind``, ``shape``, ``dtype`` and ``bytes``.
        """
        rows = [
            (one.path, one.kind, one.array.shape, str(one.array.dtype), count_bytes(one.array))
            for one in self.arrays
        ]
        return pd.DataFrame(rows, columns=["path", "kind", "shape", "dtype", "bytes"])

    def __repr__(self):
        n_bytes = sum(count_bytes(one.array) for one in self.arrays)
        return f"ModelState({len(self.arrays)} arrays, {n_bytes} bytes)"


def count_bytes(array):
    """Bytes of the numbers of an array; text counts with its pointers alone."""
    return int(array.data.nbytes if sparse.issparse(array) else array.nbytes)
