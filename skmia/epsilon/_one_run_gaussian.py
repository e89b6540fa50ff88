"""The bound from one run with many canaries, for mechanisms that are like a Gaussian one."""

from functools import lru_cache

from scipy.special import ndtr, ndtri

from .._core.checks import check_confidence_level
from ._checks import GAUSSIAN, ONE_RUN, check_coins, check_positive_delta
from ._gaussian import gaussian_epsilon
from ._guesses import best_over_guesses
from ._largest import with_largest
from ._result import EpsilonBound

_RESOLUTION = 1e-7  # of mu


def rejects_mu(mu, n_correct, n_guesses, n_canaries, alpha):
    """Whether this many correct guesses are too many for mu-Gaussian differential privacy."""
    right = alpha * n_correct / n_canaries
    wrong = alpha * (n_guesses - n_correct) / n_canaries
    for i in range(n_correct - 1, -1, -1):
        least = max(wrong, float(ndtr(ndtri(right) - mu)))
        right += i / (n_guesses - i) * (least - wrong)
        wrong = least
        if right + wrong > n_guesses / n_canaries:  # neither of them falls any more
            return True
    return right + wrong > n_guesses / n_canaries


@lru_cache(maxsize=4096)
def one_run_mu(n_correct, n_guesses, n_canaries, alpha):
    """The largest mu that this many correct guesses reject."""

    def rejected(mu):
        return rejects_mu(mu, n_correct, n_guesses, n_canaries, alpha)

    if not rejected(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while rejected(high):
        low, high = high, 2 * high
    while high - low > _RESOLUTION:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


@with_largest
def one_run_gaussian_epsilon_lower_bound(
    y_true, y_score, *, delta=1e-5, n_guesses="auto", confidence_level=0.95
):
    r"""Lower bound of epsilon from one run with many canaries, for Gaussian mechanisms.

    As :func:`one_run_epsilon_lower_bound`, but the mechanism is taken to have the whole trade-off
    curve of :math:`\mu`-Gaussian differential privacy instead of one epsilon. The same guesses then
    say more: 100 right ones of 100 among 500 canaries show an epsilon of 3.5 for any mechanism and
    of 6.1 for a Gaussian one, at 95% and a delta of 1e-5. The difference is the assumption's.

    Parameters
    ----------
    y_true : array-like of shape (n_canaries,)
        The coins: 1 for canaries that took part.
    y_score : array-like of shape (n_canaries,)
        Finite scores, higher means more likely in.
    delta : float, default=1e-5
        Probability delta, in (0, 1).
    n_guesses : "auto", int or array-like of int, default="auto"
        As of :func:`one_run_epsilon_lower_bound`.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    bound : EpsilonBound
        With ``mu``.

    See Also
    --------
    one_run_epsilon_lower_bound : Assumes nothing of the mechanism.

    References
    ----------
    Mahloujifar, S., Melis, L. and Chaudhuri, K. (2025). Auditing f-differential privacy in one run.
    ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import one_run_gaussian_epsilon_lower_bound
    >>> coins = np.random.default_rng(0).integers(2, size=1000)
    >>> scores = np.random.default_rng(1).normal(size=1000) + coins  # the epsilon is 4.38
    >>> bound = one_run_gaussian_epsilon_lower_bound(coins, scores, n_guesses=250)
    >>> bool(2 < bound.epsilon < 4.38)
    True
    """
    coins, scores = check_coins(y_true, y_score)
    level, delta = check_confidence_level(confidence_level), check_positive_delta(delta)

    def solve(n_correct, n_tried, alpha):
        return one_run_mu(n_correct, n_tried, len(coins), alpha)

    mu, counts = best_over_guesses(coins, scores, n_guesses, 1 - level, solve)
    return EpsilonBound(
        epsilon=gaussian_epsilon(mu, delta),
        confidence_level=level,
        delta=delta,
        method="right guesses in one run against the laws of Gaussian differential privacy",
        assumption=GAUSSIAN + ONE_RUN,
        counts=counts,
        mu=mu,
    )
