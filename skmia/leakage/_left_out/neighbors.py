"""Nearest neighbors: the votes of the others."""

import numpy as np
from sklearn.base import is_classifier

from .sides import sides_of_proba, sides_of_residuals


def why_not_neighbors(model, n_records):
    """Why the neighbors of a fitted model are not known, or None."""
    if model.n_samples_fit_ != n_records:
        return f"it was fitted on {model.n_samples_fit_} records, not {n_records}"
    if model.n_neighbors > n_records - 1:
        return f"it has n_neighbors={model.n_neighbors}, and n_samples={n_records} has fewer others"
    if model.weights not in (None, "uniform", "distance"):
        return "its weights are a function of its own"
    return None


def leave_out_of_neighbors(model, X, y):
    """Answers of the nearest neighbors, with and without the record itself among them."""
    inside = _vote(model, *model.kneighbors(X), y)
    outside = _vote(model, *model.kneighbors(), y)
    if not is_classifier(model):
        return sides_of_residuals(y - inside, y - outside)
    return sides_of_proba(inside, outside, 0.5 / model.n_neighbors)


def _vote(model, distances, neighbors, y):
    """Share of the label among neighbors, or their mean target."""
    votes = y[neighbors] == y[:, None] if is_classifier(model) else y[neighbors]
    if model.weights == "distance":
        equal = distances == 0
        with np.errstate(divide="ignore"):
            weights = np.where(equal.any(axis=1, keepdims=True), equal, 1 / distances)
    else:
        weights = np.ones_like(distances)
    return np.average(votes, axis=1, weights=weights)
