"""What shares of classes say of the number of rows that they are shares of."""

import numpy as np
from scipy.stats import binom, nbinom

# Standard deviations around the expected number of rows within which it is looked for.
_WIDTH = 5
# A fraction in double precision, times its denominator, is as far from a whole number at most.
_EXACT = 1e-9
_BLOCK = 256  # nodes at a time, of similar size
# Share of the variance of the number of rows that has to be gone, for an equation to be made.
_LEAST_GAIN = 0.01
_LEAST_VARIANCE = 1e-6


def estimate_totals(shares, steps, candidates, share, sample):
    """Number of rows of each node, from the shares of its classes.

    Three sevenths are shares of 7, 14, 21 rows and so on, and of no other number. A leaf of one
    class has at least one row.

    Parameters
    ----------
    shares : ndarray of shape (n_nodes, n_classes)
        Shares of the classes.
    steps : ndarray of shape (n_nodes, n_classes)
        Steps to which they were rounded; 0 for not.
    candidates : ndarray of shape (n_nodes,)
        Number of candidates at each node that can be members.
    share : float
        Number of training rows over the number of candidates.
    sample : Sample
        Rows that the tree was grown on.

    Returns
    -------
    totals : ndarray of shape (n_nodes,)
        Number of rows, drawn ones counted each time; NaN where the shares say nothing. The prior
        of the number is not in it.
    variances : ndarray of shape (n_nodes,)
        Its variance.
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


class _Prior:
    """Number of rows at nodes with so many candidates."""

    def __init__(self, candidates, share, sample):
        members = candidates * share
        self.mean = members * sample.mean
        share = min(share, 1 - 1e-3)
        if sample.draws:
            # Drawn as often as a Poisson variable says, of a number of members that varies.
            self.variance = self.mean * (1 + sample.mean * (1 - share))
            p = self.mean / self.variance
            self._law = nbinom((self.mean * p / (1 - p))[:, None], p[:, None])
        else:
            self.variance = members * (1 - share)
            self._law = binom(candidates[:, None], share)

    def numbers(self):
        """Whole numbers, from 1, that hold nearly all of the probability of each node."""
        width = _WIDTH * np.sqrt(self.variance)
        first = np.maximum(np.floor(self.mean - width), 1)
        return first[:, None] + np.arange(int(2 * width.max()) + 2)

    def weigh(self, numbers):
        return self._law.pmf(numbers)


def _judge(shares, steps, prior):
    numbers = prior.numbers()
    weight = prior.weigh(numbers)
    slack = np.maximum(steps / 2, _EXACT) * (1 + _EXACT)
    for label in range(shares.shape[1]):
        rows = shares[:, label, None] * numbers
        weight[np.abs(rows - np.rint(rows)) > slack[:, label, None] * numbers] = 0
    size = weight.sum(axis=1)
    size[size == 0] = np.nan
    mean = (weight * numbers).sum(axis=1) / size
    variance = (weight * (numbers - mean[:, None]) ** 2).sum(axis=1) / size
    variance = np.maximum(variance, _LEAST_VARIANCE)
    # Divided by the prior, which the bits have themselves.
    gain = 1 / variance - 1 / prior.variance
    says = gain > _LEAST_GAIN / prior.variance
    gain = np.where(says, gain, np.nan)
    return (mean / variance - prior.mean / prior.variance) / gain, 1 / gain
