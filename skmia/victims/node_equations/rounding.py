"""To how many digits the values of a model were rounded before its file was released."""

from typing import NamedTuple

import numpy as np

_MOST_DECIMALS = 6
# Fewer values can be round by themselves, such as the first step of a boosting.
_LEAST_VALUES = 20


class Rounded(NamedTuple):
    """What the rounding of values makes of their equations.

    The value of a node is off by an error, uniform in one step, so its equation is off by the error
    times a sum over the members of the node.

    Attributes
    ----------
    step : ndarray of shape (n_nodes,)
        Step of each node's value; 0 where it was not rounded.
    terms : ndarray of shape (n_candidates,)
        What each member adds to the sum.
    constant : float
        What is added to the sum of each node.
    drift : ndarray of shape (n_candidates,)
        Standard deviation of what each member adds to the equation because values of earlier trees
        were rounded, too. Members of a node share most of these errors, and are taken to share all.
    """

    step: np.ndarray
    terms: np.ndarray
    constant: float = 0.0
    drift: np.ndarray | float = 0.0


class Drift:
    """Errors of the margins of candidates by the rounding of earlier trees.

    Parameters
    ----------
    n_candidates, n_outputs : int
    """

    def __init__(self, n_candidates, n_outputs):
        self._variances = np.zeros((n_candidates, n_outputs))

    def of(self, k, curvature):
        """Standard deviation of what each candidate adds to equations of an output."""
        return np.sqrt(self._variances[:, k]) * curvature

    def add(self, k, steps):
        """Add the rounding of a tree's values, with the step at each candidate's leaf."""
        self._variances[:, k] += steps**2 / 12


def estimate_steps(values):
    """Steps to which all values of a model were rounded, if they were.

    Parameters
    ----------
    values : list of ndarray
        Values of each tree's leaves, in the precision in which the file has them.

    Returns
    -------
    find : callable
        Takes an array of values and returns the step of each.
    """
    stored = np.concatenate(values)
    if len(stored) < _LEAST_VALUES or not stored.any():
        return np.zeros_like
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(stored.astype(float), decimals).astype(stored.dtype), stored):
            return lambda some: np.full(np.shape(some), 10.0**-decimals)
    with np.errstate(over="ignore"):
        short = stored.astype(np.float16)
    if np.array_equal(short.astype(stored.dtype), stored):
        return lambda some: np.spacing(np.abs(some).astype(np.float16)).astype(float)
    return np.zeros_like
