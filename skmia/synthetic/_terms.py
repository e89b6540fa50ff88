"""What single rows add to an adversarial accuracy."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ._neighbors import is_farther

VERSIONS = ("tie_corrected", "unbiased", "original")
# What a tie counts.
_TIES = {"tie_corrected": 0.5, "unbiased": 0.0, "original": 0.0}


class Terms(NamedTuple):
    """Shares of rows in an adversarial accuracy.

    Attributes
    ----------
    real, synthetic : ndarray of shape (n,)
        Of either side, whose means are the two sides of the accuracy.
    rows, made : ndarray of shape (n,)
        Numbers of the real and of the synthetic rows; the last one is the largest.
    edges : list of pairs of ndarray
        Numbers of rows, and of the neighbors on which what they add depends.
    """

    real: np.ndarray
    synthetic: np.ndarray
    rows: np.ndarray
    made: np.ndarray
    edges: list

    @property
    def sides(self):
        """Accuracy on real and on synthetic rows."""
        return float(self.real.mean()), float(self.synthetic.mean())

    @property
    def mean(self):
        """The adversarial accuracy."""
        return sum(self.sides) / 2

    @property
    def shares(self):
        """Of all numbered rows in the deviation of the mean from what is expected of it."""
        shares = np.zeros(self.made[-1] + 1)
        shares[self.rows] = self.real - self.real.mean()
        shares[self.made] = self.synthetic - self.synthetic.mean()
        return shares / (2 * len(self.rows))


def count_farther(own, cross, version, n=None):
    """What each row adds to its side: 1 where rows of the other kind are farther than its own.

    Parameters
    ----------
    own : ndarray of shape (..., n)
        Distance to the nearest other row of its kind.
    cross : ndarray of shape (..., n, 2)
        Distances to the two nearest of the n rows of the other kind.
    version : {"tie_corrected", "unbiased", "original"}
        See :class:`NearestNeighborAdversarialAccuracy`.
    n : int, default=None
        Number of rows of each kind; None for the length of `own`.

    Returns
    -------
    terms : ndarray of shape (..., n)
    """
    first = is_farther(cross[..., 0], own, _TIES[version])
    if version == "original":
        return first
    # A row has n - 1 others of its kind and n of the other kind, so one of the latter has to be
    # left out. Only if it is the nearest is the second one the nearest.
    n = n or len(own)
    return ((n - 1) * first + is_farther(cross[..., 1], own, _TIES[version])) / n


def estimate_standard_error(shares, edges):
    """Standard error of a sum of shares that depend on each other where rows are neighbors.

    The variance is the sum of the products of all shares with themselves, with the shares of their
    neighbors and of rows with a neighbor in common. Resampling goes wrong here: a bootstrap draws
    rows twice, which then are each other's nearest, and leaving rows out changes the neighbors of
    the rest.

    Parameters
    ----------
    shares : ndarray of shape (n,)
        Of each row, with a mean of zero.
    edges : list of pairs of ndarray
        Rows and neighbors.
    """
    rows, neighbors = (np.concatenate(ends) for ends in zip(*edges))
    n = len(shares)
    graph = sparse.coo_array((np.ones(len(rows)), (rows, neighbors)), shape=(n, n)).tocsr()
    graph = (graph + graph.T + graph @ graph.T + sparse.csr_array(sparse.eye(n))).astype(bool)
    # Few rows can give a negative sum; the shares alone are then the better guess.
    return float(np.sqrt(max(shares @ (graph @ shares), shares @ shares)))
