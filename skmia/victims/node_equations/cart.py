"""Equations of decision trees and of what averages them: forests, extra trees, bagging."""

import numpy as np

from .equations import count_candidates
from .rounding import Rounded, find_steps
from .shares import estimate_totals

# A class fraction of exactly 1, up to the rounding of a division.
_PURE = 1 - 1e-9


class Sample:
    """Which training rows a tree was grown on.

    Parameters
    ----------
    n_drawn : int
        Draws with replacement; 0 where the tree was grown on all rows.
    n_rows : int
        Number of training rows.
    """

    def __init__(self, n_drawn, n_rows):
        self.draws, self.n_rows = n_drawn > 0, n_rows
        # Probability that a row is in the sample, and the mean number of times that it is.
        self.kept = 1 - (1 - 1 / n_rows) ** n_drawn if self.draws else 1.0
        self.mean = n_drawn / n_rows if self.draws else 1.0

    def variance_of_distinct(self, count):
        """Variance of the number of distinct rows over its mean, for a number of members."""
        return count * (1 - self.kept) / self.kept if self.draws else 0.0 * count

    def variance_of_drawn(self, count):
        """Variance of the number of draws over its mean."""
        return count / self.mean if self.draws else 0.0 * count


def add_tree(collector, tree, leaves, y, sample, find):
    """Add what the leaves of a tree hold of a classifier or regressor.

    Parameters
    ----------
    collector : Collector
    tree : sklearn.tree._tree.Tree
    leaves : ndarray of shape (n_candidates,), dtype int
        Leaf of each candidate.
    y : ndarray of shape (n_candidates,)
        Numbers of the classes, dtype int, or regression targets.
    sample : Sample
        Rows that the tree was grown on.
    find : callable
        Gives the steps to which values were rounded.
    """
    counts = tree.n_node_samples.astype(np.float64)
    candidates = count_candidates(leaves, tree.node_count)
    if not counts[0]:
        _add_shares(collector, tree, leaves, y, sample, find)
        return
    # The tree was grown on the rows of the sample, so a node counts less than it has members.
    most = np.maximum(counts / sample.kept, candidates / 2)
    if y.dtype.kind in "iu":
        _add_classes(collector, tree, leaves, y, sample, most)
    else:
        _add_targets(collector, tree, leaves, y, sample, most, find)


def _add_classes(collector, tree, leaves, y, sample, most):
    fractions = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    drawn = np.rint(fractions * tree.weighted_n_node_samples[:, None])
    pure = fractions.max(axis=1) > _PURE
    for label in range(fractions.shape[1]):
        # Of a pure leaf the distinct rows are counted, which vary less than all draws do.
        own = np.where(pure, tree.n_node_samples / sample.kept, drawn[:, label] / sample.mean)
        own[pure & (fractions[:, label] < 0.5)] = 0
        variance = np.where(pure, sample.variance_of_distinct(most), sample.variance_of_drawn(most))
        collector.add(leaves, (y == label).astype(float), own, variance)


def _add_shares(collector, tree, leaves, y, sample, find):
    """Equations of a stripped tree, whose leaves keep shares of classes, or means, alone."""
    values, steps = tree.value[:, 0, :], find(tree.value[:, 0, :])
    if y.dtype.kind not in "iu":
        _add_balance(collector, leaves, y - values[leaves, 0], sample, steps[:, 0])
        return
    for label in range(values.shape[1]):
        away = (y == label) - values[leaves, label]
        _add_balance(collector, leaves, away, sample, steps[:, label])
    possible = values[leaves, y] > 0
    candidates = np.bincount(leaves, possible, minlength=tree.node_count)
    totals, left = estimate_totals(values, steps, candidates, collector.share, sample)
    most = np.maximum(totals / sample.mean, candidates / 2)
    variance = sample.variance_of_drawn(most) + left / sample.mean**2
    collector.add(leaves, possible.astype(float), totals / sample.mean, variance)


def _add_balance(collector, leaves, away, sample, steps):
    """Equations that differences from a mean, or from a share, add to 0."""
    # Half of the candidates of a leaf are members, each drawn as often as a row is on average.
    noise = sample.draws / sample.mean / 2
    variance = np.bincount(leaves, away**2, minlength=len(steps)) * noise
    rounded = Rounded(steps, np.ones(len(away)))
    collector.add(leaves, away, np.zeros(len(steps)), variance, rounded=rounded)


def _add_targets(collector, tree, leaves, y, sample, most, find):
    mean = tree.value[:, 0, 0]
    ones = np.ones(len(y))
    collector.add(
        leaves, ones, tree.n_node_samples / sample.kept, sample.variance_of_distinct(most)
    )
    away = y - mean[leaves]
    _add_balance(collector, leaves, away, sample, find(mean))
    # Rows that a sample left out lie farther from the mean of a leaf than those it was grown on.
    if not sample.draws:
        collector.add(leaves, away**2, tree.n_node_samples * tree.impurity)


def _find_steps(trees):
    """Steps to which leaf values were rounded; a share of 0 or 1 is round by itself."""
    leaves = [tree.value[tree.children_left < 0, 0, :].ravel() for tree in trees]
    return find_steps([one[(one != 0) & (one != 1)] for one in leaves])


def read_tree(model, X, y, collector):
    """Equations of a DecisionTree or ExtraTree."""
    tree, X = model.tree_, X.astype(np.float32)
    n_rows = tree.n_node_samples[0]
    add_tree(collector, tree, tree.apply(X), y, Sample(0, max(n_rows, 1)), _find_steps([tree]))
    return n_rows


def read_forest(model, X, y, collector):
    """Equations of a RandomForest or of ExtraTrees."""
    trees, X = [one.tree_ for one in model.estimators_], X.astype(np.float32)
    n_drawn = n_rows = round(trees[0].weighted_n_node_samples[0])
    share = model.max_samples if model.bootstrap and isinstance(model.max_samples, float) else 1
    if n_drawn:
        n_rows = round(n_drawn / share)
    else:  # the file was stripped; what follows depends on the number of rows next to nothing
        n_rows = max(len(X) // 2, 1)
        n_drawn = max(round(share * n_rows), 1)
    sample = Sample(n_drawn if model.bootstrap else 0, n_rows)
    find = _find_steps(trees)
    for tree in trees:
        add_tree(collector, tree, tree.apply(X), y, sample, find)
    return n_rows if trees[0].weighted_n_node_samples[0] else 0
