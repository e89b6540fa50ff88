"""Permutation test of equal exposure: groups are permuted among people.

With enough rounds on the same records, any two sets of records differ significantly. The test
therefore compares the groups with groups that are assigned at random.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

# A small group whose records happen to be exposed alike has no variance of its own: without some
# weight of the common variance it would look like the most certain of all groups. An interval needs
# one to be defined for a group of a single person.
_PRIOR_WEIGHT, _INTERVAL_WEIGHT = 10, 1

# Permutations of a pair that reach its statistic, after which no more are drawn.
_ENOUGH = 100

# Number of permutations whose sums are held at once.
_BLOCK = 250

# Standard deviation up to which exposures are equal: differences of two shares, each of which is
# rounded.
_ROUNDED = 2 * np.finfo(float).eps

# Tolerance for exposures that are scaled to a standard deviation of one.
_ROUNDING = 1e-18


class PartExposures(NamedTuple):
    """Exposures of the parts, each the records of one person in one group."""

    # Total t and t^2; with parts of several records also their number s, ts, ss.
    columns: np.ndarray
    codes: np.ndarray  # (n_parts,): number of the group
    free: np.ndarray  # (n_parts,): whether the person has no other part
    n_kept: int  # people with several parts
    center: float  # mean of the exposures, which is subtracted
    scale: float  # their standard deviation, by which they are divided

    @property
    def n_groups(self):
        return self.codes.max() + 1


class GroupComparison(NamedTuple):
    """Groups compared by their mean exposures."""

    statistic: float
    pvalue: float
    pair_pvalues: np.ndarray  # (n_pairs,)
    means: np.ndarray  # (n_groups,)
    errors: np.ndarray  # (n_groups,): standard error of each mean
    df: np.ndarray  # (n_groups,): its degrees of freedom
    pair_errors: np.ndarray  # (n_pairs,): standard error of each difference
    pair_df: np.ndarray  # (n_pairs,): its degrees of freedom


def compute_exposure(guesses, membership):
    """Compute the flagged share of rounds as a member minus the share as a non-member.

    Take guesses, membership of shape (n_rounds, n); return exposure of shape (n,): exposure from -1
    to 1; NaN for a record that was not in both roles.
    """
    rates = []
    for role in (1, 0):
        count = np.count_nonzero(membership == role, axis=0)
        flagged = np.count_nonzero((membership == role) & (guesses == 1), axis=0)
        rates.append(np.divide(flagged, count, out=np.full(len(count), np.nan), where=count > 0))
    return rates[0] - rates[1]


def sum_parts(exposure, codes, people):
    """Sum exposures over the records of each person in each group."""
    known = ~np.isnan(exposure)
    exposure, codes, people = exposure[known], codes[known], people[known]
    center, scale = float(exposure.mean()), float(exposure.std())
    varies = scale > _ROUNDED
    exposure = (exposure - center) / scale if varies else np.zeros(len(exposure))
    n_groups = codes.max() + 1
    keys, first, part = np.unique(people * n_groups + codes, return_index=True, return_inverse=True)
    people, codes = np.divmod(keys, n_groups)
    total, size = np.bincount(part, exposure), np.bincount(part)
    columns = [total, total**2]
    if size.max() > 1:
        columns += [size, total * size, size**2]
    n_parts = np.bincount(people)
    n_kept = int(np.count_nonzero(n_parts > 1))
    free = n_parts[people] == 1
    order = np.argsort(first)  # of the records, so that the numbers of people do not matter
    columns = np.array(columns, dtype=float)[:, order]
    return PartExposures(columns, codes[order], free[order], n_kept, center, scale)


def compare_exposures(exposures, n_permutations, rng):
    """Test the equality of mean exposures by permutations of the groups among people.

    A pair of groups is permuted among the people of these two. People with records in several
    groups keep their groups.
    """
    counts = np.bincount(exposures.codes)
    sums = _sum_groups(exposures.columns, exposures.codes, exposures.n_groups)
    unpacked = _unpack_sums(sums, counts)
    statistic, pvalue = _permute_exposures(exposures, n_permutations, None, rng)
    every = list(combinations(range(exposures.n_groups), 2))
    pair_variance, pair_df = np.transpose([_estimate_pair(exposures, pair) for pair in every])
    if len(every) == 1:  # which has the same permutations
        pair_pvalues = np.array([pvalue])
    else:
        tests = [
            _permute_exposures(_take_pair(exposures, pair), n_permutations, _ENOUGH, rng)
            for pair in every
        ]
        pair_pvalues = np.array([one for _, one in tests])
    return GroupComparison(
        statistic,
        pvalue,
        pair_pvalues,
        exposures.center + exposures.scale * unpacked[0] / unpacked[2],
        exposures.scale * np.sqrt(_estimate_variance(unpacked, counts, _INTERVAL_WEIGHT)),
        counts - 1 + _INTERVAL_WEIGHT,
        exposures.scale * np.sqrt(pair_variance),
        pair_df,
    )


def _take_pair(exposures, pair):
    """Return the exposures of two groups, which are numbered 0 and 1."""
    chosen = np.isin(exposures.codes, pair)
    codes = (exposures.codes[chosen] == pair[1]).astype(int)
    columns, free = exposures.columns[:, chosen], exposures.free[chosen]
    return exposures._replace(columns=columns, codes=codes, free=free)


def _estimate_pair(exposures, pair):
    """Return the variance of the difference of a pair, and Welch's degrees of freedom."""
    two = _take_pair(exposures, pair)
    counts = np.bincount(two.codes)
    sums = _sum_groups(two.columns, two.codes, 2)
    variance = _estimate_variance(_unpack_sums(sums, counts), counts, _INTERVAL_WEIGHT)
    whole, df = variance.sum(), (variance**2 / (counts - 1 + _INTERVAL_WEIGHT)).sum()
    return whole, whole**2 / df if df > 0 else np.inf


def _permute_exposures(exposures, n_permutations, n_enough, rng):
    """Return the statistic, and the share of permutations, the identity among them, that reach it.

    With n_enough, drawing stops after so many permutations that reach it, and the p-value is their
    share among the drawn ones, which is also valid (Besag and Clifford 1991).
    """
    n_groups, counts = exposures.n_groups, np.bincount(exposures.codes)
    real = _sum_groups(exposures.columns, exposures.codes, n_groups)
    statistic = float(compare_means(real, counts))
    columns, codes = exposures.columns[:, exposures.free], exposures.codes[exposures.free]
    fixed = real - _sum_groups(columns, codes, n_groups)
    moved = np.bincount(codes, minlength=n_groups)
    least = statistic * (1 - 1e-9)  # what is equal but for the order of a sum counts as equal
    n_reached = 0
    for block in gen_batches(n_permutations, _BLOCK):
        drawn = fixed + _draw_group_sums(columns, moved, block.stop - block.start, rng)
        reached = compare_means(drawn, counts) >= least
        if n_enough is not None and n_reached + reached.sum() >= n_enough:
            last = np.flatnonzero(reached)[n_enough - n_reached - 1]
            return statistic, n_enough / (block.start + last + 1)
        n_reached += reached.sum()
    return statistic, float(1 + n_reached) / (1 + n_permutations)


def compare_means(sums, counts):
    """Return Brown and Forsythe's statistic for the equality of the mean exposures of groups.

    The sum of squares between the groups over its expectation for equal means and unequal
    variances. Of two groups it is the square of Welch's t.

    Take sums of shape (..., n_columns, n_groups), counts of shape (n_groups,); return statistic of
    shape (...): 0 if the groups have equal means, infinite if they do not and exposures do not vary
    within groups.
    """
    unpacked = _unpack_sums(sums, counts)
    total, size = unpacked[0], unpacked[2]
    variance = _estimate_variance(unpacked, counts, _PRIOR_WEIGHT)
    whole = size.sum(axis=-1, keepdims=True)
    mean = total.sum(axis=-1, keepdims=True) / whole
    between = ((total - size * mean) ** 2 / size).sum(axis=-1)
    return _divide_variances(
        between, ((1 - size / whole) * size * variance).sum(axis=-1), counts.sum()
    )


def _divide_variances(between, expected, n_parts):
    between = np.where(between > _ROUNDING * n_parts, between, 0.0)
    certain = np.where(between > 0, np.inf, 0.0)
    return np.divide(between, expected, out=certain, where=expected > _ROUNDING)


def _unpack_sums(sums, counts):
    """Return the sums of t, t^2, s, t s and s^2, each of shape (..., n_groups)."""
    if sums.shape[-2] > 2:
        return tuple(np.moveaxis(sums, -2, 0))
    total, squares = np.moveaxis(sums, -2, 0)
    size = np.broadcast_to(counts.astype(float), total.shape)
    return total, squares, size, total, size


def _estimate_variance(unpacked, counts, weight):
    """Return the variance of the mean exposure of each group.

    The common one counts as so many parts.
    """
    total, squares, size, products, size_squares = unpacked
    mean = total / size
    within = np.maximum(squares - 2 * mean * products + mean**2 * size_squares, 0)
    common = within.sum(axis=-1, keepdims=True) / max(counts.sum() - len(counts), 1)
    each = (within + weight * common) / (counts - 1 + weight)
    return each * counts / size**2


def _sum_groups(columns, codes, n_groups):
    """Return sums over the parts of each group, (n_columns, n_groups)."""
    return np.array([np.bincount(codes, column, minlength=n_groups) for column in columns])


def _draw_group_sums(columns, counts, n_draws, rng):
    """Return sums over groups of the same sizes that are drawn at random, (n_draws, ...)."""
    n_parts, last = columns.shape[1], counts.argmax()
    others = np.flatnonzero((counts > 0) & (np.arange(len(counts)) != last))
    drawn = np.zeros((n_draws, len(columns), len(counts)))
    if len(others):
        starts = np.cumsum(counts[others]) - counts[others]
        # An array, because numpy takes a third of the time of a draw to make one of a number.
        n_chosen = np.asarray(counts[others].sum())
        for draw in drawn:
            chosen = rng.choice(n_parts, n_chosen, replace=False, shuffle=len(others) > 1)
            draw[:, others] = np.add.reduceat(columns.take(chosen, axis=1), starts, axis=1)
    drawn[..., last] = columns.sum(axis=1) - drawn.sum(axis=-1)
    return drawn
