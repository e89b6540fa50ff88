"""Moments of the evidence over the shadow models that saw, or did not see, each record."""

from typing import NamedTuple

import numpy as np

SMALLEST_SPREAD = 1e-6


class Moments(NamedTuple):
    """Counts, means and sums of squared deviations, each of shape (n_queries, n) or (n,)."""

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @property
    def std(self):
        """Standard deviation with divisor N, at least 1e-6."""
        return np.maximum(np.sqrt(self.squares / np.maximum(self.count, 1)), SMALLEST_SPREAD)


def find_moments(shadows, chosen):
    """Moments over the chosen models.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Evidence.
    chosen : ndarray of shape (n_estimators, n), dtype bool
        Models that count for each record.

    Returns
    -------
    moments : Moments
    """
    count = chosen.sum(axis=0)
    if count.size == 0 or not count.any():
        empty = np.zeros((len(shadows), shadows.shape[2]))
        return Moments(count, empty, empty.copy())
    # The first model's value as origin keeps the squares from cancelling; sums are in float64.
    origin = shadows[:, :1]
    centred = np.where(chosen, shadows - origin, 0).astype(np.float64)
    divisor = np.maximum(count, 1)
    mean = centred.sum(axis=1) / divisor
    squares = np.einsum("qkn,qkn->qn", centred, centred) - divisor * mean**2
    return Moments(count, mean + origin[:, 0], np.maximum(squares, 0))


def chosen_values(values, chosen, n_each):
    """The first ``n_each`` chosen values of each record, shape (n_queries, n_each, n)."""
    order = np.argsort(~chosen, axis=0, kind="stable")[:n_each]
    return np.take_along_axis(values, order[None], axis=1)
