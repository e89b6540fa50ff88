"""Confidence intervals of a rate and of a difference of two rates."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from .._core.checks import check_confidence_level, check_membership_predictions
from .._core.numbers import as_numbers, check_broadcast, check_number, show
from .._core.types import FloatOrArray
from .people import check_people, effective_sizes, shared_correlation, split_people

_MOST_TRIALS = 2**53  # larger floats are not counts: not every whole number is one


class Interval(NamedTuple):
    """An estimate with a two-sided confidence interval: ``(estimate, low, high)``.

    Attributes
    ----------
    estimate : float
        Point estimate.

    low, high : float
        Limits of the interval.
    """

    estimate: float
    low: float
    high: float


def clopper_pearson(
    successes: int | ArrayLike, trials: int | ArrayLike, *, confidence_level: float = 0.95
) -> tuple[FloatOrArray, FloatOrArray]:
    """Exact (Clopper-Pearson) two-sided interval of a binomial proportion.

    The error probability of each side is at most ``(1 - confidence_level) / 2``, also if the other
    side is trivial: with 0 successes in n trials the upper limit at 95% is ``1 - 0.025 ** (1 /
    n)``, about 3.7 / n.

    Parameters
    ----------
    successes, trials : int or array-like of int
        Counts, ``0 <= successes <= trials``; arrays are broadcast against each other.

    confidence_level : float, default=0.95
        Confidence level, in (0, 1).

    Returns
    -------
    low, high : float or ndarray
        Fractions in [0, 1]; (0, 1) without trials.

    Raises
    ------
    ValueError
        If a count is not whole, is negative, exceeds its number of trials, or is above 2**53.

    References
    ----------
    .. [1] Clopper, C. and Pearson, E. S. (1934). The Use of Confidence or Fiducial Limits
           Illustrated in the Case of the Binomial. Biometrika 26.

    Examples
    --------
    >>> from skmia.metrics import clopper_pearson
    >>> low, high = clopper_pearson(1, 1000)
    >>> round(float(low), 6), round(float(high), 4)
    (2.5e-05, 0.0056)
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    k, n = (
        as_numbers(counts, name, "whole numbers of 0 and above")
        for counts, name in ((successes, "successes"), (trials, "trials"))
    )
    k, n = check_broadcast(successes=k, trials=n)
    bad = ~((k >= 0) & (k <= n) & (n <= _MOST_TRIALS) & (k == np.floor(k)) & (n == np.floor(n)))
    if bad.any():
        raise ValueError(
            "successes and trials must be whole numbers with 0 <= successes <= trials <= 2**53; "
            f"got {k[bad][0]:g} of {n[bad][0]:g}."
        )
    low, high = beta_limits(k, n, tail)
    return (low, high) if low.ndim else (float(low), float(high))


def beta_limits(k, n, tail):
    """Return Clopper and Pearson's limits for real numbers of successes and trials."""
    # The beta quantile is not defined for a parameter of 0; the ones only fill unused branches.
    low = np.where(k > 0, stats.beta.ppf(tail, np.where(k > 0, k, 1), n - k + 1), 0.0)
    high = np.where(k < n, stats.beta.isf(tail, k + 1, np.where(k < n, n - k, 1)), 1.0)
    return low, high


def difference_interval(
    first: Sequence[float], second: Sequence[float], *, correlation: float = 0.0
) -> Interval:
    """Difference of two estimates with an interval that follows from their intervals.

    The method of variance estimates recovery uses the distances from the estimates to their limits
    in place of standard errors, on the side where each matters. Intervals that are asymmetric, or
    valid for few records, keep these properties in the difference.

    Parameters
    ----------
    first, second : Interval or sequence of three floats
        ``(estimate, low, high)``, both at one confidence level. An estimate outside its limits is
        moved to the nearest limit.

    correlation : float, default=0.0
        Correlation of the two estimates, in [-1, 1]. Zero is correct for audits of different
        records. Estimates of two attacks or models on the same records are correlated, mostly
        positively; with zero, the interval is then too wide rather than too narrow.

    Returns
    -------
    interval : Interval
        Interval of ``first - second``, at the confidence level of the two.

    Raises
    ------
    ValueError
        If a limit is not a number, if a lower limit exceeds the upper one, or if `correlation` is
        not in [-1, 1].

    See Also
    --------
    operating_point, auc_interval, advantage_interval : Intervals of single audits.

    References
    ----------
    .. [1] Zou, G. Y. and Donner, A. (2008). Construction of Confidence Limits about Effect
           Measures: A General Approach. Statistics in Medicine 27.

    Examples
    --------
    >>> from skmia.metrics import difference_interval
    >>> before, after = (0.80, 0.76, 0.83), (0.70, 0.66, 0.74)
    >>> [round(limit, 3) for limit in difference_interval(before, after)]
    [0.1, 0.043, 0.15]
    """
    (a, a_low, a_high), (b, b_low, b_high) = map(_check_interval, (first, second))
    check_number(correlation, "correlation", "a number in [-1, 1]", -1, 1)
    gap = a - b
    low = gap - _join(a - a_low, b_high - b, correlation)
    high = gap + _join(a_high - a, b - b_low, correlation)
    return Interval(gap, low, high)


def _check_interval(interval):
    try:
        estimate, low, high = (float(value) for value in interval)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"an interval must be three numbers, (estimate, low, high); got {show(interval)}."
        ) from None
    if not low <= high or np.isnan(estimate):
        raise ValueError(
            "an interval must be (estimate, low, high) with low <= high; "
            f"got ({estimate:g}, {low:g}, {high:g})."
        )
    return min(max(estimate, low), high), low, high


def _join(first, other, correlation):
    """Return the distance of a difference from its limit, given the distances of its two terms."""
    return max(first**2 + other**2 - 2 * correlation * first * other, 0.0) ** 0.5


def advantage_interval(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Membership advantage, TPR - FPR, with Newcombe's hybrid score interval.

    The two rates are proportions of two independent samples. Newcombe's interval combines their
    Wilson intervals. Unlike the normal interval, it has a positive width if both rates are 0 or 1.

    Records of the same person are not independent; `groups` says to whom each record belongs.
    Wilson's intervals then use effective sizes, the numbers of independent records that would vary
    as much as the rates of these people do, and Student's t distribution, because the sizes are
    estimated from the people. A person with records on both sides is taken into account by the
    correlation of the two rates.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_pred : array-like of shape (n_records,)
        Predictions: 1 or True for "member", 0 or False for "non-member". Their threshold must have
        been set on other records.

    groups : array-like of shape (n_records,), default=None
        Person of each record. If None, all records are independent.

    confidence_level : float, default=0.95
        Confidence level, in (0, 1).

    Returns
    -------
    interval : Interval
        ``(estimate, low, high)``, each in [-1, 1].

    Raises
    ------
    ValueError
        If `y_true` or `y_pred` is not a vector of bits, if `y_true` holds one class only, if
        lengths differ, if `groups` has a missing value, if `confidence_level` is out of range.

    References
    ----------
    .. [1] Newcombe, R. G. (1998). Interval Estimation for the Difference Between Independent
           Proportions: Comparison of Eleven Methods. Statistics in Medicine 17.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import advantage_interval
    >>> membership = [1] * 70 + [0] * 80
    >>> guesses = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32
    >>> interval = advantage_interval(membership, guesses)
    >>> [round(limit, 4) for limit in interval]
    [0.2, 0.0524, 0.3339]

    If each person has ten records with equal predictions, the 150 records are worth 15:

    >>> interval = advantage_interval(membership, guesses, groups=np.arange(150) // 10)
    >>> bool(interval.low < -0.2)
    True
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    membership, predicted = check_membership_predictions(y_true, y_pred)
    people = check_people(groups, len(membership))
    sides = split_people(people, membership)
    guesses = [predicted[side].astype(np.float64) for side in (membership, ~membership)]
    rates = [
        _wilson(values.mean(), _rate_size(values, side, tail), tail)
        for values, side in zip(guesses, sides)
    ]
    shared = shared_correlation(sides, guesses)
    estimate, low, high = difference_interval(*rates, correlation=shared)
    return Interval(estimate, max(low, -1.0), min(high, 1.0))


def _rate_size(values, people, tail):
    return effective_sizes(values, people, [1.0]).trusted(tail)[0]


def _wilson(rate, size, tail):
    """Return Wilson's interval of a rate among `size` independent records."""
    z = special.ndtri(tail)
    center = (rate + z**2 / (2 * size)) / (1 + z**2 / size)
    reach = abs(z) * np.sqrt(rate * (1 - rate) / size + (z / size) ** 2 / 4) / (1 + z**2 / size)
    # Rounding must not move a limit past the estimate if the rate is 0 or 1.
    return Interval(rate, min(max(center - reach, 0.0), rate), max(min(center + reach, 1.0), rate))
