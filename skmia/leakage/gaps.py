"""Distances between what a model answers to members and to others."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy import special, stats
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from .._core.metric_inputs import check_option
from .._core.numbers import check_count, check_number
from .._core.randomness import check_random_state
from .._core.types import ArrayLike, Seed
from .._core.validation import call_given
from ._total_variation import join_samples, summarize_null
from ._witness import ExactKernelWitness, PluginWitness, choose_method, make_kernels

__all__ = ["distributional_gap"]

# Draws from each density where an integral has no grid.
_N_DRAWS = 1000
# Distances of pairs at once, 32 MiB of them.
_CHUNK = 2**22


class DistributionalGap(NamedTuple):
    """Distance between the properties of members and of non-members.

    Attributes
    ----------
    estimate : float
        Distance between the two samples.
    standard_error : float
        Standard deviation of the estimate over resampled records. It describes an estimate that is
        well above ``bias``; near it the estimate is not normal, and ``pvalue`` tells. NaN without
        resamples, and where an estimate is infinite.
    bias : float
        Mean of the estimates with shuffled membership: the average without leakage. NaN without
        permutations.
    pvalue : float
        Share of these estimates that is at least the estimate, which is counted as one of them. NaN
        without permutations.
    """

    estimate: float
    standard_error: float
    bias: float
    pvalue: float


def _variation(ratios):
    return np.tanh(np.abs(ratios) / 2)


def _squared_hellinger(ratios):
    with np.errstate(over="ignore"):
        return 1 - 1 / np.cosh(ratios / 2)


def _shannon(ratios):
    shares = special.expit(ratios)
    return np.log(2) - special.entr(shares) - special.entr(1 - shares)


def _kullback_leibler(ratios):
    # Where members have no density the ratio is -inf and its share is 0.
    shares = special.expit(ratios)
    return np.where(shares > 0, 2 * shares * np.where(shares > 0, ratios, 0.0), 0.0)


# Each is a mean, over the even mixture of both laws, of a function of their log ratio, and the
# distance is a function of that mean.
_OF_DENSITIES = {
    "total_variation": (_variation, lambda mean: mean),
    "hellinger": (_squared_hellinger, np.sqrt),
    "jensen_shannon": (_shannon, np.sqrt),
    "kullback_leibler": (_kullback_leibler, lambda mean: mean),
}


def _wasserstein(members, nonmembers):
    return stats.wasserstein_distance(members[:, 0], nonmembers[:, 0])


def _energy(members, nonmembers):
    """Return root of twice the mean distance between sides less the mean distances within them."""
    if members.shape[1] == 1:
        return stats.energy_distance(members[:, 0], nonmembers[:, 0])
    pairs = (members, nonmembers), (members, members), (nonmembers, nonmembers)
    between, inside, outside = (_mean_distance(*pair) for pair in pairs)
    return np.sqrt(max(2 * between - inside - outside, 0.0))


def _mean_distance(rows, others):
    """Return the mean Euclidean distance of two rows, some rows at a time."""
    batches = gen_batches(len(rows), max(1, _CHUNK // len(others)))
    return sum(cdist(rows[batch], others).sum() for batch in batches) / (len(rows) * len(others))


_OF_SAMPLES = {"wasserstein": _wasserstein, "energy": _energy}
_DISTANCES = (*_OF_DENSITIES, *_OF_SAMPLES)


def distributional_gap(
    members: ArrayLike,
    nonmembers: ArrayLike,
    distance: str | Callable[..., float] = "total_variation",
    *,
    method: Literal["auto", "plugin", "kde"] = "auto",
    n_permutations: int = 100,
    n_resamples: int = 100,
    random_state: Seed = None,
) -> DistributionalGap:
    r"""Return the distance between a property of members and the same property of non-members.

    A property is any function of a model's answers and a record, such as the loss or all
    probabilities. It has one law, :math:`\mu_1`, where the record is a training record, and
    another, :math:`\mu_0`, where it is a new one. How far these are apart is the distributional
    generalization gap :math:`d(\mu_1, \mu_0)`. A model does not leak through the property if and
    only if the two laws are equal, and the total variation is the largest advantage of an attack
    that reads it.

    Parameters
    ----------
    members : array-like of shape (n_members,) or (n_members, d)
        Property of members, such as columns of :class:`~skmia.signals.Signals`: numbers, or for
        ``method="plugin"`` strings as well.
    nonmembers : array-like of shape (n_nonmembers,) or (n_nonmembers, d)
        The same property of non-members. Columns of two DataFrames are compared by name.
    distance : str or callable, default="total_variation"
        ``"total_variation"``: half the integral of :math:`|f_1 - f_0|`, from 0 to 1;

        ``"hellinger"``: the root of :math:`1 - \int \sqrt{f_1 f_0}`, from 0 to 1;

        ``"jensen_shannon"``: the root of the mean Kullback-Leibler divergence of the two from their
        mixture, in nats, from 0 to the root of log 2;

        ``"kullback_leibler"``: :math:`\int f_1 \log(f_1 / f_0)`, the divergence of members from
        non-members in nats. It is infinite where members have a value that no non-member has;

        ``"energy"``: the root of
        :math:`2 E|X_1 - X_0| - E|X_1 - X_1'| - E|X_0 - X_0'|`, in the root of the property's unit;

        ``"wasserstein"``: the mean length of the way that moves one law to the other, in the unit
        of the property, which has one column;

        or a function of two arrays, of shape (n_members, d) and (n_nonmembers, d), that returns a
        number, larger for samples that are further apart.
    method : {"auto", "plugin", "kde"}, default="auto"
        How densities are estimated, for the first four distances: by the frequencies of the values,
        or by Gaussian kernels (see :func:`~skmia.leakage.total_variation`). ``"auto"`` takes
        frequencies if the rows have at most as many values as the square root of their number.
    n_permutations : int, default=100
        Shuffles of membership for ``bias`` and ``pvalue``. 0 leaves both out.
    n_resamples : int, default=100
        Samples with replacement of members and of non-members for ``standard_error``: 0, or 2 and
        more.
    random_state : int, RandomState instance or None, default=None
        Controls shuffles, resamples and draws.

    Returns
    -------
    gap : DistributionalGap
        ``(estimate, standard_error, bias, pvalue)``.

    Raises
    ------
    ValueError
        If a sample is empty or holds NaN, the two differ in their number of columns, the distance
        is unknown or does not support the property.

    See Also
    --------
    skmia.leakage.WorstCaseVulnerability : The best attack on the property, with a lower bound.
    skmia.leakage.GeneralizationGapBound : The gap between mean losses and what follows from it.
    skmia.metrics.distances : Distances of distributions that are known.

    Notes
    -----
    The laws are over the training set as well. Properties of one model give the gap of this model;
    to include the training, put the properties of several trained models together, members with
    members.

    Let V be the total variation, H the Hellinger distance, K the Kullback-Leibler divergence and J
    the Jensen-Shannon distance. Then :math:`H^2 \le V \le H \sqrt{2 - H^2}`,
    :math:`V \le \sqrt{K / 2}` and :math:`V^2 / 2 \le J^2 \le V \log 2`, so that each bounds the
    advantage of all attacks. Energy and Wasserstein distances depend on the unit of the property
    and bound no advantage.

    Estimates converge to the distances of the laws, those by kernels where densities are smooth.
    They err upwards where the laws are equal; compare them with ``bias``. A Kullback-Leibler
    divergence is governed by the tails of the non-members, where there are few records. For two
    normal laws whose means are one standard deviation apart, 500 records a side gave

    ==================  ======  =====  ==================  ==============
    distance            truth   mean   standard deviation  standard error
    ==================  ======  =====  ==================  ==============
    total_variation     0.383   0.371  0.028               0.025
    hellinger           0.343   0.341  0.018               0.020
    jensen_shannon      0.334   0.337  0.023               0.020
    kullback_leibler    0.500   0.512  0.077               0.093
    energy              0.736   0.738  0.039               0.045
    wasserstein         1.000   0.981  0.060               0.061
    ==================  ======  =====  ==================  ==============

    References
    ----------
    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. MSc thesis, UCLA,
    definitions 16 and 17.

    Székely, G. J. and Rizzo, M. L. (2013). Energy statistics: a class of statistics based on
    distances. Journal of Statistical Planning and Inference 143.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage.gaps import distributional_gap
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.normal(0, 1, 1000), rng.normal(1, 1, 1000)
    >>> gap = distributional_gap(*losses, "wasserstein", random_state=0)  # of the laws: 1
    >>> round(gap.estimate, 1), round(gap.standard_error, 2), gap.pvalue < 0.05
    (1.0, 0.05, True)

    The gap between the means is a distance as well:

    >>> gap = distributional_gap(*losses, lambda a, b: abs(a.mean() - b.mean()), random_state=0)
    >>> round(gap.estimate, 1)
    1.0
    """
    if not callable(distance):
        check_option(distance, "distance", _DISTANCES)
    check_option(method, "method", ("auto", "plugin", "kde"))
    check_count(n_permutations, "n_permutations", 0)
    if check_count(n_resamples, "n_resamples", 0) == 1:
        raise ValueError("n_resamples must be 0, or 2 or more for a standard deviation; got 1.")
    by_density = isinstance(distance, str) and distance in _OF_DENSITIES
    as_given = by_density and method == "plugin"  # strings are values, too
    X, is_member = join_samples(members, nonmembers, dtype=None if as_given else np.float64)
    if by_density:
        measure = _choose_density(X, is_member, distance, method)
    else:
        measure = _choose_statistic(X, distance)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    estimate = measure(X, is_member, rng)
    shuffles = (rng.permutation(is_member) for _ in range(n_permutations))
    null = np.array([measure(X, labels, rng) for labels in shuffles])
    resamples = [_estimate_again(measure, X, is_member, rng) for _ in range(n_resamples)]
    error = np.std(resamples, ddof=1) if resamples and np.isfinite(resamples).all() else np.nan
    return DistributionalGap(estimate, float(error), *summarize_null(estimate, null))


def _estimate_again(measure, X, is_member, rng):
    """Estimate from rows of both sides that were drawn with replacement."""
    sides = (np.flatnonzero(is_member), np.flatnonzero(~is_member))
    rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
    return measure(X[rows], is_member[rows], rng)


def _choose_density(X, is_member, distance, method):
    """Return how a distance of densities is measured."""
    contrast, finish = _OF_DENSITIES[distance]
    if method == "auto":
        few = choose_method(X, is_member, np.zeros(len(X), dtype=np.intp)) == "plugin"
        method = "plugin" if few else "kde"
    if method == "plugin":
        witness = PluginWitness()
    elif distance == "kullback_leibler" and X.shape[1] == 1:
        witness = ExactKernelWitness()
    else:
        witness = make_kernels(X.shape[1], _N_DRAWS)
    witness.check(X, is_member)

    def measure(X, labels, rng):
        weights, ratios = witness.weigh(X, labels, rng)
        # Sums of rounded parts may leave the range by the last digit.
        return float(finish(max(weights @ contrast(ratios), 0.0)))

    return measure


def _choose_statistic(X, distance):
    """Return how a distance of samples is measured."""
    if distance == "wasserstein" and X.shape[1] > 1:
        raise ValueError(
            f"distance='wasserstein' compares properties of one column; got {X.shape[1]} columns. "
            "Take distance='energy', or one column at a time."
        )
    compute = _OF_SAMPLES[distance] if isinstance(distance, str) else None

    def measure(X, labels, rng):
        sides = X[labels], X[~labels]
        if compute is not None:
            return float(compute(*sides))
        answer = call_given(distance, "distance", "f(members, nonmembers)", *sides)
        return float(check_number(answer, "What distance returns", "a finite number"))

    return measure
