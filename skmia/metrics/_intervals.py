"""Intervals of rates, of differences, and of the area under the ROC curve, of records or people."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from .._core.groups import number_groups
from .._core.metric_inputs import (
    check_confidence_level,
    check_membership_predictions,
    check_membership_scores,
)
from .._core.numbers import as_numbers, check_broadcast, check_count, check_number, show
from .._core.pvalues import limit_rates
from .._core.types import ArrayLike, FloatOrArray
from ._ranks import placements


def number_side_people(groups, n_records):
    """Number the people behind the records; None without groups, if each record is a person."""
    return None if groups is None else number_groups(groups, n_records, name="groups")[1]


class PeopleOfSide:
    """People of one side, members or non-members, by their rows; None for one person a row."""

    def __init__(self, people, n_rows):
        self.n_rows = n_rows
        if people is None:
            self.numbers = self._places = None
            self.counts = np.broadcast_to(np.intp(1), n_rows)
        else:
            self.numbers, self._places, self.counts = np.unique(
                people, return_inverse=True, return_counts=True
            )

    @cached_property
    def alone(self):
        """Whether each person has one row, so that rows are independent."""
        return len(self.counts) == self.n_rows

    @cached_property
    def worth(self):
        """Number of people with equally many rows that would vary as much.

        It is the effective size if all rows of a person agree, and so the smallest possible one.
        """
        return self.n_rows**2 / float(self.counts @ self.counts)

    def shifts(self, values):
        """Return the change of the mean over rows if each person is left out, without its sign.

        People are in the order of ``numbers``, or of the rows if that is None. The changes are
        scaled so that their sum of squares is the variance of the mean: the jackknife, which does
        not underestimate the influence of a person with many rows.
        """
        n_people, changes = len(self.counts), values - values.mean()
        if self._places is None:
            share = 1 / self.n_rows
        else:
            changes = np.bincount(self._places, changes)
            share = self.counts / self.n_rows
        changes /= self.n_rows
        changes /= 1 - share
        changes *= ((n_people - 1) / n_people) ** 0.5
        return changes

    def mean_variance(self, values):
        """Estimate the variance of the mean over rows; NaN for a single person."""
        if len(self.counts) == 1:
            return np.nan
        shifts = self.shifts(values)
        return float(shifts @ shifts)

    def effective_size(self, values, variance):
        """Return the size of a sample of independent records whose mean varies as much."""
        if self.alone:
            return float(self.n_rows)
        found = self.mean_variance(values)
        if not found > 0:
            return self.worth
        size = float(np.clip(variance / found, self.worth, self.n_rows))
        # One person is added to the estimate whose rows all agree, so that a few people who are
        # alike by chance do not look like independent rows.
        n_people = len(self.counts)
        return n_people / ((n_people - 1) / size + 1 / self.worth)

    @property
    def freedom(self):
        """Return the degrees of freedom of a variance that was estimated from these people."""
        return np.inf if self.alone else max(self.worth - 1, 1.0)


class EffectiveSizes(NamedTuple):
    """Effective sizes, and the degrees of freedom that they were estimated with."""

    values: np.ndarray
    freedom: float

    def trusted(self, tail):
        """Return sizes with normal intervals as wide as intervals of Student's t distribution."""
        if np.isinf(self.freedom):
            return self.values
        return self.values * (special.ndtri(tail) / special.stdtrit(self.freedom, tail)) ** 2

    def take(self, places):
        return EffectiveSizes(self.values[places], self.freedom)


def split_people(people, membership):
    """Split people into the people of members and of non-members."""
    return tuple(
        PeopleOfSide(None if people is None else people[side], np.count_nonzero(side))
        for side in (membership, ~membership)
    )


def shared_covariance(sides, values):
    """Estimate the covariance of the means of two sides from people with rows on both."""
    first, other = sides
    if first.numbers is None or min(len(first.counts), len(other.counts)) == 1:
        return 0.0
    _, at_first, at_other = np.intersect1d(first.numbers, other.numbers, return_indices=True)
    return float(first.shifts(values[0])[at_first] @ other.shifts(values[1])[at_other])


def join_variances(sides, values, get_largest, few):
    """Variance of the sum of the means of both sides, and Satterthwaite's degrees of freedom."""
    variances, freedom = [], 0.0
    for side, part in zip(sides, values, strict=True):
        variance = side.mean_variance(part)
        if np.isnan(variance):  # a single person has no spread, and gets the largest possible one
            variance = get_largest(part)
        else:
            freedom += variance**2 / (max(side.worth - 1, 1.0) if few else side.freedom)
        variances.append(variance)
    total = sum(variances)
    # Infinite for many independent records.
    freedom = total**2 / freedom if freedom else np.inf
    return total + 2 * shared_covariance(sides, values), freedom


def shared_correlation(sides, values):
    """Estimate the correlation of the means of two sides from people with rows on both."""
    covariance = shared_covariance(sides, values)
    if covariance == 0:
        return 0.0
    scale = np.prod([side.mean_variance(part) for side, part in zip(sides, values)])
    return float(np.clip(covariance / scale**0.5, -1, 1))


def effective_sizes(scores, people, thresholds):
    """Compute effective sizes of the rates at each threshold."""
    sizes = np.full(len(thresholds), float(people.n_rows))
    if not people.alone:
        for place, threshold in enumerate(thresholds):
            above = (scores >= threshold).astype(np.float64)
            rate = above.mean()
            sizes[place] = people.effective_size(above, rate * (1 - rate))
    return EffectiveSizes(sizes, people.freedom)


def sizes_of_sides(scores, membership, sides, thresholds):
    """Compute effective sizes of the rates of both sides, members first, at each threshold.

    Of independent records, the scores are not read.
    """
    parts = (
        None if side.alone else scores[chosen]
        for chosen, side in zip((membership, ~membership), sides, strict=True)
    )
    return [effective_sizes(part, side, thresholds) for part, side in zip(parts, sides)]


def thinned_sizes(scores, membership, sides, thresholds, *, most=200):
    """Compute effective sizes of both sides at each point of a curve, by interpolation."""
    places = np.arange(len(thresholds))
    if not all(side.alone for side in sides):
        # Points are dense where few records are at or above the threshold.
        places = np.unique(np.geomspace(1, len(thresholds), most).astype(int) - 1)
    return [
        EffectiveSizes(np.interp(np.arange(len(thresholds)), places, some.values), some.freedom)
        for some in sizes_of_sides(scores, membership, sides, thresholds[places])
    ]


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
    """Return the exact (Clopper-Pearson) two-sided interval of a binomial proportion.

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
    """Return Clopper and Pearson's limits for real numbers of successes and trials.

    The beta quantile is not defined for a parameter of 0; the ones only fill unused branches.
    """
    low = np.where(k > 0, _find_beta_quantile(np.where(k > 0, k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, _find_upper_beta_quantile(k + 1, np.where(k < n, n - k, 1), tail), 1.0)
    return low, high


if hasattr(special, "betainccinv"):  # since scipy 1.12, the same numbers in a hundredth of the time
    _find_beta_quantile, _find_upper_beta_quantile = special.betaincinv, special.betainccinv
else:

    def _find_beta_quantile(a, b, tail):
        return stats.beta.ppf(tail, a, b)

    def _find_upper_beta_quantile(a, b, tail):
        return stats.beta.isf(tail, a, b)


def difference_interval(
    first: Sequence[float], second: Sequence[float], *, correlation: float = 0.0
) -> Interval:
    """Return the difference of two estimates with an interval that follows from their intervals.

    The method of variance estimates recovery uses the distances from the estimates to their limits
    in place of standard errors, on the side where each matters. Intervals that are asymmetric, or
    valid for few records, keep these properties in the difference.

    Parameters
    ----------
    first, second : Interval or sequence of three floats
        ``(estimate, low, high)``, both at one confidence level. An estimate outside its limits is
        moved to the nearest limit. A limit can be infinite.

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
        If a limit is not a number, if a lower limit exceeds the upper one, if an estimate is
        infinite, or if `correlation` is not in [-1, 1].

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
    (a, a_low, a_high), (b, b_low, b_high) = map(_check_interval_ends, (first, second))
    check_number(correlation, "correlation", "a number in [-1, 1]", -1, 1)
    gap = a - b
    low = gap - _join_distances(a - a_low, b_high - b, correlation)
    high = gap + _join_distances(a_high - a, b - b_low, correlation)
    return Interval(gap, low, high)


def _check_interval_ends(interval):
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
    estimate = min(max(estimate, low), high)
    if np.isinf(estimate):
        raise ValueError(f"the estimate of an interval must be finite; got {estimate:g}.")
    return estimate, low, high


def _join_distances(first, other, correlation):
    """Return the distance of a difference from its limit, given the distances of its two terms."""
    if np.isinf(first) or np.isinf(other):
        return np.inf
    return max(first**2 + other**2 - 2 * correlation * first * other, 0.0) ** 0.5


def advantage_interval(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Return the membership advantage, TPR - FPR, with Newcombe's hybrid score interval.

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
    people = number_side_people(groups, len(membership))
    sides = split_people(people, membership)
    guesses = [predicted[side] for side in (membership, ~membership)]
    sizes = [effective_sizes(*one, [1.0]).trusted(tail)[0] for one in zip(guesses, sides)]
    rates = [_wilson(values.mean(), size, tail) for values, size in zip(guesses, sizes)]
    shared = shared_correlation(sides, guesses)
    estimate, low, high = difference_interval(*rates, correlation=shared)
    return Interval(estimate, max(low, -1.0), min(high, 1.0))


def _wilson(rate, size, tail):
    """Return Wilson's interval of a rate among `size` independent records."""
    z = special.ndtri(tail)
    center = (rate + z**2 / (2 * size)) / (1 + z**2 / size)
    reach = abs(z) * np.sqrt(rate * (1 - rate) / size + (z / size) ** 2 / 4) / (1 + z**2 / size)
    # Rounding must not move a limit past the estimate if the rate is 0 or 1.
    return Interval(rate, min(max(center - reach, 0.0), rate), max(min(center + reach, 1.0), rate))


def share_interval(hits, groups=None, *, confidence_level=0.95):
    """Return the share of hits, with Clopper-Pearson limits for an effective number of records.

    Return interval: NaN with the limits 0 and 1 without records.
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    if not len(hits):
        return Interval(np.nan, 0.0, 1.0)
    share, people = (
        float(np.mean(hits)),
        PeopleOfSide(number_side_people(groups, len(hits)), len(hits)),
    )
    size = people.effective_size(np.asarray(hits, dtype=float), share * (1 - share))
    size = EffectiveSizes(np.array([size]), people.freedom).trusted(tail)[0]
    return Interval(share, *map(float, beta_limits(share * size, size, tail)))


def paired_share_interval(hits, others, groups=None, *, confidence_level=0.95):
    """Return how much larger the share of hits is than that of others, on the same records.

    The limits are differences that Tango's score test does not reject, for an effective number of
    records. Unlike normal ones, they stay in [-1, 1], and have a width if all pairs agree.

    Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions for
    the paired-sample design. Statistics in Medicine 17.
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    hits, others = np.asarray(hits, dtype=float), np.asarray(others, dtype=float)
    people, gaps = PeopleOfSide(number_side_people(groups, len(hits)), len(hits)), hits - others
    size = EffectiveSizes(people.effective_size(gaps, gaps.var()), people.freedom).trusted(tail)
    gap, apart = float(gaps.mean()), float(np.abs(gaps).mean())

    def excess(value):
        slope, constant = (2 - gap) * value - apart, (gap - apart) / 2 * value * (1 - value)
        other_only = (max(slope**2 - 8 * constant, 0.0) ** 0.5 - slope) / 4
        variance = (2 * other_only + value * (1 - value)) / size
        return (gap - value) ** 2 - special.ndtri(tail) ** 2 * variance

    return Interval(gap, _last_accepted(excess, gap, -1.0), _last_accepted(excess, gap, 1.0))


def _last_accepted(excess, inside, outside):
    """Return the last value on the way to `outside` whose excess is not positive, by bisection."""
    for _ in range(60):
        middle = (inside + outside) / 2
        if excess(middle) > 0:
            outside = middle
        else:
            inside = middle
    return outside


def rate_sequence(successes: int, trials: int, *, confidence_level: float = 0.95) -> Interval:
    r"""Return the confidence sequence of a rate: an interval that holds after every trial at once.

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


# With fewer records than this on one side, or fewer misordered ones, DeLong's variance is
# unreliable.
FEW = 20
_FEW_OUT_OF_ORDER = 5


def auc_variance(membership, scores, groups=None):
    """Estimate DeLong's variance of the area under the ROC curve, of records or people.

    A single record or person of a side has no spread; its variance is set to the largest possible
    one of values in [0, 1] with the mean of the placements.
    """
    sides = split_people(number_side_people(groups, len(membership)), membership)
    ranked = placements(membership, scores)
    auc = float(ranked[0].mean())
    return join_variances(sides, ranked, lambda values: auc * (1 - auc), few=False)[0]


def auc_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Area under the ROC curve with a confidence interval, also for few or dependent records.

    The AUC is the chance that a random member outscores a random non-member, ties counted half.
    DeLong's variance is computed from midranks in O(n log n). The normal interval is taken for
    the logit of the AUC and mapped back: it stays within (0, 1) without a cut and is
    asymmetric near the ends, where the plain interval covers too rarely.

    With few records on one side, or with few of them out of order, that variance is itself too
    uncertain: below 20 members or 20 non-members, or where
    ``min(n_members, n_nonmembers) * min(auc, 1 - auc) < 5``, each limit is the wider one of
    DeLong's, with Student's t distribution, and of Newcombe's score interval (his method 5), which
    takes its variance from the AUC that it tests.

    Records of the same person are not independent; `groups` says to whom each record belongs.
    DeLong's variance is then computed from the sums over each person's records, a person with
    records on both sides included; Student's t distribution takes the place of the normal one; and
    the score interval uses the effective sizes, the numbers of independent records that would vary
    as much.

    If all members lie on one side of all non-members, or all scores are equal, DeLong's variance is
    0 and cannot be used. The interval then comes from pairs: the records form k = min(n_members,
    n_nonmembers) disjoint member-non-member pairs that all agree, and by the argument of Clopper
    and Pearson pairs disagree at most with probability ``d = 1 - ((1 - confidence_level) / 2) ** (1
    / k)``. That gives [1 - d, 1] for AUC = 1, [0, d] for AUC = 0 and [(1 - d) / 2, (1 + d) / 2] for
    constant scores; exact and wide. With `groups`, k is the number of people on the smaller side
    (if they have unequal numbers of records, of as many equal people as would vary as much).

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher means more likely a member.

    groups : array-like of shape (n_records,), default=None
        Person of each record. If None, all records are independent.

    confidence_level : float, default=0.95
        Confidence level, in (0, 1).

    Returns
    -------
    interval : Interval
        ``(estimate, low, high)``, each in [0, 1].

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length, if `groups` has a missing value, if `confidence_level` is out
        of range.

    See Also
    --------
    difference_interval : The difference of two AUCs.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the Areas
           under Two or More Correlated Receiver Operating Characteristic Curves. Biometrics 44.
    .. [2] Sun, X. and Xu, W. (2014). Fast Implementation of DeLong's Algorithm for Comparing the
           Areas Under Correlated Receiver Operating Characteristic Curves. IEEE SPL 21.
    .. [3] Pepe, M. S. (2003). The Statistical Evaluation of Medical Tests for Classification and
           Prediction, section 5.2. Oxford University Press.
    .. [4] Newcombe, R. G. (2006). Confidence Intervals for an Effect Size Measure Based on the
           Mann-Whitney Statistic. Part 2: Asymptotic Methods and Evaluation. Statistics in
           Medicine 25.
    .. [5] Obuchowski, N. A. (1997). Nonparametric Analysis of Clustered ROC Curve Data.
           Biometrics 53.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import auc_interval
    >>> rng = np.random.default_rng(28)
    >>> membership = np.repeat([1, 0], 1000)
    >>> people = np.arange(2000) // 10  # ten records each
    >>> scores = rng.normal(size=200)[people] + rng.normal(size=2000)  # nothing leaks
    >>> [round(limit, 2) for limit in auc_interval(membership, scores)]
    [0.55, 0.52, 0.57]
    >>> [round(limit, 2) for limit in auc_interval(membership, scores, groups=people)]
    [0.55, 0.49, 0.61]
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    membership, scores = check_membership_scores(y_true, y_score)
    sides = split_people(number_side_people(groups, len(membership)), membership)
    ranked = placements(membership, scores)
    auc = float(ranked[0].mean())
    if np.ptp(ranked[0]) == 0 and np.ptp(ranked[1]) == 0:
        n_pairs = max(1.0, min(side.worth for side in sides))
        disagreeing = float(-np.expm1(np.log(tail) / n_pairs))
        return Interval(auc, auc * (1 - disagreeing), auc + (1 - auc) * disagreeing)
    sizes = [_size(values, side, tail) for side, values in zip(sides, ranked)]
    few = min(sizes) < FEW or min(sizes) * min(auc, 1 - auc) < _FEW_OUT_OF_ORDER
    low, high = _logit_limits(auc, ranked, sides, tail, few)
    if few:
        score_low, score_high = _score_limits(auc, *sizes, tail)
        low, high = min(low, score_low), max(high, score_high)
    return Interval(auc, low, high)


def _size(values, people, tail):
    if people.alone:
        return people.n_rows
    size = people.effective_size(values, values.var(ddof=1))
    return EffectiveSizes(size, people.freedom).trusted(tail)


def _logit_limits(auc, ranked, sides, tail, few):
    """Compute limits from DeLong's variance, by sums over people, on the logit scale."""
    variance, freedom = join_variances(sides, ranked, lambda values: auc * (1 - auc), few)
    is_normal = np.isinf(freedom)
    quantile = special.ndtri(tail) if is_normal else special.stdtrit(freedom, tail)
    half_width = -quantile * np.sqrt(max(variance, 0.0)) / (auc * (1 - auc))
    center = special.logit(auc)
    low, high = special.expit([center - half_width, center + half_width])
    return float(low), float(high)


def _score_limits(auc, n_members, n_nonmembers, tail):
    """Compute the AUCs that the score test does not reject, by Newcombe's fifth method."""
    z_squared = special.ndtri(tail) ** 2
    mean_others = (n_members + n_nonmembers) / 2 - 1

    def excess(value):
        spread = 1 + mean_others * ((1 - value) / (2 - value) + value / (1 + value))
        variance = value * (1 - value) * spread / (n_members * n_nonmembers)
        return (auc - value) ** 2 - z_squared * variance

    return optimize.brentq(excess, 0, auc), optimize.brentq(excess, auc, 1)
