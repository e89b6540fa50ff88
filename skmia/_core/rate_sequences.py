"""Limits of confidence sequences of rates."""

import numpy as np
from scipy.special import betaln, xlog1py, xlogy


def limit_rates(successes, trials, alpha):
    """Limits of the rates that a beta mixture of bets has not rejected.

    Parameters
    ----------
    successes, trials : ndarray of shape (n,), dtype int
    alpha : float
        Probability that any of the limits of a sequence is wrong.

    Returns
    -------
    low, high : ndarray of shape (n,)
        0 and 1 without trials.
    """
    k, n = successes, trials
    inside = k / np.maximum(n, 1)
    least = np.log(alpha) + betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5)

    def is_in(rates):
        return xlogy(k, rates) + xlog1py(n - k, -rates) > least

    def search(end):
        """Where the likelihood falls to the least, between the estimate and an end."""
        near, far = inside, np.full(len(k), end)
        reaches_end = is_in(far)
        for _ in range(60):
            middle = (near + far) / 2
            keeps = is_in(middle)
            near, far = np.where(keeps, middle, near), np.where(keeps, far, middle)
        return np.where(reaches_end, end, far)

    return search(0.0), search(1.0)
