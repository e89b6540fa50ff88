"""Confidence bounds of a total variation."""

import numpy as np

from ..metrics import Interval, clopper_pearson


def threshold_interval(members, values, confidence_level):
    """Largest advantage of a threshold on one feature, in either direction, with its interval.

    The two empirical distribution functions stay within the bands of Dvoretzky, Kiefer and
    Wolfowitz (with Massart's constant) at all thresholds at once, each with half of the error
    allowed, so that choosing the best threshold does not widen the interval.

    Parameters
    ----------
    members : ndarray of shape (n,), dtype bool
        Membership.
    values : ndarray of shape (n,)
        Feature of each record.
    confidence_level : float
        Confidence level of the two-sided interval, in (0, 1).

    Returns
    -------
    interval : Interval
        Each in [0, 1].
    """
    inside, outside = np.sort(values[members]), np.sort(values[~members])
    sizes = np.array([len(inside), len(outside)])
    below = [np.searchsorted(side, values, side="right") for side in (inside, outside)]
    largest = float(np.abs(below[0] / sizes[0] - below[1] / sizes[1]).max())
    slack = float(np.sqrt(np.log(4 / (1 - confidence_level)) / (2 * sizes)).sum())
    return Interval(largest, max(0.0, largest - slack), min(1.0, largest + slack))


def witness_bound(members, guesses, confidence_level):
    """Lower bound of the total variation from a region that was chosen on other records.

    Each rate may err on the unfavorable side with half of the error allowed (Clopper-Pearson), so
    that their difference holds at the requested level.

    Parameters
    ----------
    members : ndarray of shape (n,), dtype bool
        Membership.
    guesses : ndarray of shape (n,), dtype bool
        Whether the features lie in the region.
    confidence_level : float
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    bound : float
        Lower bound, in [0, 1]; 0, the trivial bound, without records.
    """
    low, high = clopper_pearson(
        [guesses[members].sum(), guesses[~members].sum()],
        [members.sum(), (~members).sum()],
        confidence_level=confidence_level,
    )
    return max(0.0, float(low[0] - high[1]))


def summarize_null(estimate, null):
    """Mean of the estimates without leakage, and the p-value of the estimate among them.

    Parameters
    ----------
    estimate : float
        Estimate with the true membership.
    null : ndarray of shape (n_permutations,)
        The same with shuffled membership.

    Returns
    -------
    bias, pvalue : float
        NaN without an estimate or without permutations.
    """
    if len(null) == 0 or np.isnan(estimate):
        return float("nan"), float("nan")
    # Sums of the same terms in another order differ by rounding.
    as_large = (null >= estimate - 1e-12).sum()
    return float(null.mean()), float((1 + as_large) / (1 + len(null)))
