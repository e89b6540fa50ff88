"""Student-t laws of the IN and of the OUT models, shrunk to trends over the level of a record."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .moments import SMALLEST_SPREAD, compute_moments


class QueryLaw:
    """Base class of distributions that are fitted and described query by query.

    A subclass implements _fit_query(sides, query), _describe(sides, prior, query) and
    log_ratio(target, laws).
    """

    change = None  # values are compared as they are

    def __init__(self, shrinks):
        self.shrinks = shrinks

    def read(self, values):
        """Return values on the scale on which they are compared."""
        return values if self.change is None else self.change(values)

    def fit(self, sides):
        """Fit the priors of all queries to the moments of many records."""
        return [self._fit_query(sides, query) for query in range(len(sides.into.mean))]

    def describe(self, sides, priors):
        """Return the distributions of the IN and the OUT models of each record, for each query."""
        return [self._describe(sides, prior, query) for query, prior in enumerate(priors)]


_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def log_normal(x, mean, variance):
    density = x - mean
    density *= density
    density /= -2 * variance
    density -= 0.5 * np.log(variance) + _LOG_ROOT_2PI
    return density


def _shorten_counts(count):
    """Return one count if all records have the same, because less is computed then."""
    return count[:1] if count.min() == count.max() else count


def log_student(x, mean, variance, count, prior_strength):
    """Return the log density of a t distribution; ``variance`` is its squared scale.

    There are few distinct counts and many records, so the slow function is tabulated.
    """
    count = _shorten_counts(count)
    dofs = prior_strength - 1 + np.arange(count.min(), count.max() + 1)
    constants = gammaln((dofs + 1) / 2) - gammaln(dofs / 2) - 0.5 * np.log(dofs * np.pi)
    dof = prior_strength - 1 + count
    density = x - mean
    density *= density
    density /= dof * variance
    np.log1p(density, out=density)
    density *= (dof + 1) / -2
    density += constants[count - count.min()] - 0.5 * np.log(variance)
    return density


def _log_normal_joint(target, shadows, chosen, ridge):
    """Compute the joint log density of all augmentations, with one covariance matrix per record."""
    n_queries = len(target)
    moments = compute_moments(shadows, chosen)
    centered = np.where(chosen, shadows - moments.mean[:, None], 0)
    covariance = np.einsum("qkn,rkn->nqr", centered, centered) / moments.count[:, None, None]
    added = ridge * np.trace(covariance, axis1=1, axis2=2) / n_queries + SMALLEST_SPREAD**2
    covariance += added[:, None, None] * np.eye(n_queries)
    away = (target - moments.mean).T
    distance = np.einsum("nq,nq->n", away, np.linalg.solve(covariance, away[..., None])[..., 0])
    return -0.5 * (distance + np.linalg.slogdet(covariance)[1]) - n_queries * _LOG_ROOT_2PI


def joint_ratio(target, shadows, inside, outside, ridge):
    """Return the log ratio of the joint densities of all augmentations."""
    into, out = (_log_normal_joint(target, shadows, side, ridge) for side in (inside, outside))
    return into - out


# With few models per side, the numbers of a single record are mostly noise. They are shrunk to what
# records of a similar level have on average, by as much as the pool shows them to be noise.


_MOST_BINS = 24
_FEWEST_RECORDS = 60  # of a bin

# Difference of levels, as a part of their range, that may be rounding.
_TIE = 1e-5

# Number of observations that the trend of a variance may count for, and the number of records that
# decide it.
_STRENGTHS = 2.0 ** np.arange(8)
_ENOUGH_RECORDS = 4096

# Degrees of freedom where one model on each side leaves no spread to estimate them from.
LONE_DOF = 4


class BinPlace(NamedTuple):
    """Places of records between the centers of bins."""

    bins: np.ndarray  # the next center below
    part: np.ndarray  # of the way to the one above

    def __call__(self, values):
        """Return a trend at these places: linear between the centers, constant beyond them."""
        steps = np.zeros_like(values)
        np.subtract(values[1:], values[:-1], out=steps[:-1])
        found = steps.take(self.bins)
        found *= self.part
        found += values.take(self.bins)
        return found


class LevelBins:
    """Bins of records of similar level, over which averages are taken."""

    def __init__(self, level):
        n_bins = int(np.clip(len(level) // _FEWEST_RECORDS, 1, _MOST_BINS))
        edges = np.quantile(level, np.arange(1, n_bins) / n_bins) + _TIE * np.ptp(level)
        bins = np.searchsorted(edges, level, side="right")
        is_used = np.bincount(bins, minlength=n_bins) > 0
        self._bins = (np.cumsum(is_used) - 1)[bins]
        self._count = np.bincount(self._bins)
        self.centers = self.sum(level) / self._count
        self.place = self.locate(level)

    def sum(self, values):
        """Return the sum of values over the records of each bin."""
        return np.bincount(self._bins, values, minlength=len(self._count))

    def locate(self, level):
        """Return the places of levels between the centers of the bins.

        With so few centers, this takes a fifth of the time of a binary search.
        """
        above = level >= self.centers[:, None]
        bins = np.add.reduce(above.view(np.uint8), axis=0, dtype=np.uint8).astype(np.intp) - 1
        steps = np.append(np.diff(self.centers), np.inf)
        below = bins < 0
        np.maximum(bins, 0, out=bins)
        part = level - self.centers.take(bins)
        part /= steps.take(bins)
        part[below] = 0
        return BinPlace(bins, part)

    def trend(self, values, weight=None):
        """Return the smoothed mean of values, or ratio of two means, at the centers of the bins."""
        totals = [self.sum(values), self._count if weight is None else self.sum(weight)]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals[0] / totals[1]
        mean = np.where(totals[1] > 0, mean, totals[0].sum() / max(totals[1].sum(), 1e-300))
        padded = np.concatenate([mean[:1], mean, mean[-1:]])
        return (padded[:-2] + 2 * mean + padded[2:]) / 4


class VariancePrior(NamedTuple):
    """Prior of a variance: a scaled inverse chi-squared distribution around a trend."""

    scale: np.ndarray
    strength: float  # the prior counts for this many observations

    def estimate(self, place, squares, dof):
        """Return the variance of each record, between its own and the trend."""
        total = place(self.strength * self.scale)
        total += squares
        total /= self.strength + dof
        return np.maximum(total, SMALLEST_SPREAD**2, out=total)


def fit_spread(levels, squares, dof):
    """Fit the prior of a variance to sums of squares, or return None if no record has any."""
    if not dof.any():
        return None
    scale = levels.trend(squares, dof)
    few = np.flatnonzero(dof > 0)
    few = few[:: -(-len(few) // _ENOUGH_RECORDS)]
    expected = np.maximum(levels.place(scale)[few], SMALLEST_SPREAD**2)
    # The ratio of the variance of a record to the trend has an F distribution.
    logs = _mean_log_f(squares[few] / expected, dof[few], _STRENGTHS[:, None])
    return VariancePrior(scale, float(_STRENGTHS[np.argmax(logs)]))


def _mean_log_f(ratio, dof, strengths):
    """Mean log densities of F distributions, without what does not depend on the strength.

    The ratio divides a sum of squares by the expected variance. strengths (n, 1) -> (n,).
    """
    table = gammaln((np.arange(dof.max() + 1) + strengths) / 2) - gammaln(strengths / 2)
    density = table @ np.bincount(dof) - dof.sum() / 2 * np.log(strengths[:, 0])
    density -= np.einsum("kn,kn->k", (dof + strengths) / 2, np.log1p(ratio / strengths))
    return density / len(dof)


class GapPrior(NamedTuple):
    """Prior of the difference between IN and OUT models: a trend, and a variance around it."""

    center: np.ndarray
    variance: np.ndarray

    def shrink(self, place, gap, noise):
        """Return the expected gap of each record and its variance, given the gap that was seen."""
        center, between = place(self.center), np.maximum(place(self.variance), 0)
        weight = between / np.maximum(between + noise, SMALLEST_SPREAD**2)
        return center + weight * (gap - center), weight * noise


def fit_gap(levels, gap, noise, shrinks):
    """Fit the prior of the gap."""
    center = levels.trend(gap)
    squares = (gap - levels.place(center)) ** 2
    away = levels.trend(squares)
    if noise is None or not shrinks:
        return GapPrior(center, np.zeros_like(away)), away
    return GapPrior(center, levels.trend(squares - noise)), away


class _LevelPrior(NamedTuple):
    """What records of one level have in common, for one query."""

    levels: LevelBins
    gap: GapPrior | None
    into: VariancePrior | None
    out: VariancePrior | None
    apart: VariancePrior | None  # of the difference between the two models of a pair
    middle: VariancePrior | None  # of their mean
    alone: np.ndarray | None  # variance of a model where no side has two


def _split_sides(sides, query):
    """Return level and gap, and the numbers of each side, of one query."""
    into, out = ((side.count, side.mean[query], side.squares[query]) for side in sides[:2])
    return (into[1] + out[1]) / 2, into[1] - out[1], into, out


def _pair_squares(sides, query):
    """Return the sums of squares of the difference between the models of a pair, and their mean."""
    both = sides.into.squares[query] + sides.out.squares[query]
    twice = 2 * sides.product[query]
    return np.maximum(both - twice, 0), np.maximum(both + twice, 0) / 4


class NormalLaw(QueryLaw):
    """Distributions of a signal whose variance and IN-OUT gap are shrunk to their trends.

    A distribution is described by the arguments of log_student.
    """

    def _fit_query(self, sides, query):
        level, gap, into, out = _split_sides(sides, query)
        levels = LevelBins(level)
        spreads = [fit_spread(levels, side[2], side[0] - 1) for side in (into, out)]
        # A side of single models varies like the other one.
        spreads = [spread or spreads[1 - k] for k, spread in enumerate(spreads)]
        ties = [None, None]
        if sides.product is not None:
            dof = sides.into.count - 1
            ties = [fit_spread(levels, part, dof) for part in _pair_squares(sides, query)]
        prior = _LevelPrior(levels, None, *spreads, *ties, None)
        noise = None
        if prior.into is not None:
            noise = self._noise(prior, levels.place, sides, query)[0]
        gap, away = fit_gap(levels, gap, noise, self.shrinks)
        return prior._replace(gap=gap, alone=away / 2)

    def _noise(self, prior, place, sides, query):
        """Return the sampling variances of the gap, of the level and of both sides."""
        counts = [_shorten_counts(side.count) for side in sides[:2]]
        variances = [
            spread.estimate(place, side.squares[query], count - 1)
            for spread, side, count in zip((prior.into, prior.out), sides[:2], counts, strict=True)
        ]
        if sides.product is None or prior.apart is None:
            noise = variances[0] / counts[0] + variances[1] / counts[1]
            return noise, noise / 4, variances
        # What moves a record up in one model of a pair moves it down in the other, so the variances
        # of the two sides do not give the variance of the gap.
        parts = zip((prior.apart, prior.middle), _pair_squares(sides, query), strict=True)
        count = counts[0]
        ties = [spread.estimate(place, part, count - 1) / count for spread, part in parts]
        return *ties, variances

    def _describe(self, sides, prior, query):
        level, gap, into, out = _split_sides(sides, query)
        place = prior.levels.locate(level)
        if prior.into is None:
            gap, _ = prior.gap.shrink(place, gap, 0.0)
            variance = np.maximum(place(prior.alone), SMALLEST_SPREAD**2)
            count = np.ones(len(level), dtype=int)
            return [(level + side * gap / 2, variance, count, LONE_DOF) for side in (1, -1)]
        noise, level_noise, variances = self._noise(prior, place, sides, query)
        gap, gap_noise = prior.gap.shrink(place, gap, noise)
        more = level_noise + gap_noise / 4
        return [
            (level + gap / 2, variances[0] + more, into[0], prior.into.strength),
            (level - gap / 2, variances[1] + more, out[0], prior.out.strength),
        ]

    def log_ratio(self, target, laws):
        """Return the log ratio of the IN and the OUT density, of shape (n_queries, n)."""
        ratios = []
        for values, (into, out) in zip(target, laws, strict=True):
            ratio = log_student(values, *into)
            ratio -= log_student(values, *out)
            ratios.append(ratio)
        return np.array(ratios)
