"""Confidence intervals of the membership metrics."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from ._checks import (
    check_confidence_level,
    check_membership_predictions,
    check_membership_scores,
    check_rate,
)
from ._membership import check_resolution, point_at_fpr, realisable_points


class Interval(NamedTuple):
    """An estimate with a two-sided confidence interval: ``(estimate, low, high)``.

    Attributes
    ----------
    estimate : float
        The number.

    low, high : float
        Limits of the interval.
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class OperatingPoint:
    """One threshold on the scores of an attack and the rates it realises, all of them fractions.

    Attributes
    ----------
    tpr, tpr_low, tpr_high : float
        Fraction of the members that score at least `threshold`, and its interval.

    fpr, fpr_low, fpr_high : float
        Fraction of the non-members that score at least `threshold`, and its interval.

    threshold : float
        The guess is "member" where the score is at least this; infinity accuses nobody.

    n_members, n_nonmembers : int
        Records that the two rates rest on.

    resolvable : bool
        Whether `n_nonmembers` allow at least 10 false positives at the rate that was asked for.
    """

    tpr: float
    fpr: float
    threshold: float
    tpr_low: float
    tpr_high: float
    fpr_low: float
    fpr_high: float
    n_members: int
    n_nonmembers: int
    resolvable: bool


def clopper_pearson(successes, trials, *, confidence_level=0.95):
    """Exact (Clopper-Pearson) two-sided interval of a binomial proportion.

    Each side errs with probability at most ``(1 - confidence_level) / 2``, also where the other
    side is trivial: with 0 successes in n trials the upper limit at 95% is
    ``1 - 0.025 ** (1 / n)``, about 3.7 / n.

    Parameters
    ----------
    successes, trials : int or array-like of int
        Counts, ``0 <= successes <= trials``; arrays are broadcast against each other.

    confidence_level : float, default=0.95
        In (0, 1).

    Returns
    -------
    low, high : float or ndarray
        Fractions in [0, 1]; (0, 1) where there are no trials.

    Raises
    ------
    ValueError
        If a count is not whole, is negative, or exceeds its number of trials.

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
    k, n = np.broadcast_arrays(
        np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    )
    bad = ~((k >= 0) & (k <= n) & (k == np.floor(k)) & (n == np.floor(n)))
    if bad.any():
        raise ValueError(
            "successes and trials must be whole numbers with 0 <= successes <= trials; "
            f"got {k[bad][0]:g} of {n[bad][0]:g}."
        )
    # The beta quantile has no limit at a parameter of 0; the maxima only feed unused branches.
    low = np.where(k > 0, stats.beta.ppf(tail, np.maximum(k, 1), n - k + 1), 0.0)
    high = np.where(k < n, stats.beta.isf(tail, k + 1, np.maximum(n - k, 1)), 1.0)
    return (low, high) if low.ndim else (float(low), float(high))


def tpr_at_fpr(y_true, y_score, max_fpr=0.01, *, confidence_level=0.95, on_unresolvable="warn"):
    """Find the operating point of largest TPR with FPR at most `max_fpr`, with intervals.

    Among thresholds of equal TPR the lowest is taken, which spends as much of `max_fpr` as it
    can. It then accuses whoever scores above one order statistic of the non-members, whatever
    the members score: given that cut the members above it are binomial, and the Clopper-Pearson
    limits of the FPR equal the distribution-free limits of an order statistic. So both
    intervals keep their level for continuous scores although the threshold was chosen on the
    same records. Each is pointwise, for this one `max_fpr`.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher = more likely a member.

    max_fpr : float, default=0.01
        Largest false positive rate allowed, a fraction in [0, 1].

    confidence_level : float, default=0.95
        Of each two-sided Clopper-Pearson interval, in (0, 1).

    on_unresolvable : {"warn", "ignore", "raise"}, default="warn"
        What to do when fewer than 10 false positives are allowed,
        ``n_nonmembers * max_fpr < 10``.

    Returns
    -------
    point : OperatingPoint

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length, if `max_fpr` or `confidence_level` is out of range, or for an
        unresolvable `max_fpr` with ``on_unresolvable="raise"``.

    Warns
    -----
    skmia.exceptions.ResolutionWarning
        If fewer than 10 false positives are allowed and `on_unresolvable` is ``"warn"``.

    See Also
    --------
    tpr_at_fpr_score : The TPR alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import tpr_at_fpr
    >>> membership = np.repeat([1, 0], 1000)
    >>> scores = np.concatenate([np.arange(1000) + 200, np.arange(1000)])
    >>> point = tpr_at_fpr(membership, scores, max_fpr=0.01)
    >>> point.tpr, point.fpr, point.threshold, point.resolvable
    (0.21, 0.01, 990.0, True)
    >>> round(point.tpr_low, 3), round(point.tpr_high, 3)
    (0.185, 0.237)
    """
    max_fpr = check_rate(max_fpr, "max_fpr")
    confidence_level = check_confidence_level(confidence_level)
    membership, scores = check_membership_scores(y_true, y_score)
    n_members = int(membership.sum())
    n_nonmembers = len(membership) - n_members
    resolvable = check_resolution(n_nonmembers, max_fpr, on_unresolvable)
    fpr, tpr, thresholds = realisable_points(membership, scores)
    index = point_at_fpr(fpr, max_fpr)
    tpr, fpr, threshold = float(tpr[index]), float(fpr[index]), float(thresholds[index])
    tpr_low, tpr_high = clopper_pearson(
        round(tpr * n_members), n_members, confidence_level=confidence_level
    )
    fpr_low, fpr_high = clopper_pearson(
        round(fpr * n_nonmembers), n_nonmembers, confidence_level=confidence_level
    )
    return OperatingPoint(
        tpr=tpr,
        fpr=fpr,
        threshold=threshold,
        tpr_low=tpr_low,
        tpr_high=tpr_high,
        fpr_low=fpr_low,
        fpr_high=fpr_high,
        n_members=n_members,
        n_nonmembers=n_nonmembers,
        resolvable=resolvable,
    )


def advantage_interval(y_true, y_pred, *, confidence_level=0.95):
    """Membership advantage of hard guesses, TPR - FPR, with Newcombe's hybrid score interval.

    The two rates are proportions of two independent samples. Newcombe's interval joins their
    Wilson intervals; unlike the normal interval it has a width where both rates are 0 or 1.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_pred : array-like of shape (n_records,)
        Guesses: 1 or True for "member", 0 or False for "non-member"; the threshold behind them
        must have been set on other records.

    confidence_level : float, default=0.95
        In (0, 1).

    Returns
    -------
    interval : Interval
        ``(estimate, low, high)``, each in [-1, 1].

    Raises
    ------
    ValueError
        If `y_true` or `y_pred` is not a vector of bits, if `y_true` holds one class only, if
        lengths differ, if `confidence_level` is out of range.

    References
    ----------
    .. [1] Newcombe, R. G. (1998). Interval Estimation for the Difference Between Independent
           Proportions: Comparison of Eleven Methods. Statistics in Medicine 17.

    Examples
    --------
    >>> from skmia.metrics import advantage_interval
    >>> membership = [1] * 70 + [0] * 80
    >>> guesses = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32
    >>> interval = advantage_interval(membership, guesses)
    >>> [round(limit, 4) for limit in interval]
    [0.2, 0.0524, 0.3339]
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    alpha = 1 - check_confidence_level(confidence_level)
    membership, predicted = check_membership_predictions(y_true, y_pred)
    hits, n_members = int(predicted[membership].sum()), int(membership.sum())
    alarms, n_nonmembers = int(predicted[~membership].sum()), int((~membership).sum())
    limits = confint_proportions_2indep(
        hits, n_members, alarms, n_nonmembers, method="newcomb", compare="diff", alpha=alpha
    )
    low, high = np.clip(limits, -1.0, 1.0)
    return Interval(hits / n_members - alarms / n_nonmembers, float(low), float(high))


def _placements(membership, scores):
    """For each record the share of the other class that it outranks, ties counted half.

    Members are compared with the non-members below them, non-members with the members above.
    The rank among all minus the rank within the own class counts the other class, so this takes
    three sorts and no matrix of pairs.
    """
    ranks = stats.rankdata(scores)
    members, nonmembers = scores[membership], scores[~membership]
    below = (ranks[membership] - stats.rankdata(members)) / len(nonmembers)
    above = 1 - (ranks[~membership] - stats.rankdata(nonmembers)) / len(members)
    return below, above


def _mean_variance(placements, auc):
    """Estimated variance of the mean of one class's placements.

    A single record shows no spread; it gets the largest variance that values in [0, 1] with mean
    `auc` can have.
    """
    if len(placements) == 1:
        return auc * (1 - auc)
    return placements.var(ddof=1) / len(placements)


def auc_interval(y_true, y_score, *, confidence_level=0.95):
    """Area under the ROC curve with a DeLong interval on the logit scale.

    The AUC is the chance that a random member outscores a random non-member, ties counted half.
    DeLong's variance is computed from midranks in O(n log n). The normal interval is taken for
    the logit of the AUC and mapped back: it stays within (0, 1) without a cut and is
    asymmetric near the ends, where the plain interval covers too rarely.

    Where all members lie on one side of all non-members, or all scores are equal, DeLong's
    variance is 0 and says nothing. The interval then comes from pairs: the records form
    k = min(n_members, n_nonmembers) disjoint member-non-member pairs that all agree, and by the
    argument of Clopper and Pearson pairs disagree at most with probability
    ``d = 1 - ((1 - confidence_level) / 2) ** (1 / k)``. That gives [1 - d, 1] for AUC = 1,
    [0, d] for AUC = 0 and [(1 - d) / 2, (1 + d) / 2] for constant scores; exact and wide.
    Where a class has one record only, its part of the variance takes its largest possible value.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher = more likely a member.

    confidence_level : float, default=0.95
        In (0, 1).

    Returns
    -------
    interval : Interval
        ``(estimate, low, high)``, each in [0, 1].

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length, if `confidence_level` is out of range.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the Areas
           under Two or More Correlated Receiver Operating Characteristic Curves. Biometrics 44.
    .. [2] Sun, X. and Xu, W. (2014). Fast Implementation of DeLong's Algorithm for Comparing the
           Areas Under Correlated Receiver Operating Characteristic Curves. IEEE SPL 21.
    .. [3] Pepe, M. S. (2003). The Statistical Evaluation of Medical Tests for Classification and
           Prediction, section 5.2. Oxford University Press.

    Examples
    --------
    >>> from skmia.metrics import auc_interval
    >>> auc, low, high = auc_interval([1, 1, 1, 1, 0, 0, 0, 0], [9, 7, 5, 3, 8, 4, 2, 1])
    >>> auc, round(low, 2), round(high, 2)
    (0.75, 0.26, 0.96)
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    membership, scores = check_membership_scores(y_true, y_score)
    below, above = _placements(membership, scores)
    auc = float(below.mean())
    if np.ptp(below) == 0 and np.ptp(above) == 0:
        disagreeing = float(-np.expm1(np.log(tail) / min(len(below), len(above))))
        return Interval(auc, auc * (1 - disagreeing), auc + (1 - auc) * disagreeing)
    variance = _mean_variance(below, auc) + _mean_variance(above, auc)
    half_width = -special.ndtri(tail) * np.sqrt(variance) / (auc * (1 - auc))
    centre = special.logit(auc)
    low, high = special.expit([centre - half_width, centre + half_width])
    return Interval(auc, float(low), float(high))
