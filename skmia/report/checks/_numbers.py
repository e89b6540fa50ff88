"""The numbers of an audit for many labelings of the same scores, and their tail probabilities."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import betainc

from ._top import TopCounter


class Part(NamedTuple):
    """Scores of one attack on a part of the records."""

    attack: str
    scope: str
    group: str
    rows: np.ndarray  # positions of the records
    rates: list  # false positive rates


class Measured(NamedTuple):
    """Numbers by labeling, of shape (n_labelings, n_numbers), and the steps in which they move."""

    numbers: np.ndarray  # NaN without members or non-members
    steps: np.ndarray  # half of a step

    @classmethod
    def join(cls, several):
        return cls(*map(np.concatenate, zip(*several)))


class Tails(NamedTuple):
    """Tail probabilities of one number by labeling; small if the number is extreme."""

    upper: np.ndarray
    lower: np.ndarray
    least: float  # the upper tail that a number of 1 would have in the first labeling


class Ruler:
    """AUCs and TPRs of several parts.

    Parameters
    ----------
    parts : list of Part
    scores : dict of str to ndarray of shape (n,)
        Scores by attack.
    labelings : Labelings
    units : ndarray of shape (n,)
        Unit of each record.
    """

    def __init__(self, parts, scores, labelings, units):
        self._tops = [
            TopCounter(partial(_load, part, scores, labelings), part.rates) if part.rates else None
            for part in parts
        ]
        rows = [part.rows for part in parts]
        self._n_records = np.array([len(some) for some in rows])
        self._sums = LinearSums(
            (center_ranks(scores[part.attack][part.rows]) for part in parts), rows, labelings
        )
        self._sizes = LinearSums(map(np.ones, self._n_records), rows, labelings)
        self._n_units, self._units = self._n_records, self._sizes  # if each record is a unit
        if units.max() + 1 < len(units):
            rows = [some[np.unique(units[some], return_index=True)[1]] for some in rows]
            self._n_units = np.array([len(some) for some in rows])
            self._units = LinearSums(map(np.ones, self._n_units), rows, labelings)

    def measure(self, labels):
        """Measure the AUC of each part, and then its TPRs.

        Parameters
        ----------
        labels : ndarray of shape (n_labelings, n_columns)
            Bits of :class:`Labelings`.

        Returns
        -------
        measured : Measured
        """
        n_members = self._sizes.compute(labels)
        units = n_members if self._units is self._sizes else self._units.compute(labels)
        pairs = n_members * (self._n_records - n_members)
        excess = self._sums.compute(labels) / (2 * np.maximum(pairs, 1))
        numbers, steps = [], []
        for place, top in enumerate(self._tops):
            undefined = pairs[:, [place]] == 0
            inside = units[:, [place]]
            outside = self._n_units[place] - inside
            found = [0.5 + excess[:, [place]]]
            by = [0.5 / np.maximum(inside * outside, 1)]
            if top is not None:
                found.append(top.compute_tprs(labels, n_members[:, place]))
                by.append(np.repeat(0.5 / np.maximum(inside, 1), found[-1].shape[1], axis=1))
            numbers.append(np.where(undefined, np.nan, np.hstack(found)))
            steps.append(np.hstack(by).astype(np.float32))
        return Measured(np.hstack(numbers), np.hstack(steps))


def _load(part, scores, labelings):
    return scores[part.attack][part.rows], labelings.take(part.rows)


def center_ranks(scores):
    """Twice the centered ranks: integers, so their sums are exact in any order."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) + 1  # of equal scores
    del ordered  # of millions of records, each array counts
    sizes = np.diff(ends, prepend=0)
    ranks = np.empty(len(scores))
    ranks[order] = np.repeat(2 * ends - sizes - len(scores), sizes)
    return ranks


class LinearSums:
    """Sums of values over the members of each part, by labeling.

    Parameters
    ----------
    values : iterable of ndarray
        Values of the records of each part.
    rows : list of ndarray
        Positions of these records.
    labelings : Labelings
    """

    def __init__(self, values, rows, labelings):
        self._constant, several = [], []
        for numbers, some in zip(values, rows, strict=True):
            columns, turned = labelings.take(some)
            if turned is not None:
                self._constant.append(numbers[turned].sum())
                numbers = np.where(turned, -numbers, numbers)
            several.append(_sum_columns(numbers, columns, labelings.n_columns))
        self._matrix = sparse.vstack(several, format="csr")

    def compute(self, labels):
        """Sums of shape (n_labelings, n_parts)."""
        sums = (self._matrix @ labels.T).T
        return sums + np.array(self._constant) if self._constant else sums


def _sum_columns(numbers, columns, n_columns):
    """A sparse row; numbers of the same column are added, which may give a stored 0."""
    if len(numbers) > n_columns:
        row = np.bincount(columns, numbers, n_columns)
        columns = np.arange(n_columns)
        numbers = row
    index = columns.astype(np.int32)
    entries = numbers, index, np.array([0, len(index)], dtype=np.int32)
    row = sparse.csr_array(entries, shape=(1, n_columns))
    row.sum_duplicates()
    return row


def compute_tails(numbers, steps):
    """Compute how extreme a number is among all labelings, on one scale for all numbers.

    A share among few records is bounded and moves in large steps, and a rate near 0 is skewed. In
    units of standard deviations, neither compares with the AUC of many records. Each number is
    therefore expressed as a tail probability of the Beta law with its mean and variance over the
    labelings, after moving it half a step towards the middle. The scale decides how the numbers are
    weighed against each other, not whether a p-value is valid: it is the same for all labelings.

    Parameters
    ----------
    numbers : ndarray of shape (n_labelings,)
        Values of the number, for the true membership first; NaN without members or non-members.
    steps : ndarray of shape (n_labelings,)
        Half of the step in which the number moves.

    Returns
    -------
    tails : Tails
    """
    mean, variance = np.nanmean(numbers), np.nanvar(numbers)
    if variance == 0:
        ones = np.ones(len(numbers))
        return Tails(ones, ones, 1.0)
    weight = np.clip(mean * (1 - mean) / variance - 1, 1e-6, 1e12)
    above, below = weight * mean, weight * (1 - mean)
    upper = betainc(below, above, np.clip(1 - numbers + steps, 0, 1))
    lower = betainc(above, below, np.clip(numbers + steps, 0, 1))
    least = float(betainc(below, above, min(float(steps[0]), 1.0)))
    undefined = np.isnan(numbers)
    return Tails(np.where(undefined, 1.0, upper), np.where(undefined, 1.0, lower), least)
