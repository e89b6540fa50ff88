"""Beta-binomial laws of the number of votes for the label, for models that vote."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.law import Law
from .._core.normal_law import NormalLaw
from .._core.trends import Gap, Levels, fit_gap
from ..signals import Correctness, ScaledLogit
from ._bit_law import BitLaw

# A share is a whole number of votes if it is so within this part of a vote. It leaves room for the
# rounding of a logit in single precision.
_ROUNDING = 1e-2

# Share of the values, among those that are neither 0 nor all votes, that are whole numbers in a
# model whose voters answer 0 or 1. Duplicates with different labels make some leaves mixed.
_MOSTLY_WHOLE = 0.9

# Range of the correlation between two votes.
_CORRELATIONS = 1e-6, 0.95


def count_voters(estimator):
    """Return the number of voters whose share is the probability of a model, or None.

    Parameters
    ----------
    estimator : estimator or None
        Fitted or unfitted model.

    Returns
    -------
    n_voters : int or None
    """
    model = unwrap(estimator)
    while isinstance(model, Pipeline) and model.steps:
        model = unwrap(model.steps[-1][1])
    if isinstance(model, RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier):
        return model.n_estimators
    if isinstance(model, KNeighborsClassifier) and model.weights == "uniform":
        return model.n_neighbors
    return None


def choose_law(pool, reading, sample, likelihood, shrinks):
    """Choose between votes, bits and a normal law for a signal of a pool.

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool.
    reading : tuple
        Where the signal is found, as :meth:`ShadowPool.locate_signal` returns it.
    sample : callable
        Returns values of the signal on some records, of shape (n_queries, n_estimators, n).
    likelihood : {"auto", "normal", "beta-binomial"}
        As for :class:`LiRA`.
    shrinks : bool
        As for :class:`Law`.

    Returns
    -------
    law : VoteLaw, BitLaw or NormalLaw

    Raises
    ------
    ValueError
        If a beta-binomial is asked for, and the models do not vote.
    """
    if reading.signal == Correctness() and likelihood != "normal":
        return BitLaw(shrinks)
    n_voters = count_voters(pool.estimator) if reading.signal == ScaledLogit() else None
    votes = n_voters is not None and n_voters > 1
    if likelihood == "beta-binomial" and not votes:
        raise ValueError(
            'likelihood="beta-binomial" is for the log odds of models whose probabilities are '
            "shares of at least two votes, such as forests, and for correctness; use "
            'likelihood="normal".'
        )
    if votes and likelihood != "normal":
        law = VoteLaw(n_voters, float(pool.resolution_[reading.place]), shrinks)
        if likelihood == "beta-binomial" or law.are_votes(law.read(sample())):
            return law
    return NormalLaw(shrinks)


class _Prior(NamedTuple):
    """What records of one level have in common, for one query."""

    levels: Levels
    gap: Gap | None
    into: np.ndarray | None  # variance of a share, in units of x (1 - x)
    out: np.ndarray | None
    alone: np.ndarray | None  # the same where no side has two models


class Votes(NamedTuple):
    """Share of votes for the label, as a function of the log odds that a pool stores."""

    n_voters: int
    resolution: float

    def __call__(self, values):
        share = expit(values)
        share *= 1 + self.resolution
        share -= self.resolution / 2
        return np.clip(share, 0, 1, out=share)


class VoteLaw(Law):
    """Distributions of the number of votes for the label.

    A distribution is described by the mean share and the correlation between votes.

    Parameters
    ----------
    n_voters : int
        Number of voters of a model, at least 2.
    resolution : float
        Twice the distance by which the pool moved shares inside before it took log odds.
    shrinks : bool
        As for :class:`Law`.
    """

    def __init__(self, n_voters, resolution, shrinks):
        super().__init__(shrinks)
        self.n_voters = n_voters
        self.change = Votes(n_voters, resolution)

    def are_votes(self, shares):
        """Whether the shares are whole numbers of votes."""
        votes = self.n_voters * shares[(shares > 0) & (shares < 1)].astype(np.float64)
        if not len(votes):  # all models are unanimous about all records
            return True
        return bool(np.mean(np.abs(votes - np.round(votes)) < _ROUNDING) >= _MOSTLY_WHOLE)

    def _cut(self, share):
        half = 0.5 / self.n_voters
        return np.clip(share, half, 1 - half)

    def _unit(self, share):
        share = self._cut(share)
        return share * (1 - share)

    def _fit_query(self, sides, query):
        means = [side.mean[query] for side in sides[:2]]
        level = sum(means) / 2
        levels, relative = Levels(level), []
        for side, mean in zip(sides[:2], means, strict=True):
            weight = (side.count - 1) * self._unit(mean)
            relative.append(levels.trend(side.squares[query], weight) if weight.any() else None)
        # A side of single models varies like the other one.
        relative = [relative[1 - k] if part is None else part for k, part in enumerate(relative)]
        prior, noise = _Prior(levels, None, *relative, None), None
        if prior.into is not None:
            noise = self._noise(prior, levels.place, sides, query)
        gap, away = fit_gap(levels, means[0] - means[1], noise, self.shrinks)
        return prior._replace(gap=gap, alone=away / 2 / levels.trend(self._unit(level)))

    def _spread(self, trend, place):
        """Return the variance in units of x (1 - x), which is least for independent votes."""
        return np.maximum(place(trend), 1 / self.n_voters)

    def _noise(self, prior, place, sides, query):
        """Return the sampling variance of the gap."""
        return sum(
            self._spread(trend, place) * self._unit(side.mean[query]) / side.count
            for trend, side in zip((prior.into, prior.out), sides[:2], strict=True)
        )

    def _describe(self, sides, prior, query):
        into, out = (side.mean[query] for side in sides[:2])
        level, noise, trends, laws = (into + out) / 2, 0.0, (prior.alone, prior.alone), []
        place = prior.levels.locate(level)
        if prior.into is not None:
            noise, trends = self._noise(prior, place, sides, query), (prior.into, prior.out)
        gap, gap_noise = prior.gap.shrink(place, into - out, noise)
        for sign, trend in zip((1, -1), trends, strict=True):
            mean, least = self._cut(level + sign * gap / 2), 1 / self.n_voters
            spread = self._spread(trend, place) + (noise + gap_noise) / 4 / (mean * (1 - mean))
            laws.append((mean, np.clip((spread - least) / (1 - least), *_CORRELATIONS)))
        return laws

    def log_ratio(self, target, laws):
        """Return the log ratio of the IN and the OUT probability, of shape (n_queries, n)."""
        ratios = []
        for share, (into, out) in zip(target.astype(np.float64), laws, strict=True):
            votes = self.n_voters * share
            ratios.append(self._log_probability(votes, *into) - self._log_probability(votes, *out))
        return np.array(ratios)

    def _log_probability(self, votes, mean, correlation):
        """Log probability of a beta-binomial, up to a term that only depends on the votes."""
        strength = 1 / correlation - 1
        for_label, against = mean * strength, (1 - mean) * strength
        log = gammaln(votes + for_label) - gammaln(for_label)
        log += gammaln(self.n_voters - votes + against) - gammaln(against)
        return log - gammaln(self.n_voters + strength) + gammaln(strength)
