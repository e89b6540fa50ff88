"""The area under the ROC curve with an interval."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from .._core.checks import check_confidence_level, check_membership_scores
from .intervals import Interval
from .people import Sizes, check_people, shared_covariance, split_people

# With fewer records than this on one side, or fewer misordered ones, DeLong's variance is
# unreliable.
FEW = 20
_FEW_OUT_OF_ORDER = 5


def placements(membership, scores):
    """Return for each record the share of the other class that it outranks; ties count half.

    Members are compared with the non-members below them, non-members with the members above.
    The rank among all minus the rank within the own class counts the other class, so this takes
    three sorts and no matrix of pairs.
    """
    ranks = stats.rankdata(scores)
    members, nonmembers = scores[membership], scores[~membership]
    below = (ranks[membership] - stats.rankdata(members)) / len(nonmembers)
    above = 1 - (ranks[~membership] - stats.rankdata(nonmembers)) / len(members)
    return below, above


def mean_variance(values, auc):
    """Estimate the variance of the mean placement of one class, for independent records.

    A single record has no spread; its variance is set to the largest possible one of values in [0,
    1] with mean `auc`.
    """
    if len(values) == 1:
        return auc * (1 - auc)
    return values.var(ddof=1) / len(values)


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
    sides = split_people(check_people(groups, len(membership)), membership)
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
    variance = values.var(ddof=int(len(values) > 1))
    return Sizes(people.effective_size(values, variance), people.freedom).trusted(tail)


def _logit_limits(auc, ranked, sides, tail, few):
    """Compute limits from DeLong's variance, by sums over people, on the logit scale."""
    variances, freedom = [], 0.0
    for side, values in zip(sides, ranked):
        variance = side.mean_variance(values)
        if np.isnan(variance):
            # A single person has no spread, and gets the largest variance that placements can have.
            variance = auc * (1 - auc)
        else:
            freedom += variance**2 / (max(side.worth - 1, 1.0) if few else side.freedom)
        variances.append(variance)
    variance = sum(variances) + 2 * shared_covariance(sides, ranked)
    if freedom:
        # Satterthwaite's degrees of freedom.
        quantile = special.stdtrit(sum(variances) ** 2 / freedom, tail)
    else:
        quantile = special.ndtri(tail)
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
