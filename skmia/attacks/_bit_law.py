"""Laws of a bit, whether the predicted label is correct, for the IN and the OUT models."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .._core.law import Law
from .._core.trends import Levels

# Number of observations that the trend of a share may count for, the largest first.
_STRENGTHS = 2.0 ** np.arange(12, -4, -1)

# Difference of log probabilities that may be rounding. Of a single model no strength is likelier.
_ROUNDING = 1e-9


class _Prior(NamedTuple):
    """Beta prior of the share of one side, by the share of the other side."""

    levels: Levels
    share: np.ndarray  # at the centers of the levels, in (0, 1)
    strength: np.ndarray  # the prior counts for this many observations

    def place(self, share):
        """Return share and strength for records by the share of the other side."""
        place = self.levels.locate(share)
        return place(self.share), np.exp(place(np.log(self.strength)))


class BitLaw(Law):
    """Shares of correct answers among IN and among OUT models.

    The share of one side has a beta prior, a trend over the share of the other side. Without a leak
    this pools the bits of both sides, because the prior then counts for as many observations as the
    other side and the records are worth. A distribution is described by its share.
    """

    def _fit_query(self, sides, query):
        into, out = ((side.count, side.mean[query]) for side in sides[:2])
        return _fit_side(*into, out[1]), _fit_side(*out, into[1])

    def _describe(self, sides, priors, query):
        into, out = ((side.count, side.mean[query]) for side in sides[:2])
        both = ((into, out, priors[0]), (out, into, priors[1]))
        return tuple(self._estimate(own, other[1], prior) for own, other, prior in both)

    def _estimate(self, own, other, prior):
        share, strength = prior.place(other)
        if not self.shrinks:
            return share
        return (own[0] * own[1] + strength * share) / (own[0] + strength)

    def log_ratio(self, target, laws):
        """Return the log ratio of the IN and the OUT probability, of shape (n_queries, n)."""
        return np.array(
            [
                np.where(bits > 0.5, np.log(into / out), np.log1p(-into) - np.log1p(-out))
                for bits, (into, out) in zip(target, laws, strict=True)
            ]
        )

    def rate_threshold(self, laws, rate):
        """Return a threshold that non-members are expected to reach at most at a rate.

        Parameters
        ----------
        laws : list
            Laws of blocks of records, as of :meth:`describe`, with one query.
        rate : float
            Expected share of the non-members that reach the threshold.

        Returns
        -------
        threshold : float
        """
        scores, weights = [], []
        for block in laws:
            out = block[0][1]
            for bit, share in ((1, out), (0, 1 - out)):
                scores.append(self.log_ratio(np.full((1, len(out)), bit), block)[0])
                weights.append(share)
        scores, weights = np.concatenate(scores), np.concatenate(weights)
        order = np.argsort(-scores, kind="stable")
        scores, reached = scores[order], np.cumsum(weights[order]) / weights.sum()
        highest = scores[np.argmax(reached > rate)]  # of those that must not reach it
        above = scores[scores > highest + _ROUNDING]
        return float((above[-1] + highest) / 2 if len(above) else highest + 2 * _ROUNDING)


def _fit_side(count, mean, other):
    """Fit the prior of one side to the counts and shares of correct answers of many records."""
    levels, right = Levels(other), count * mean
    usual = (right.sum() + 0.5) / (count.sum() + 1)  # neither 0 nor 1
    share = (levels.sum(right) + usual) / (levels.sum(count) + 1)
    expected = levels.place(share)
    rows, place = np.unique(np.column_stack([right, count, expected]), axis=0, return_inverse=True)
    logs = [_log_probability(*rows.T, strength)[place.ravel()] for strength in _STRENGTHS]
    trends = np.array([levels.trend(log) for log in logs])
    strongest = (trends >= trends.max(axis=0) - _ROUNDING).argmax(axis=0)
    return _Prior(levels, share, _STRENGTHS[strongest])


def _log_probability(right, count, share, strength):
    """Log probability of bits under a beta-binomial."""
    yes, no = share * strength, (1 - share) * strength
    log = gammaln(right + yes) - gammaln(yes) + gammaln(count - right + no) - gammaln(no)
    return log - gammaln(count + strength) + gammaln(strength)
