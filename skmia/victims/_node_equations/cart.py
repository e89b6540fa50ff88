"""Equations of decision trees, forests and extra trees."""

from numbers import Integral

import numpy as np
from scipy.stats import binom, nbinom
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from ..._core.sklearn import read_sampling
from .equations import (
    MONOTONIC,
    UNBALANCED,
    WEIGHTED,
    RoundedValues,
    estimate_steps,
    estimate_unlikeness,
    find_weights,
)

# Numbers of rows are searched within this many standard deviations around the expected number.
_WIDTH = 5
# Largest distance from an integer of a fraction in double precision times its denominator.
_EXACT = 1e-9
_BLOCK = 256  # number of nodes per block; nodes of similar size need similar ranges of numbers
# Share by which the shares must reduce the variance of the number of rows to give an equation.
_LEAST_GAIN = 0.01
_LEAST_VARIANCE = 1e-6


_SQUARED = {"squared_error", "friedman_mse"}
_UNCOUNTED = "rows whose weights came to 0 are not counted in some of its trees"
_SIZED = "max_samples={} does not say how many training rows there were"
# Standard errors beyond which a number of rows is not due to chance.
_FAR = 5


def why_not_grown(model):
    """Return the reason why the nodes of a tree or forest give no equations, or None."""
    trees = getattr(model, "estimators_", [model])
    if hasattr(model, "samplers_"):
        return UNBALANCED
    bootstrap = getattr(model, "bootstrap", False)
    if bootstrap and isinstance(model.max_samples, Integral) and not read_sampling(model)[1]:
        return _SIZED.format(model.max_samples)
    return _why_not_split(model, trees[0])


def why_not_bagged(model):
    """Return the reason why the nodes of a bag of trees give no equations, or None."""
    for one in model.estimators_:
        if not isinstance(one, BaseDecisionTree):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
        why = _why_not_split(one, one)
        if why is not None:
            return why
    _, n_rows, chances = read_sampling(model)
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
    """Return the reason why the nodes of an IsolationForest give no equations, or None."""
    n_drawn, n_rows, chances = read_sampling(model)
    if not n_rows or not model.estimators_[0].tree_.n_node_samples[0]:
        return "it does not store the numbers of rows of its nodes, and has no other equations"
    if chances is not None:
        return WEIGHTED
    # Trees that other weights reached do not count rows alike.
    return None if n_drawn >= model.estimators_[0].tree_.n_node_samples[0] else WEIGHTED


def _draws_unevenly(model):
    """Return whether sample weights made some rows more likely to be drawn than others.

    The samples then hold fewer distinct rows than samples in which each row is as likely as any
    other, or, in older versions of scikit-learn, differ in their size.
    """
    roots = [tree.tree_ for tree in model.estimators_]
    n_drawn = np.array([tree.weighted_n_node_samples[0] for tree in roots])
    if not n_drawn.all():
        return False  # the file was stripped
    if (n_drawn != n_drawn[0]).any():
        return True
    n_rows = read_sampling(model)[1]
    if not n_rows:
        n_rows = n_drawn[0] / (1 if model.max_samples is None else model.max_samples)
    # Probabilities that a row, and that two rows, are not drawn.
    missed, both = np.power([1 - 1 / n_rows, max(1 - 2 / n_rows, 0)], n_drawn[0])
    variance = n_rows * (missed - both) + n_rows**2 * (both - missed**2)
    lacking = n_rows * (1 - missed) - np.mean([tree.n_node_samples[0] for tree in roots])
    return lacking > _FAR * np.sqrt(variance / len(roots)) + 1


def _why_not_split(model, first):
    """Return why the values of a tree or forest with these settings are not read, or None."""
    if model.n_outputs_ > 1:
        return "it has several outputs"
    if not hasattr(model, "classes_") and model.criterion not in _SQUARED:
        return f"criterion={model.criterion!r} does not store means and variances"
    if getattr(model, "monotonic_cst", None) is not None:
        return MONOTONIC
    is_stripped = not first.tree_.n_node_samples[0]
    return WEIGHTED if is_stripped and getattr(model, "class_weight", None) is not None else None


def why_not_reweighted(model):
    """Return the reason why the nodes of the trees of AdaBoost give no equations, or None."""
    if hasattr(model, "samplers_"):
        return UNBALANCED
    for one in model.estimators_:
        if not isinstance(one, DecisionTreeClassifier):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
    counts = [tree.tree_.n_node_samples[0] for tree in model.estimators_]
    if not counts[0]:
        return "it does not store the numbers of rows of its nodes, which its other equations need"
    return _UNCOUNTED if len(set(counts)) > 1 else None


def estimate_totals(shares, steps, candidates, share, sample):
    """Estimate the number of rows of each node from the shares of its classes.

    The share 3/7 is only possible with 7, 14, 21, ... rows. A leaf with a single class has at least
    one row.

    Take shares, steps of shape (n_nodes, n_classes), candidates of shape (n_nodes,); return totals
    of shape (n_nodes,): number of rows, with repeated draws, without the information of the prior;
    NaN if the shares are not informative.
    """
    totals, variances = np.full(len(shares), np.nan), np.zeros(len(shares))
    nodes = np.flatnonzero(candidates > 0)
    nodes = nodes[np.argsort(candidates[nodes])]
    for start in range(0, len(nodes), _BLOCK):
        some = nodes[start : start + _BLOCK]
        prior = _NodeSizePrior(candidates[some], share, sample)
        totals[some], variances[some] = _judge_shares(shares[some], steps[some], prior)
    return totals, variances


def may_hold_rests(shares, steps):
    """Return where a rounded share may have taken the rest, so that the shares of a node add to 1.

    The largest share took it, and may then no longer be the largest. It can be farther from its
    value than a step.

    Take shares, steps of shape (n_nodes, n_classes); return found of shape (n_nodes, n_classes).
    """
    largest = shares.max(axis=1, keepdims=True)
    return (steps > 0) & (shares >= largest - np.sqrt(shares.shape[1]) * steps)


class _NodeSizePrior:
    """Prior distribution of the number of rows at nodes, given their numbers of candidates."""

    def __init__(self, candidates, share, sample):
        members = candidates * share
        self.mean = members * sample.mean
        share = min(share, 1 - 1e-3)
        if sample.draws:
            # The number of draws is Poisson given the number of members, which also varies.
            self.variance = self.mean * (1 + sample.mean * (1 - share))
            p = self.mean / self.variance
            self.law = nbinom((self.mean * p / (1 - p))[:, None], p[:, None])
        else:
            self.variance = members * (1 - share)
            self.law = binom(candidates[:, None], share)

    def numbers(self):
        """Return integers from 1 on that have nearly all of the probability of each node."""
        width = _WIDTH * np.sqrt(self.variance)
        first = np.maximum(np.floor(self.mean - width), 1)
        return first[:, None] + np.arange(int(2 * width.max()) + 2)


def _judge_shares(shares, steps, prior):
    numbers = prior.numbers()
    weight = prior.law.pmf(numbers)
    slack = np.maximum(steps / 2, _EXACT) * (1 + _EXACT)
    slack[may_hold_rests(shares, steps)] = np.inf
    for label in range(shares.shape[1]):
        rows = shares[:, label, None] * numbers
        weight[np.abs(rows - np.rint(rows)) > slack[:, label, None] * numbers] = 0
    size = weight.sum(axis=1)
    size[size == 0] = np.nan
    mean = (weight * numbers).sum(axis=1) / size
    variance = (weight * (numbers - mean[:, None]) ** 2).sum(axis=1) / size
    variance = np.maximum(variance, _LEAST_VARIANCE)
    # The prior is divided out, because the membership bits already have the same prior.
    gain = 1 / variance - 1 / prior.variance
    says = gain > _LEAST_GAIN / prior.variance
    gain = np.where(says, gain, np.nan)
    return (mean / variance - prior.mean / prior.variance) / gain, 1 / gain


# A class fraction above this is exactly 1, up to the rounding of a division.
_PURE = 1 - 1e-9

# Relative error of weights that are products of those of all rounds before.
_OF_WEIGHTS = 1e-13


class TreeSample:
    """The sample of training rows on which a tree was grown."""

    def __init__(self, n_drawn, n_rows, *, replaces=True, chances=None, of_classes=None):
        self.draws, self.n_rows, self._of_classes = n_drawn > 0, n_rows, of_classes
        # The probability that a row is in the sample, and its mean number of draws.
        self.mean = n_drawn / n_rows if self.draws else 1.0
        self.kept = 1 - (1 - 1 / n_rows) ** n_drawn if self.draws and replaces else self.mean
        uneven = 0.0
        if chances is not None:
            self.mean = n_drawn * np.mean(chances)
            self.kept = np.mean(1 - (1 - chances) ** n_drawn)
            uneven = np.var(n_drawn * chances) / self.mean**2
        # The variances of both for one row, over their squares; times a number of rows, those of
        # the number of distinct rows over the share kept, and of draws over their mean.
        self.rarity = (1 - self.kept) / self.kept
        self.spread = 1 / self.mean + uneven if self.draws and replaces else self.rarity

    def of_class(self, label):
        return self if self._of_classes is None else self._of_classes[label]


def add_tree(collector, tree, leaves, y, sample, find, weights):
    """Add the equations of the leaves of one tree."""
    counts = tree.n_node_samples.astype(np.float64)
    candidates = np.bincount(leaves, minlength=tree.node_count)
    if not counts[0]:
        _add_shares(collector, tree, leaves, y, sample, find)
        return
    # A node only counts the rows in the sample, so its number of members is larger.
    most = np.maximum(counts / sample.kept, candidates / 2)
    unlike = 0.0 if weights is not None else estimate_unlikeness(tree)
    if y.dtype.kind not in "iu":
        _add_targets(collector, tree, leaves, y, sample, most, find, unlike)
    elif weights is not None:
        _add_classes(collector, tree, leaves, y, sample, weights)
    else:
        _add_weighted_classes(collector, tree, leaves, y, sample, most, unlike)


def _read_fractions(tree):
    return tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)


def _add_classes(collector, tree, leaves, y, sample, weights):
    fractions, counts = _read_fractions(tree), tree.n_node_samples
    candidates = np.bincount(leaves, minlength=tree.node_count)
    drawn = np.rint(fractions * tree.weighted_n_node_samples[:, None] / weights)
    pure = fractions.max(axis=1) > _PURE
    for label in range(fractions.shape[1]):
        one = sample.of_class(label)
        most = np.maximum(counts / one.kept, candidates / 2)
        # For a pure leaf, the number of distinct rows is known, which varies less than the draws.
        own = np.where(pure, counts / one.kept, drawn[:, label] / one.mean)
        own[pure & (fractions[:, label] < 0.5)] = 0
        variance = np.where(pure, most * one.rarity, most * one.spread)
        collector.add(leaves, (y == label).astype(float), own, variance)


def _add_weighted_classes(collector, tree, leaves, y, sample, most, unlike):
    """Add equations of a tree whose rows had weights that are not known.

    A leaf counts its rows without weights. Shares of classes are of sums of weights, which vary
    around the numbers of rows; shares of 0 and 1 do not.
    """
    fractions, total = _read_fractions(tree), tree.n_node_samples / sample.kept
    variance = most * sample.rarity
    pure = fractions.max(axis=1) > _PURE
    mixed_total = np.where(pure, np.nan, total)
    collector.add(leaves, np.ones(len(y)), mixed_total, variance)
    # The shares of all classes but one determine the last.
    last = fractions[0].argmax()
    spread = (1 + unlike) * (1 + sample.spread) - 1
    for label in range(fractions.shape[1]):
        share = fractions[:, label]
        share = np.where(pure, np.rint(share), np.where(share < 1 - _PURE, 0.0, share))
        own = np.where((last == label) & ~pure, np.nan, total * share)
        # At a mixed leaf, each class that has a share has at least one row.
        least = 1 / np.maximum(tree.n_node_samples, 2)
        likely = np.where(share % 1 > 0, np.clip(share, least, 1 - least), share)
        noise = likely * (1 - likely) * most * spread
        collector.add(leaves, (y == label).astype(float), own, noise + variance)


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
    unseen = np.bincount(leaves, minlength=tree.node_count)[:, None] * steps / 2 >= 1
    possible = ((values > 0) | unseen)[leaves, y]
    candidates = np.bincount(leaves, possible, minlength=tree.node_count)
    totals, left = estimate_totals(values, steps, candidates, collector.share, sample)
    most = np.maximum(totals / sample.mean, candidates / 2)
    variance = most * sample.spread + left / sample.mean**2
    collector.add(leaves, possible.astype(float), totals / sample.mean, variance)


def _add_balance(collector, leaves, away, sample, steps, left_out=False, unlike=0.0):
    """Add the equations that differences from a mean, or from a share, sum to 0.

    The noise assumes that half of the candidates in a leaf are members with the mean number of
    draws.
    """
    noise = ((1 + unlike) * (1 + sample.spread) - 1) / 2
    variance = np.bincount(leaves, away**2, minlength=len(steps)) * noise
    rounded = RoundedValues(steps, np.ones(len(away)))
    total = np.where(left_out, np.nan, np.zeros(len(steps)))
    collector.add(leaves, away, total, variance, rounded=rounded)


def _add_targets(collector, tree, leaves, y, sample, most, find, unlike):
    mean = tree.value[:, 0, 0]
    ones = np.ones(len(y))
    collector.add(leaves, ones, tree.n_node_samples / sample.kept, most * sample.rarity)
    away = y - mean[leaves]
    _add_balance(collector, leaves, away, sample, find(mean), unlike=unlike)
    # With a sample, this equation would be biased: rows that were not drawn lie farther from the
    # mean of their leaf than the drawn rows. With weights, it would be of a weighted sum.
    if not sample.draws and not unlike:
        collector.add(leaves, away**2, tree.n_node_samples * tree.impurity)


def _estimate_steps(trees):
    """Find the steps to which leaf values were rounded; shares of 0 and 1 are not informative."""
    leaves = [tree.value[tree.children_left < 0, 0, :].ravel() for tree in trees]
    return estimate_steps([values[(values != 0) & (values != 1)] for values in leaves])


def read_tree(model, X, y, collector):
    """Read the equations of a DecisionTree or ExtraTree."""
    tree, X = model.tree_, X.astype(np.float32)
    n_rows = tree.n_node_samples[0]
    weights = find_weights([tree], has_classes=y.dtype.kind in "iu", draws=False)
    sample, find = TreeSample(0, max(n_rows, 1)), _estimate_steps([tree])
    add_tree(collector, tree, tree.apply(X), y, sample, find, weights[0])
    return n_rows


def read_forest(model, X, y, collector):
    trees, X = [estimator.tree_ for estimator in model.estimators_], X.astype(np.float32)
    share = model.max_samples if model.bootstrap and isinstance(model.max_samples, float) else 1
    return _read_sampled_trees(
        model, trees, lambda k: trees[k].apply(X), y, collector, share, model.bootstrap
    )


def read_bag(model, X, y, collector):
    trees = [estimator.tree_ for estimator in model.estimators_]
    share = 1 if model.max_samples is None else model.max_samples
    return _read_sampled_trees(
        model, trees, _route_through_bag(model, X), y, collector, share, model.bootstrap
    )


def read_isolation(model, X, y, collector):
    """Read the equations of an IsolationForest, whose trees count rows and know no labels."""
    n_drawn, n_rows, _ = read_sampling(model)
    is_sample = model.bootstrap or n_drawn < n_rows
    sample = TreeSample(n_drawn if is_sample else 0, n_rows, replaces=model.bootstrap)
    route = _route_through_bag(model, X)
    for k, one in enumerate(model.estimators_):
        if not collector.open(k, len(model.estimators_)):
            continue
        leaves = route(k)
        counts = one.tree_.n_node_samples / sample.kept
        most = np.maximum(counts, np.bincount(leaves, minlength=len(counts)) / 2)
        collector.add(leaves, np.ones(len(X)), counts, most * sample.rarity)
    return n_rows


def _route_through_bag(model, X):
    """Return a function of the number of a tree that returns the leaf of each row."""
    X, every = X.astype(np.float32), model.estimators_features_
    return lambda k: model.estimators_[k].tree_.apply(X[:, every[k]])


def _read_sampled_trees(model, trees, route, y, collector, share, replaces):
    """Read trees that were each grown on a sample, a share of the training rows, or on all."""
    n_drawn, n_rows, chances = read_sampling(model)
    is_stripped = not trees[0].n_node_samples[0]
    if is_stripped:  # the equations hardly depend on the number of rows
        n_rows = max(len(y) // 2, 1)
        n_drawn = max(round(share * n_rows), 1)
    elif not replaces and share == 1:
        n_rows = trees[0].n_node_samples[0]
    elif not n_rows:
        n_drawn = round(trees[0].weighted_n_node_samples[0])
        n_rows = round(n_drawn / share)
    is_sample = replaces or n_drawn < n_rows
    of_classes = None
    if is_sample and chances is not None and y.dtype.kind in "iu":
        of_classes = _find_samples_of_classes(model, n_drawn, chances, y)
    n_drawn = n_drawn if is_sample else 0
    chances = chances if is_sample else None
    sample = TreeSample(n_drawn, n_rows, replaces=replaces, chances=chances, of_classes=of_classes)
    find = _estimate_steps(trees)
    # Newer versions draw rows by the weights of their classes, and store these.
    given = None if hasattr(model, "_sample_weight") else getattr(model, "class_weight", None)
    given = given or getattr(model.estimators_[0], "class_weight", None)
    each = is_sample and getattr(model, "class_weight", None) == "balanced_subsample"
    options = {"multiplied": is_sample and given is not None, "each": each}
    weights = find_weights(trees, y.dtype.kind in "iu", is_sample, **options)
    for k, (tree, weight) in enumerate(zip(trees, weights, strict=True)):
        if collector.open(k, len(trees)):
            add_tree(collector, tree, route(k), y, sample, find, weight)
    return 0 if is_stripped else n_rows


def _find_samples_of_classes(model, n_drawn, chances, y):
    """Samples of the rows of each class, if the chances of rows follow from class weights."""
    given, n_classes = getattr(model, "class_weight", None), len(model.classes_)
    if given is None:
        return None
    if isinstance(given, dict):
        weights = np.array([given.get(label, 1.0) for label in model.classes_.tolist()])
        found = np.unique((chances / chances.max()).round(9))
        if not np.isin(found, (weights / weights.max()).round(9)).all():
            return None  # rows had weights of their own
        shares = weights / weights.max() * chances.max()
    else:
        # Balanced: all rows of a class have the same chance together as those of another class.
        total = np.sort(chances)[::-1]
        shares = []
        while len(total) and len(shares) < n_classes:
            shares.append(total[0])
            total = total[max(round(1 / (n_classes * total[0])), 1) :]
        if len(total) or len(shares) < n_classes:
            return None
        # The candidates tell which classes are rare.
        shares = np.array(shares)[np.argsort(np.argsort(np.bincount(y, minlength=n_classes)))]
    return [TreeSample(n_drawn, 1, chances=np.array([share])) for share in shares]


def read_reweighted(model, X, y, collector):
    """Read the equations of AdaBoost, whose trees are all grown on all rows.

    Each tree weights a row by the errors of the trees before it, which are known, over a sum of
    weights that is not known. The shares of the classes at a leaf do not depend on this sum.
    """
    first, X, logs = model.estimators_[0].tree_, X.astype(np.float32), np.zeros(len(X))
    n_rows, sums = first.n_node_samples[0], first.weighted_n_node_samples
    # Whether the rows of the first tree had the same weight.
    is_even = bool(n_rows) and np.allclose(sums / sums[0], first.n_node_samples / n_rows)
    strengths, n_trees = model.estimator_weights_, len(model.estimators_)
    for k, (estimator, strength) in enumerate(zip(model.estimators_, strengths, strict=False)):
        collector.open(k, n_trees)
        tree = estimator.tree_
        leaves = tree.apply(X)
        shares = _read_fractions(tree)
        if n_rows:
            collector.add(leaves, np.ones(len(X)), tree.n_node_samples.astype(np.float64))
        weights, n_classes = np.exp(logs - logs.max()), shares.shape[1]
        for label in range(1 if n_classes == 2 else n_classes) if is_even else ():
            away = weights * ((y == label) - shares[leaves, label])
            # A share of 0 or 1 also says that nobody of another class is there.
            none = np.zeros(len(shares))
            collector.add(leaves, away, none, terms=weights, precision=_OF_WEIGHTS)
        logs += strength * (shares.argmax(axis=1)[leaves] != y)
    return n_rows
