"""Equations of decision trees and of what averages them: forests, extra trees, bagging."""

import numpy as np

from .equations import count_candidates

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


def add_tree(collector, tree, leaves, y, sample):
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
    """
    counts = tree.n_node_samples.astype(np.float64)
    candidates = count_candidates(leaves, tree.node_count)
    if not counts[0]:
        _add_shares(collector, tree, leaves, y, sample)
        return
    # The tree was grown on the rows of the sample, so a node counts less than it has members.
    most = np.maximum(counts / sample.kept, candidates / 2)
    if y.dtype.kind in "iu":
        _add_classes(collector, tree, leaves, y, sample, most)
    else:
        _add_targets(collector, tree, leaves, y, sample, most)


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


def _add_shares(collector, tree, leaves, y, sample):
    """Equations of a stripped tree, whose leaves keep shares of classes, or means, alone."""
    value = tree.value[:, 0, :]
    if y.dtype.kind in "iu":
        shares = value / np.maximum(value.sum(axis=1, keepdims=True), 1e-300)
        parts = [(y == label) - shares[leaves, label] for label in range(shares.shape[1])]
    else:
        parts = [y - value[leaves, 0]]
    for away in parts:
        _add_balance(collector, leaves, away, tree.node_count, sample)


def _add_balance(collector, leaves, away, n_nodes, sample):
    """Equations that differences from a mean add to 0."""
    # Half of the candidates of a leaf are members, each drawn as often as a row is on average.
    noise = sample.draws / sample.mean / 2
    variance = np.bincount(leaves, away**2, minlength=n_nodes) * noise
    collector.add(leaves, away, np.zeros(n_nodes), variance)


def _add_targets(collector, tree, leaves, y, sample, most):
    n_nodes, mean = tree.node_count, tree.value[:, 0, 0]
    ones = np.ones(len(y))
    collector.add(
        leaves, ones, tree.n_node_samples / sample.kept, sample.variance_of_distinct(most)
    )
    away = y - mean[leaves]
    _add_balance(collector, leaves, away, n_nodes, sample)
    # Rows that a sample left out lie farther from the mean of a leaf than those it was grown on.
    if not sample.draws:
        collector.add(leaves, away**2, tree.n_node_samples * tree.impurity)


def read_tree(model, X, y, collector):
    """Equations of a DecisionTree or ExtraTree."""
    tree, X = model.tree_, X.astype(np.float32)
    n_rows = tree.n_node_samples[0]
    add_tree(collector, tree, tree.apply(X), y, Sample(0, n_rows))
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
    for tree in trees:
        add_tree(collector, tree, tree.apply(X), y, sample)
    return n_rows if trees[0].weighted_n_node_samples[0] else 0
