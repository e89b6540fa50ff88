"""What a fitted model remembers of its columns: scales, stored rows, and thresholds of trees."""

import warnings
from itertools import islice
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import BaseDecisionTree

from .._core.containers import in_memory, is_frame
from .._core.numbers import as_numbers
from .._core.sklearn import read_categorical_columns, read_trees_of_boosting
from ._boosters import (
    OBLIVIOUS,
    ZERO,
    CatBoostTree,
    LightGBMTree,
    is_catboost,
    is_lightgbm,
    is_xgboost,
    load_catboost,
    load_lightgbm,
)
from ._inner_models import iter_inner_models
from ._model_features import (
    BAGS,
    FORESTS,
    HISTOGRAMS,
    REDRAWN,
    REWEIGHTED,
    UNLABELED,
    read_features,
)
from ._node_equations.boosters import find_numbers, load_booster

# Fitted models inside a model beyond these are not read: the members of a large vote know the same.
_MOST_MODELS = 40

# Rows from which a scale was computed, below which it says little.
_FEWEST_SEEN = 20

# Attributes that hold training rows as they were.
_STORED_ROWS = "_fit_X", "support_vectors_", "X_train_", "X_fit_"

_OF_TREES = (BaseDecisionTree, *FORESTS, *BAGS, *REWEIGHTED, *REDRAWN, *UNLABELED)
_BOOSTED = GradientBoostingClassifier, GradientBoostingRegressor


class ColumnScale(NamedTuple):
    """Where a column of the training rows was, as a scaler or stored rows tell."""

    column: str
    source: str  # the class of the estimator
    center: float
    spread: float
    values: np.ndarray  # (n,): the column of the records as it reaches the estimator
    n_passed: int  # steps that the column went through before


class ColumnSplits(NamedTuple):
    """Thresholds at which trees split a column."""

    column: str
    source: str
    thresholds: np.ndarray
    values: np.ndarray  # (n,): the column of the records as it reaches the trees
    n_passed: int  # steps that the column went through before


def list_column_numbers(model, X):
    """List what a fitted model remembers of its columns, beside the columns of some records.

    A part that cannot be read, or that refuses the records, is left out.
    """
    scales, splits = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner_models = islice(iter_inner_models(model, X), _MOST_MODELS)
        while True:
            try:
                inner = next(inner_models)
            except Exception:  # of whatever kind; StopIteration ends it as well
                break
            if inner.X is None:
                continue
            try:
                scales += _read_scales(inner)
                splits += _read_splits(inner)
            except Exception:  # of whatever kind: the other parts remain
                continue
    return scales, splits


def _name_inner_columns(inner, n_columns):
    names = getattr(inner.model, "feature_names_in_", None)
    if names is None and is_frame(inner.X):
        names = list(in_memory(inner.X).columns)
    if names is None or len(names) != n_columns:
        return [f"number {place + 1}" for place in range(n_columns)]
    return [repr(str(name)) for name in names]


def _read_scales(inner):
    found = _find_scale(inner.model)
    if found is None:
        return
    center, spread = (np.ravel(np.asarray(one, dtype=np.float64)) for one in found)
    X = as_numbers(in_memory(inner.X), "X", "numbers")
    if X.ndim != 2 or X.shape[1] != len(center):
        return
    names = _name_inner_columns(inner, len(center))
    for j in np.flatnonzero(np.isfinite(center) & np.isfinite(spread) & (spread > 0)):
        values = X[:, j][np.isfinite(X[:, j])]
        told = names[j], type(inner.model).__name__, center[j], spread[j], values
        yield ColumnScale(*told, len(inner.passed))


def _find_scale(model):
    """Center and spread of each column, or None."""
    if np.min(getattr(model, "n_samples_seen_", _FEWEST_SEEN)) < _FEWEST_SEEN:
        return None
    if isinstance(model, StandardScaler) and getattr(model, "var_", None) is not None:
        return model.mean_, np.sqrt(model.var_)
    if isinstance(model, MinMaxScaler):
        return (model.data_min_ + model.data_max_) / 2, (model.data_max_ - model.data_min_) / 2
    if isinstance(model, RobustScaler) and model.center_ is not None and model.scale_ is not None:
        return model.center_, model.scale_
    if isinstance(model, MaxAbsScaler):
        return np.zeros(len(model.max_abs_)), model.max_abs_
    for name in _STORED_ROWS:
        rows = getattr(model, name, None)
        is_table = isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind == "f"
        if is_table and len(rows) >= _FEWEST_SEEN:
            return rows.mean(axis=0), rows.std(axis=0)
    return None


def _read_splits(inner):
    found = _find_thresholds(inner.model)
    if found is None:
        return
    features, thresholds = found
    X = read_features(inner.model, None, inner.X)
    names = _name_inner_columns(inner, X.shape[1])
    of_categories = getattr(inner.model, "is_categorical_", None)
    if of_categories is not None:  # histogram boosting puts them first
        names = [*np.array(names)[of_categories], *np.array(names)[~of_categories]]
    for j in np.unique(features):
        own = thresholds[(features == j) & np.isfinite(thresholds)]
        values = X[:, j][np.isfinite(X[:, j])]
        yield ColumnSplits(names[j], type(inner.model).__name__, own, values, len(inner.passed))


def _find_thresholds(model):
    """Return columns and thresholds of all splits on numbers, or None of a model without trees."""
    if isinstance(model, (*_OF_TREES, *_BOOSTED)):
        return _join_thresholds(_list_tree_thresholds(model))
    if isinstance(model, HISTOGRAMS):
        of_categories = np.asarray(read_categorical_columns(model))
        nodes = np.concatenate([one.nodes for one in read_trees_of_boosting(model)])
        nodes = nodes[(nodes["is_leaf"] == 0) & ~of_categories[nodes["feature_idx"]]]
        return nodes["feature_idx"].astype(np.intp), nodes["num_threshold"]
    if is_xgboost(model):
        stored = load_booster(model)[0]["gradient_booster"]["model"]["trees"]
        return _join_thresholds(
            (np.array(tree["split_indices"])[s], np.array(tree["split_conditions"])[s])
            for tree, s in ((tree, find_numbers(tree)) for tree in stored)
        )
    if is_lightgbm(model):
        trees = load_lightgbm(model).trees
        used = [~LightGBMTree(one).of_category & (np.abs(one["threshold"]) > ZERO) for one in trees]
        return _join_thresholds(
            (one["split_feature"][s], one["threshold"][s])
            for one, s in zip(trees, used, strict=True)
        )
    if is_catboost(model):
        stored = load_catboost(model)
        numbers = stored["features_info"]["float_features"]
        trees = [CatBoostTree(tree, numbers) for tree in stored[OBLIVIOUS]]
        features, borders = _join_thresholds((tree.columns, tree.borders) for tree in trees)
        used = np.abs(borders) < np.finfo(np.float32).max
        return features[used], borders[used]
    return None


def _list_tree_thresholds(model):
    """Yield the columns and thresholds of each tree of scikit-learn."""
    estimators = getattr(model, "estimators_", [model])
    estimators = (
        estimators.ravel().tolist() if isinstance(estimators, np.ndarray) else list(estimators)
    )
    chosen = getattr(model, "estimators_features_", [None] * len(estimators))
    for estimator, columns in zip(estimators, chosen, strict=True):
        tree = getattr(estimator, "tree_", None)
        if tree is None:
            continue
        used = tree.feature >= 0
        features = tree.feature[used]
        yield features if columns is None else np.asarray(columns)[features], tree.threshold[used]


def _join_thresholds(pairs):
    pairs = list(pairs)
    if not pairs:
        return np.empty(0, dtype=np.intp), np.empty(0)
    features, thresholds = zip(*pairs, strict=True)
    return (
        np.concatenate(features).astype(np.intp),
        np.concatenate(thresholds).astype(np.float64),
    )
