"""Ranks of scores, and what follows from them, of as many records as there are."""

from typing import NamedTuple

import numpy as np

from .._core.moments import cut
from .._core.out_of_core import (
    count_below,
    empty_table,
    sorted_table,
    take_where,
)


def center_ranks(scores):
    """Return twice the centered ranks: integers, so their sums are exact in any order."""
    ranks = count_below(scores, scores)
    ranks -= len(scores)
    return ranks


def find_highest(scores, n, chosen=None):
    """Find the n highest scores of the chosen records, and those that tie with them, in order."""
    ordered = sorted_table(scores if chosen is None else take_where(chosen, scores))
    is_high = scores >= (ordered[-n:][0] if len(ordered) else np.inf)
    high = np.flatnonzero(is_high if chosen is None else is_high & chosen)
    return high[np.argsort(-scores[high], kind="stable")]


def _split_scores(membership, scores):
    """Return the scores of members and those of non-members."""
    return tuple(take_where(side, scores) for side in (membership, ~membership))


def compute_auc(membership, scores):
    """Return the chance that a random member outscores a random non-member."""
    members, nonmembers = _split_scores(membership, scores)
    return count_below(members, nonmembers).sum() / (2 * len(members) * len(nonmembers))


def placements(membership, scores):
    """Return for each record the share of the other class that it outranks; ties count half.

    Members are compared with the non-members below them, non-members with the members above.
    """
    sides = _split_scores(membership, scores)
    below, above = (count_below(*pair) for pair in (sides, sides[::-1]))
    below /= 2 * len(above)
    above /= 2 * len(below)
    return below, np.subtract(1, above, out=above)


def realizable_points(membership, scores):
    """Compute the ROC curve of input that was checked.

    For some hundred records scikit-learn's function takes many times as long: it checks them again.
    """
    members, ordered = take_where(membership, scores), sorted_table(scores)
    members.sort()
    n, n_members = len(ordered), len(members)

    def find_new(rows):
        """Return the places of scores that differ from the one before, among some."""
        start = max(rows.start, 1)
        first = start + np.flatnonzero(
            ordered[start : rows.stop] != ordered[start - 1 : rows.stop - 1]
        )
        return first if rows.start else np.append(0, first)

    size = 1 + sum(len(find_new(rows)) for rows in cut(n))
    fpr, tpr, thresholds = (empty_table(size) for _ in range(3))
    fpr[0], tpr[0], thresholds[0], stop = 0, 0, np.inf, size
    for rows in cut(n):
        first = find_new(rows)
        some = slice(stop - len(first), stop)
        falling = ordered[first][::-1]
        n_found = n_members - np.searchsorted(members, falling)
        thresholds[some], tpr[some] = falling, n_found / n_members
        fpr[some] = (n - first[::-1] - n_found) / (n - n_members)
        stop = some.start
    return fpr, tpr, thresholds


class CornerCounts(NamedTuple):
    """Corners of a ROC curve as numbers of records, from none to all."""

    nonmembers: np.ndarray  # at or above each threshold
    members: np.ndarray


def count_points(fpr, tpr, n_members, n_nonmembers):
    """Return the numbers of records behind the points of a ROC curve."""
    counts = CornerCounts(*(empty_table(len(rates)) for rates in (fpr, tpr)))
    for count, rates, n in zip(counts, (fpr, tpr), (n_nonmembers, n_members), strict=True):
        np.rint(np.multiply(rates, n, out=count), out=count)
    return counts
