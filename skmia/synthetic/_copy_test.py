"""Test whether a synthetic table holds copies of training rows."""

from bisect import bisect_left
from copy import deepcopy
from numbers import Real
from typing import Self

import numpy as np
import pandas as pd
from scipy.special import bdtrc, pdtrc
from scipy.stats import binom, poisson
from sklearn.utils.validation import check_is_fitted

from .._core.pvalues import format_pvalue
from .._core.randomness import derive_random_state
from .._core.sklearn import Interval
from .._core.types import ArrayLike, Seed
from ._cells import TIE, TableCells, find_rows_within, iter_blocks, take
from ._neighbors import MOST_COMPARED, draw_places
from ._risks import TablesEstimator, excess_risk, number_persons

# Real rows among which the nearest ones of a real row are looked for.
_MOST_OTHERS = 5000
# A synthetic row sticks to a record if it is nearer than this share of the distance to others.
_NEAR = 1 / 3
# Chance of detection at the smallest share that is reported.
_POWER = 0.8
# A row of which fewer equal synthetic rows are expected by chance is rare; without a cell there are
# as many ways to be equal as columns.
_IMPROBABLE, _IMPROBABLE_WITHOUT = 0.01, 0.001
# All rare rows, half of them, a quarter and so on are tried. Few matches say little of how many
# there are by chance.
_N_CUTS, _FEWEST_MATCHES = 8, 4


class CopyTest(TablesEstimator):
    """Test whether a synthetic table holds copies of training rows.

    Some real rows occur in a synthetic table by chance. If the generator copies nothing, training
    rows and held-out rows occur equally often, and each match is as likely to be one as the other.
    Matches of rare rows show copies best, because few or none of them occur by chance. A row that
    agrees with a synthetic row in all cells but one was copied and changed. A row is nearly copied
    if a synthetic row is much nearer to it than any other real row.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Confidence level of the intervals; the test has the level ``1 - confidence_level``.
    random_state : int, RandomState instance or None, default=None
        Controls which rows of large tables are compared.

    Attributes
    ----------
    pvalue_ : float
        P-value of the rare copies.
    smallest_share_ : float
        Share of training rows that, copied, would have been found with a probability of 0.8, by the
        rare copies; infinite if copying all rows would not suffice.
    result_ : DataFrame
        Rows ``"all copies"``, ``"rare copies"``, ``"copies but one cell"`` (of two columns or more)
        and ``"near copies"`` with the matches among training and held-out rows (``train``,
        ``test``), the numbers of rows that were looked for (``n_train``, ``n_test``), the share of
        the training rows that was copied by :func:`excess_risk` (``share``, ``low``, ``high``),
        ``pvalue``, ``pvalue_below`` for more matches among the held-out rows, and
        ``smallest_share``. With ``groups``, all of these count persons with such a row.
    is_copied_ : ndarray of shape (n_train + n_test,), dtype bool
        Which rows are in the synthetic table, training rows first.
    is_rare_ : ndarray of shape (n_train + n_test,), dtype bool
        Which rows are rare.
    n_train_, n_test_ : int
        Number of training rows and of held-out rows that were looked for, or of their persons.

    See Also
    --------
    PrivacyLoss : Test whether synthetic rows are near training rows.
    GeneratorAttack : Scores of single records; ``statistic="rare_copies"``.

    Notes
    -----
    The score is the share of rare copies among the training rows, less their share among the
    held-out rows.

    A row is rare if at most 0.01 equal rows are expected in the synthetic table by chance, or less
    than one and fewer than of the median row. What is expected is the product of the frequencies of
    its values among the rows of the reference, where those that occur once have Turing's estimate,
    or the share of equal rows, if that is more. Of rows with many digits, all are rare; in a table
    of few values these are the less frequent half. Where many rare rows of both real tables match,
    the rarest of them are counted alone: half, a quarter or less, down to 1/128. With all cells
    but one, the product is of the others, and must be at most 0.001.

    A row is nearly copied if its nearest synthetic row is at most a third as far as its nearest
    reference row, in Gower's distance. Without ``reference``, these are the other rows of both real
    tables, without their membership. At most 2,000 rows of each table are looked for near copies,
    and at most 5,000 rows are their reference.

    The binomial test assumes rows, or persons, that were assigned to training and held-out rows
    independently of each other. A mirror of all training rows passes.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import CopyTest
    >>> train, test, synthetic = np.random.default_rng(0).normal(size=(3, 300, 3)).round(1)
    >>> synthetic[:30] = train[:30]
    >>> copies = CopyTest(random_state=0).fit(train, test, synthetic)
    >>> bool(copies.pvalue_ < 0.05)
    True
    >>> int(copies.predict(train).sum()), int(copies.predict(test).sum())
    (25, 1)
    >>> round(copies.score(), 2)
    0.08
    """

    _parameter_constraints = {
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(self, *, confidence_level: float = 0.95, random_state: Seed = None) -> None:
        self.confidence_level = confidence_level
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        synthetic: ArrayLike | None = None,
        reference: ArrayLike | None = None,
        *,
        groups: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Look for real rows in the synthetic table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_train, d)
            Rows that the generator was trained on. If `synthetic` is None, the rows of all three
            tables.
        y : DataFrame or array-like of shape (n_test, d)
            Rows of the same population that it has not seen. If `synthetic` is None, an array of
            shape (n_rows,): 1 for training rows, 0 for held-out rows, -1 for synthetic rows.
        synthetic : DataFrame or array-like of shape (n_synthetic, d), default=None
            Rows that it returned.
        reference : DataFrame or array-like of shape (n_reference, d), default=None
            Further rows of the population. If None, the other training and held-out rows.
        groups : pair of array-like of shape (n_train,) and (n_test,), default=None
            Person of each row. No person is in both.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        train, test, synthetic = self._read_tables(X, y, synthetic, reference)
        given = {"train": train, "test": test, "reference": reference, "synthetic": synthetic}
        if reference is None:
            del given["reference"]
        self._known = deepcopy([train, test] if reference is None else [reference])
        cells = TableCells(list(given.values()), list(given))
        return self._fit_cells(cells, groups)

    def _fit_cells(self, cells, groups=None):
        """Fit to tables that are encoded already, and are neither changed nor kept."""
        sizes = cells.sizes[:2]
        persons = np.arange(sum(sizes)) if groups is None else number_persons(groups, sizes)
        self._n_train_rows, self._persons = sizes[0], persons
        self._unit = "rows" if groups is None else "persons"
        self.n_train_, self.n_test_ = (
            len(np.unique(part)) for part in np.split(persons, [sizes[0]])
        )
        rng = derive_random_state(self.random_state, "CopyTest")
        real = cells.join_first(2)
        known = cells.tables[2] if len(cells.tables) == 4 else None
        near = _NearestReal(cells, real, known, rng, None if groups is None else persons)
        found = self._count_exact(cells, real, known) | self._count_near(cells, real, near, rng)
        self.result_ = pd.DataFrame(found).T
        self.pvalue_ = found["rare copies"]["pvalue"]
        self.smallest_share_ = found["rare copies"]["smallest_share"]
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return which rows are rare and in the synthetic table, the rare copies.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, d)
            Real rows.

        Returns
        -------
        copied : ndarray of shape (n_rows,), dtype int
            1 for a rare copy, otherwise 0. What is rare is said by the reference of `fit`; without
            one by its training and held-out rows, where an equal row counts as the row itself.
        """
        check_is_fitted(self)
        tables = [X, *self._known, self._others[0]]
        cells = TableCells(tables, ["X", *["a table of fit"] * len(self._known), "synthetic"])
        own, *known, made = cells.tables
        known = [np.concatenate(parts) for parts in zip(*known)]
        rows, others = _RowHashes(own), _RowHashes(known)
        is_own = rows.are_in(others) & (len(self._known) > 1)
        expected = _ChanceCopies(own, known, cells.sizes[-1], is_own).expect(rows, others)
        is_rare = expected <= self._most_expected
        return (rows.are_in(_RowHashes(made)) & is_rare).astype(int)

    def _compute_leakage(self):
        """Return share of rare copies among training rows, less their share among held-out rows."""
        rare = self.result_.loc["rare copies"]
        return float(rare["train"] / rare["n_train"] - rare["test"] / rare["n_test"])

    def _count_exact(self, cells, real, known):
        """Count all copies, rare copies, and copies but one cell, on both sides."""
        sizes, made = (self.n_train_, self.n_test_), cells.tables[-1]
        rows = _RowHashes(real)
        others = rows if known is None else _RowHashes(known)
        chance = _ChanceCopies(
            real, real if known is None else known, cells.sizes[-1], known is None
        )
        self.is_copied_ = rows.are_in(_RowHashes(made))
        expected = chance.expect(rows, others)
        is_rare = (expected <= _IMPROBABLE) | (expected < min(np.median(expected), 1.0))
        self._most_expected = choose_cut(expected[is_rare], self.is_copied_[is_rare])
        self.is_rare_ = expected <= self._most_expected
        rare = self.is_copied_ & self.is_rare_
        # Where an equal row is there by chance, a copy adds nothing.
        adds = np.exp(-expected)
        found = {
            "all copies": self._summarize(np.flatnonzero(self.is_copied_), sizes, np.mean(adds)),
            "rare copies": self._summarize(
                np.flatnonzero(rare), sizes, np.mean(adds * self.is_rare_)
            ),
        }
        if len(real) < 2:
            return found
        changed, shares, made = np.zeros(len(rare), dtype=bool), [], _RowHashes(made)
        for column in range(len(real)):
            own = rows.without(column)
            known_parts = own if others is rows else others.without(column)
            expected = chance.count_equal(own, known_parts)
            expected = np.maximum(chance.without(column), expected)
            shares.append(np.mean(expected <= _IMPROBABLE_WITHOUT))
            changed |= (expected <= _IMPROBABLE_WITHOUT) & _are_among_hashed(
                own, made.without(column)
            )
        one = self._summarize(np.flatnonzero(changed), sizes, np.mean(shares))
        return found | {"copies but one cell": one}

    def _count_near(self, cells, real, near, rng):
        n_train, n_test = cells.sizes[:2]
        first = draw_places(n_train, MOST_COMPARED, rng)
        rows = np.append(first, n_train + draw_places(n_test, MOST_COMPARED, rng))
        others = near.measure(rows)
        alone = others > TIE
        stuck = _find_close_rows(cells, real, rows[alone], _NEAR * others[alone] + TIE)
        drawn = np.split(self._persons[rows], [len(first)])
        sizes = tuple(len(np.unique(part)) for part in drawn)
        return {"near copies": self._summarize(stuck, sizes, np.mean(alone))}

    def _summarize(self, matches, sizes, share_counted):
        n_train, n_test = sizes
        sides = matches < self._n_train_rows
        k, k_test = (len(np.unique(self._persons[matches[side]])) for side in (sides, ~sides))
        share, low, high = excess_risk(
            k, n_train, k_test, n_test, confidence_level=self.confidence_level
        )
        odds = n_train / (n_train + n_test)
        found = {"train": k, "test": k_test, "n_train": n_train, "n_test": n_test}
        found |= {"share": share, "low": low, "high": high}
        found["pvalue"] = float(binom.sf(k - 1, k + k_test, odds))
        found["pvalue_below"] = float(binom.cdf(k, k + k_test, odds))
        found["smallest_share"] = compute_smallest_share(
            found, share_counted, 1 - self.confidence_level
        )
        return found | {"share_counted": float(share_counted)}

    def summarize_matches(self, is_match: ArrayLike) -> dict[str, float]:
        """Compare other matches of training rows and of held-out rows.

        Parameters
        ----------
        is_match : array-like of shape (n_train + n_test,), dtype bool
            Which rows match, training rows first.

        Returns
        -------
        numbers : dict of str to float
            The numbers of a row of ``result_``.
        """
        check_is_fitted(self)
        return self._summarize(np.flatnonzero(is_match), (self.n_train_, self.n_test_), 1.0)

    def summary(self) -> str:
        """Summarize the copies and their meaning as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        lines = []
        for name, row in self.result_.iterrows():
            share = f"copies of {row.smallest_share:.2%}"
            if np.isinf(row.smallest_share):
                share = f"not even copies of all training {self._unit}"
            lines.append(
                f"{name}: {row.train:,.0f} of {row.n_train:,.0f} training {self._unit} and "
                f"{row.test:,.0f} of {row.n_test:,.0f} held-out {self._unit} "
                f"({format_pvalue(row.pvalue, 0)}); {share} would have been found with a "
                f"probability of {_POWER:.0%}."
            )
        return "\n".join(lines)


def compute_smallest_share(found, share_counted, alpha):
    """Return the smallest share of the training rows whose copies a test of a level finds."""
    n_train, n_test, k_test = found["n_train"], found["n_test"], found["test"]
    odds, chance = n_train / (n_train + n_test), k_test / n_test * n_train
    smallest = count_smallest_number(chance, k_test, share_counted, odds, alpha)
    return smallest / n_train if smallest <= n_train else np.inf


def count_smallest_number(chance, chance_test, share, odds, alpha):
    """Return the smallest number of copies that the test finds with a probability of 0.8."""
    if share == 0:
        return np.inf
    matches = np.arange(int(poisson.ppf(1 - 1e-6, chance_test)) + 1)
    weights = poisson.pmf(matches, chance_test)
    # Smallest number of training rows that is significant with each number of held-out rows. Here
    # and below, survival functions are without the checks that scipy.stats makes each time.
    needed, count = np.zeros(len(matches)), 0
    for place, other in enumerate(matches.tolist()):
        while bdtrc(count - 1, count + other, odds) > alpha:
            count += 1
        needed[place] = count

    def power(number):
        reached = pdtrc(needed - 1, chance + share * number)
        return weights @ np.where(needed > 0, reached, 1.0)

    return 1 + bisect_left(range(1, 2**60), _POWER, key=power)


def choose_cut(expected, is_copied):
    """Return the number of equal rows that is expected by chance, up to which copies show best.

    The rarest rows have the fewest matches by chance, but also the fewest copies. Matches of both
    tables together choose the cut, so that the test of how they are divided is exact.
    """
    if not len(expected):
        return -np.inf
    order = np.argsort(expected, kind="stable")
    expected, n_matches = expected[order], np.cumsum(is_copied[order])
    sizes = np.unique(len(expected) >> np.arange(_N_CUTS))[::-1]
    sizes = np.searchsorted(expected, expected[sizes[sizes > 0] - 1], "right")
    gains = sizes / np.sqrt(n_matches[sizes - 1] + _FEWEST_MATCHES)
    return expected[sizes[np.argmax(gains)] - 1]


class _RowHashes:
    """One number for each row, of all columns or without one; equal rows have equal numbers."""

    def __init__(self, table):
        # Columns are hashed again where they are needed: their hashes are larger than the table.
        self._table, self.whole = table, np.zeros(len(table[0]), dtype=np.uint64)
        for place, column in enumerate(table):
            self.whole += _hash_column(column, place)  # wraps, which loses nothing

    def without(self, column):
        """Return the numbers of the rows without a column."""
        return self.whole - _hash_column(self._table[column], column)

    def are_in(self, others):
        """Return which rows are among others."""
        return _are_among_hashed(self.whole, others.whole)


def _hash_column(column, place):
    """Return the hashes of a column: equal numbers, such as 0 and -0, have the same one.

    The same number has another hash in another column.
    """
    column = np.where(np.isnan(column), np.nan, column + 0.0)
    return pd.util.hash_array(pd.util.hash_array(column) + np.uint64(place))


def count_unchanged(real, synthetic, holdout=None):
    """Real rows that are in a synthetic table, and those of them that no other real row equals."""
    given = {"real": real, "holdout": holdout, "synthetic": synthetic}
    given = {name: table for name, table in given.items() if table is not None}
    cells = TableCells(list(given.values()), list(given))
    rows = _RowHashes(cells.join_first(len(given) - 1))
    copied = rows.are_in(_RowHashes(cells.tables[-1]))
    alone = copied & (_count_occurrences(rows.whole, rows.whole) == 1)
    n = len(real)
    found = {"train": copied[:n].sum(), "n_train": n, "alone": alone[:n].sum()}
    found = {name: int(number) for name, number in found.items()}
    held = (None, None) if holdout is None else (int(copied[n:].sum()), len(holdout))
    return found | dict(zip(("test", "n_test"), held))


class _ChanceCopies:
    """Synthetic rows that equal a real row by chance, if columns were independent."""

    def __init__(self, real, known, n_made, is_own):
        # is_own: which of the real rows are among the known ones, where they do not count.
        self._n_made, self._is_own = n_made, is_own
        self._n_known = np.maximum(len(known[0]) - np.asarray(is_own, dtype=int), 1)
        self._parts = [_ValueFrequency(*pair, is_own) for pair in zip(real, known, strict=True)]
        self._total = np.full(len(real[0]), np.log(n_made))
        for part in self._parts:
            self._total += part.log()

    @property
    def whole(self):
        """Expected number of synthetic rows that equal each row."""
        return np.exp(self._total)

    def expect(self, rows, others):
        """Expected number, or the one of equal known rows if that is more, from hashes of both."""
        return np.maximum(self.whole, self.count_equal(rows.whole, others.whole))

    def without(self, column):
        """Return the expected number of synthetic rows that equal each row but for a column."""
        return np.exp(self._total - self._parts[column].log())

    def count_equal(self, rows, others):
        """Return the expected number if synthetic rows are drawn from the other real rows."""
        counts = _count_occurrences(rows, others) - np.asarray(self._is_own, dtype=int)
        return self._n_made * counts / self._n_known


def _are_among_hashed(values, others):
    """Return which values are among others, by a table of hashes, which is faster than sorting."""
    return pd.Series(values).isin(others).to_numpy()


def _count_occurrences(values, among):
    """Return how often each value occurs among others."""
    if values is among:
        codes = pd.factorize(values, use_na_sentinel=False)[0]
        return np.bincount(codes)[codes]
    found, counts = np.unique(among, return_counts=True)
    places = np.minimum(np.searchsorted(found, values), len(found) - 1)
    same = found[places] == values
    if values.dtype.kind == "f":
        same |= np.isnan(found[places]) & np.isnan(values)
    return np.where(same, counts[places], 0)


class _ValueFrequency:
    """Frequency of each value among other rows; by Turing's estimate if it does not occur there."""

    def __init__(self, values, among, is_own):
        is_own, n = np.asarray(is_own, dtype=int), len(among)
        counts = _count_occurrences(values, among) - is_own
        self._counts, self._n_others = (
            counts.astype(np.min_scalar_type(n)),
            np.maximum(n - is_own, 1),
        )
        times = pd.Series(among).value_counts(dropna=False)
        n_once, n_twice = (int((times == k).sum()) for k in (1, 2))
        # Half a value that occurs twice stands for none, so that no frequency is 0.
        self._least = min(2 * max(n_twice, 0.5) / (max(n_once, 1) * n), 1 / n)

    def log(self):
        """Return the logarithm of the frequency."""
        return np.log(np.maximum(self._counts / self._n_others, self._least))


def _find_close_rows(cells, real, rows, limits):
    """Return those of some real rows that a synthetic row is within a limit of."""
    columns, made, found = range(len(cells.columns)), cells.tables[-1], [rows[:0]]
    for places, limit in iter_blocks([rows, limits], len(made[0])):
        near = find_rows_within(cells, columns, take(real, places), made, limit)
        found.append(places[np.unique(near.row)])
    return np.concatenate(found)


class _NearestReal:
    """Distances of real rows from the nearest other real row, or from the nearest given row."""

    def __init__(self, cells, real, given, rng, persons):
        self._cells, self._real, self._given, self._places = cells, real, given, None
        self._persons = persons
        if given is None:
            self._places = draw_places(len(real[0]), _MOST_OTHERS, rng)
            self._given = take(real, self._places)

    def measure(self, rows):
        """Return the distances of the rows at some places, of shape (n,)."""
        columns, found = range(len(self._cells.columns)), []
        for block in iter_blocks([rows], len(self._given[0])):
            own = take(self._real, block[0])
            distances = self._cells.sum_distances(columns, own, self._given)
            if self._places is not None:
                distances[block[0][:, None] == self._places] = np.inf
                if self._persons is not None:
                    persons = self._persons[block[0]][:, None]
                    distances[persons == self._persons[self._places]] = np.inf
            found.append(distances.min(axis=1))
        return np.concatenate([np.zeros(0), *found])
