"""Comparison of two attacks on the same victims."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from .._core.checks import check_confidence_level, check_membership_scores
from .._core.numbers import check_number
from ._membership import tpr_at_fpr_score
from .auc import FEW, placements
from .people import check_people, shared_covariance, split_people


class PairedDifference(NamedTuple):
    """Difference between two attacks, with a confidence interval and a test.

    Attributes
    ----------
    estimate : float
        Mean over victims of the first attack's number minus the second one's.
    low, high : float
        Confidence limits.
    standard_error : float
        Standard error of the estimate.
    pvalue : float
        Two-sided p-value of the hypothesis that there is no difference.
    first, second : ndarray of shape (n_victims,)
        The number of each attack for each victim.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    pvalue: float
    first: np.ndarray
    second: np.ndarray


def paired_difference(
    y_true: ArrayLike | Sequence[ArrayLike],
    first_score: ArrayLike | Sequence[ArrayLike],
    second_score: ArrayLike | Sequence[ArrayLike],
    *,
    max_fpr: float | None = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PairedDifference:
    """Difference of AUC, or of TPR at an FPR, between two attacks on the same victims.

    For a single victim, the two AUCs are compared by DeLong's test, which takes into account that
    they rest on the same records [1]_, with Student's t distribution below 20 members or 20
    non-members. It holds for this victim only. For several victims, the
    differences of the victims are compared with their spread by a paired t test, which also covers
    how victims differ.

    Records of the same person are not independent; `groups` says to whom each record of a single
    victim belongs. The variance is then computed from the sums over each person's records [2]_, as
    in :func:`auc_interval`, with Student's t distribution for the number of people.

    Parameters
    ----------
    y_true : array-like of shape (n,), or sequence of such arrays
        1 for members and 0 for non-members, of one victim or of each of several victims.
    first_score, second_score : array-like of shape (n,), or sequence of such arrays
        Scores of the two attacks for the same records; higher means more likely a member.
    max_fpr : float, default=None
        If None, AUCs are compared; otherwise TPRs at this FPR, which requires several victims: the
        thresholds of one victim vary by an amount that its records do not tell.
    groups : array-like of shape (n,), default=None
        Person of each record of a single victim. If None, all records are independent. With several
        victims it must be None, because their spread includes how people differ.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    difference : PairedDifference
        ``estimate``, ``low``, ``high``, ``standard_error``, ``pvalue``, and the numbers ``first``
        and ``second`` of each victim. If all victims have the same difference, other than 0, its
        error is unknown: the interval is [-1, 1] and the p-value 1. A single record or person on
        one side, members or non-members, gets the largest variance that its mean allows.

    Raises
    ------
    ValueError
        If lengths differ, a vector holds one class only or a score is not finite, if a parameter is
        out of range, if `groups` has a missing value or is set with several victims, or if
        `max_fpr` is set with a single victim.

    See Also
    --------
    difference_interval : Difference of two estimates on different records.
    RankingTest : Comparison of more than two attacks.

    Notes
    -----
    Victims should be trained on independent draws of members. If their training sets or shadow
    models are the same in part, their differences are correlated and the interval is too narrow.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the Areas
           under Two or More Correlated Receiver Operating Characteristic Curves: A Nonparametric
           Approach. Biometrics 44.
    .. [2] Obuchowski, N. A. (1997). Nonparametric Analysis of Clustered ROC Curve Data.
           Biometrics 53.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import paired_difference
    >>> rng = np.random.default_rng(0)
    >>> membership = np.arange(1000) % 2
    >>> strong = membership + rng.normal(size=1000)
    >>> weak = strong + rng.normal(size=1000)
    >>> difference = paired_difference(membership, strong, weak)
    >>> bool(difference.low > 0)
    True
    """
    level = check_confidence_level(confidence_level)
    if max_fpr is not None:
        check_number(max_fpr, "max_fpr", "a number in [0, 1]", 0, 1)
    victims = _list_victims(y_true, first_score, second_score)
    rows = [[_measure(truth, score, max_fpr) for score in scores] for truth, *scores in victims]
    first, second = np.array(rows).T
    gaps = first - second
    if groups is not None and len(victims) > 1:
        raise ValueError(
            f"groups must be None with several victims, whose spread includes how people differ; "
            f"got groups and {len(victims)} victims."
        )
    if len(victims) > 1:
        error, freedom = gaps.std(ddof=1) / np.sqrt(len(gaps)), len(gaps) - 1
    elif max_fpr is None:
        error, freedom = _delong_error(*victims[0], groups)
    else:
        raise ValueError(
            "the TPRs of two attacks are compared over at least two victims; got one. Set "
            "max_fpr=None to compare the AUCs."
        )
    return _conclude(gaps.mean(), error, freedom, level, first, second)


def _list_victims(y_true, *scores):
    """Return the checked vectors of each victim."""
    parts = [y_true, *scores]
    if not _holds_vectors(y_true):
        parts = [[part] for part in parts]
    elif not all(map(_holds_vectors, scores)):
        raise ValueError(
            "first_score and second_score must hold a vector for each victim, as y_true does."
        )
    n_victims = [len(part) for part in parts]
    if len(set(n_victims)) > 1:
        raise ValueError(
            "y_true, first_score and second_score must hold the same victims; got "
            f"{', '.join(map(str, n_victims))}."
        )
    victims = []
    for truth, *both in zip(*parts, strict=True):
        checked = [check_membership_scores(truth, score) for score in both]
        victims.append((checked[0][0], *(score for _, score in checked)))
    return victims


def _holds_vectors(values):
    """Whether values are one vector for each victim, of any length."""
    try:
        first = next(iter(values), None)
        return np.ndim(first) > 0
    except TypeError:  # a single value, which cannot be iterated over
        return False
    except ValueError:  # lists of several lengths
        return True


def _measure(membership, scores, max_fpr):
    if max_fpr is None:
        return placements(membership, scores)[0].mean()
    return tpr_at_fpr_score(membership, scores, max_fpr=max_fpr, on_unresolvable="ignore")


def _delong_error(membership, first, second, groups):
    """Standard error of the difference of two AUCs on the same records, and its freedom."""
    pairs = zip(placements(membership, first), placements(membership, second), strict=True)
    gaps = [placed - other for placed, other in pairs]
    if not any(gap.any() for gap in gaps):  # both attacks rank alike
        return 0.0, np.inf
    sides = split_people(check_people(groups, len(membership)), membership)
    few = min(map(len, gaps)) < FEW
    variances, freedom = [], 0.0
    for side, gap in zip(sides, gaps, strict=True):
        variance = side.mean_variance(gap)
        if np.isnan(variance):  # one person has no spread; gaps lie in [-1, 1]
            variance = 1 - gap.mean() ** 2
        else:
            freedom += variance**2 / (max(side.worth - 1, 1.0) if few else side.freedom)
        variances.append(variance)
    variance = max(sum(variances) + 2 * shared_covariance(sides, gaps), 0.0)
    # Satterthwaite's degrees of freedom; infinite for many independent records.
    return np.sqrt(variance), sum(variances) ** 2 / freedom if freedom else np.inf


def _conclude(estimate, error, freedom, level, first, second):
    law = stats.norm() if np.isinf(freedom) else stats.t(freedom)
    if error == 0 and estimate != 0:
        error = np.inf
    reach = error * law.ppf((1 + level) / 2)
    pvalue = 2 * law.sf(abs(estimate) / error) if error > 0 else 1.0
    low, high = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
    numbers = map(float, (estimate, low, high, error, pvalue))
    return PairedDifference(*numbers, first, second)
