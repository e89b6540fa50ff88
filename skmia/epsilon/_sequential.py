"""Bets on the coins of trainings, one after the other, against a claimed epsilon.

The auditor guesses from the score of a training whether it had the canary, and bets a part of the
wealth. If the training is (epsilon, delta)-private, the wealth does not grow on average whatever
the bets are, so it exceeds 1 / alpha at any time with a probability of at most alpha (Ville). A bet
must be fixed before its coin is seen; it may depend on all earlier trainings.
"""

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import t as student

from .._core.rate_sequences import limit_rates
from ._clopper_pearson import group_delta

# A lost bet leaves at least this share of the wealth.
_LEAST = 1e-3
# Trainings of either kind before the first bet, and those that choose the threshold of the rates.
_N_FIRST = 2
# The largest epsilon of the grid, and the number of values.
_HIGHEST, _N_VALUES = 12.0, 240
_GRID = np.geomspace(0.02, _HIGHEST, _N_VALUES)


def predict_coins(coins, scores, batch=1):
    """Log odds that each training had the canary, from the trainings of earlier batches.

    The scores of either kind are taken for normal with a common variance. The odds are 1 before
    there are two trainings of either kind. A wrong law costs power, not validity.

    Parameters
    ----------
    coins : ndarray of shape (n,), dtype bool
    scores : ndarray of shape (n,)
    batch : int, default=1
        Number of trainings that were started at once.

    Returns
    -------
    log_odds : ndarray of shape (n,)
    """
    past = np.arange(len(scores)) // batch * batch
    center = scores - scores[0]
    sums = {}
    for kind, chosen in ((0, ~coins), (1, coins)):
        powers = np.array([chosen, chosen * center, chosen * center**2], dtype=float)
        sums[kind] = np.hstack([np.zeros((3, 1)), powers.cumsum(axis=1)])[:, past]
    counts = np.array([sums[0][0], sums[1][0]])
    ready = (counts >= _N_FIRST).all(axis=0)
    safe = np.maximum(counts, 1)
    means = np.array([sums[0][1], sums[1][1]]) / safe
    squares = np.array([sums[0][2], sums[1][2]]) - safe * means**2
    freedom = np.maximum(counts.sum(axis=0) - 2, 1)
    rounding = (1e-8 * np.maximum.accumulate(np.abs(center))) ** 2 + np.finfo(float).tiny
    variance = np.maximum(squares.sum(axis=0), 0) / freedom + rounding
    scales = np.sqrt(variance * (1 + 1 / safe))
    logs = student.logpdf((center - means) / scales, freedom) - np.log(scales)
    return np.where(ready, logs[1] - logs[0], 0.0)


def log_wealth(epsilon, delta, coins, log_odds):
    """Logarithm of the wealth after each training, against one claim."""
    sureness = np.abs(log_odds)
    started = sureness.cumsum() > 0
    right = coins == (log_odds > 0)
    # A bet on an event of probability delta is paid for beforehand.
    fee = delta * np.exp(-epsilon)
    least = max(_LEAST, 2 * fee)
    miss = np.maximum(expit(-sureness), least * expit(-epsilon))
    gain = np.where(right, (1 - miss) * (1 + np.exp(-epsilon)), miss * (1 + np.exp(epsilon)))
    factor = np.where((sureness > epsilon) & (1 - miss > expit(epsilon)), gain, 1.0)
    return np.log(np.where(started, factor - fee, 1.0)).cumsum()


def group_privacy(epsilon, delta, n_copies):
    """What (epsilon, delta) for one record means for several."""
    with np.errstate(over="ignore"):
        whole = float(group_delta(np.asarray(epsilon), delta, n_copies))
    return n_copies * epsilon, min(1.0, whole)


def bound_path(coins, log_odds, delta, alpha, n_copies=1):
    """Lower bound of epsilon after each training, valid at all times at once.

    Returns
    -------
    epsilons : ndarray of shape (n,)
        Non-decreasing; values of a grid up to 12.
    """
    found = np.zeros(len(coins))
    standing = np.ones(len(coins), dtype=bool)  # all smaller values are rejected by then
    for epsilon in _GRID:
        logs = log_wealth(*group_privacy(epsilon, delta, n_copies), coins, log_odds)
        standing &= np.maximum.accumulate(logs) >= -np.log(alpha)
        if not standing.any():
            break
        found[standing] = epsilon
    return found


def follow_rates(coins, scores, confidence_level):
    """Rates of one threshold after each training, with intervals that hold at all times at once.

    The first trainings of either kind choose the threshold, the middle between their means, and do
    not count. The rates are of independent trainings at a fixed threshold then.

    Parameters
    ----------
    coins : ndarray of shape (n,), dtype bool
    scores : ndarray of shape (n,)
    confidence_level : float
        Of the intervals of both rates together.

    Returns
    -------
    rates : DataFrame
        A row for each training.
    """
    columns, counted = {}, np.zeros(len(coins), dtype=bool)
    numbers = np.array([np.cumsum(~coins), np.cumsum(coins)])
    ready = (numbers >= _N_FIRST).all(axis=0)
    if ready.any():
        first = int(ready.argmax()) + 1
        past, kinds = scores[:first], coins[:first]
        threshold = past[kinds].mean() / 2 + past[~kinds].mean() / 2
        counted[first:] = True
        above = scores > threshold
    else:
        above = counted
    for name, kind in (("tpr", coins), ("fpr", ~coins)):
        trials, successes = (np.cumsum(kind & counted & part) for part in (counted, above))
        low, high = limit_rates(successes, trials, (1 - confidence_level) / 2)
        rate = np.where(trials > 0, successes / np.maximum(trials, 1), np.nan)
        columns |= {name: rate, f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)
