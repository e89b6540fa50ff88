"""Settings of models for which the equations of the nodes are not known."""

from numbers import Integral

import numpy as np

_SQUARED = {"squared_error", "friedman_mse"}
WEIGHTED = (
    "its equations are multiplied by class weights or sample weights, which it does not store"
)
UNBALANCED = (
    "each of its trees was grown on draws of each class, and it does not store how many rows the "
    "classes have"
)
_MONOTONIC = "monotonic constraints move the values of its leaves"


def why_not_grown(model):
    """Return the reason why the nodes of a decision tree or forest cannot be read, or None."""
    trees = getattr(model, "estimators_", [model])
    if hasattr(model, "samplers_"):
        return UNBALANCED
    if model.n_outputs_ > 1:
        return "it has several outputs"
    if not hasattr(model, "classes_") and model.criterion not in _SQUARED:
        return f"criterion={model.criterion!r} does not store means and variances"
    if getattr(model, "monotonic_cst", None) is not None:
        return _MONOTONIC
    bootstrap = getattr(model, "bootstrap", False)
    if bootstrap and isinstance(model.max_samples, Integral):
        return f"max_samples={model.max_samples} does not say how many training rows there were"
    weights = [tree.tree_.weighted_n_node_samples for tree in trees]
    counts = [tree.tree_.n_node_samples for tree in trees]
    if not bootstrap and any(
        not np.array_equal(w, n) for w, n in zip(weights, counts, strict=True)
    ):
        return WEIGHTED
    is_whole = all(np.array_equal(weight, np.rint(weight)) for weight in weights)
    if getattr(model, "class_weight", None) is not None or not is_whole:
        return WEIGHTED
    return None


def why_not_histogram(model):
    """Return the reason why the nodes of histogram gradient boosting cannot be read, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has gradients that are not supported"
    if getattr(model, "class_weight", None) is not None:
        return WEIGHTED
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        return "it splits on categories; encode them as numbers"
    return _MONOTONIC if model.monotonic_cst is not None else None


def why_not_boosted(model):
    """Return the reason why the nodes of gradient boosting cannot be read, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has gradients that are not supported"
    if model.subsample < 1:
        return (
            f"subsample={model.subsample} leaves out rows in each round, and the model does not "
            "store which"
        )
    trees = [estimator.tree_ for estimator in model.estimators_.ravel()]
    same = all(np.allclose(tree.weighted_n_node_samples, tree.n_node_samples) for tree in trees)
    return None if same else WEIGHTED
