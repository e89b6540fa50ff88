"""The leaf of each record in each tree of a model, for all kinds of trees."""

from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
)
from sklearn.tree import BaseDecisionTree

from .._core.sklearn import encode_for_boosting, read_leaves_of_boosting, read_trees_of_boosting
from ._boosters import (
    OBLIVIOUS,
    has_trees_of_xgboost,
    is_catboost,
    is_lightgbm,
    load_catboost,
    load_lightgbm,
)
from ._model_features import BOOSTED, FORESTS, HISTOGRAMS, find_model, read_features

_OF_PARTS = AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor


class TreeLeaves(NamedTuple):
    """Where some records arrive in one tree."""

    places: np.ndarray  # (n,): leaf of each record
    # Number of training rows that the file states for each place, in the sample of the tree if
    # it was grown on one; None if it states none.
    counts: np.ndarray | None


def has_leaves(model):
    """Return whether a fitted model consists of trees whose leaves can be read."""
    found = find_model(model)[0]
    if isinstance(found, _OF_PARTS):
        return all(has_leaves(estimator) for estimator in getattr(found, "estimators_", ()))
    kinds = (BaseDecisionTree, *FORESTS, *BOOSTED, *HISTOGRAMS)
    of_package = (has_trees_of_xgboost, is_lightgbm, is_catboost)
    return isinstance(found, kinds) or any(holds(found) for holds in of_package)


def iter_leaves(model, X):
    """Yield where records arrive in each tree of a model, as :class:`TreeLeaves`."""
    found, steps = find_model(model)
    if isinstance(found, _OF_PARTS):
        X = _as_matrix(found, steps, X)
        every = [slice(None)] * len(found.estimators_)
        chosen = getattr(found, "estimators_features_", every)
        for estimator, columns in zip(found.estimators_, chosen, strict=True):
            yield from iter_leaves(estimator, X[:, columns])
    elif isinstance(found, (BaseDecisionTree, *FORESTS, *BOOSTED)):
        X = _as_matrix(found, steps, X)
        for one in np.ravel(getattr(found, "estimators_", found)):
            yield TreeLeaves(one.tree_.apply(X), _keep_counts(one.tree_.n_node_samples))
    else:
        yield from _iter_boosted(found, X if steps is None else steps.transform(X))


def _iter_boosted(model, X):
    """Yield leaves in the trees of histogram boosting and of other packages."""
    if isinstance(model, HISTOGRAMS):
        X = encode_for_boosting(model, X.toarray() if sparse.issparse(X) else X)
        places = read_leaves_of_boosting(model, X)
        counts = [tree.nodes["count"] for tree in read_trees_of_boosting(model)]
    elif is_lightgbm(model):
        places = _as_columns(model.booster_.predict(X, pred_leaf=True))
        counts = [tree["leaf_count"] for tree in load_lightgbm(model).trees[: len(places)]]
    elif is_catboost(model):
        places = _as_columns(model.calc_leaf_indexes(X))
        counts = [tree["leaf_weights"] for tree in load_catboost(model).get(OBLIVIOUS, ())]
    else:  # XGBoost states no counts
        places, counts = _as_columns(np.asarray(model.apply(X))), ()
    for column, of_tree in zip_longest(places, counts, fillvalue=()):
        yield TreeLeaves(column.astype(np.intp), _keep_counts(of_tree))


def _as_matrix(model, steps, X):
    """Return features as the compiled trees of scikit-learn take them."""
    X = X if steps is None else steps.transform(X)
    if sparse.issparse(X) and X.shape[1] == model.n_features_in_:
        return X.tocsr().astype(np.float32)
    return read_features(model, None, X).astype(np.float32)


def _as_columns(places):
    return np.reshape(places, (len(places), -1)).T


def _keep_counts(counts):
    """Return the counts of rows, or None if the file was stripped or weights take their place."""
    counts = np.asarray(counts)
    return counts if counts.any() and np.array_equal(counts, np.rint(counts)) else None
