"""Highest bound that an audit could have found."""

import functools
from dataclasses import replace

import numpy as np

from .._core.checks import check_bits


def with_largest(bound):
    """Decorate a bound: also compute the bound for scores without errors.

    Parameters
    ----------
    bound : callable
        ``bound(y_true, y_score, **settings)`` gives an EpsilonBound.

    Returns
    -------
    function : callable
        The same, with ``largest`` in its result.
    """

    @functools.wraps(bound)
    def measure(y_true, y_score, **settings):
        found = bound(y_true, y_score, **settings)
        perfect = bound(y_true, _tell_apart(y_true, settings.get("threshold")), **settings)
        return replace(found, largest=max(perfect.epsilon, found.epsilon))

    return measure


def _tell_apart(y_true, threshold):
    """Return perfect scores, on the correct side of numeric thresholds."""
    coins = check_bits(y_true, "y_true")
    low, high = 0.0, 1.0
    if threshold is not None and not isinstance(threshold, str):
        values = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
        low, high = np.nextafter(values.min(), -np.inf), np.nextafter(values.max(), np.inf)
    return np.where(coins, high, low)
