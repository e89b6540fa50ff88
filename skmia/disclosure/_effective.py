"""Effective degrees of freedom: trace of the map from labels to fitted outputs."""

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.tree import BaseDecisionTree

from ..victims.inputs import find_model
from ..victims.tree_families import FORESTS

# Columns up to which the matrix of second derivatives is decomposed, which takes seconds.
_MOST_COLUMNS = 2_000


def measure_effective_dof(model, X):
    """Return the effective degrees of freedom of a fitted model, or None if they are not known.

    A leaf predicts the mean of its rows, so a tree has as many as leaves and a forest their mean
    over its trees. Penalized linear models have the trace of X'WX (X'WX + penalty)^-1, with an
    intercept that is not penalized.

    Parameters
    ----------
    model : fitted estimator
    X : array-like of n rows
        Training rows as the model takes them.
    """
    found, steps = find_model(model)
    if isinstance(found, BaseDecisionTree):
        return float(found.tree_.n_leaves)
    if isinstance(found, FORESTS):
        return float(np.mean([tree.tree_.n_leaves for tree in found.estimators_]))
    penalty = _get_penalty(found)
    if penalty is None:
        return None
    X = X if steps is None else steps.transform(X)
    if np.shape(X)[1] > _MOST_COLUMNS:
        return None
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    return _trace(found, X, penalty)


def _get_penalty(model):
    """The factor of half the squared weights, or None if the model is of another kind."""
    if type(model) is LinearRegression and not model.positive:
        return 0.0 if np.ndim(model.coef_) == 1 else None
    if type(model) is Ridge and not model.positive and np.ndim(model.alpha) == 0:
        return float(model.alpha) if np.ndim(model.coef_) == 1 else None
    if type(model) is not LogisticRegression or model.solver == "liblinear":
        return None
    settings = model.get_params()
    plain = settings.get("penalty") in ("l2", "deprecated", None) and not settings.get("l1_ratio")
    if not plain or model.class_weight is not None or len(model.classes_) != 2:
        return None
    return 0.0 if settings["penalty"] is None else 1 / float(model.C)


def _trace(model, X, penalty):
    weights = np.ones(len(X))
    if isinstance(model, LogisticRegression):
        share = expit(X @ model.coef_[0] + model.intercept_[0])
        weights = share * (1 - share)
    penalties = np.full(X.shape[1], penalty)
    if model.fit_intercept:
        X, penalties = np.column_stack([X, np.ones(len(X))]), np.append(penalties, 0.0)
    curvature = (X * weights[:, None]).T @ X
    whole = curvature + np.diag(penalties)
    return float(np.trace(linalg.pinvh(whole) @ curvature))
