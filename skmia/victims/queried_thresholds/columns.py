"""Where the threshold of a tree can lie in a column: midpoints of two values, and values."""

import numpy as np

# Most values between the two that a threshold is the midpoint of.
MOST_PASSED = 128
# Most midpoints of a column, which bounds memory.
_MOST_PLACES = 2**21
# A value between belongs to a row at the node with one of these probabilities: few nodes are near
# the root of a tree, and it is not known which.
_SHARES = 0.5 ** np.arange(1, 8)
# Rounding of values to single precision, before or after they are scaled.
_ROUNDING = 2.0**-23
# A step is found where it lies between two numbers so many roundings apart.
_FOUND = 4.0
_MARGIN = 1.5


def get_slack(values, scale):
    """Half of the distance within which a threshold and a midpoint count as equal.

    Models split values, or scaled ones, in single precision; a scaler often subtracts something
    like the mean.

    Parameters
    ----------
    values : ndarray
    scale : float
        Mean absolute value of the column.
    """
    return _ROUNDING * (np.abs(values) + scale)


class Column:
    """Distinct values of a column, and all places that a threshold between them may have.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers in single precision; NaN is missing.

    Attributes
    ----------
    values : ndarray of shape (n_distinct,)
    scale : float
    """

    def __init__(self, values):
        values = values[np.isfinite(values)]
        self.values = np.unique(values)
        self.scale = float(np.abs(values).mean()) if len(values) else 0.0

    def find_places(self):
        """List the midpoints and values, and how likely thresholds are to be there."""
        values, m = self.values, len(self.values)
        most = min(MOST_PASSED, m - 1, 1 + _MOST_PLACES // max(m, 1))
        likely = [np.mean(_SHARES**2 * (1 - _SHARES) ** passed) for passed in range(most)]
        places = [values[: -1 - k] / 2 + values[1 + k :] / 2 for k in range(len(likely))]
        weights = [np.full(len(found), w) for found, w in zip(places, likely, strict=True)]
        # Values are as likely as midpoints, as long as nothing is known of the model.
        weights.append(np.full(m, sum(one.sum() for one in weights) / max(m, 1)))
        self.places, which = np.unique(np.concatenate([*places, values]), return_inverse=True)
        self.below = np.append(0, np.cumsum(np.bincount(which, np.concatenate(weights))))
        return self

    def choose(self, lower, upper):
        """Choose where to query next between two numbers that a threshold lies between.

        The weight of places below and above is the same. If one place is left, the queries are made
        just above it and just below. If none is left, the interval is halved.

        Parameters
        ----------
        lower, upper : ndarray of shape (n,)
            Numbers in single precision, as float64.

        Returns
        -------
        values : ndarray of shape (n,)
            Numbers in single precision, as float64.
        found : ndarray of shape (n,), dtype bool
            Whether the interval is so small that no query is needed.
        """
        places, slack = self.places, get_slack(np.maximum(np.abs(lower), np.abs(upper)), self.scale)
        start, stop = np.searchsorted(places, lower - slack), np.searchsorted(places, upper + slack)
        last = len(places) - 1
        split = self._split(start, stop)
        values = places[np.clip(split - 1, 0, last)] / 2 + places[np.clip(split, 0, last)] / 2
        first, final = places[np.minimum(start, last)], places[np.clip(stop - 1, 0, last)]
        is_one = (start < stop) & (final - first <= 2 * slack)
        above = is_one & (upper > final + 2 * slack)
        below = is_one & ~above & (lower < first - 2 * slack)
        values = np.where(above, final + _MARGIN * slack, values)
        values = np.where(below, first - _MARGIN * slack, values).astype(np.float32)
        outside = (values <= lower) | (values >= upper) | (start >= stop)
        middle = (lower / 2 + upper / 2).astype(np.float32)
        values = np.where(outside, middle, values).astype(np.float64)
        found = (upper - lower <= _FOUND * slack) | (is_one & ~above & ~below)
        return values, found | (values <= lower) | (values >= upper)

    def _split(self, start, stop):
        """Number of the first place above half of the weight of some."""
        half = (self.below[start] + self.below[stop]) / 2
        split = np.searchsorted(self.below, half)
        before = np.maximum(split - 1, 0)
        nearer = half - self.below[before] < self.below[np.minimum(split, len(self.places))] - half
        return np.clip(np.where(nearer, before, split), start + 1, np.maximum(stop - 1, start + 1))
