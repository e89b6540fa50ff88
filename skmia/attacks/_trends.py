"""How much models vary, and how far IN and OUT models differ, as trends over the level of a record.

With few models per side, the numbers of a single record are mostly noise. They are shrunk to what
records of a similar level have on average, by as much as the pool shows them to be noise.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .._core.moments import SMALLEST_SPREAD

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
        _, self._bins, self._count = np.unique(bins, return_inverse=True, return_counts=True)
        self._centers = self._sum(level) / self._count

    def _sum(self, values):
        return np.bincount(self._bins, values, minlength=len(self._count))

    def trend(self, values, weight=None):
        """Return the smoothed mean of values, or ratio of two means, as a function of the level."""
        totals = [self._sum(values), self._count if weight is None else self._sum(weight)]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals[0] / totals[1]
        mean = np.where(totals[1] > 0, mean, totals[0].sum() / max(totals[1].sum(), 1e-300))
        padded = np.pad(mean, 1, mode="edge")
        return Trend(self._centers, (padded[:-2] + 2 * mean + padded[2:]) / 4)


class Trend(NamedTuple):
    """Piecewise linear function of the level, constant beyond its ends."""

    centers: np.ndarray
    values: np.ndarray

    def __call__(self, level):
        return np.interp(level, self.centers, self.values)


class Spread(NamedTuple):
    """Prior of a variance: a scaled inverse chi-squared distribution around a trend."""

    scale: Trend
    strength: float  # the prior counts for this many observations

    def estimate(self, level, squares, dof):
        """Return the variance of each record, between its own and the trend."""
        total = self.strength * self.scale(level) + squares
        return np.maximum(total / (self.strength + dof), SMALLEST_SPREAD**2)


def fit_spread(levels, level, squares, dof):
    """Fit the prior of a variance to sums of squares, or return None if no record has any.

    Parameters
    ----------
    levels : Levels
    level, squares, dof : ndarray of shape (n,)
        Level, sum of squared deviations and its degrees of freedom, of each record.

    Returns
    -------
    spread : Spread or None
    """
    if not dof.any():
        return None
    scale = levels.trend(squares, dof)
    few = np.flatnonzero(dof > 0)
    few = few[:: -(-len(few) // _ENOUGH_RECORDS)]
    expected = dof[few] * np.maximum(scale(level[few]), SMALLEST_SPREAD**2)
    ratio, dof = squares[few] / expected, dof[few]
    # The ratio of the variance of a record to the trend has an F distribution.
    mean_logs = [_log_f(ratio, dof, strength).mean() for strength in _STRENGTHS]
    return Spread(scale, float(_STRENGTHS[np.argmax(mean_logs)]))


def _log_f(ratio, dof, strength):
    """Log density of an F distribution, without what does not depend on the strength."""
    density = gammaln((dof + strength) / 2) - gammaln(strength / 2) - dof / 2 * np.log(strength)
    return density - (dof + strength) / 2 * np.log1p(dof / strength * ratio)


class Gap(NamedTuple):
    """Prior of the difference between IN and OUT models: a trend, and a variance around it."""

    center: Trend
    variance: Trend

    def shrink(self, level, gap, noise):
        """Return the expected gap of each record and its variance, given the gap that was seen."""
        center, between = self.center(level), np.maximum(self.variance(level), 0)
        weight = between / np.maximum(between + noise, SMALLEST_SPREAD**2)
        return center + weight * (gap - center), weight * noise


def fit_gap(levels, level, gap, noise, shrinks):
    """Fit the prior of the gap.

    Parameters
    ----------
    levels : Levels
    level, gap, noise : ndarray of shape (n,)
        Level, gap and sampling variance of the gap of each record. Without any noise estimate
        (None), the gap is put on its trend.
    shrinks : bool
        If False, the gap of each record is put on its trend.

    Returns
    -------
    prior : Gap
    away : Trend
        Mean squared distance of the gaps to their trend.
    """
    center = levels.trend(gap)
    squares = (gap - center(level)) ** 2
    away = levels.trend(squares)
    if noise is None or not shrinks:
        return Gap(center, away._replace(values=np.zeros_like(away.values))), away
    return Gap(center, levels.trend(squares - noise)), away
