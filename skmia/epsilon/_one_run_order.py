"""Bound from one run with many canaries that Gaussian mechanisms answer independently."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, expit
from scipy.stats import norm

_N_CELLS = 4000  # of the law of one answer
_REACH = 10.0  # standard deviations beyond the means
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)


class _Errors:
    """Posterior errors of the best guess about one canary, from the least sure answer on.

    Parameters
    ----------
    mu : float
        Distance of the two normal laws of an answer, in standard deviations.
    """

    def __init__(self, mu):
        edges = np.linspace(-_REACH, mu + _REACH, _N_CELLS + 1)
        x = (edges[:-1] + edges[1:]) / 2
        error = expit(-np.abs(mu * x - mu**2 / 2))
        mass = norm.pdf(x) + norm.pdf(x - mu)
        order = np.argsort(-error, kind="stable")
        self._error, mass = error[order], mass[order] / mass.sum()
        self._high = np.cumsum(mass)
        self._beyond = np.append(np.cumsum((self._error * mass)[::-1])[::-1], 0.0)

    def mean_above(self, w):
        """Mean error of the answers that are surer than a share of w."""
        j = np.minimum(np.searchsorted(self._high, w, side="right"), len(self._high) - 1)
        total = self._error[j] * np.maximum(self._high[j] - w, 0) + self._beyond[j + 1]
        return np.minimum(total / (1 - w), 0.5)


def order_pvalue(mu, n_correct, n_guesses, n_canaries):
    """Probability of this few wrong guesses about the surest canaries."""
    n_wrong = n_guesses - n_correct
    if n_correct == 0:
        return 1.0
    errors, left_out = _Errors(mu), n_canaries - n_guesses
    if left_out == 0:
        rate = errors.mean_above(np.zeros(1))
        return float(betainc(n_correct, n_wrong + 1, 1 - rate)[0])
    # The quantile of the surest canary without a guess has a beta law.
    shares = betaincinv(left_out, n_guesses + 1, (_NODES + 1) / 2)
    rates = errors.mean_above(np.minimum(shares, 1 - 1e-12))
    return float(_WEIGHTS @ betainc(n_correct, n_wrong + 1, 1 - rates) / 2)


@lru_cache(maxsize=1024)
def one_run_order_mu(n_correct, n_guesses, n_canaries, alpha):
    """The largest mu that this many correct guesses reject."""

    def excess(mu):
        return order_pvalue(mu, n_correct, n_guesses, n_canaries) - alpha

    if excess(0.0) > 0:
        return 0.0
    high = 1.0
    while excess(high) <= 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-7))
