"""Bound from one run with many canaries for Gaussian mechanisms."""

from functools import lru_cache

from scipy.special import ndtr, ndtri

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
