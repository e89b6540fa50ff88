"""Bounds from one run with many canaries that hold for any mechanism."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, expit, log_expit, logsumexp

# How much more often than the claim allows the bets expect to be right, in log odds.
_EDGES = np.geomspace(0.05, 8, 32)


def one_run_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta):
    """Largest probability of this many correct guesses under (epsilon, delta)-privacy."""
    if n_correct == 0:
        return 1.0
    rate = expit(epsilon)
    if delta == 0:
        return float(betainc(n_correct, n_guesses - n_correct + 1, rate))
    j = np.arange(1, n_correct + 1)
    at_least = np.append(1.0, betainc(j, n_guesses - j + 1, rate))  # j or more are correct
    pure, i = at_least[-1], np.arange(1, n_correct + 1)
    worst = ((at_least[-2::-1] - pure) / i).max()
    return float(min(1.0, pure + 2 * n_canaries * delta * worst))


@lru_cache(maxsize=4096)
def one_run_epsilon(n_correct, n_guesses, n_canaries, delta, alpha):
    """The largest epsilon that this many correct guesses reject."""

    def excess(epsilon):
        return one_run_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta) - alpha

    # The p-value grows with epsilon as long as 2 m delta is at most 1.
    if excess(0.0) > 0:
        return 0.0
    high = 1.0
    while excess(high) <= 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-10))


def log_wealth(epsilon, n_correct):
    """Logarithm of the wealth of bets against epsilon, after each guess.

    A guess is right with a probability of at most q = expit(epsilon), whatever came before. A bet
    multiplies the wealth by p / q if it is, and by (1 - p) / (1 - q) if not; the wealth is the mean
    over values of p, and exceeds 1 / alpha at any time with a probability of at most alpha.

    Parameters
    ----------
    epsilon : float
    n_correct : ndarray of shape (n,)
        Correct ones of the first 1, 2, ..., n guesses.
    """
    n_wrong = np.arange(1, len(n_correct) + 1) - n_correct
    expected = epsilon + _EDGES
    right = log_expit(expected) - log_expit(epsilon)
    wrong = log_expit(-expected) - log_expit(-epsilon)
    logs = np.multiply.outer(n_correct, right) + np.multiply.outer(n_wrong, wrong)
    return logsumexp(logs, axis=1) - np.log(len(_EDGES))


def bet_on_canaries(guesses, delta, alpha):
    """The largest epsilon that bets on the guesses, one after the other, reject.

    The surest of either side come first, in turns. A canary is treated worse than epsilon alone
    allows with a probability of at most delta.

    Returns
    -------
    epsilon : float
    n_guesses : int
        Number of guesses after which the wealth was largest.

    Raises
    ------
    ValueError
        If delta alone uses up the error probability.
    """
    n = len(guesses.coins)
    if n * delta >= alpha:
        raise ValueError(
            f"n_guesses='any' needs a delta below {alpha / n:.3g}, (1 - confidence_level) / "
            f"n_canaries; got {delta}. Choose a number of guesses."
        )
    made = np.arange(1, n + 1)
    n_correct = guesses.count_correct((made + 1) // 2, made // 2)
    enough = -np.log(alpha - n * delta)

    def excess(epsilon):
        return log_wealth(epsilon, n_correct).max() - enough

    # The wealth falls with epsilon, because both factors of each bet do.
    if excess(0.0) <= 0:
        return 0.0, n
    found = float(brentq(excess, 0.0, np.log(n) + 2, xtol=1e-7))
    return found, int(log_wealth(found, n_correct).argmax()) + 1
