"""How much models vary, and how far IN and OUT models differ, as trends over the level of a record.

With few models per side, the numbers of a single record are mostly noise. They are shrunk to what
records of a similar level have on average, by as much as the pool shows them to be noise.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .moments import SMALLEST_SPREAD

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


class Place(NamedTuple):
    """Places of records between the centers of bins."""

    bins: np.ndarray  # the next center below
    part: np.ndarray  # of the way to the one above

    def __call__(self, values):
        """Return a trend at these places: linear between the centers, constant beyond them."""
        steps = np.append(np.diff(values), 0)
        return values[self.bins] + self.part * steps[self.bins]


class Levels:
    """Bins of records of similar level, over which averages are taken.

    Parameters
    ----------
    level : ndarray of shape (n,)
        Level of each record. Equal levels share a bin, so that the order of the records does not
        matter.
    """

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
        """Return the places of levels between the centers of the bins."""
        # With so few centers, this takes a fifth of the time of a binary search.
        above = level >= self.centers[:, None]
        bins = np.add.reduce(above.view(np.uint8), axis=0, dtype=np.uint8).astype(np.intp) - 1
        steps = np.append(np.diff(self.centers), np.inf)
        part = (level - self.centers[bins]) / steps[bins]
        return Place(np.maximum(bins, 0), np.where(bins < 0, 0.0, part))

    def trend(self, values, weight=None):
        """Return the smoothed mean of values, or ratio of two means, at the centers of the bins."""
        totals = [self.sum(values), self._count if weight is None else self.sum(weight)]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals[0] / totals[1]
        mean = np.where(totals[1] > 0, mean, totals[0].sum() / max(totals[1].sum(), 1e-300))
        padded = np.pad(mean, 1, mode="edge")
        return (padded[:-2] + 2 * mean + padded[2:]) / 4


class Spread(NamedTuple):
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
    """Fit the prior of a variance to sums of squares, or return None if no record has any.

    Parameters
    ----------
    levels : Levels
        Levels of the records.
    squares, dof : ndarray of shape (n,)
        Sum of squared deviations and its degrees of freedom, of each record.

    Returns
    -------
    spread : Spread or None
    """
    if not dof.any():
        return None
    scale = levels.trend(squares, dof)
    few = np.flatnonzero(dof > 0)
    few = few[:: -(-len(few) // _ENOUGH_RECORDS)]
    expected = np.maximum(levels.place(scale)[few], SMALLEST_SPREAD**2)
    # The ratio of the variance of a record to the trend has an F distribution.
    logs = [_mean_log_f(squares[few] / expected, dof[few], nu) for nu in _STRENGTHS]
    return Spread(scale, float(_STRENGTHS[np.argmax(logs)]))


def _mean_log_f(ratio, dof, strength):
    """Mean log density of F distributions, without what does not depend on the strength.

    The ratio divides a sum of squares by the expected variance.
    """
    table = gammaln((np.arange(dof.max() + 1) + strength) / 2) - gammaln(strength / 2)
    density = np.bincount(dof) @ table - dof.sum() / 2 * np.log(strength)
    density -= (dof + strength) / 2 @ np.log1p(ratio / strength)
    return density / len(dof)


class Gap(NamedTuple):
    """Prior of the difference between IN and OUT models: a trend, and a variance around it."""

    center: np.ndarray
    variance: np.ndarray

    def shrink(self, place, gap, noise):
        """Return the expected gap of each record and its variance, given the gap that was seen."""
        center, between = place(self.center), np.maximum(place(self.variance), 0)
        weight = between / np.maximum(between + noise, SMALLEST_SPREAD**2)
        return center + weight * (gap - center), weight * noise


def fit_gap(levels, gap, noise, shrinks):
    """Fit the prior of the gap.

    Parameters
    ----------
    levels : Levels
        Levels of the records.
    gap, noise : ndarray of shape (n,)
        Gap and sampling variance of the gap of each record. If the noise is not known (None), the
        gap is put on its trend.
    shrinks : bool
        If False, the gap of each record is put on its trend.

    Returns
    -------
    prior : Gap
    away : ndarray
        Trend of the squared distance of the gaps to their trend.
    """
    center = levels.trend(gap)
    squares = (gap - levels.place(center)) ** 2
    away = levels.trend(squares)
    if noise is None or not shrinks:
        return Gap(center, np.zeros_like(away)), away
    return Gap(center, levels.trend(squares - noise)), away
