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
    divisor = np.maximum(count, 1)
    weight = chosen.astype(np.float32)
    mean = np.einsum("qkn->qn", shadows * weight).astype(np.float64) / divisor
    # Deviations from a rounded mean are small, so that single precision keeps their squares; what
    # the mean lacked comes back as the mean of the deviations.
    deviations = (shadows - mean[:, None].astype(np.float32)) * weight
    rest = np.einsum("qkn->qn", deviations).astype(np.float64) / divisor
    squares = np.einsum("qkn,qkn->qn", deviations, deviations) - divisor * rest**2
    return Moments(count, mean.astype(np.float32) + rest, np.maximum(squares, 0))


def chosen_values(values, chosen, n_each):
    """The first ``n_each`` chosen values of each record, shape (n_queries, n_each, n)."""
    order = np.argsort(~chosen, axis=0, kind="stable")[:n_each]
    return np.take_along_axis(values, order[None], axis=1)
