"""Settings of models by which the equations of their nodes are not known."""

from numbers import Integral

import numpy as np

_SQUARED = {"squared_error", "friedman_mse"}
WEIGHTED = "class weights or sample weights multiply its equations by numbers that it does not keep"
_MONOTONIC = "monotonic constraints move the values of its leaves"


def why_not_grown(model):
    """Why the nodes of a fitted decision tree or forest are not read, or None."""
    trees = getattr(model, "estimators_", [model])
    if model.n_outputs_ > 1:
        return "it has several outputs"
    if not hasattr(model, "classes_") and model.criterion not in _SQUARED:
        return f"criterion={model.criterion!r} does not keep means and variances"
    if getattr(model, "monotonic_cst", None) is not None:
        return _MONOTONIC
    bootstrap = getattr(model, "bootstrap", False)
    if bootstrap and isinstance(model.max_samples, Integral):
        return f"max_samples={model.max_samples} leaves open of how many rows its samples are"
    weights = [tree.tree_.weighted_n_node_samples for tree in trees]
    counts = [tree.tree_.n_node_samples for tree in trees]
    if not bootstrap and any(
        not np.array_equal(w, n) for w, n in zip(weights, counts, strict=True)
    ):
        return WEIGHTED
    is_whole = all(np.array_equal(one, np.rint(one)) for one in weights)
    if getattr(model, "class_weight", None) is not None or not is_whole:
        return WEIGHTED
    return None


def why_not_histogram(model):
    """Why the nodes of a fitted histogram gradient boosting are not read, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has other gradients than those that are known"
    if getattr(model, "class_weight", None) is not None:
        return WEIGHTED
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        return "it splits on categories; encode them as numbers"
    return _MONOTONIC if model.monotonic_cst is not None else None


def why_not_boosted(model):
    """Why the nodes of a fitted gradient boosting are not read, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has other gradients than those that are known"
    if model.subsample < 1:
        return (
            f"subsample={model.subsample} leaves out rows in each round, and it does not say which"
        )
    trees = [one.tree_ for one in model.estimators_.ravel()]
    same = all(np.allclose(one.weighted_n_node_samples, one.n_node_samples) for one in trees)
    return None if same else WEIGHTED
