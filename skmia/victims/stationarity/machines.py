"""Optimum of support vector machines: who is close to the boundary, or beyond, is stored."""

import copy

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, SVR

from ..._core.asking import check_victim
from ..inputs import check_labels, find_model, read_features
from ..resampling import why_not_resampled


def is_machine(model):
    """Whether a model is a support vector machine, at the end of a Pipeline or chosen."""
    return type(find_model(model)[0]) in (SVC, SVR)


def decide_by_margins(model, records):
    """Who must have been in the training data of a support vector machine, and who cannot.

    At the optimum, each training row with a margin below 1, or a residual beyond epsilon, is a
    support vector, and support vectors are stored. Who has such a margin and is not stored was not
    in the training data.

    Parameters
    ----------
    model : estimator
        Fitted SVC or SVR, a Pipeline that ends in one, or a search that has chosen one.
    records : Records of n records

    Returns
    -------
    decided : ndarray of shape (n,), dtype int
        1 for who is stored, -1 for who cannot have been a training row, 0 for the others.
    """
    found, steps = find_model(model)
    check_victim(model)
    why = _why_not(found) or why_not_resampled(model)
    if why is not None:
        raise ValueError(f"The optimum of this {type(found).__name__} is not read: {why}.")
    X = read_features(found, steps, records.X, role="The model has")
    y = check_labels(found, records.y)
    if isinstance(found, SVC):
        near = _smallest_margin(found, X, y) < 1 - found.tol
        owners = np.repeat(np.arange(len(found.classes_)), found.n_support_)
        stored = _are_among(np.column_stack([X, y]), np.column_stack([_list_rows(found), owners]))
    else:
        near = np.abs(y - found.predict(X)) > found.epsilon + found.tol
        stored = _are_among(X, _list_rows(found))
    return np.where(stored, 1, np.where(near, -1, 0))


def _why_not(model):
    if model.kernel == "precomputed":
        return "with a precomputed kernel it stores no rows"
    if model.fit_status_ or np.any(model.n_iter_ == model.max_iter):
        return f"its solver stopped after max_iter={model.max_iter} steps, before the optimum"
    return None


def _smallest_margin(model, X, y):
    """Smallest margin of each row in the problems of two classes that its class is in."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return model.decision_function(X) * np.where(y == 1, 1, -1)
    pairs = copy.copy(model).set_params(decision_function_shape="ovo").decision_function(X)
    first, second = np.triu_indices(n_classes, 1)
    signs = (y[:, None] == first).astype(float) - (y[:, None] == second)
    return np.where(signs != 0, pairs * signs, np.inf).min(axis=1)


def _list_rows(model):
    rows = model.support_vectors_
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _are_among(rows, stored):
    """Whether each row is one of those stored; 0 and -0 are the same."""
    both = np.concatenate([stored, rows]) + 0.0
    _, place = np.unique(both, axis=0, return_inverse=True)
    return np.isin(place.ravel()[len(stored) :], place.ravel()[: len(stored)])
