"""Rounding of the values of a model before its file was released."""

from typing import NamedTuple

import numpy as np

_MOST_DECIMALS = 6
# Fewer values may be round by coincidence, such as the first step of boosting.
_LEAST_VALUES = 20


class Rounded(NamedTuple):
    """Effect of the rounding of values on their equations.

    The value of a node has an error that is uniform within one step, so the error of its equation
    is this error times a sum over the members of the node.

    Attributes
    ----------
    step : ndarray of shape (n_nodes,)
        Rounding step of the value of each node; 0 if it was not rounded.
    terms : ndarray of shape (n_candidates,)
        Term of each member in the sum.
    constant : float
        Constant term of the sum of each node.
    drift : ndarray of shape (n_candidates,)
        Standard deviation of the error that each member adds to the equation because values of
        earlier trees were also rounded. Members of a node share most of these errors, and are
        assumed to share all of them.
    """

    step: np.ndarray
    terms: np.ndarray
    constant: float = 0.0
    drift: np.ndarray | float = 0.0


class Drift:
    """Errors of the margins of candidates due to the rounding of earlier trees.

    Parameters
    ----------
    n_candidates, n_outputs : int
        Numbers of candidates and of outputs.
    """

    def __init__(self, n_candidates, n_outputs):
        self._variances = np.zeros((n_candidates, n_outputs))

    def of(self, k, curvature):
        """Return the standard deviation of the error of each candidate, by output."""
        return np.sqrt(self._variances[:, k]) * curvature

    def add(self, k, steps):
        """Add the rounding of the values of a tree, given the step for each candidate."""
        self._variances[:, k] += steps**2 / 12


def estimate_steps(values):
    """Estimate the steps to which the values of a model were rounded.

    Parameters
    ----------
    values : list of ndarray
        Values of the leaves of each tree, in the precision of the file.

    Returns
    -------
    find : callable
        Function that takes an array of values and returns the step of each, 0 without rounding.
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
