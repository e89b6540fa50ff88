"""Settings of models for which the equations of the nodes are not known."""

from numbers import Integral

import numpy as np
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

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
    if bootstrap and isinstance(model.max_samples, Integral):
        return _SIZED.format(model.max_samples)
    return _why_not_split(model) or _why_not_counted(trees, bootstrap)


def why_not_bagged(model):
    """Return the reason why the nodes of bagged trees cannot be read, or None."""
    for one in model.estimators_:
        if not isinstance(one, BaseDecisionTree):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
        why = _why_not_split(one)
        if why is not None:
            return why
    if isinstance(model.max_samples, Integral):
        return _SIZED.format(model.max_samples)
    why = _why_not_counted(model.estimators_, model.bootstrap)
    return why or (WEIGHTED if model.bootstrap and _draws_unevenly(model) else None)


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
    n_rows = n_drawn[0] / (1 if model.max_samples is None else model.max_samples)
    # Probabilities that a row, and that two rows, are not drawn.
    missed, both = np.power([1 - 1 / n_rows, max(1 - 2 / n_rows, 0)], n_drawn[0])
    variance = n_rows * (missed - both) + n_rows**2 * (both - missed**2)
    lacking = n_rows * (1 - missed) - np.mean([tree.n_node_samples[0] for tree in roots])
    return lacking > _FAR * np.sqrt(variance / len(roots)) + 1


def _why_not_split(model):
    """Why the values of a tree or forest with these settings are not read, or None."""
    if model.n_outputs_ > 1:
        return "it has several outputs"
    if not hasattr(model, "classes_") and model.criterion not in _SQUARED:
        return f"criterion={model.criterion!r} does not store means and variances"
    if getattr(model, "monotonic_cst", None) is not None:
        return _MONOTONIC
    return WEIGHTED if getattr(model, "class_weight", None) is not None else None


def _why_not_counted(trees, bootstrap):
    """Why the nodes of trees do not count rows, or None."""
    weights = [tree.tree_.weighted_n_node_samples for tree in trees]
    counts = [tree.tree_.n_node_samples for tree in trees]
    if not bootstrap and any(
        not np.array_equal(w, n) for w, n in zip(weights, counts, strict=True)
    ):
        return WEIGHTED
    is_whole = all(np.array_equal(weight, np.rint(weight)) for weight in weights)
    return None if is_whole else WEIGHTED


def why_not_reweighted(model):
    """Return the reason why the nodes of AdaBoost cannot be read, or None."""
    for one in model.estimators_:
        if not isinstance(one, DecisionTreeClassifier):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
    counts = [tree.tree_.n_node_samples[0] for tree in model.estimators_]
    return _UNCOUNTED if len(set(counts)) > 1 else None


def why_not_unlabeled(model):
    """Return the reason why the nodes of trees without labels cannot be read, or None."""
    if getattr(model, "bootstrap", False):
        return "bootstrap=True does not say of how many rows its samples are"
    counts = [tree.tree_.n_node_samples[0] for tree in model.estimators_]
    return "its nodes do not count rows" if not all(counts) else None


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
