"""Thresholds of trees, moved to where they say less of the training records."""

import copy

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from ..._core.asking import unwrap
from ..._core.randomness import check_random_state
from ..._core.types import Seed
from ...victims.inputs import find_model, read_features
from ...victims.tree_families import BOOSTED, FORESTS


def move_thresholds(
    model: BaseEstimator, X: ArrayLike, *, random_state: Seed = None
) -> BaseEstimator:
    """Copy a fitted tree model with each threshold moved at random between two training values.

    A tree of scikit-learn splits exactly halfway between two values of its training records, so
    each threshold can be recognized as the midpoint of two candidate values. The copy has a uniform
    draw between the nearest values of training records at the node. Predictions on the training
    records stay bitwise equal; on other records they may change.

    It weakens :class:`~skmia.attacks.SplitThresholdAttack` and does not defeat it, see Notes.
    Numbers of rows and leaf values stay: also use :func:`strip_state`.

    Parameters
    ----------
    model : estimator
        Fitted decision tree, random forest, extra trees or gradient boosting of scikit-learn, a
        Pipeline that ends in one or a search that has chosen one. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Features of all training records.
    random_state : int, RandomState instance or None, default=None
        Controls the draws. With an int that an attacker can guess, the draws can be undone: leave
        it None for a release.

    Returns
    -------
    moved : estimator
        Copy of the same class.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If it is of another kind.
    ValueError
        If the records do not have the features of the model.

    See Also
    --------
    strip_state : Removes what predictions do not use.

    Notes
    -----
    No training record at a node has a value in the gap, and small gaps are likelier. Moved
    thresholds therefore still say which candidates were not members. The attack weighs all gaps
    around a threshold by this likelihood once it finds that thresholds are not midpoints.
    On 1,000 candidates of Law School and Adult, half of them members, its AUC fell from 0.88 and
    0.99 to 0.60 and 0.72 for random forests, and from 0.62 and 0.87 to 0.54 and 0.58 with 10 rows
    per leaf.

    Round thresholds would tell more: the coarsest decimal in the gap says that no coarser one is
    there. Histogram boosting and XGBoost are refused, because their leaf values would tell as much
    afterwards.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.defenses import move_thresholds
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> moved = move_thresholds(tree, X)
    >>> bool((moved.tree_.threshold != tree.tree_.threshold).any())
    True
    >>> bool((moved.predict_proba(X) == tree.predict_proba(X)).all())
    True
    """
    check_is_fitted(model)
    moved = copy.deepcopy(model)
    move_in_place(moved, X, check_random_state(random_state))
    return moved


def move_in_place(model, X, rng):
    """Move the thresholds of a fitted model of trees that was trained on some records."""
    found, steps = find_model(model)
    if not isinstance(found, (BaseDecisionTree, *FORESTS, *BOOSTED)):
        raise TypeError(
            "Thresholds are moved in decision trees, random forests, extra trees and gradient "
            "boosting of scikit-learn, also at the end of a Pipeline; got "
            f"{type(unwrap(model)).__name__}."
        )
    X = read_features(found, steps, X).astype(np.float32)
    if not len(X):
        raise ValueError("X must hold the rows that the model was trained on; got none.")
    for one in np.ravel(getattr(found, "estimators_", [found])):
        _move(one.tree_, X, rng)


def _move(tree, X, rng):
    """Move the thresholds of one tree."""
    node, row = _climb(tree, tree.apply(X))
    values = X[row, tree.feature[node]].astype(np.float64)
    below = values <= tree.threshold[node]
    low, high = np.full(tree.node_count, -np.inf), np.full(tree.node_count, np.inf)
    np.maximum.at(low, node[below], values[below])
    above = values > tree.threshold[node]  # a missing value is neither
    np.minimum.at(high, node[above], values[above])
    found = np.flatnonzero(np.isfinite(low) & np.isfinite(high) & np.isfinite(tree.threshold))
    drawn = rng.uniform(low[found], high[found])
    fits = (low[found] <= drawn) & (drawn < high[found])
    tree.threshold[found[fits]] = drawn[fits]


def _climb(tree, leaves):
    """All pairs of an inner node and a row that came through it, from the leaf of each row."""
    parent = np.full(tree.node_count, -1)
    inner = np.flatnonzero(tree.children_left >= 0)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    node, row, pairs = parent[leaves], np.arange(len(leaves)), []
    while len(row):
        row, node = row[node >= 0], node[node >= 0]
        pairs.append((node, row))
        node = parent[node]
    return (np.concatenate(part) for part in zip(*pairs, strict=True))
