"""Settings of models for which the equations of the nodes are not known."""

from numbers import Integral

import numpy as np
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from ..._core.sklearn import read_draws

_SQUARED = {"squared_error", "friedman_mse"}
WEIGHTED = (
    "its equations are multiplied by class weights or sample weights, which it does not store"
)
UNBALANCED = (
    "each of its trees was grown on draws of each class, and it does not store how many rows the "
    "classes have"
)
_UNCOUNTED = "rows whose weights came to 0 are not counted in some of its trees"
_SIZED = "max_samples={} does not say how many training rows there were"
# Standard errors beyond which a number of rows is not due to chance.
_FAR = 5
_MONOTONIC = "monotonic constraints move the values of its leaves"


def why_not_grown(model):
    """Return the reason why the nodes of a decision tree or forest cannot be read, or None."""
    trees = getattr(model, "estimators_", [model])
    if hasattr(model, "samplers_"):
        return UNBALANCED
    bootstrap = getattr(model, "bootstrap", False)
    if bootstrap and isinstance(model.max_samples, Integral) and not read_draws(model)[1]:
        return _SIZED.format(model.max_samples)
    return _why_not_split(model, trees[0])


def why_not_bagged(model):
    """Return the reason why the nodes of bagged trees cannot be read, or None."""
    for one in model.estimators_:
        if not isinstance(one, BaseDecisionTree):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
        why = _why_not_split(one, one)
        if why is not None:
            return why
    _, n_rows, chances = read_draws(model)
    if isinstance(model.max_samples, Integral) and not n_rows:
        return _SIZED.format(model.max_samples)
    if chances is not None:
        return None if model.bootstrap else WEIGHTED
    # Newer versions store the weights of rows, or that there were none.
    is_known = hasattr(model, "_sample_weight") or model.estimators_[0].get_params().get(
        "class_weight"
    )
    return WEIGHTED if model.bootstrap and not is_known and _draws_unevenly(model) else None


def why_not_isolated(model):
    """Return the reason why the nodes of an isolation forest cannot be read, or None."""
    n_drawn, n_rows, chances = read_draws(model)
    if not n_rows or not model.estimators_[0].tree_.n_node_samples[0]:
        return "it does not store the numbers of rows of its nodes, and has no other equations"
    if chances is not None:
        return WEIGHTED
    # Trees that other weights reached do not count rows alike.
    return None if n_drawn >= model.estimators_[0].tree_.n_node_samples[0] else WEIGHTED


def _draws_unevenly(model):
    """Whether sample weights made some rows more likely to be drawn than others.

    The samples then hold fewer distinct rows than samples in which each row is as likely as any
    other, or, in older versions of scikit-learn, differ in their size.
    """
    roots = [tree.tree_ for tree in model.estimators_]
    n_drawn = np.array([tree.weighted_n_node_samples[0] for tree in roots])
    if not n_drawn.all():
        return False  # the file was stripped
    if (n_drawn != n_drawn[0]).any():
        return True
    n_rows = read_draws(model)[1]
    if not n_rows:
        n_rows = n_drawn[0] / (1 if model.max_samples is None else model.max_samples)
    # Probabilities that a row, and that two rows, are not drawn.
    missed, both = np.power([1 - 1 / n_rows, max(1 - 2 / n_rows, 0)], n_drawn[0])
    variance = n_rows * (missed - both) + n_rows**2 * (both - missed**2)
    lacking = n_rows * (1 - missed) - np.mean([tree.n_node_samples[0] for tree in roots])
    return lacking > _FAR * np.sqrt(variance / len(roots)) + 1


def _why_not_split(model, first):
    """Why the values of a tree or forest with these settings are not read, or None."""
    if model.n_outputs_ > 1:
        return "it has several outputs"
    if not hasattr(model, "classes_") and model.criterion not in _SQUARED:
        return f"criterion={model.criterion!r} does not store means and variances"
    if getattr(model, "monotonic_cst", None) is not None:
        return _MONOTONIC
    is_stripped = not first.tree_.n_node_samples[0]
    return WEIGHTED if is_stripped and getattr(model, "class_weight", None) is not None else None


def why_not_reweighted(model):
    """Return the reason why the nodes of AdaBoost cannot be read, or None."""
    for one in model.estimators_:
        if not isinstance(one, DecisionTreeClassifier):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
    counts = [tree.tree_.n_node_samples[0] for tree in model.estimators_]
    if not counts[0]:
        return "it does not store the numbers of rows of its nodes, which its other equations need"
    return _UNCOUNTED if len(set(counts)) > 1 else None


def why_not_histogram(model):
    """Return the reason why the nodes of histogram gradient boosting cannot be read, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has gradients that are not supported"
    return _MONOTONIC if model.monotonic_cst is not None else None


def why_not_boosted(model):
    """Return the reason why the nodes of gradient boosting cannot be read, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has gradients that are not supported"
    return None
