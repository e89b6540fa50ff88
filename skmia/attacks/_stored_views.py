"""Candidates as the parts of a model see them: raw, and after each step before a part."""

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

# Numbers that a sparse table may have when it is written out.
_LARGEST = 50_000_000

# Stands in text for what is missing, which no model stores.
_MISSING = "\0missing"


class View(NamedTuple):
    """Candidates as they reach some part of a model.

    Attributes
    ----------
    name : str
        ``"raw"``, or what they went through.
    columns : dict of str to ndarray of shape (n,)
        Numbers as float64, all else as text.
    n_source : int
        Number of raw columns that the view is made of.
    target : ndarray of shape (n,) or None
        Targets of a regressor, with the raw columns.
    """

    name: str
    columns: dict
    n_source: int
    target: np.ndarray | None = None

    @property
    def matrix(self):
        """The columns as a matrix of float64, None where some are text."""
        if any(one.dtype.kind != "f" for one in self.columns.values()):
            return None
        return np.column_stack(list(self.columns.values()))


def make_views(model, records):
    """All views of records that some part of a fitted model has.

    Parameters
    ----------
    model : fitted estimator
    records : Records of n records

    Returns
    -------
    views : list of View
        Of equal order for all records; the raw one first.
    """
    raw = make_columns(records.X)
    # Labels of classes are no evidence: every model of the same task stores all of them.
    y = _as_column(pd.Series(np.asarray(records.y))) if is_regressor(model) else None
    views = [View("raw", raw, len(raw), y if y is not None and y.dtype.kind == "f" else None)]
    views += _follow(model, records.X, "raw", len(raw))
    return views


def _follow(model, X, name, n_source):
    """Views inside of a model that gets X."""
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
    """Models that get the same X as the one that holds them."""
    members = [
        getattr(one, "estimator", one)
        for name in ("estimators_", "calibrated_classifiers_")
        for one in np.ravel(np.array(getattr(model, name, []), dtype=object))
    ]
    kinds = Pipeline, ColumnTransformer
    # Trees have no steps; those that hold others are looked into.
    return [one for one in members if isinstance(one, kinds) or hasattr(one, "best_estimator_")]


def _choose(X, chosen):
    if isinstance(chosen, str | slice) or callable(chosen):
        chosen = [chosen] if isinstance(chosen, str) else chosen
    if is_frame(X):
        by_name = len(chosen) and isinstance(np.ravel(chosen)[0], str)
        return X[list(chosen)] if by_name else X.iloc[:, chosen]
    return X[:, chosen] if isinstance(X, np.ndarray) else None


def make_columns(X):
    """Columns of a table by name, numbers as float64 and all else as text.

    Raises
    ------
    ValueError
        If X is a sparse matrix that is too large to be written out.
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
        # Adding 0 makes one zero of two.
        return values.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0
    text = values.astype(object)
    return text.where(text.notna(), _MISSING).astype(str).to_numpy(dtype=str)
