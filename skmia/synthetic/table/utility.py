"""Similarity of a synthetic table to real rows: columns, and pairs of columns."""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import norm

from .._risks._cells import Cells

# Bins of a number in a pair, draws of the bootstrap and of halves, and what is compared at most.
_N_BINS, _N_DRAWS, _N_HALVES = 10, 100, 20
MOST_ROWS, _MOST_PAIRS = 10_000, 200


class Similarity:
    """Similarity of a table to reference rows, for any weights of these.

    Parameters
    ----------
    cells : Cells
    made, rows : int
        Position of the table that is compared, and of the reference rows.
    pairs : list of (int, int)
        Columns to compare in pairs.
    """

    def __init__(self, cells, made, rows, pairs):
        self._number, self._pairs = cells.is_number, pairs
        self._n_rows = cells.sizes[rows]
        tables = cells.tables[rows], cells.tables[made]
        self._columns = [_Histogram(*parts) for parts in zip(*tables)]
        binned = [self._bin(place, *parts) for place, parts in enumerate(zip(*tables))]
        self._cross = {
            pair: _Histogram(*_combine(binned[pair[0]], binned[pair[1]]))
            for pair in pairs
            if not self._are_numbers(pair)
        }
        numbers = sorted({column for pair in pairs for column in pair if self._are_numbers(pair)})
        self._place = {column: place for place, column in enumerate(numbers)}
        self._filled = [_fill([table[column] for column in numbers]) for table in tables]
        self._made = _correlate(self._filled[1], np.ones(len(tables[1][0]))) if numbers else None

    def _are_numbers(self, pair):
        return self._number[pair[0]] and self._number[pair[1]]

    def _bin(self, place, own, made):
        """Codes of a column in both tables, of at most ten values for a number."""
        if not self._number[place]:
            return own, made
        known = own[~np.isnan(own)]
        edges = np.zeros(0)
        if len(known):
            edges = np.linspace(known.min(), known.max(), _N_BINS + 1)[1:-1]
        return tuple(
            np.where(np.isnan(part), _N_BINS, np.searchsorted(edges, part, "right"))
            for part in (own, made)
        )

    def compare(self, weights=None):
        """Similarity of each column and of each pair; NaN for a pair with a constant number.

        Returns
        -------
        columns : ndarray of shape (d,)
            One minus the distance of Kolmogorov and Smirnov for numbers, one minus the total
            variation for categories.
        pairs : ndarray of shape (n_pairs,)
            One minus half the difference of correlations for numbers, one minus the total variation
            of the joint frequencies for others.
        """
        weights = np.ones(self._n_rows) if weights is None else weights
        gaps = [column.gap(weights) for column in self._columns]
        columns = [
            1 - (np.abs(np.cumsum(gap)).max() if number else np.abs(gap).sum() / 2)
            for gap, number in zip(gaps, self._number)
        ]
        if self._made is not None:
            gap = np.abs(_correlate(self._filled[0], weights) - self._made) / 2
        pairs = [
            1 - np.abs(self._cross[pair].gap(weights)).sum() / 2
            if pair in self._cross
            else 1 - gap[self._place[pair[0]], self._place[pair[1]]]
            for pair in self._pairs
        ]
        return np.array(columns), np.array(pairs, dtype=float)


class _Histogram:
    """Frequencies of the values of two tables."""

    def __init__(self, own, made):
        values, codes = np.unique(np.concatenate([own, made]), return_inverse=True)
        self._codes, self._n_values = codes[: len(own)], len(values)
        self._made = np.bincount(codes[len(own) :], minlength=self._n_values) / len(made)

    def gap(self, weights):
        own = np.bincount(self._codes, weights, self._n_values)
        return own / weights.sum() - self._made


def _combine(one, other):
    """A number for each pair of codes, which may be -1."""
    width = max(int(part.max()) for part in other) + 2
    return tuple(
        (a + 1).astype(np.int64) * width + b.astype(np.int64) + 1 for a, b in zip(one, other)
    )


def _fill(columns):
    """Columns of numbers as a matrix; a missing one is the median."""
    filled = []
    for column in columns:
        known = column[~np.isnan(column)]
        filled.append(np.where(np.isnan(column), np.median(known) if len(known) else 0.0, column))
    return np.array(filled).T


def _correlate(matrix, weights):
    share = weights / weights.sum()
    centered = matrix - share @ matrix
    # Columns of any size, whose squares do not overflow.
    scale = np.abs(centered).max(axis=0, initial=0.0)
    centered = centered / np.where(scale > 0, scale, 1.0)
    covariance = (centered * share[:, None]).T @ centered
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        return covariance / np.outer(spread, spread)


def measure_utility(synthetic, real, holdout, confidence_level, rng):
    """Compare a synthetic table with real rows.

    Parameters
    ----------
    synthetic, real : DataFrame or array-like
    holdout : DataFrame or array-like or None
        Rows to compare with; if None, `real`.
    confidence_level : float
        Confidence level of each interval, over draws of the rows to compare with.
    rng : RandomState

    Returns
    -------
    overall : DataFrame
        Rows ``"columns"``, ``"pairs"`` and ``"quality"``, their mean; columns ``estimate``,
        ``low``, ``high`` and ``real``, which the training rows reach on the holdout.
    columns, pairs : DataFrame
        The same of each column, and of each pair.
    """
    names = ("real", "synthetic") if holdout is None else ("real", "holdout", "synthetic")
    tables = (real, synthetic) if holdout is None else (real, holdout, synthetic)
    cells = Cells(tables, names)
    cells = _thin(cells, rng)
    everything = list(combinations(range(len(cells.columns)), 2))
    chosen = np.arange(len(everything))
    if len(everything) > _MOST_PAIRS:
        chosen = np.sort(rng.choice(len(everything), _MOST_PAIRS, replace=False))
    pairs = [everything[place] for place in chosen]
    rows = len(tables) - 2
    made = Similarity(cells, len(tables) - 1, rows, pairs)
    others = Similarity(cells, 0, rows, pairs) if holdout is not None else None
    found = _estimate(made, cells.sizes[rows], confidence_level, rng)
    reached = np.full(len(found), np.nan) if others is None else _join(*others.compare())
    found["real"] = reached
    n_columns = len(cells.columns)
    by_column = found.iloc[3 : 3 + n_columns].set_axis(map(str, cells.columns))
    titles = [f"{cells.columns[a]} and {cells.columns[b]}" for a, b in pairs]
    by_pair = found.iloc[3 + n_columns :].set_axis(titles)
    return found.iloc[:3].set_axis(["columns", "pairs", "quality"]), by_column, by_pair


def _thin(cells, rng):
    for place, n_rows in enumerate(cells.sizes):
        if n_rows > MOST_ROWS:
            rows = np.sort(rng.choice(n_rows, MOST_ROWS, replace=False))
            cells.tables[place] = [column[rows] for column in cells.tables[place]]
            cells.sizes[place] = MOST_ROWS
    return cells


def _estimate(similarity, n_rows, confidence_level, rng):
    columns, pairs = similarity.compare()
    n_columns, estimate = len(columns), _join(columns, pairs)
    share = np.full(n_rows, 1 / n_rows)
    draws = np.array(
        [
            _join(*similarity.compare(rng.multinomial(n_rows, share).astype(float)))
            for _ in range(_N_DRAWS)
        ]
    )
    reach = norm.ppf((1 + confidence_level) / 2) * draws.std(axis=0, ddof=1)
    # Chance makes tables differ, by about the inverse root of the number of rows: halves of the
    # rows show how much, and what all rows would show is where the line through both ends.
    is_half = np.arange(n_rows) < max(1, n_rows // 2)
    halves = np.mean(
        [
            np.concatenate(similarity.compare(rng.permutation(is_half).astype(float)))
            for _ in range(_N_HALVES)
        ],
        axis=0,
    )
    found = np.concatenate([columns, pairs])
    least = np.minimum(found + (found - halves) / (np.sqrt(2) - 1), 1.0)
    high = np.maximum(_join(least[:n_columns], least[n_columns:]), estimate) + reach
    high = np.minimum(high, 1.0)
    return pd.DataFrame({"estimate": estimate, "low": estimate - reach, "high": high})


def _join(columns, pairs):
    """Means over columns and pairs, their mean, and all single ones."""
    known = pairs[~np.isnan(pairs)]
    means = [columns.mean(), known.mean() if len(known) else np.nan]
    return np.concatenate([means, [np.nanmean(means)], columns, pairs])
