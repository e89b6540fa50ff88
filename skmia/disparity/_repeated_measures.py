"""Tests on a table in which every round measures every group."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from .._core.numbers import to_array
from .._core.pvalues import adjust_pvalues
from .._core.visible import visible


def check_table(table):
    """Return a table of floats, NaN where a value is missing."""
    # table (n_rounds, n_groups)
    if not isinstance(table, pd.DataFrame):
        table = to_array(table, "The table", "be Records or a row for each round")
        if table.ndim != 2:
            raise ValueError(
                "fit takes Records or a table with a row for each round and a column for each "
                f"group; got an array of shape {table.shape}."
            )
        table = pd.DataFrame(table)
    if table.shape[1] < 2:
        raise ValueError(f"There must be at least 2 groups to compare; got {table.shape[1]}.")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"Each group has one column; {twice!r} has several.")
    try:
        table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"The table must hold numbers: {error}.") from None
    if np.isinf(table.to_numpy()).any():
        raise ValueError("The table must hold finite numbers, or NaN for missing ones; got inf.")
    return table


def drop_incomplete(table):
    """Leave out the rounds that lack a value."""
    complete = table.dropna()
    if len(complete) < 2:
        lacking = table.isna().sum()
        worst = f"; group {lacking.idxmax()!r} lacks {lacking.max()}" if lacking.any() else ""
        raise ValueError(
            f"At least 2 rounds need a value of every group; {len(complete)} of {len(table)} have "
            f"one{worst}."
        )
    return complete


ANOVA_ROWS = ("groups", "rounds", "residual")


class RepeatedMeasures(NamedTuple):
    """A one-way analysis of variance with repeated measures."""

    sums: np.ndarray  # of squares: groups, rounds, residual
    df: np.ndarray
    statistic: float
    pvalue: float
    epsilon: float
    pvalue_corrected: float


def _rounding(values):
    """Largest difference between two numbers of the table that is rounding alone."""
    return 16 * np.finfo(float).eps * np.abs(values).max()


def _sums_of_squares(values):
    """Of the groups, of the rounds and of what neither explains; 0 where it is rounding alone."""
    n_rounds, n_groups = values.shape
    centered = values - values.mean()
    groups, rounds = centered.mean(axis=0), centered.mean(axis=1)
    residual = centered - groups - rounds[:, None]
    sums = n_rounds * (groups**2).sum(), n_groups * (rounds**2).sum(), (residual**2).sum()
    return np.where(np.array(sums) > values.size * _rounding(values) ** 2, sums, 0.0)


def estimate_epsilon(values):
    """Greenhouse and Geisser's estimate of how far the differences are from equal variances."""
    # values (n_rounds, n_groups) -> epsilon: from 1 / (n_groups - 1) to 1. It is 1 if all
    # differences between two groups have the same variance, and NaN if rounds differ only by a
    # constant
    n_groups = values.shape[1]
    centered = values - values.mean(axis=1, keepdims=True)  # the same as H S H of the covariance S
    covariance = np.atleast_2d(np.cov(centered, rowvar=False))
    size = (covariance**2).sum()
    return float(np.trace(covariance) ** 2 / ((n_groups - 1) * size)) if size > 0 else np.nan


def analyze(values):
    """Test whether all columns have one mean."""
    # values (n_rounds, n_groups) -> result: without any residual, F is infinite and p is 0; both
    # are NaN if the groups are also equal
    n_rounds, n_groups = values.shape
    sums = _sums_of_squares(values)
    df = np.array([n_groups - 1, n_rounds - 1, (n_rounds - 1) * (n_groups - 1)])
    if sums[2] == 0:
        statistic, pvalue = (np.inf, 0.0) if sums[0] > 0 else (np.nan, np.nan)
        return RepeatedMeasures(sums, df, statistic, pvalue, np.nan, pvalue)
    statistic = float(sums[0] / df[0] / (sums[2] / df[2]))
    pvalue = float(stats.f.sf(statistic, df[0], df[2]))
    epsilon = estimate_epsilon(values)
    corrected = float(stats.f.sf(statistic, epsilon * df[0], epsilon * df[2]))
    return RepeatedMeasures(sums, df, statistic, pvalue, epsilon, corrected)


def tabulate_analysis(found):
    """The usual table of an analysis of variance, with a row for each source."""
    columns = {"sum_of_squares": found.sums, "df": found.df, "mean_square": found.sums / found.df}
    numbers = {"F": found.statistic, "pvalue": found.pvalue}
    numbers["pvalue_corrected"] = found.pvalue_corrected
    columns |= {name: [number, np.nan, np.nan] for name, number in numbers.items()}
    return pd.DataFrame(columns, index=pd.Index(ANOVA_ROWS, name="source"))


def compute_eta_squared(found):
    """Share of the groups in the sum of squares: partial, and generalized."""
    groups, rounds, residual = found.sums
    wholes = (groups + residual, groups + rounds + residual)
    return tuple(float(groups / whole) if whole > 0 else np.nan for whole in wholes)


def compare_pairs(table, correction, confidence_level):
    """Dependent t-tests between all pairs of columns."""
    # table (n_rounds, n_groups) -> pairs (n_pairs, 10)
    values, n_rounds = table.to_numpy(), len(table)
    first, second = np.transpose(list(combinations(range(table.shape[1]), 2)))
    differences = values[:, first] - values[:, second]
    mean, deviation = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    mean, deviation = (
        np.where(np.abs(each) > _rounding(values), each, 0.0) for each in (mean, deviation)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = mean / deviation
    statistic = effect * np.sqrt(n_rounds)
    pvalue = 2 * stats.t.sf(np.abs(statistic), n_rounds - 1)
    half_width = compute_half_width(deviation / np.sqrt(n_rounds), n_rounds - 1, confidence_level)
    return pd.DataFrame(
        {
            "group": table.columns[first],
            "other": table.columns[second],
            "difference": mean,
            "low": mean - half_width,
            "high": mean + half_width,
            "t_statistic": statistic,
            "t_df": n_rounds - 1,
            "t_pvalue": pvalue,
            "t_pvalue_adjusted": adjust(pvalue, correction, 1 - confidence_level)[1],
            "effect_size": effect,
        }
    )


def adjust(pvalues, correction, alpha):
    """Which hypotheses are rejected, and p-values adjusted for their number."""
    # A p-value of NaN counts as not significant and stays NaN.
    if len(pvalues) == 1:
        return pvalues <= alpha, pvalues
    known = np.nan_to_num(pvalues, nan=1.0)
    with np.errstate(divide="ignore"):  # some corrections take the logarithm of 1 - p
        reject, adjusted = adjust_pvalues(known, correction, alpha)
    return reject, np.where(np.isnan(pvalues), np.nan, adjusted)


def compute_half_width(error, df, confidence_level):
    """Half the width of Student's interval."""
    return stats.t.isf((1 - confidence_level) / 2, df) * error


def describe_groups(table, confidence_level):
    """Mean of each column with its standard error and interval over rounds."""
    # table (n_rounds, n_groups) -> groups (n_groups, 5)
    mean, deviation = table.mean(), table.std(ddof=1)
    error = deviation / np.sqrt(len(table))
    half_width = compute_half_width(error, len(table) - 1, confidence_level)
    columns = {"mean": mean, "std": deviation, "standard_error": error}
    return pd.DataFrame({**columns, "low": mean - half_width, "high": mean + half_width})


def describe_means(table, found, *, confidence_level):
    """Mean vulnerability of each group, with its standard error and interval."""
    # table (n_rounds, n_groups) -> groups (n_groups, 5)
    groups = describe_groups(table, confidence_level)
    if found is not None:
        groups["mean"], groups["standard_error"] = found.means, found.errors
        _set_limits(groups, "mean", compute_half_width(found.errors, found.df, confidence_level))
    return groups


def look_up_means(means, groups):
    """Return the mean vulnerability of the group of each record."""
    position = means.index.get_indexer(groups)
    if (position < 0).any():
        known, foreign = ", ".join(map(visible, means.index)), groups[position < 0][0]
        raise ValueError(f"Group {str(foreign)!r} did not occur in fit; its groups are {known}.")
    return means.to_numpy()[position]


def describe_pairs(table, found, *, confidence_level, correction):
    """Differences between all pairs of groups."""
    # -> pairs (n_pairs, 13)
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
