"""Number of rows of a node, estimated from the shares of its classes."""

import numpy as np
from scipy.stats import binom, nbinom

# Numbers of rows are searched within this many standard deviations around the expected number.
_WIDTH = 5
# Largest distance from an integer of a fraction in double precision times its denominator.
_EXACT = 1e-9
_BLOCK = 256  # number of nodes per block; nodes of similar size need similar ranges of numbers
# Share by which the shares must reduce the variance of the number of rows to give an equation.
_LEAST_GAIN = 0.01
_LEAST_VARIANCE = 1e-6


def estimate_totals(shares, steps, candidates, share, sample):
    """Estimate the number of rows of each node from the shares of its classes.

    The share 3/7 is only possible with 7, 14, 21, ... rows. A leaf with a single class has at least
    one row.

    Parameters
    ----------
    shares : ndarray of shape (n_nodes, n_classes)
        Shares of the classes.
    steps : ndarray of shape (n_nodes, n_classes)
        Steps to which the shares were rounded; 0 without rounding.
    candidates : ndarray of shape (n_nodes,)
        Number of candidates at each node that can be members.
    share : float
        Number of training rows divided by the number of candidates.
    sample : Sample
        Sample on which the tree was grown.

    Returns
    -------
    totals : ndarray of shape (n_nodes,)
        Number of rows, with repeated draws, without the information of the prior; NaN if the
        shares are not informative.
    variances : ndarray of shape (n_nodes,)
        Variance of this estimate.
    """
    totals, variances = np.full(len(shares), np.nan), np.zeros(len(shares))
    nodes = np.flatnonzero(candidates > 0)
    nodes = nodes[np.argsort(candidates[nodes])]
    for start in range(0, len(nodes), _BLOCK):
        some = nodes[start : start + _BLOCK]
        prior = _Prior(candidates[some], share, sample)
        found = _judge(shares[some], steps[some], prior)
        totals[some], variances[some] = found
    return totals, variances


def may_hold_rests(shares, steps):
    """Where a rounded share may have taken the rest, so that the shares of a node add to 1.

    The largest share took it, and may then no longer be the largest. It can be farther from its
    value than a step.

    Parameters
    ----------
    shares, steps : ndarray of shape (n_nodes, n_classes)

    Returns
    -------
    found : ndarray of shape (n_nodes, n_classes), dtype bool
    """
    largest = shares.max(axis=1, keepdims=True)
    return (steps > 0) & (shares >= largest - np.sqrt(shares.shape[1]) * steps)


class _Prior:
    """Prior distribution of the number of rows at nodes, given their numbers of candidates."""

    def __init__(self, candidates, share, sample):
        members = candidates * share
        self.mean = members * sample.mean
        share = min(share, 1 - 1e-3)
        if sample.draws:
            # The number of draws is Poisson given the number of members, which also varies.
            self.variance = self.mean * (1 + sample.mean * (1 - share))
            p = self.mean / self.variance
            self._law = nbinom((self.mean * p / (1 - p))[:, None], p[:, None])
        else:
            self.variance = members * (1 - share)
            self._law = binom(candidates[:, None], share)

    def numbers(self):
        """Return integers from 1 on that have nearly all of the probability of each node."""
        width = _WIDTH * np.sqrt(self.variance)
        first = np.maximum(np.floor(self.mean - width), 1)
        return first[:, None] + np.arange(int(2 * width.max()) + 2)

    def weigh(self, numbers):
        return self._law.pmf(numbers)


def _judge(shares, steps, prior):
    numbers = prior.numbers()
    weight = prior.weigh(numbers)
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
