"""Views of candidates: their raw columns, and their columns after the steps before a part."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_regressor

from .._core.containers import is_frame, is_tensor, to_numpy
from .._core.numbers import show
from ..victims.inner_models import SCORES, TRANSFORMED_TARGET, iter_inner_models

# Largest number of cells of a sparse matrix that is converted to a dense array.
_LARGEST = 50_000_000

# Replaces missing values in columns of text; no model stores this string.
_MISSING = "\0missing"


class View(NamedTuple):
    """Candidates in the form in which they reach some part of a model.

    Attributes
    ----------
    name : str
        ``"raw"``, or the steps that the candidates went through.
    columns : dict of str to ndarray of shape (n,)
        Columns by name: numbers as float64, everything else as text.
    n_source : int
        Number of raw columns from which the view was computed.
    target : ndarray of shape (n,) or None
        Targets of a regressor, as they reach it.
    place : str
        Path of the part in which alone its values can be stored; empty for any.
    passed : tuple of str
        Paths of the steps that computed it, which cannot store it: their own numbers would be found
        in it.
    """

    name: str
    columns: dict
    n_source: int
    target: np.ndarray | None = None
    place: str = ""
    passed: tuple[str, ...] = ()

    def can_be_in(self, path):
        """Whether a stored array can hold columns of this view."""
        return path.startswith(self.place) and not path.startswith(self.passed)

    @property
    def matrix(self):
        """The columns as a matrix of float64; None if some are text."""
        if any(column.dtype.kind != "f" for column in self.columns.values()):
            return None
        return np.column_stack(list(self.columns.values()))


def make_views(model, records):
    """Make the views of records for all parts of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    records : Records of n records

    Returns
    -------
    views : list of View
        Views in the same order for any records; the raw view comes first.
    """
    raw = make_columns(records.X)
    # Class labels are not evidence, because every model of the same task stores all of them.
    y = _as_column(pd.Series(np.asarray(records.y))) if is_regressor(model) else None
    views = [View("raw", raw, len(raw), y if y is not None and y.dtype.kind == "f" else None)]
    for inner in iter_inner_models(model, records.X, y):
        if inner.view is not None and inner.X is not None:
            views.append(_view(inner))
    return views


def _view(inner):
    # Targets as they are belong to the raw columns.
    y = inner.y if inner.view.endswith(TRANSFORMED_TARGET) else None
    y = None if y is None else _as_column(pd.Series(np.asarray(y)))
    place = inner.path if inner.view.startswith(SCORES) else ""
    return View(inner.view, make_columns(inner.X), inner.n_source, y, place, inner.passed)


def make_columns(X):
    """Return the columns of a table by name: numbers as float64, everything else as text.

    Raises
    ------
    ValueError
        If X is a sparse matrix that is too large for a dense array.
    """
    if sparse.issparse(X):
        if np.prod(X.shape) > _LARGEST:
            raise ValueError(
                f"Rows of a sparse matrix of shape {show(X.shape)} cannot be searched: it has more "
                f"than {_LARGEST:,} cells. Choose fewer columns or candidates."
            )
        X = X.toarray()
    if is_tensor(X):
        X = to_numpy(X)
    if is_frame(X):
        return {str(name): _as_column(X.iloc[:, j]) for j, name in enumerate(X.columns)}
    X = np.asarray(X)
    X = X.reshape(len(X), -1)
    return {str(j): _as_column(pd.Series(X[:, j])) for j in range(X.shape[1])}


def _as_column(values):
    values = values.infer_objects()
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
        # Adding 0 turns -0 into 0.
        return values.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0
    text = values.astype(object)
    try:
        return text.where(text.notna(), _MISSING).astype(str).to_numpy(dtype=str)
    except UnicodeDecodeError:
        raise ValueError(
            "Cells that hold bytes cannot be searched for; turn them into text."
        ) from None
