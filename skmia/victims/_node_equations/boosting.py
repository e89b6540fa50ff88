"""Equations of boosted trees, in which leaf values are Newton steps of known gradients."""

import numpy as np
from scipy.special import expit, softmax

from ..._core.kinds import is_classifier
from ..._core.sklearn import (
    read_baseline,
    read_categorical_columns,
    read_edges_of_boosting,
    read_initial_margins,
    read_leaves_of_boosting,
    read_trees_of_boosting,
)
from .._model_features import are_midpoints
from .equations import (
    DOUBLE,
    MONOTONIC,
    SINGLE,
    MarginDrift,
    RoundedValues,
    estimate_steps,
    estimate_unlikeness,
)

# Share of the coefficients that trees may have; edges of bins have equations as well.
_OF_TREES = 0.8

# Largest number of rows from which edges are computed; of more rows, a sample is used.
_MOST_BINNED = 200_000


def why_no_histogram_equations(model):
    return why_not_boosted(model) or (MONOTONIC if model.monotonic_cst is not None else None)


def why_not_boosted(model):
    """Return the reason why the gradients of the loss of a model are not known, or None."""
    if model.loss not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} has gradients that are not supported"
    return None


def add_bins(collector, model, X, n_rows):
    """Add how many training rows have values between two edges, for columns of quantiles.

    Shapes: X (n_candidates, n_features).
    """
    if not 0 < n_rows <= _MOST_BINNED:
        return
    edges, n_bins = read_edges_of_boosting(model), model.max_bins
    # Fewer edges are midpoints of a column with few values, or equal ones were dropped.
    numbers = np.flatnonzero(~read_categorical_columns(model))
    chosen = [j for j in numbers if len(edges[j]) == n_bins - 1]
    # As many can be midpoints of a column with as many values as there are bins. Quantiles leave
    # out missing values, and how many there were is not known.
    known = {
        j: not np.isnan(X[:, j]).any() and not are_midpoints(edges[j], X[:, j]) for j in chosen
    }
    are_values = [np.isin(edges[j], X[:, j]) for j in chosen if known[j]]
    below = _count_below(n_bins, n_rows, min(are_values, key=np.mean, default=0))
    for k, j in enumerate(chosen):
        if not collector.open(k, len(chosen), "columns"):
            continue
        column, missing = X[:, j], np.isnan(X[:, j])
        # Training rows with the value of an edge lie on both sides of it.
        values, counts = np.unique(column[~missing], return_counts=True)
        place = np.minimum(np.searchsorted(values, edges[j]), len(values) - 1)
        shared = np.where(values[place] == edges[j], counts[place], 1)
        beyond = (shared - 1) * n_rows / len(X) / 2
        passed = np.concatenate([[0], below + beyond, [n_rows]])
        variance = np.concatenate([[0], (shared**2 - 1) / 12, [0]])
        coefficients = ~missing * float(known[j])
        nodes = np.searchsorted(edges[j], column)
        collector.add(nodes, coefficients, np.diff(passed), variance[1:] + variance[:-1])


def _count_below(n_bins, n_rows, are_values):
    """Count the training rows up to each edge.

    Newer versions of scikit-learn take quantiles of the inverted distribution function, most of
    which are values. Older ones interpolate, so most are midpoints in a column without ties. The
    same steps as NumPy, because rounding decides between two values.
    """
    quantiles = np.linspace(0, 100, num=n_bins + 1)[1:-1] / 100
    inverted, interpolated = n_rows * quantiles - 1, (n_rows - 1) * quantiles
    is_new = np.mean((inverted % 1 > 0) == are_values) >= np.mean(
        (interpolated % 1 == 0) == are_values
    )
    if is_new:
        return np.floor(inverted) + np.where(inverted % 1 > 0, 2, 1)
    return np.floor(interpolated) + 1


# Largest distance of a number of rows from an integer, with gradients in single precision.
_WHOLE = 1e-2
# Variance of weights that are equal up to rounding.
_ALIKE = 1e-9


class LossGradients:
    """Gradients and hessians of a loss at the margins of the candidates."""

    def __init__(self, y, n_classes, weights=None):
        self.y, self.n_classes = y, n_classes
        self.weights = np.ones((1, 1)) if weights is None else weights[y][:, None]

    def at(self, margins):
        """Return gradient and hessian of each candidate and output, of shape (n, n_outputs)."""
        slope, curvature = self._derive(margins)
        return self.weights * slope, self.weights * curvature

    def _derive(self, margins):
        if self.n_classes == 0:
            return margins - self.y[:, None], np.ones_like(margins)
        if self.n_classes == 2:
            p = expit(margins)
            return p - self.y[:, None], p * (1 - p)
        p = softmax(margins, axis=1)
        return p - (self.y[:, None] == np.arange(self.n_classes)), p * (1 - p)


def make_gradients(model, y, weights=None):
    """Return the gradients of the loss of a classifier or regressor for the candidates."""
    if not is_classifier(model):
        return LossGradients(y, 0)
    return LossGradients(y, len(model.classes_), weights)


def add_sum(collector, leaves, parts, targets, precision, rounded, unlike=0.0):
    """Add equations with coefficients that are sums of two parts, which may cancel."""
    first, second = parts
    options = {"terms": np.abs(first) + np.abs(second), "precision": precision}
    collector.add(leaves, first + second, targets, **options, rounded=rounded, unlike=unlike)


def read_histogram_boosting(model, X, y, collector):
    """Read the equations of leaves and bins, and return the number of training rows."""
    trees = read_trees_of_boosting(model)
    n_outputs = model.n_trees_per_iteration_
    find = estimate_steps([one.nodes["value"][one.nodes["is_leaf"] == 1] for one in trees])
    weights = _find_weights_of_histograms(model, trees[0].nodes, find)
    has_values, gradients = weights is not None, make_gradients(model, y, weights)
    rate, penalty = model.learning_rate, model.l2_regularization
    margins = np.repeat(read_baseline(model), len(X), axis=0).astype(np.float64)
    drift = MarginDrift(*margins.shape)
    places = read_leaves_of_boosting(model, X)
    for start in range(0, len(trees), n_outputs):
        # scikit-learn stores gradients and hessians in single precision.
        slope, curvature = (part.astype(np.float32) for part in gradients.at(margins))
        for k, tree in enumerate(trees[start : start + n_outputs]):
            nodes, leaves = tree.nodes, next(places)
            collector.open(start + k, len(trees), share=_OF_TREES)
            if nodes["count"][0]:  # 0 if the file was stripped
                collector.add(leaves, np.ones(len(X)), nodes["count"])
            step = nodes["value"] / rate
            newton = slope[:, k].astype(float), step[leaves] * curvature[:, k]
            rounding, terms = find(nodes["value"]), curvature[:, k].astype(float)
            rounded = RoundedValues(rounding / rate, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            if has_values:
                add_sum(collector, leaves, newton, -penalty * step, SINGLE, rounded)
            margins[:, k] += nodes["value"][leaves]
    n_rows = int(trees[0].nodes["count"][0])
    if has_values and getattr(model, "class_weight", None) is None:
        add_bins(collector, model, X, n_rows)  # newer versions take quantiles of weighted rows
    return n_rows


def _find_weights_of_histograms(model, nodes, find):
    """Return the weights of the classes.

    None if they are not known, and equations of values neither.
    """
    n_classes = len(model.classes_) if is_classifier(model) else 0
    given = getattr(model, "class_weight", None)
    plain, n_rows = np.ones(n_classes), int(nodes["count"][0])
    if isinstance(given, dict):
        plain = np.array([given.get(label, 1.0) for label in model.classes_.tolist()])
    if n_classes != 2 or not n_rows or find(nodes["value"]).any():
        return None if given == "balanced" else plain
    start = expit(read_baseline(model).item())
    leaves = nodes[nodes["is_leaf"] == 1]
    steps, penalty = leaves["value"] / model.learning_rate, model.l2_regularization
    if given != "balanced":
        best = choose_weights(plain[None], None, leaves["count"], steps, start, penalty)
        return None if best is None else plain
    # Weights follow from the rows before some were set apart.
    totals = [n_rows]
    if model.do_early_stopping_ and model.validation_fraction is not None:
        totals = _list_totals(n_rows, model.validation_fraction)
    tried = [balance(total) for total in totals]
    weights = np.concatenate([some for some, _ in tried])
    seconds = np.concatenate([n_rows * shares for _, shares in tried])
    best = choose_weights(
        weights, seconds, leaves["count"], steps, start, penalty, slack=len(totals) > 1
    )
    return None if best is None else weights[best]


def _list_totals(n_rows, share):
    """Return the numbers of rows of which as many are left after a share is set apart."""
    if not isinstance(share, float):
        return [n_rows + share]
    near = n_rows + np.arange(int(n_rows * share / (1 - share)) + 3)
    return near[near - np.ceil(share * near) == n_rows]


def balance(total):
    """Return balanced weights of two classes, for each share of rows that the second may have."""
    second = np.arange(1, total)
    return total / 2 / np.column_stack([total - second, second]), second / total


def choose_weights(weights, seconds, counts, steps, start, penalties, *, slack=False):
    """Index of the weights of two classes that the leaves of a first tree agree with, or None.

    The first gradients are the same for all rows of a class. The value of a leaf therefore says how
    many of its rows are of the second class, and with the right weights these numbers are whole.

    Shapes: weights (n_tried, 2), seconds (n_tried,), counts, steps (n_leaves,), start (n_tried, 1),
    penalties (n_leaves,).
    """
    bend = start * (1 - start)
    first = weights[:, :1] * (start + steps * bend)
    second = weights[:, 1:] * (start - 1 + steps * bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = (-penalties * steps - counts * first) / (second - first)
    most = _WHOLE + SINGLE * counts
    fits = np.isfinite(rows).all(axis=1) & (rows > -most).all(axis=1)
    fits &= (rows < counts + most).all(axis=1)
    if seconds is not None:
        fits[fits] = np.abs(rows[fits].sum(axis=1) - seconds[fits]) < (1.5 if slack else 0.5)
    away = np.full(len(rows), np.inf)
    away[fits] = (np.abs(rows[fits] - np.rint(rows[fits])) / most).max(axis=1)
    best = away.argmin()
    return best if away[best] < 1 else None


def read_gradient_boosting(model, X, y, collector):
    """Read the equations of leaves and inner nodes, and return the number of training rows."""
    gradients, X = make_gradients(model, y), X.astype(np.float32)
    n_outputs = model.estimators_.shape[1]
    factor = (n_outputs - 1) / n_outputs if n_outputs > 1 else 1.0
    margins = read_initial_margins(model, X)
    drift = MarginDrift(*margins.shape)
    all_trees = [one.tree_ for one in model.estimators_.ravel()]
    find = estimate_steps([tree.value[tree.children_left < 0, 0, 0] for tree in all_trees])
    unlike = np.mean([estimate_unlikeness(tree) for tree in all_trees])
    unlike = 0.0 if unlike < _ALIKE else unlike
    collector.draw(model.subsample)
    for stage, estimators in enumerate(model.estimators_):
        slope, curvature = gradients.at(margins)
        for k, estimator in enumerate(estimators):
            is_read = collector.open(stage * n_outputs + k, len(all_trees))
            tree, residual = estimator.tree_, -slope[:, k]
            leaves, value = tree.apply(X), tree.value[:, 0, 0]
            if is_read and tree.n_node_samples[0]:  # 0 if the file was stripped
                collector.add(leaves, np.ones(len(X)), tree.n_node_samples)
                _add_inner_nodes(collector, tree, X, residual, unlike)
            newton = residual * factor, -value[leaves] * curvature[:, k]
            rounding, terms = find(value), curvature[:, k]
            rounded = RoundedValues(rounding, terms, 0.0, drift.of(k, terms))
            drift.add(k, model.learning_rate * rounding[leaves])
            none = np.zeros(tree.node_count)
            add_sum(collector, leaves, newton, none, DOUBLE, rounded, unlike)
            margins[:, k] += model.learning_rate * value[leaves]
    return round(all_trees[0].n_node_samples[0] / model.subsample)


def _add_inner_nodes(collector, tree, X, residual, unlike):
    """Add equations of inner nodes, which store the mean residual of their rows.

    In leaves, the line search has replaced this mean by the value of the leaf.
    """
    path, one_node = tree.decision_path(X).tocsc(), np.zeros(len(residual), dtype=np.intp)
    for node in np.flatnonzero(tree.children_left >= 0):
        through = np.zeros(len(residual))
        rows = path.indices[path.indptr[node] : path.indptr[node + 1]]
        # Around the mean, unknown weights and samples add the least noise.
        through[rows] = residual[rows] - tree.value[node, 0, 0]
        terms = np.abs(residual) + np.abs(tree.value[node, 0, 0])
        collector.add(one_node, through, np.zeros(1), terms=terms, unlike=unlike)
