"""The leaf of each record in each tree of a model, for all kinds of trees."""

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

from .._core.classes import is_of_package
from .._core.sklearn import read_leaves_of_boosting, read_trees_of_boosting
from .boosters import OBLIVIOUS, is_catboost, is_lightgbm, load_catboost, load_lightgbm
from .inputs import find_model, read_features
from .tree_families import BOOSTED, FORESTS, HISTOGRAMS

_OF_PARTS = AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor


class Leaves(NamedTuple):
    """Where some records arrive in one tree.

    Attributes
    ----------
    places : ndarray of shape (n,), dtype int
        Leaf of each record.
    counts : ndarray or None
        Number of training rows that the file states for each place, in the sample of the tree if it
        was grown on one; None if it states none.
    """

    places: np.ndarray
    counts: np.ndarray | None


def has_leaves(model):
    """Whether a fitted model consists of trees whose leaves can be read."""
    found = find_model(model)[0]
    if isinstance(found, _OF_PARTS):
        return all(has_leaves(member) for member in getattr(found, "estimators_", ()))
    if is_of_package(found, "xgboost"):
        return hasattr(found, "get_booster") and getattr(found, "booster", None) != "gblinear"
    kinds = (BaseDecisionTree, *FORESTS, *BOOSTED, *HISTOGRAMS)
    return isinstance(found, kinds) or is_lightgbm(found) or is_catboost(found)


def iter_leaves(model, X):
    """Yield where records arrive in each tree of a model, as :class:`Leaves`.

    Parameters
    ----------
    model : fitted estimator
        A model for which :func:`has_leaves` is true.
    X : array-like of n rows
        Rows as the model takes them.
    """
    found, steps = find_model(model)
    if isinstance(found, HISTOGRAMS):
        yield from _iter_histograms(found, _transform(steps, X))
    elif isinstance(found, _OF_PARTS):
        yield from _iter_members(found, _as_matrix(found, steps, X))
    elif is_lightgbm(found):
        yield from _iter_lightgbm(found, _transform(steps, X))
    elif is_catboost(found):
        yield from _iter_catboost(found, _transform(steps, X))
    elif is_of_package(found, "xgboost"):
        places = np.asarray(found.apply(_transform(steps, X)))
        yield from (Leaves(column.astype(np.intp), None) for column in _as_columns(places))
    else:
        yield from _iter_trees(found, _as_matrix(found, steps, X))


def _transform(steps, X):
    return X if steps is None else steps.transform(X)


def _as_matrix(model, steps, X):
    """Features as the compiled trees of scikit-learn take them."""
    X = _transform(steps, X)
    if sparse.issparse(X) and X.shape[1] == model.n_features_in_:
        return X.tocsr().astype(np.float32)
    return read_features(model, None, X).astype(np.float32)


def _as_columns(places):
    return np.reshape(places, (len(places), -1)).T


def _keep_counts(counts):
    """Counts of rows, or None if the file was stripped or weights take their place."""
    counts = np.asarray(counts)
    return counts if counts.any() and np.array_equal(counts, np.rint(counts)) else None


def _iter_trees(model, X):
    if isinstance(model, BaseDecisionTree):
        trees = [model.tree_]
    else:
        trees = [tree.tree_ for tree in np.ravel(model.estimators_)]
    for tree in trees:
        yield Leaves(tree.apply(X), _keep_counts(tree.n_node_samples))


def _iter_members(model, X):
    chosen = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    for member, columns in zip(model.estimators_, chosen, strict=True):
        yield from iter_leaves(member, X if columns is None else X[:, columns])


def _iter_histograms(model, X):
    trees, X = read_trees_of_boosting(model), X.toarray() if sparse.issparse(X) else X
    for tree, places in zip(trees, read_leaves_of_boosting(model, X), strict=True):
        yield Leaves(places, _keep_counts(tree.nodes["count"]))


def _iter_lightgbm(model, X):
    places = _as_columns(model.booster_.predict(X, pred_leaf=True))
    trees = load_lightgbm(model).trees[: len(places)]
    for tree, column in zip(trees, places, strict=True):
        counts = tree["leaf_count"]
        yield Leaves(column.astype(np.intp), _keep_counts(counts) if len(counts) else None)


def _iter_catboost(model, X):
    trees = load_catboost(model).get(OBLIVIOUS, ())
    for k, column in enumerate(_as_columns(model.calc_leaf_indexes(X))):
        counts = _keep_counts(trees[k]["leaf_weights"]) if trees else None
        yield Leaves(column.astype(np.intp), counts)
