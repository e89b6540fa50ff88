"""Operating point of an attack: a threshold and its rates with intervals."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from .._core.metric_inputs import (
    RATE_TOLERANCE,
    check_confidence_level,
    check_membership_scores,
    check_rate,
)
from .._core.types import ArrayLike
from ._intervals import beta_limits, number_side_people, sizes_of_sides, split_people
from ._membership import check_resolution, point_at_fpr
from ._ranks import count_points, realizable_points

# Probability mass of J, the number of non-members above the cut, that is left out on either side.
_LEFT_OUT = 1e-6
_PRECISION = 1e-9
_MOST_STEPS = 60

# Tolerance, so that rounding does not reduce a whole number by one.
_TOLERANCE = 1e-12
_UP = 1 + _TOLERANCE


def tpr_limits(counts, rates, tail, *, sizes=None, n_nodes=64):
    """Compute limits of the TPR at the cuts that given shares of all non-members exceed.

    The number J of non-members above that cut is binomial for any distribution of the scores. Given
    J the cut lies between two neighboring non-members, and the members above either of them give a
    beta distribution of the TPR, as for the limits of Clopper and Pearson. The limits are quantiles
    of these distributions, mixed over J.
    """
    n_members, n_nonmembers = counts.members[-1], counts.nonmembers[-1]
    worth = (n_members, n_nonmembers) if sizes is None else [size.trusted(tail) for size in sizes]
    members = np.broadcast_to(np.asarray(worth[0], dtype=np.float64), rates.shape)
    nonmembers = np.broadcast_to(np.maximum(np.floor(worth[1]), 1.0), rates.shape)
    first, last, weights = _iter_binomial_blocks(
        nonmembers, rates, min(_LEFT_OUT, tail / 1000), n_nodes
    )
    stretch = (n_nonmembers / nonmembers)[:, None]
    at_least = _mean_above(counts, [np.floor(j * stretch * _UP) for j in (first, last)])
    at_most = _mean_above(counts, [np.ceil((j + 1) * stretch / _UP) for j in (first, last)])
    share = (members / n_members)[:, None]
    # Both limits are found together, in half of the steps.
    found = np.concatenate([at_least * share, (n_members - at_most) * share])
    sizes = np.tile(members[:, None], (2, 1))
    low, high = np.split(_beta_quantile(np.tile(weights, (2, 1)), found, sizes, tail), 2)
    high = 1 - high
    # At confidence levels below a half the quantiles need not enclose the estimate.
    point = [  # as of point_at_fpr, without the rates of all points
        bisect_right(counts.nonmembers, rate + RATE_TOLERANCE, key=lambda n: n / n_nonmembers) - 1
        for rate in rates
    ]
    estimate = counts.members[point] / n_members
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _iter_binomial_blocks(n, rates, left_out, n_nodes):
    """Return first and last value of blocks of a binomial variable, and their masses."""
    start, stop = stats.binom.ppf(left_out, n, rates), stats.binom.isf(left_out, n, rates) + 1
    n_blocks = int(min(n_nodes, (stop - start).max()))
    shares = np.arange(n_blocks + 1) / n_blocks
    edges = np.floor(start[:, None] + (stop - start)[:, None] * shares + _TOLERANCE)
    weights = -np.diff(_binomial_survival(edges, n[:, None], rates[:, None]), axis=1)
    return edges[:, :-1], edges[:, 1:] - 1, weights / weights.sum(axis=1, keepdims=True)


def _binomial_survival(k, n, rate):
    """Return the probability that a binomial variable is at least k."""
    inside = special.betainc(np.maximum(k, 1), np.maximum(n - k, 0) + 1, rate)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, inside))


def _mean_above(counts, ends):
    """Return the number of members above the non-members of a block, averaged over both ends."""
    return sum(_members_above(counts, ranks) for ranks in ends) / 2


def _members_above(counts, ranks):
    """Count the members above the non-member of each rank, 1 = the highest; 0 at rank 0."""
    places = np.searchsorted(counts.nonmembers, ranks, side="left")
    above = counts.members[np.maximum(places - 1, 0)]
    beyond = places == len(counts.nonmembers)
    return np.where(beyond, counts.members[-1], above) * (ranks > 0)


def _beta_quantile(weights, counts, sizes, tail):
    """Return a quantile of a mixture of Beta(count, size - count + 1), 0 for a count of 0."""
    at_zero = (weights * (counts <= 0)).sum(axis=1)
    weights = np.where(counts <= 0, 0.0, weights)
    a, b = np.maximum(counts, _TOLERANCE), np.maximum(sizes - counts, 0) + 1
    x = _matched_quantile(weights, a / (a + b), sizes, tail)
    x[at_zero >= tail] = 0.0
    log_beta = special.betaln(a, b)
    low, high = np.zeros(len(x)), np.ones(len(x))
    rows = np.flatnonzero(x)
    for _ in range(_MOST_STEPS):
        if not len(rows):
            break
        mass, slope = _mixture_at(x[rows, None], weights[rows], a[rows], b[rows], log_beta[rows])
        mass += at_zero[rows]
        below = mass < tail
        low[rows], high[rows] = (
            np.where(below, x[rows], low[rows]),
            np.where(below, high[rows], x[rows]),
        )
        # Newton's step for the logarithm of the mass as a function of the logit, which is nearly
        # linear.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reach = mass * np.log(tail / mass) / (slope * x[rows] * (1 - x[rows]))
        new = special.expit(special.logit(x[rows]) + reach)
        outside = ~((new > low[rows]) & (new < high[rows]))
        new[outside] = ((low[rows] + high[rows]) / 2)[outside]
        moved = np.abs(new - x[rows])
        x[rows] = new
        rows = rows[moved > _PRECISION]
    return x


def _mixture_at(x, weights, a, b, log_beta):
    """Return mass below x and density at x of a mixture of beta distributions.

    log_beta: the logarithms of the beta functions of a and b.
    """
    mass = (weights * special.betainc(a, b, x)).sum(axis=1)
    logs = special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - log_beta
    return mass, (weights * np.exp(logs)).sum(axis=1)


def _matched_quantile(weights, means, sizes, tail):
    """Return a quantile of the beta distribution with the mean and variance of the mixture."""
    mean = (weights * means).sum(axis=1)
    second = (weights * means * (means * (sizes + 1) + 1) / (sizes + 2)).sum(axis=1)
    size = (mean - second) / np.maximum(second - mean**2, _TOLERANCE)
    x = special.betaincinv(np.maximum(mean * size, _TOLERANCE), (1 - mean) * size, tail)
    return np.clip(x, _TOLERANCE, 1 - _TOLERANCE)


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
    sides = split_people(number_side_people(groups, len(membership)), membership)
    fpr, tpr, thresholds = realizable_points(membership, scores)
    index = point_at_fpr(fpr, max_fpr)
    tpr_there, fpr_there, threshold = (float(array[index]) for array in (tpr, fpr, thresholds))
    sizes = sizes_of_sides(scores, membership, sides, [threshold])
    n_members, n_nonmembers = (int(size.values[0]) for size in sizes)
    n_records = int((membership == 0).sum())
    resolvable = check_resolution(n_nonmembers, max_fpr, on_unresolvable, n_records=n_records)
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
