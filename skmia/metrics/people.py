"""Effective sample sizes if people have several rows."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from .._core.groups import number_groups


def check_people(groups, n_records):
    """Number the people behind the records; without groups, each record is a separate person."""
    if groups is None:
        return np.arange(n_records, dtype=np.int32 if n_records < 1 << 31 else np.int64)
    return number_groups(groups, n_records, name="groups")[1]


class People:
    """People of one side, members or non-members, by their rows.

    Parameters
    ----------
    people : ndarray of shape (n_rows,), dtype int
        Number of the person of each row.
    """

    def __init__(self, people):
        self.n_rows = len(people)
        if (people[1:] > people[:-1]).all():  # so without groups, where sorting takes memory
            self.numbers, self._places = people, None
            self.counts = np.broadcast_to(np.intp(1), len(people))
        else:
            self.numbers, self._places, self.counts = np.unique(
                people, return_inverse=True, return_counts=True
            )

    @property
    def people(self):
        """Place of the person of each row in ``numbers``."""
        return np.arange(self.n_rows) if self._places is None else self._places

    @cached_property
    def alone(self):
        """Whether each person has one row, so that rows are independent."""
        return len(self.counts) == self.n_rows

    @cached_property
    def worth(self):
        """Number of people with equally many rows that would vary as much.

        It is the effective size if all rows of a person agree, and so the smallest possible one.
        """
        return self.n_rows**2 / float(self.counts @ self.counts)

    def shifts(self, values):
        """Return the change of the mean over rows if each person is left out, without its sign.

        The changes are scaled so that their sum of squares is the variance of the mean: the
        jackknife, which does not underestimate the influence of a person with many rows.
        """
        share = self.counts / self.n_rows
        n_people = len(self.counts)
        changes = np.bincount(self.people, values - values.mean()) / self.n_rows / (1 - share)
        return changes * ((n_people - 1) / n_people) ** 0.5

    def mean_variance(self, values):
        """Estimate the variance of the mean over rows; NaN for a single person."""
        if len(self.counts) == 1:
            return np.nan
        shifts = self.shifts(values)
        return float(shifts @ shifts)

    def effective_size(self, values, variance):
        """Return the size of a sample of independent records whose mean varies as much.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
        variance : float
            Variance of a single value.

        Returns
        -------
        size : float
            Effective size, between :attr:`worth` and the number of rows; the former if the variance
            between people is unknown.
        """
        if self.alone:
            return float(self.n_rows)
        found = self.mean_variance(values)
        if not found > 0:
            return self.worth
        size = float(np.clip(variance / found, self.worth, self.n_rows))
        # One person is added to the estimate whose rows all agree, so that a few people who are
        # alike by chance do not look like independent rows.
        n_people = len(self.counts)
        return n_people / ((n_people - 1) / size + 1 / self.worth)

    @property
    def freedom(self):
        """Return the degrees of freedom of a variance that was estimated from these people."""
        return np.inf if self.alone else max(self.worth - 1, 1.0)


class Sizes(NamedTuple):
    """Effective sizes, and the degrees of freedom that they were estimated with."""

    values: np.ndarray
    freedom: float

    def trusted(self, tail):
        """Return sizes with normal intervals as wide as intervals of Student's t distribution."""
        if np.isinf(self.freedom):
            return self.values
        return self.values * (special.ndtri(tail) / special.stdtrit(self.freedom, tail)) ** 2

    def take(self, places):
        """Return the sizes at some positions."""
        return Sizes(self.values[places], self.freedom)


def split_people(people, membership):
    """Split people into the people of members and of non-members."""
    return People(people[membership]), People(people[~membership])


def shared_covariance(sides, values):
    """Estimate the covariance of the means of two sides from people with rows on both.

    Parameters
    ----------
    sides : pair of People
    values : pair of ndarray of shape (n_rows,)
        Values of the rows of each side.
    """
    first, other = sides
    is_first = np.zeros(1 + max(side.numbers.max(initial=0) for side in sides), dtype=bool)
    is_first[first.numbers] = True
    if not is_first[other.numbers].any():  # without a search, which takes memory
        return 0.0
    _, at_first, at_other = np.intersect1d(first.numbers, other.numbers, return_indices=True)
    if not len(at_first) or min(len(first.counts), len(other.counts)) == 1:
        return 0.0
    return float(first.shifts(values[0])[at_first] @ other.shifts(values[1])[at_other])


def shared_correlation(sides, values):
    """Estimate the correlation of the means of two sides from people with rows on both."""
    covariance = shared_covariance(sides, values)
    if covariance == 0:
        return 0.0
    scale = np.prod([side.mean_variance(part) for side, part in zip(sides, values)])
    return float(np.clip(covariance / scale**0.5, -1, 1))


def effective_sizes(scores, people, thresholds):
    """Compute effective sizes of the rates at each threshold.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores of the members, or of the non-members.
    people : People
        People to whom these rows belong.
    thresholds : ndarray of shape (n_thresholds,)

    Returns
    -------
    sizes : Sizes
    """
    sizes = np.full(len(thresholds), float(people.n_rows))
    if not people.alone:
        for place, threshold in enumerate(thresholds):
            above = (scores >= threshold).astype(np.float64)
            rate = above.mean()
            sizes[place] = people.effective_size(above, rate * (1 - rate))
    return Sizes(sizes, people.freedom)


def thinned_sizes(scores, membership, sides, thresholds, *, most=200):
    """Compute effective sizes of both sides at each point of a curve, by interpolation."""
    places = np.arange(len(thresholds))
    if not all(side.alone for side in sides):
        # Points are dense where few records are at or above the threshold.
        places = np.unique(np.geomspace(1, len(thresholds), most).astype(int) - 1)
    found = []
    for part, side in zip((scores[membership], scores[~membership]), sides):
        some = effective_sizes(part, side, thresholds[places])
        values = np.interp(np.arange(len(thresholds)), places, some.values)
        found.append(Sizes(values, some.freedom))
    return found
