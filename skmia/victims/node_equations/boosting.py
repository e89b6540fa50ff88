"""Equations of boosted trees, in which leaf values are Newton steps of known gradients."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import is_classifier

from ..._core.sklearn import read_baseline, read_initial_margins, read_trees_of_boosting
from .bins import add_bins
from .equations import DOUBLE, SINGLE
from .rounding import Drift, Rounded, estimate_steps


class Gradients:
    """Gradients and hessians of a loss at the margins of the candidates.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers of the classes, or regression targets.
    n_classes : int
        Number of classes; 0 for the squared error.
    """

    def __init__(self, y, n_classes):
        self.y, self.n_classes = y, n_classes

    def at(self, margins):
        """Return gradient and hessian of each candidate and output, of shape (n, n_outputs)."""
        if self.n_classes == 0:
            return margins - self.y[:, None], np.ones_like(margins)
        if self.n_classes == 2:
            p = expit(margins)
            return p - self.y[:, None], p * (1 - p)
        p = softmax(margins, axis=1)
        return p - (self.y[:, None] == np.arange(self.n_classes)), p * (1 - p)


def make_gradients(model, y):
    """Return the gradients of the loss of a classifier or regressor for the candidates."""
    if not is_classifier(model):
        return Gradients(y, 0)
    return Gradients(y, len(model.classes_))


def add_sum(collector, leaves, parts, targets, precision, rounded):
    """Add equations with coefficients that are sums of two parts, which may cancel."""
    first, second = parts
    terms = np.abs(first) + np.abs(second)
    collector.add(
        leaves, first + second, targets, terms=terms, precision=precision, rounded=rounded
    )


def route(nodes, X):
    """Return the leaf of each row in a tree of HistGradientBoosting, by its stored splits."""
    place, rows = np.zeros(len(X), dtype=np.intp), np.arange(len(X))
    while len(rows):
        rows = rows[~nodes["is_leaf"][place[rows]].astype(bool)]
        here = nodes[place[rows]]
        values = X[rows, here["feature_idx"]]
        missing = np.isnan(values)
        with np.errstate(invalid="ignore"):
            left = np.where(
                missing, here["missing_go_to_left"] != 0, values <= here["num_threshold"]
            )
        place[rows] = np.where(left, here["left"], here["right"])
    return place


def read_histogram_boosting(model, X, y, collector):
    """Read the equations of a HistGradientBoostingClassifier or -Regressor."""
    gradients = make_gradients(model, y)
    trees = read_trees_of_boosting(model)
    n_outputs = model.n_trees_per_iteration_
    find = estimate_steps([one.nodes["value"][one.nodes["is_leaf"] == 1] for one in trees])
    rate, penalty = model.learning_rate, model.l2_regularization
    margins = np.repeat(read_baseline(model), len(X), axis=0).astype(np.float64)
    drift = Drift(*margins.shape)
    for start in range(0, len(trees), n_outputs):
        # scikit-learn stores gradients and hessians in single precision.
        slope, curvature = (part.astype(np.float32) for part in gradients.at(margins))
        for k, tree in enumerate(trees[start : start + n_outputs]):
            nodes = tree.nodes
            leaves = route(nodes, X)
            if nodes["count"][0]:  # 0 if the file was stripped
                collector.add(leaves, np.ones(len(X)), nodes["count"])
            step = nodes["value"] / rate
            newton = slope[:, k].astype(float), step[leaves] * curvature[:, k]
            rounding, terms = find(nodes["value"]), curvature[:, k].astype(float)
            rounded = Rounded(rounding / rate, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            add_sum(collector, leaves, newton, -penalty * step, SINGLE, rounded)
            margins[:, k] += nodes["value"][leaves]
    n_rows = int(trees[0].nodes["count"][0])
    add_bins(collector, model, X, n_rows)
    return n_rows


def read_gradient_boosting(model, X, y, collector):
    """Read the equations of a GradientBoostingClassifier or GradientBoostingRegressor."""
    gradients, X = make_gradients(model, y), X.astype(np.float32)
    n_outputs = model.estimators_.shape[1]
    factor = (n_outputs - 1) / n_outputs if n_outputs > 1 else 1.0
    margins = read_initial_margins(model, X)
    drift = Drift(*margins.shape)
    find = estimate_steps([_read_leaves(one.tree_) for one in model.estimators_.ravel()])
    for stage in model.estimators_:
        slope, curvature = gradients.at(margins)
        for k, estimator in enumerate(stage):
            tree, residual = estimator.tree_, -slope[:, k]
            leaves, value = tree.apply(X), tree.value[:, 0, 0]
            if tree.n_node_samples[0]:  # 0 if the file was stripped
                collector.add(leaves, np.ones(len(X)), tree.n_node_samples)
                _add_inner_nodes(collector, tree, X, residual)
            newton = residual * factor, -value[leaves] * curvature[:, k]
            rounding, terms = find(value), curvature[:, k]
            rounded = Rounded(rounding, terms, 0.0, drift.of(k, terms))
            drift.add(k, model.learning_rate * rounding[leaves])
            add_sum(collector, leaves, newton, np.zeros(tree.node_count), DOUBLE, rounded)
            margins[:, k] += model.learning_rate * value[leaves]
    return model.estimators_[0, 0].tree_.n_node_samples[0]


def _read_leaves(tree):
    return tree.value[tree.children_left < 0, 0, 0]


def _add_inner_nodes(collector, tree, X, residual):
    """Add equations of inner nodes, which store the mean residual of their rows.

    In leaves, the line search has replaced this mean by the value of the leaf.
    """
    path = tree.decision_path(X).tocsc()
    for node in np.flatnonzero(tree.children_left >= 0):
        through = np.zeros(len(residual))
        rows = path.indices[path.indptr[node] : path.indptr[node + 1]]
        through[rows] = residual[rows]
        target = np.array([tree.n_node_samples[node] * tree.value[node, 0, 0]])
        collector.add(np.zeros(len(residual), dtype=np.intp), through, target)
