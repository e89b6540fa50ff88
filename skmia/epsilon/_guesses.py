"""Guesses about the coins of many canaries in one run."""

from numbers import Integral

import numpy as np
import pandas as pd

from .._core.numbers import check_number, show


def check_n_guesses(n_guesses, n_canaries, default):
    """Return the numbers of guesses to try, in descending order.

    Raises
    ------
    ValueError
        If one is not from 1 to the number of canaries.
    """
    if isinstance(n_guesses, str) and n_guesses == "auto":
        return [default]
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


def split_guesses(n_in, n_guesses):
    """Return how many guesses are "in", for each number of guesses; the odd one is."""
    if n_in is None:
        return [(r + 1) // 2 for r in n_guesses]
    least = min(n_guesses)
    check_number(
        n_in, "n_in", f"None or an integer from 0 to n_guesses, {least}", 0, least, whole=True
    )
    return [int(n_in)] * len(n_guesses)


class Guesses:
    """Guesses of "in" for the highest scores and of "out" for the lowest.

    Among equal scores, wrong guesses come first. Otherwise, an uninformative score would be a
    perfect attack if members are listed first.

    Parameters
    ----------
    coins : ndarray of shape (m,), dtype bool
        Which canaries took part.
    scores : ndarray of shape (m,)
        Higher means more likely in.
    """

    def __init__(self, coins, scores):
        self.coins, self.scores = coins, scores
        self.highest = np.lexsort((coins, -scores))
        self.lowest = np.lexsort((~coins, scores))
        self._hits = np.append(0, np.cumsum(coins[self.highest]))
        self._rejections = np.append(0, np.cumsum(~coins[self.lowest]))

    def count_correct(self, n_in, n_out):
        """Count the right ones of so many guesses; integers or arrays of them."""
        return self._hits[n_in] + self._rejections[n_out]

    def frame(self, n_in, n_out):
        """List the guesses, the surest of either side first."""
        inside = self.highest[:n_in]
        free = np.ones(len(self.coins), dtype=bool)
        free[inside] = False  # both sides may reach into the same equal scores
        outside = self.lowest[free[self.lowest]][:n_out]
        canary = np.concatenate([inside, outside])
        guess = np.arange(len(canary)) < n_in
        return pd.DataFrame(
            {
                "canary": canary,
                "guess": np.where(guess, "in", "out"),
                "score": self.scores[canary],
                "correct": guess == self.coins[canary],
            }
        )


def best_over_guesses(guesses, tried, n_in, alpha, solve):
    """The largest bound over numbers of guesses, each with its share of the error allowed.

    Parameters
    ----------
    guesses : Guesses
    tried : list of int
        Numbers of guesses.
    n_in : int or None
        Number of guesses that are "in"; None for half of them.
    alpha : float
        Total error probability.
    solve : callable
        Takes correct guesses, guesses and alpha; returns a bound.

    Returns
    -------
    value : float
    counts : dict
    listed : DataFrame
        The guesses that the largest bound used.
    """
    inside = split_guesses(n_in, tried)
    correct = [int(guesses.count_correct(k, r - k)) for k, r in zip(inside, tried, strict=True)]
    values = [solve(v, r, alpha / len(tried)) for v, r in zip(correct, tried, strict=True)]
    best = int(np.argmax(values))
    counts = {
        "n_canaries": len(guesses.coins),
        "n_guesses": tried[best],
        "n_correct": correct[best],
        "numbers_of_guesses_tried": len(tried),
    }
    return values[best], counts, guesses.frame(inside[best], tried[best] - inside[best])
