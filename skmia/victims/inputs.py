"""What reaches the last model of a Pipeline: the model itself, and features as it gets them."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.numbers import as_numbers, show
from .._core.sklearn import encode_for_boosting
from .boosters import is_catboost, is_lightgbm, is_xgboost
from .resampling import is_sampler
from .tree_families import HISTOGRAMS


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

    Categories become the codes that the model splits by, and NaN if it does not know them.

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
    X = _encode_categories(model, X)
    X = as_numbers(X, "X", "features that are numbers, as the model reads them")
    n_features = _count_features(model)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"{role} {n_features} features; the records have shape {X.shape}.")
    return X


def _encode_categories(model, X):
    if isinstance(model, HISTOGRAMS):
        return X if model.is_categorical_ is None else encode_for_boosting(model, X)
    if not isinstance(X, pd.DataFrame):
        return X
    columns = [j for j, kind in enumerate(X.dtypes) if isinstance(kind, pd.CategoricalDtype)]
    if not columns or not (is_xgboost(model) or is_lightgbm(model)):
        return X
    known = _list_categories(model, columns)
    coded = X.copy()
    for j in columns:
        coded[X.columns[j]] = _encode(X.iloc[:, j], known.get(j))
    return coded


def _encode(column, categories):
    """Codes of a column, by the categories of the model or else by its own."""
    if categories is not None:
        column = column.cat.set_categories(categories)
    codes = column.cat.codes.to_numpy()
    return np.where(codes < 0, np.nan, codes)


def _list_categories(model, columns):
    """Categories of some columns of a booster by the number of the column, in their order."""
    if is_lightgbm(model):
        stored = model.booster_.pandas_categorical or []
        return dict(zip(columns, stored, strict=False))
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    stored = learner["gradient_booster"].get("model", {}).get("cats", {}).get("enc", [])
    return {j: _decode(stored[j]) for j in columns if j < len(stored) and stored[j]["values"]}


def _decode(stored):
    """Categories of a column in a file of XGBoost: numbers, or one list of bytes for all texts."""
    values, offsets = stored["values"], stored.get("offsets")
    if not offsets:
        return values
    return [bytes(one % 256 for one in values[a:b]).decode() for a, b in pairwise(offsets)]


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
        Zeros for a detector of outliers, which knows no labels.

    Raises
    ------
    ValueError
        If the model does not know a label, or a target is not a number.
    """
    if is_outlier_detector(model):
        return np.zeros(len(y))
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
