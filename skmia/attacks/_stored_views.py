"""Views of candidates: their raw columns, and their columns after the steps before a part."""

from collections import UserList
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.containers import is_frame, is_tensor, to_numpy
from .._core.numbers import show

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
        Targets of a regressor, with the raw columns.
    """

    name: str
    columns: dict
    n_source: int
    target: np.ndarray | None = None

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
    views += _follow(model, records.X, "raw", len(raw))
    return views


def _follow(model, X, name, n_source):
    """Yield the views inside a model whose input is X."""
    model = unwrap(model)
    if hasattr(model, "best_estimator_"):
        yield from _follow(model.best_estimator_, X, name, n_source)
    elif isinstance(model, Pipeline):
        for k, (step, part) in enumerate(model.steps):
            yield from _follow(part, X, name, n_source)
            if k + 1 < len(model.steps) and hasattr(part, "transform"):
                X, name = part.transform(X), step if name == "raw" else f"{name}, {step}"
                yield View(f"after {name}", make_columns(X), n_source)
    elif isinstance(model, ColumnTransformer):
        for step, part, chosen in model.transformers_:
            some = _choose(X, chosen)
            if some is not None and some.shape[1] and not isinstance(part, str):
                label = step if name == "raw" else f"{name}, {step}"
                yield View(f"columns of {label}", make_columns(some), some.shape[1])
                yield from _follow(part, some, label, some.shape[1])
    else:
        for part in _list_members(model):
            yield from _follow(part, X, name, n_source)


def _list_members(model):
    """Return the members of a model that get the same X and have steps themselves."""
    members = [
        getattr(member, "estimator", member)
        for name in ("estimators_", "calibrated_classifiers_")
        for member in np.ravel(np.array(getattr(model, name, []), dtype=object))
    ]
    kinds = Pipeline, ColumnTransformer
    # Other members, such as trees, have no steps and therefore no further views.
    return [
        member
        for member in members
        if isinstance(member, kinds) or hasattr(member, "best_estimator_")
    ]


def _choose(X, chosen):
    if isinstance(chosen, str | slice) or callable(chosen):
        chosen = [chosen] if isinstance(chosen, str) else chosen
    if isinstance(chosen, UserList):  # scikit-learn before 1.7 warns when its items are read
        chosen = chosen.data
    if is_frame(X):
        by_name = len(chosen) and isinstance(np.ravel(chosen)[0], str)
        return X[list(chosen)] if by_name else X.iloc[:, chosen]
    return X[:, chosen] if isinstance(X, np.ndarray) else None


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
