"""Operating point of an attack: a threshold and its rates with intervals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core.checks import check_confidence_level, check_membership_scores, check_rate
from ._membership import point_at_fpr, realizable_points
from .intervals import beta_limits
from .mixture import count_points, tpr_limits
from .people import check_people, effective_sizes, split_people
from .resolution import check_resolution


@dataclass(frozen=True)
class OperatingPoint:
    """One threshold on the scores of an attack and the rates it realizes, all of them fractions.

    Attributes
    ----------
    tpr, tpr_low, tpr_high : float
        Fraction of the members that score at least `threshold`, and the interval of the TPR at the
        requested FPR, which takes into account that the threshold is estimated.

    fpr, fpr_low, fpr_high : float
        Fraction of the non-members that score at least `threshold`, and its interval.

    threshold : float
        Records with at least this score are predicted as members; infinity flags no record.

    n_members, n_nonmembers : int
        Numbers of records behind the two rates. If people have several records, the effective
        sizes: the numbers of independent records, rounded down, whose rates vary as much.

    resolvable : bool
        Whether `n_nonmembers` allow at least 10 false positives at the requested rate.
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


def operating_point(
    y_true: ArrayLike,
    y_score: ArrayLike,
    max_fpr: float = 0.01,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    on_unresolvable: Literal["warn", "ignore", "raise"] = "warn",
) -> OperatingPoint:
    """Find the operating point of largest TPR with FPR at most `max_fpr`, with intervals.

    Among thresholds of equal TPR, the lowest is chosen, whose FPR is the largest within `max_fpr`.

    The interval of the TPR is for the TPR at the *requested* FPR: the share of all members above
    the cut that a share `max_fpr` of all non-members exceeds. That cut is not known. However, the
    number J of these non-members above it is binomial for any distribution of the scores, and it
    places the cut between the J-th and the next highest of them. The limits are quantiles of a
    mixture over J of the beta distributions that Clopper and Pearson's limits have for each of
    these two places. If the cut were known, the interval would be Clopper and Pearson's. The method
    makes no assumption on the scores, which may have ties. In simulations at 95%, the coverage was
    95% to 99%, and highest with few allowed false positives.

    The interval of the FPR is Clopper and Pearson's for the realized threshold. Each interval is
    pointwise, for this one `max_fpr`.

    Records of the same person are not independent; `groups` says to whom each record belongs. The
    distributions above then use effective sizes: the numbers of independent records that would vary
    as much as the rates of these people do at the realized threshold, never fewer than the people.
    A person with records on both sides counts on both.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership: 1 or True for members, 0 or False for non-members.

    y_score : array-like of shape (n_records,)
        Finite scores, higher means more likely a member.

    max_fpr : float, default=0.01
        Largest false positive rate allowed, a fraction in [0, 1].

    groups : array-like of shape (n_records,), default=None
        Person of each record. If None, all records are independent.

    confidence_level : float, default=0.95
        Confidence level of each two-sided interval, in (0, 1).

    on_unresolvable : {"warn", "ignore", "raise"}, default="warn"
        What to do if fewer than 10 false positives are allowed, ``n_nonmembers * max_fpr < 10``.

    Returns
    -------
    point : OperatingPoint

    Raises
    ------
    ValueError
        If `y_true` is not a vector of bits that holds both classes, if `y_score` is not a finite
        vector of the same length, if `groups` has a missing value, if `max_fpr` or
        `confidence_level` is out of range, or for an unresolvable `max_fpr` with
        ``on_unresolvable="raise"``.

    Warns
    -----
    skmia.exceptions.ResolutionWarning
        If fewer than 10 false positives are allowed and `on_unresolvable` is ``"warn"``.

    See Also
    --------
    tpr_at_fpr_score : Only the TPR.
    difference_interval : The difference of two TPRs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import operating_point
    >>> membership = np.repeat([1, 0], 1000)
    >>> scores = np.concatenate([np.arange(1000) + 200, np.arange(1000)])
    >>> point = operating_point(membership, scores, max_fpr=0.01)
    >>> point.tpr, point.fpr, point.threshold, point.resolvable
    (0.21, 0.01, 990.0, True)
    >>> round(point.tpr_low, 3), round(point.tpr_high, 3)
    (0.183, 0.237)
    """
    max_fpr = check_rate(max_fpr, "max_fpr")
    tail = (1 - check_confidence_level(confidence_level)) / 2
    membership, scores = check_membership_scores(y_true, y_score)
    sides = split_people(check_people(groups, len(membership)), membership)
    fpr, tpr, thresholds = realizable_points(membership, scores)
    index = point_at_fpr(fpr, max_fpr)
    tpr_there, fpr_there, threshold = (float(array[index]) for array in (tpr, fpr, thresholds))
    parts = scores[membership], scores[~membership]
    sizes = [effective_sizes(part, side, [threshold]) for part, side in zip(parts, sides)]
    n_members, n_nonmembers = (int(size.values[0]) for size in sizes)
    resolvable = check_resolution(n_nonmembers, max_fpr, on_unresolvable)
    counts = count_points(fpr, tpr, *(side.n_rows for side in sides))
    limits = tpr_limits(counts, np.array([max_fpr]), tail, sizes=sizes, n_nodes=256)
    low, high = (float(limit[0]) for limit in limits)
    worth = sizes[1].trusted(tail)[0]
    fpr_low, fpr_high = beta_limits(fpr_there * worth, worth, tail)
    return OperatingPoint(
        tpr=tpr_there,
        fpr=fpr_there,
        threshold=threshold,
        tpr_low=low,
        tpr_high=high,
        fpr_low=float(fpr_low),
        fpr_high=float(fpr_high),
        n_members=n_members,
        n_nonmembers=n_nonmembers,
        resolvable=resolvable,
    )
