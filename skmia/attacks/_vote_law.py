"""Beta-binomial laws of the number of votes for the label, for models that vote."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from ..signals import ScaledLogit
from ._normal_law import NormalLaw
from ._trends import Gap, Levels, Trend, fit_gap

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


def choose_law(pool, reading, values, likelihood, shrinks):
    """Choose between votes and a normal law for a signal of a pool.

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool.
    reading : tuple
        Where the signal is found, as :meth:`ShadowPool.locate_signal` returns it.
    values : ndarray of shape (n_queries, n_estimators, n)
        Values of the signal on some records.
    likelihood : {"auto", "normal", "beta-binomial"}
        As for :class:`LiRA`.
    shrinks : bool
        As for :class:`NormalLaw`.

    Returns
    -------
    law : VoteLaw or NormalLaw

    Raises
    ------
    ValueError
        If a beta-binomial is asked for, and the models do not vote.
    """
    n_voters = count_voters(pool.estimator) if reading.signal == ScaledLogit() else None
    votes = n_voters is not None and n_voters > 1
    if likelihood == "beta-binomial" and not votes:
        raise ValueError(
            'likelihood="beta-binomial" is for the log odds of models whose probabilities are '
            'shares of at least two votes, such as forests; use likelihood="normal".'
        )
    if votes and likelihood != "normal":
        law = VoteLaw(n_voters, pool.resolution_[reading.place], shrinks)
        if likelihood == "beta-binomial" or law.are_votes(law.read(values)):
            return law
    return NormalLaw(shrinks)


class _Prior(NamedTuple):
    """What records of one level have in common, for one query."""

    gap: Gap
    into: Trend | None  # variance of a share, in units of x (1 - x)
    out: Trend | None
    alone: Trend  # the same where no side has two models


class VoteLaw:
    """Distributions of the number of votes for the label.

    Parameters
    ----------
    n_voters : int
        Number of voters of a model, at least 2.
    resolution : float
        Step by half of which the pool moved shares inside before it took log odds.
    shrinks : bool
        As for :class:`NormalLaw`.
    """

    def __init__(self, n_voters, resolution, shrinks):
        self.n_voters, self.resolution, self.shrinks = n_voters, resolution, shrinks

    def read(self, values):
        """Return the share of votes for log odds as the pool stores them."""
        share = expit(values)
        share *= 1 + self.resolution
        share -= self.resolution / 2
        return np.clip(share, 0, 1, out=share)

    def are_votes(self, shares):
        """Whether the shares are whole numbers of votes."""
        votes = self.n_voters * shares[(shares > 0) & (shares < 1)].astype(np.float64)
        return bool(np.mean(np.abs(votes - np.round(votes)) < _ROUNDING) >= _MOSTLY_WHOLE)

    def fit(self, sides):
        """Fit the priors of all queries to the moments of many records."""
        return [self._fit_query(sides, query) for query in range(len(sides.into.mean))]

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
        relative = [part or relative[1 - k] for k, part in enumerate(relative)]
        prior = _Prior(None, *relative, None)
        noise = None if relative[0] is None else self._noise(prior, sides, query, level)
        gap, away = fit_gap(levels, level, means[0] - means[1], noise, self.shrinks)
        alone = away._replace(values=away.values / 2 / levels.trend(self._unit(level)).values)
        return prior._replace(gap=gap, alone=alone)

    def _spread(self, trend, level):
        """Return the variance in units of x (1 - x), which is least for independent votes."""
        return np.maximum(trend(level), 1 / self.n_voters)

    def _noise(self, prior, sides, query, level):
        """Return the sampling variance of the gap."""
        return sum(
            self._spread(trend, level) * self._unit(side.mean[query]) / side.count
            for trend, side in zip((prior.into, prior.out), sides[:2], strict=True)
        )

    def log_ratio(self, target, sides, priors):
        """Return the log ratio of the IN and the OUT probability, of shape (n_queries, n)."""
        rows = zip(target, priors, strict=True)
        return np.array(
            [self._ratio(row, sides, prior, query) for query, (row, prior) in enumerate(rows)]
        )

    def _ratio(self, target, sides, prior, query):
        into, out = (side.mean[query] for side in sides[:2])
        level, noise, trends = (into + out) / 2, 0.0, (prior.alone, prior.alone)
        if prior.into is not None:
            noise, trends = self._noise(prior, sides, query, level), (prior.into, prior.out)
        gap, gap_noise = prior.gap.shrink(level, into - out, noise)
        votes, logs = self.n_voters * target.astype(np.float64), []
        for sign, trend in zip((1, -1), trends, strict=True):
            mean = self._cut(level + sign * gap / 2)
            spread = self._spread(trend, level) + (noise + gap_noise) / 4 / (mean * (1 - mean))
            least = 1 / self.n_voters
            logs.append(self._log_probability(votes, mean, (spread - least) / (1 - least)))
        return logs[0] - logs[1]

    def _log_probability(self, votes, mean, correlation):
        """Log probability of a beta-binomial, up to a term that only depends on the votes."""
        strength = 1 / np.clip(correlation, *_CORRELATIONS) - 1
        for_label, against = mean * strength, (1 - mean) * strength
        log = gammaln(votes + for_label) - gammaln(for_label)
        log += gammaln(self.n_voters - votes + against) - gammaln(against)
        return log - gammaln(self.n_voters + strength) + gammaln(strength)
