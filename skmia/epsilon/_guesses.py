"""Guesses about the coins of many canaries in one run."""

from numbers import Integral

import numpy as np

from .._core.numbers import show

# Shares of the canaries that are guessed where their number is not given.
_SHARES = (1, 2, 4, 8)


def check_n_guesses(n_guesses, n_canaries):
    """Return the numbers of guesses to try, in descending order.

    Raises
    ------
    ValueError
        If one is not from 1 to the number of canaries.
    """
    if isinstance(n_guesses, str) and n_guesses == "auto":
        return sorted({max(1, n_canaries // share) for share in _SHARES}, reverse=True)
    tried = np.atleast_1d(np.asarray(n_guesses, dtype=object)).tolist()
    for number in tried:
        if (
            isinstance(number, bool)
            or not isinstance(number, Integral)
            or not 1 <= number <= n_canaries
        ):
            raise ValueError(
                f"n_guesses must be 'auto' or integers from 1 to the number of canaries, "
                f"{n_canaries}; got {show(number)}."
            )
    if not tried:
        raise ValueError("n_guesses must hold at least one number; got none.")
    return sorted({int(number) for number in tried}, reverse=True)


def count_correct(coins, scores, n_guesses):
    """Count correct guesses: "in" for the highest scores, "out" for the lowest.

    Among equal scores, wrong guesses come first. Otherwise, an uninformative score would be a
    perfect attack if members are listed first.

    Parameters
    ----------
    coins : ndarray of shape (m,), dtype bool
        Which canaries took part.
    scores : ndarray of shape (m,)
        Higher means more likely in.
    n_guesses : list of int
        Numbers of guesses; the odd one is "in".

    Returns
    -------
    correct : list of int
    """
    highest = np.lexsort((coins, -scores))
    lowest = np.lexsort((~coins, scores))
    hits = np.append(0, np.cumsum(coins[highest]))
    rejections = np.append(0, np.cumsum(~coins[lowest]))
    return [int(hits[(r + 1) // 2] + rejections[r // 2]) for r in n_guesses]


def best_over_guesses(coins, scores, n_guesses, alpha, solve):
    """The largest bound over numbers of guesses, each with its share of the error allowed.

    Parameters
    ----------
    coins, scores : ndarray of shape (m,)
        As of :func:`count_correct`.
    n_guesses : "auto", int or array-like of int
        Numbers of guesses.
    alpha : float
        Total error probability.
    solve : callable
        Takes correct guesses, guesses and alpha; returns a bound.

    Returns
    -------
    value : float
    counts : dict
    """
    tried = check_n_guesses(n_guesses, len(coins))
    correct = count_correct(coins, scores, tried)
    values = [solve(v, r, alpha / len(tried)) for v, r in zip(correct, tried, strict=True)]
    best = int(np.argmax(values))
    counts = {
        "n_canaries": len(coins),
        "n_guesses": tried[best],
        "n_correct": correct[best],
        "numbers_of_guesses_tried": len(tried),
    }
    return values[best], counts
