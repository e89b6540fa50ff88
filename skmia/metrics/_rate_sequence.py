"""Intervals of a rate that may be looked at again and again."""

import numpy as np

from .._core.checks import check_confidence_level
from .._core.numbers import check_count
from .._core.rate_sequences import limit_rates
from .intervals import Interval


def rate_sequence(successes: int, trials: int, *, confidence_level: float = 0.95) -> Interval:
    r"""Confidence sequence of a rate: an interval that holds after every trial at once.

    An interval of Clopper-Pearson holds for a number of trials that was fixed beforehand. The
    intervals of a confidence sequence all hold together with the confidence level, so that you may
    look after each trial and stop for any reason. They are wider.

    Parameters
    ----------
    successes, trials : int
        Counts so far, ``0 <= successes <= trials``.
    confidence_level : float, default=0.95
        Probability that all intervals hold, in (0, 1).

    Returns
    -------
    interval : Interval
        ``(estimate, low, high)``; (0.5, 0, 1) without trials.

    Raises
    ------
    ValueError
        If a count is not whole, is negative, or there are more successes than trials.

    See Also
    --------
    clopper_pearson : Narrower, for a fixed number of trials.
    skmia.epsilon.EpsilonAudit : Its ``sequential=True`` needs fewer trainings to refute a claim.

    Notes
    -----
    It holds the rates p with :math:`p^k (1 - p)^{n - k} > \alpha B(k + 1/2, n - k + 1/2) / B(1/2,
    1/2)`: a mixture of bets against p by a beta law.

    References
    ----------
    Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. Annals of
    Mathematical Statistics 41.

    Examples
    --------
    >>> from skmia.metrics import rate_sequence
    >>> [round(value, 4) for value in rate_sequence(5, 100)]
    [0.05, 0.0071, 0.1558]
    """
    alpha = 1 - check_confidence_level(confidence_level)
    n = check_count(trials, "trials", 0)
    k = check_count(successes, "successes", 0, n)
    low, high = limit_rates(np.array([k]), np.array([n]), alpha)
    return Interval(k / n if n else 0.5, float(low[0]), float(high[0]))
