"""What reaches the last model of a Pipeline: the model itself, and features as it gets them."""

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.numbers import as_numbers, show
from .boosters import is_catboost
from .resampling import is_sampler


def find_model(model):
    """The model behind searches and the steps of a Pipeline, and these steps.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    last : estimator or None
        None if Pipelines are nested.
    steps : Pipeline or None
        What features go through before they reach it.
    """
    model = unwrap(model)
    if hasattr(model, "best_estimator_"):
        return find_model(model.best_estimator_)
    if not isinstance(model, Pipeline):
        return model, None
    steps = _take_transformers(model)
    last, further = find_model(model[-1])
    return (last, steps) if further is None else (None, None)


def _take_transformers(model):
    """Pipeline of the steps that records go through; samplers only change the training rows."""
    kept = [step for step in model.steps[:-1] if not is_sampler(step[1])]
    if not kept:
        return None
    return model[:-1] if len(kept) == len(model.steps) - 1 else Pipeline(kept)


def read_features(model, steps, X, *, absent=0.0, role="The trees split by"):
    """Features as a model at the end of some steps gets them, a matrix of float64.

    Parameters
    ----------
    model : fitted estimator
    steps : Pipeline or None
        As :func:`find_model` gives them.
    X : array-like of shape (n, ...)
    absent : float, default=0.0
        What the model takes an entry for that a sparse matrix does not store.
    role : str, default="The trees split by"
        What the model does with its features, for the message.

    Returns
    -------
    X : ndarray of shape (n, n_features)

    Raises
    ------
    TypeError, ValueError
        If features are not numbers, or there are more or fewer than the model has.
    """
    X = X if steps is None else steps.transform(X)
    X = _as_dense(X, absent) if sparse.issparse(X) else X
    X = as_numbers(X, "X", "features that are numbers, as the model reads them")
    n_features = _count_features(model)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"{role} {n_features} features; the records have shape {X.shape}.")
    return X


def _count_features(model):
    """Number of features of a model; CatBoost forgets ``n_features_in_`` in its files."""
    return len(model.feature_names_) if is_catboost(model) else model.n_features_in_


def _as_dense(X, absent):
    dense, X = np.full(X.shape, absent), X.tocoo()
    dense[X.row, X.col] = X.data
    return dense


def check_labels(model, y):
    """Numbers of the classes, or float targets, of labels that a model knows.

    Parameters
    ----------
    model : fitted classifier or regressor
    y : array-like of shape (n,)

    Returns
    -------
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If the model does not know a label, or a target is not a number.
    """
    if not is_classifier(model):
        return as_numbers(y, "y", "numbers, as the targets of a regressor are")
    y, classes = np.asarray(y), np.asarray(model.classes_)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"The model does not know the label {show(y[unknown].tolist()[0])} of "
            f"{unknown.sum()} records; its classes are {show(classes.tolist())}."
        )
    return np.searchsorted(classes, y)
