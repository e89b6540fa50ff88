"""Bound from one run with many canaries that are answered independently."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)
# Normal laws so far apart are told apart in double precision.
_FARTHEST = 64.0


class _Errors:
    """Posterior errors of the best guess about one canary, from the least sure answer on.

    Parameters
    ----------
    error, mass : ndarray of shape (n_cells,)
        Law of the error of the best guess.
    """

    def __init__(self, error, mass):
        order = np.argsort(-error, kind="stable")
        self._error, mass = error[order], mass[order] / mass.sum()
        self._high = np.cumsum(mass)
        self._beyond = np.append(np.cumsum((self._error * mass)[::-1])[::-1], 0.0)

    def mean_above(self, w):
        """Mean error of the answers that are surer than a share of w."""
        j = np.minimum(np.searchsorted(self._high, w, side="right"), len(self._high) - 1)
        total = self._error[j] * np.maximum(self._high[j] - w, 0) + self._beyond[j + 1]
        return np.minimum(total / (1 - w), 0.5)


def order_pvalue(family, parameter, n_correct, n_guesses, n_canaries):
    """Probability of this few wrong guesses about the surest canaries."""
    n_wrong = n_guesses - n_correct
    if n_correct == 0:
        return 1.0
    errors, left_out = _Errors(*family.law(parameter)), n_canaries - n_guesses
    if left_out == 0:
        rate = errors.mean_above(np.zeros(1))
        return float(betainc(n_correct, n_wrong + 1, 1 - rate)[0])
    # The quantile of the surest canary without a guess has a beta law.
    shares = betaincinv(left_out, n_guesses + 1, (_NODES + 1) / 2)
    rates = errors.mean_above(np.minimum(shares, 1 - 1e-12))
    return float(_WEIGHTS @ betainc(n_correct, n_wrong + 1, 1 - rates) / 2)


@lru_cache(maxsize=1024)
def order_parameter(family, n_correct, n_guesses, n_canaries, alpha):
    """The largest parameter of a family that this many correct guesses reject."""

    def excess(parameter):
        return order_pvalue(family, parameter, n_correct, n_guesses, n_canaries) - alpha

    if excess(0.0) > 0:
        return 0.0
    high = 1.0
    while excess(high) <= 0:
        if high > _FARTHEST:  # a sub-sampled mechanism errs however far the laws are apart
            return float("inf")
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-7))
