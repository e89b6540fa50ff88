"""Student-t laws of the IN and of the OUT models, shrunk to trends over the level of a record."""

from typing import NamedTuple

import numpy as np

from .densities import log_student
from .law import Law
from .moments import SMALLEST_SPREAD
from .trends import LONE_DOF, Gap, Levels, Spread, fit_gap, fit_spread


class _Prior(NamedTuple):
    """What records of one level have in common, for one query."""

    levels: Levels
    gap: Gap | None
    into: Spread | None
    out: Spread | None
    apart: Spread | None  # of the difference between the two models of a pair
    middle: Spread | None  # of their mean
    alone: np.ndarray | None  # variance of a model where no side has two


def _split(sides, query):
    """Return level and gap, and the numbers of each side, of one query."""
    into, out = ((side.count, side.mean[query], side.squares[query]) for side in sides[:2])
    return (into[1] + out[1]) / 2, into[1] - out[1], into, out


def _pair_squares(sides, query):
    """Return the sums of squares of the difference between the models of a pair, and their mean."""
    both = sides.into.squares[query] + sides.out.squares[query]
    twice = 2 * sides.product[query]
    return np.maximum(both - twice, 0), np.maximum(both + twice, 0) / 4


class NormalLaw(Law):
    """Distributions of a signal whose variance and IN-OUT gap are shrunk to their trends.

    A distribution is described by the arguments of ``log_student``.
    """

    def _fit_query(self, sides, query):
        level, gap, into, out = _split(sides, query)
        levels = Levels(level)
        spreads = [fit_spread(levels, side[2], side[0] - 1) for side in (into, out)]
        # A side of single models varies like the other one.
        spreads = [spread or spreads[1 - k] for k, spread in enumerate(spreads)]
        ties = [None, None]
        if sides.product is not None:
            dof = sides.into.count - 1
            ties = [fit_spread(levels, part, dof) for part in _pair_squares(sides, query)]
        prior = _Prior(levels, None, *spreads, *ties, None)
        noise = None
        if prior.into is not None:
            noise = self._noise(prior, levels.place, sides, query)[0]
        gap, away = fit_gap(levels, gap, noise, self.shrinks)
        return prior._replace(gap=gap, alone=away / 2)

    def _noise(self, prior, place, sides, query):
        """Return the sampling variances of the gap, of the level and of both sides."""
        _, _, into, out = _split(sides, query)
        variances = [
            spread.estimate(place, side[2], side[0] - 1)
            for spread, side in zip((prior.into, prior.out), (into, out), strict=True)
        ]
        if sides.product is None or prior.apart is None:
            noise = variances[0] / into[0] + variances[1] / out[0]
            return noise, noise / 4, variances
        # What moves a record up in one model of a pair moves it down in the other, so the variances
        # of the two sides do not give the variance of the gap.
        parts = zip((prior.apart, prior.middle), _pair_squares(sides, query), strict=True)
        ties = [spread.estimate(place, part, into[0] - 1) / into[0] for spread, part in parts]
        return *ties, variances

    def _describe(self, sides, prior, query):
        level, gap, into, out = _split(sides, query)
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
