"""Equations of decision trees, forests and extra trees."""

import numpy as np

from .equations import count_candidates
from .rounding import Rounded, estimate_steps
from .shares import estimate_totals, may_hold_rests

# A class fraction above this is exactly 1, up to the rounding of a division.
_PURE = 1 - 1e-9

# Relative error of weights that are products of those of all rounds before.
_OF_WEIGHTS = 1e-13


class Sample:
    """The sample of training rows on which a tree was grown.

    Parameters
    ----------
    n_drawn : int
        Number of draws; 0 if the tree was grown on all rows.
    n_rows : int
        Number of training rows.
    replaces : bool, default=True
        Whether a row can be drawn several times.
    """

    def __init__(self, n_drawn, n_rows, *, replaces=True):
        self.draws, self.n_rows = n_drawn > 0, n_rows
        # The probability that a row is in the sample, and its mean number of draws.
        self.mean = n_drawn / n_rows if self.draws else 1.0
        self.kept = 1 - (1 - 1 / n_rows) ** n_drawn if self.draws and replaces else self.mean
        # The variances of both for one row, over their squares.
        self._rarity = (1 - self.kept) / self.kept
        self.spread = 1 / self.mean if self.draws and replaces else self._rarity

    def variance_of_distinct(self, count):
        """Return the variance of the number of distinct rows over the share that is drawn."""
        return count * self._rarity

    def variance_of_drawn(self, count):
        """Return the variance of the number of draws over the mean number per row."""
        return count * self.spread


def add_tree(collector, tree, leaves, y, sample, find):
    """Add the equations of the leaves of one tree.

    Parameters
    ----------
    collector : Collector
    tree : sklearn.tree._tree.Tree
    leaves : ndarray of shape (n_candidates,), dtype int
        Leaf of each candidate.
    y : ndarray of shape (n_candidates,)
        Numbers of the classes, dtype int, or regression targets.
    sample : Sample
        Sample on which the tree was grown.
    find : callable
        Gives the steps to which values were rounded.
    """
    counts = tree.n_node_samples.astype(np.float64)
    candidates = count_candidates(leaves, tree.node_count)
    if not counts[0]:
        _add_shares(collector, tree, leaves, y, sample, find)
        return
    # A node only counts the rows in the sample, so its number of members is larger.
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
        # For a pure leaf, the number of distinct rows is known, which varies less than the draws.
        own = np.where(pure, tree.n_node_samples / sample.kept, drawn[:, label] / sample.mean)
        own[pure & (fractions[:, label] < 0.5)] = 0
        variance = np.where(pure, sample.variance_of_distinct(most), sample.variance_of_drawn(most))
        collector.add(leaves, (y == label).astype(float), own, variance)


def _add_shares(collector, tree, leaves, y, sample, find):
    """Add equations of a stripped tree, in which leaves only store class shares or means."""
    values, steps = tree.value[:, 0, :], find(tree.value[:, 0, :])
    if y.dtype.kind not in "iu":
        _add_balance(collector, leaves, y - values[leaves, 0], sample, steps[:, 0])
        return
    # Without rounding, the equation of one class repeats the others; with it, that of the class
    # that took the rest. Where it could be several, all have its larger error.
    rests, n_classes = may_hold_rests(values, steps), values.shape[1]
    blurred = np.where(rests, np.sqrt(n_classes), 1) * steps
    repeats = rests & (np.arange(n_classes) == values.argmax(axis=1)[:, None])
    for label in range(n_classes):
        away = (y == label) - values[leaves, label]
        _add_balance(collector, leaves, away, sample, blurred[:, label], repeats[:, label])
    # With n rows in a leaf, a class of one row has the share 1 / n, which may be rounded to 0.
    unseen = count_candidates(leaves, tree.node_count)[:, None] * steps / 2 >= 1
    possible = ((values > 0) | unseen)[leaves, y]
    candidates = np.bincount(leaves, possible, minlength=tree.node_count)
    totals, left = estimate_totals(values, steps, candidates, collector.share, sample)
    most = np.maximum(totals / sample.mean, candidates / 2)
    variance = sample.variance_of_drawn(most) + left / sample.mean**2
    collector.add(leaves, possible.astype(float), totals / sample.mean, variance)


def _add_balance(collector, leaves, away, sample, steps, left_out=False):
    """Add the equations that differences from a mean, or from a share, sum to 0."""
    # The noise assumes that half of the candidates in a leaf are members with the mean number of
    # draws.
    noise = sample.spread / 2
    variance = np.bincount(leaves, away**2, minlength=len(steps)) * noise
    rounded = Rounded(steps, np.ones(len(away)))
    total = np.where(left_out, np.nan, np.zeros(len(steps)))
    collector.add(leaves, away, total, variance, rounded=rounded)


def _add_targets(collector, tree, leaves, y, sample, most, find):
    mean = tree.value[:, 0, 0]
    ones = np.ones(len(y))
    collector.add(
        leaves, ones, tree.n_node_samples / sample.kept, sample.variance_of_distinct(most)
    )
    away = y - mean[leaves]
    _add_balance(collector, leaves, away, sample, find(mean))
    # With a sample, this equation would be biased: rows that were not drawn lie farther from the
    # mean of their leaf than the drawn rows.
    if not sample.draws:
        collector.add(leaves, away**2, tree.n_node_samples * tree.impurity)


def _estimate_steps(trees):
    """Find the steps to which leaf values were rounded; shares of 0 and 1 are not informative."""
    leaves = [tree.value[tree.children_left < 0, 0, :].ravel() for tree in trees]
    return estimate_steps([values[(values != 0) & (values != 1)] for values in leaves])


def read_tree(model, X, y, collector):
    """Read the equations of a DecisionTree or ExtraTree."""
    tree, X = model.tree_, X.astype(np.float32)
    n_rows = tree.n_node_samples[0]
    add_tree(collector, tree, tree.apply(X), y, Sample(0, max(n_rows, 1)), _estimate_steps([tree]))
    return n_rows


def read_forest(model, X, y, collector):
    """Read the equations of a RandomForest or of ExtraTrees."""
    trees, X = [estimator.tree_ for estimator in model.estimators_], X.astype(np.float32)
    share = model.max_samples if model.bootstrap and isinstance(model.max_samples, float) else 1
    leaves = (tree.apply(X) for tree in trees)
    return _read_trees(trees, leaves, y, collector, share, model.bootstrap)


def read_bag(model, X, y, collector):
    """Read the equations of bagged decision trees."""
    trees, X = [estimator.tree_ for estimator in model.estimators_], X.astype(np.float32)
    share = 1 if model.max_samples is None else model.max_samples
    chosen = zip(trees, model.estimators_features_, strict=True)
    leaves = (tree.apply(X[:, features]) for tree, features in chosen)
    return _read_trees(trees, leaves, y, collector, share, model.bootstrap)


def _read_trees(trees, leaves, y, collector, share, replaces):
    """Read trees that were each grown on a sample, a share of the training rows, or on all."""
    n_drawn = n_rows = round(trees[0].weighted_n_node_samples[0])
    if n_drawn:
        n_rows = round(n_drawn / share)
    else:  # the file was stripped; the equations hardly depend on the number of rows
        n_rows = max(len(y) // 2, 1)
        n_drawn = max(round(share * n_rows), 1)
    is_sample = replaces or share < 1
    sample = Sample(n_drawn if is_sample else 0, n_rows, replaces=replaces)
    find = _estimate_steps(trees)
    for tree, places in zip(trees, leaves, strict=True):
        add_tree(collector, tree, places, y, sample, find)
    return n_rows if trees[0].weighted_n_node_samples[0] else 0


def read_reweighted(model, X, y, collector):
    """Read the equations of AdaBoost, whose trees are all grown on all rows.

    Each tree weights a row by the errors of the trees before it, which are known, over a sum of
    weights that is not known. The shares of the classes at a leaf do not depend on this sum.
    """
    X, n_rows = X.astype(np.float32), model.estimators_[0].tree_.n_node_samples[0]
    logs, is_even = np.zeros(len(X)), _is_even(model.estimators_[0].tree_)
    for estimator, strength in zip(model.estimators_, model.estimator_weights_, strict=False):
        tree = estimator.tree_
        leaves = tree.apply(X)
        shares = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        if n_rows:
            collector.add(leaves, np.ones(len(X)), tree.n_node_samples.astype(np.float64))
        if is_even:
            _add_weighted_shares(collector, shares, leaves, y, np.exp(logs - logs.max()))
        logs += strength * (shares.argmax(axis=1)[leaves] != y)
    return n_rows


def _is_even(tree):
    """Whether the rows of the first tree had the same weight."""
    weights, counts = tree.weighted_n_node_samples, tree.n_node_samples
    return bool(counts[0]) and np.allclose(weights / weights[0], counts / counts[0])


def _add_weighted_shares(collector, shares, leaves, y, weights):
    """Add equations that the weights of a class are its share of all weights at a leaf."""
    n_classes = shares.shape[1]
    for label in range(1 if n_classes == 2 else n_classes):
        away = weights * ((y == label) - shares[leaves, label])
        # A share of 0 or 1 also says that nobody of another class is there.
        collector.add(leaves, away, np.zeros(len(shares)), terms=weights, precision=_OF_WEIGHTS)


def read_unlabeled(model, X, y, collector):
    """Read the equations of an IsolationForest, whose trees are grown on samples of a few rows."""
    trees, X = [estimator.tree_ for estimator in model.estimators_], X.astype(np.float32)
    n_drawn = int(trees[0].n_node_samples[0])
    # How many rows the samples were drawn from is not stored.
    n_rows = max(round(collector.share * len(X)), n_drawn)
    sample = Sample(n_drawn if n_drawn < n_rows else 0, n_rows, replaces=False)
    for tree, features in zip(trees, model.estimators_features_, strict=True):
        counts, leaves = tree.n_node_samples.astype(np.float64), tree.apply(X[:, features])
        most = np.maximum(counts / sample.kept, count_candidates(leaves, tree.node_count) / 2)
        variance = sample.variance_of_distinct(most)
        collector.add(leaves, np.ones(len(X)), counts / sample.kept, variance)
    return 0
