"""Sums over the records of people, and how they vary over shadow models."""

import numpy as np

# Number of models that the variance expected of a person counts for.
_STRENGTH = 8

# Fewest models whose spread says something if one of them is left out.
_FEWEST = 3


class People:
    """People by the numbers of their records.

    Parameters
    ----------
    numbers : ndarray of shape (n,), dtype int
        Number of the person of each record; each number from 0 occurs.

    Attributes
    ----------
    counts : ndarray of shape (n_people,)
        Number of records of each person.
    """

    def __init__(self, numbers):
        self.numbers, self.counts = numbers, np.bincount(numbers)
        self._order = np.argsort(numbers, kind="stable")
        self._starts = np.cumsum(self.counts) - self.counts

    def sum(self, values):
        """Add the values of each person's records, of shape (k, n), in double precision."""
        return self._reduce(np.add, np.asarray(values, dtype=np.float64))

    def _reduce(self, by, values):
        return by.reduceat(values[:, self._order], self._starts, axis=1)

    def combine(self, scores, judged, how):
        """Combine scores, of shape (k, n), by the sum or the largest of the judged records.

        Returns
        -------
        combined : ndarray of shape (k, n_people)
            NaN where the score of a judged record is, or if no record of the person is judged.
        """
        if how == "max":
            largest = self._reduce(np.maximum, np.where(judged, scores, -np.inf))
            return np.where(np.isneginf(largest), np.nan, largest)
        total = self.sum(np.where(judged, scores, 0.0))
        return np.where(self.sum(judged[None]) > 0, total, np.nan)

    def correlate(self, values, chosen):
        """Estimate the mean correlation of two records of a person over the chosen models.

        Parameters
        ----------
        values : ndarray of shape (k, n)
        chosen : ndarray of shape (k, n_people), dtype bool

        Returns
        -------
        correlation : float
            NaN if no person has two records, or two models for them.
        """
        usable = chosen[:, self.numbers] & np.isfinite(values)
        n_models = usable.sum(axis=0)
        held = np.where(usable, values, 0.0)
        residuals = np.where(usable, held - held.sum(axis=0) / np.maximum(n_models, 1), 0.0)
        own = (residuals**2).sum(axis=0)
        scaled = self.sum(own[None])[0]
        # Products of two different records of a person, and their largest possible values.
        shared = (self.sum(residuals) ** 2).sum(axis=0) - scaled
        most = self.sum(np.sqrt(own)[None])[0] ** 2 - scaled
        several = self.counts > 1
        total = most[several].sum()
        return float(shared[several].sum() / total) if total > 0 else np.nan


def standardize(own, of_models, known, counts):
    """Express scores of people in standard deviations of OUT models.

    Parameters
    ----------
    own : ndarray of shape (n_people,)
        Scores by the victim; NaN if they are unknown.
    of_models : ndarray of shape (k, n_people)
        Scores by models treated as the victim.
    known : ndarray of shape (k, n_people), dtype bool
        Scores of models that were not trained on the person.
    counts : ndarray of shape (n_people,)
        Numbers of records.

    Returns
    -------
    scores : ndarray of shape (n_people,)
        NaN for people with fewer than three such models.
    nulls : ndarray of shape (m,)
        Scores by these models, each compared with the others of the same person.
    """
    n_models = known.sum(axis=0)
    able = n_models >= _FEWEST
    held = np.where(known, of_models, 0.0)
    mean = held.sum(axis=0) / np.maximum(n_models, 1)
    residuals = np.where(known, held - mean, 0.0)
    squares = (residuals**2).sum(axis=0)
    prior = _expect_variance(squares, n_models, counts)
    scores = np.where(able, _compare(own - mean, squares, n_models, prior), np.nan)
    # Without one of n models, the distance from the mean grows by n / (n - 1).
    rest = np.maximum(n_models - 1, 1)
    distance = residuals * n_models / rest
    left = np.maximum(squares - residuals * distance, 0.0)
    return scores, _compare(distance, left, rest, prior)[known & able]


def _compare(distance, squares, n_models, prior):
    variance = (squares + _STRENGTH * prior) / (n_models - 1 + _STRENGTH)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = distance / np.sqrt(variance * (1 + 1 / np.maximum(n_models, 1)))
    return np.where(distance == 0, 0.0, found)


def _expect_variance(squares, n_models, counts):
    """Variance expected of each person: a part that all records share, and one that averages out.

    A mean over n records has the variance ``a + b / n``, fitted to people by least squares.
    """
    freedom = np.maximum(n_models - 1, 0).astype(np.float64)
    if not freedom.any():
        return np.ones(len(counts))
    per_record = 1 / counts
    found = squares / np.maximum(freedom, 1)
    weights = freedom / freedom.sum()
    level, middle = weights @ found, weights @ per_record
    spread = weights @ (per_record - middle) ** 2
    slope = weights @ ((per_record - middle) * (found - level)) / spread if spread > 0 else 0.0
    # Neither part is below zero.
    slope = np.clip(slope, 0.0, level / middle)
    return np.maximum(level + slope * (per_record - middle), np.finfo(float).tiny)
