"""Tables of the groups and of their pairs, with intervals and p-values."""

from itertools import combinations

import numpy as np

from .._core.visible import visible
from ._repeated_measures import adjust, compare_pairs, compute_half_width, describe_groups


def describe_means(table, found, *, confidence_level):
    """Mean vulnerability of each group, with its standard error and interval.

    Parameters
    ----------
    table : DataFrame of shape (n_rounds, n_groups)
        Vulnerabilities.
    found : Comparison or None
        Result of the permutation test, whose means are over records, and their standard errors
        too. Without it both are over rounds.
    confidence_level : float
        Confidence level of each interval, in (0, 1).

    Returns
    -------
    groups : DataFrame of shape (n_groups, 5)
        Table like :attr:`DisparityTest.group_vulnerability_`.
    """
    groups = describe_groups(table, confidence_level)
    if found is not None:
        groups["mean"], groups["standard_error"] = found.means, found.errors
        _set_limits(groups, "mean", compute_half_width(found.errors, found.df, confidence_level))
    return groups


def look_up_means(means, groups):
    """Return the mean vulnerability of the group of each record.

    Parameters
    ----------
    means : Series of shape (n_groups,)
        Mean vulnerability by group.
    groups : ndarray of shape (n,)
        Group of each record.

    Returns
    -------
    vulnerability : ndarray of shape (n,)
        Mean of the group of each record.

    Raises
    ------
    ValueError
        If a group is unknown.
    """
    position = means.index.get_indexer(groups)
    if (position < 0).any():
        known, foreign = ", ".join(map(visible, means.index)), groups[position < 0][0]
        raise ValueError(f"Group {str(foreign)!r} did not occur in fit; its groups are {known}.")
    return means.to_numpy()[position]


def describe_pairs(table, found, *, confidence_level, correction):
    """Differences between all pairs of groups.

    Parameters
    ----------
    table, found, confidence_level
        As in :func:`describe_means`.
    correction : str
        Method of :func:`statsmodels.stats.multitest.multipletests`.

    Returns
    -------
    pairs : DataFrame of shape (n_pairs, 13)
        Table like :attr:`DisparityTest.pairwise_`.
    """
    pairs = compare_pairs(table, correction, confidence_level)
    pvalue = np.full(len(pairs), np.nan)
    if found is not None:
        first, second = np.transpose(list(combinations(found.means, 2)))
        pairs["difference"] = first - second
        half_width = compute_half_width(found.pair_errors, found.pair_df, confidence_level)
        _set_limits(pairs, "difference", half_width)
        pvalue = found.pair_pvalues
    reject, adjusted = adjust(pvalue, correction, 1 - confidence_level)
    pairs.insert(5, "pvalue", pvalue)
    pairs.insert(6, "pvalue_adjusted", adjusted)
    pairs.insert(7, "reject", reject)
    return pairs


def _set_limits(frame, name, half_width):
    frame["low"], frame["high"] = frame[name] - half_width, frame[name] + half_width
