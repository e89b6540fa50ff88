"""Test whether a synthetic table holds copies of training rows."""

from bisect import bisect_left
from numbers import Real
from typing import Self

import numpy as np
import pandas as pd
from scipy.stats import binom, poisson
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.pvalues import format_pvalue
from .._core.sklearn import Interval, validate_params_of
from .._core.types import ArrayLike, Seed
from ._neighbors import draw_places
from ._risks import TIE, Cells, TablesEstimator, excess_risk, iter_blocks, take

# Rows of each table whose nearest rows are looked for, and real rows among which they are.
_MOST_ROWS, _MOST_OTHERS = 2000, 5000
# A synthetic row sticks to a record if it is nearer than this share of the distance to others.
_NEAR = 1 / 3
# Chance of detection at the smallest share that is reported.
_POWER = 0.8


class CopyTest(TablesEstimator):
    """Test whether a synthetic table holds copies of training rows.

    Some real rows occur in a synthetic table by chance. If the generator copies nothing, training
    rows and held-out rows occur equally often, and each match is as likely to be one as the other.
    Matches of rare rows show copies best, because few of them occur by chance. A row is nearly
    copied if a synthetic row is much nearer to it than any other real row is.

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
        Rows ``"all copies"``, ``"rare copies"`` and ``"near copies"`` with the matches among
        training and held-out rows (``train``, ``test``), the numbers of rows that were looked for
        (``n_train``, ``n_test``), the share of the training rows that was copied by
        :func:`excess_risk` (``share``, ``low``, ``high``), ``pvalue``, ``pvalue_below`` for more
        matches among the held-out rows, and ``smallest_share``.
    n_train_, n_test_ : int
        Number of training rows and of held-out rows that were looked for.

    See Also
    --------
    PrivacyLoss : Test whether synthetic rows are near training rows.
    GeneratorAttack : Scores of single records; ``statistic="rare_copies"``.

    Notes
    -----
    A row is rare if no row of the reference is nearer to it, in Gower's distance, than the median
    distance of a real row from its nearest reference row. It is nearly copied if its nearest
    synthetic row is at most a third as far as its nearest reference row. Without ``reference``,
    these are the other rows of both real tables, which say nothing about which of them is a
    training row. At most 2,000 rows of each table are looked for near copies, and at most 5,000
    rows are the reference.

    The binomial test assumes rows that were assigned to training and held-out rows independently of
    each other. A mirror of all training rows passes.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import CopyTest
    >>> train, test, synthetic = np.random.default_rng(0).normal(size=(3, 300, 3)).round(1)
    >>> synthetic[:30] = train[:30]
    >>> copies = CopyTest(random_state=0).fit(train, test, synthetic)
    >>> bool(copies.pvalue_ < 0.05)
    True
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
        train: ArrayLike,
        test: ArrayLike,
        synthetic: ArrayLike,
        reference: ArrayLike | None = None,
    ) -> Self:
        """Look for real rows in the synthetic table.

        Parameters
        ----------
        train : DataFrame or array-like of shape (n_train, d)
            Rows that the generator was trained on.
        test : DataFrame or array-like of shape (n_test, d)
            Rows of the same population that it has not seen.
        synthetic : DataFrame or array-like of shape (n_synthetic, d)
            Rows that it returned.
        reference : DataFrame or array-like of shape (n_reference, d), default=None
            Further rows of the population. If None, the other rows of ``train`` and ``test``.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        given = {"train": train, "test": test, "reference": reference, "synthetic": synthetic}
        if reference is None:
            del given["reference"]
        cells = Cells(list(given.values()), list(given))
        self.n_train_, self.n_test_ = cells.sizes[:2]
        rng = check_random_state(self.random_state)
        real = [np.concatenate(parts) for parts in zip(*cells.tables[:2])]
        near = _Nearest(cells, real, None if reference is None else cells.tables[2], rng)
        found = self._count_exact(cells, real, near, rng) | self._count_near(cells, real, near, rng)
        self.result_ = pd.DataFrame(found).T
        self.pvalue_ = found["rare copies"]["pvalue"]
        self.smallest_share_ = found["rare copies"]["smallest_share"]
        return self

    def _count_exact(self, cells, real, near, rng):
        sizes = self.n_train_, self.n_test_
        copied = np.flatnonzero(np.isin(_hash(real), np.unique(_hash(cells.tables[-1]))))
        usual = near.measure(draw_places(sum(sizes), 2 * _MOST_ROWS, rng))
        radius = np.median(usual) + TIE
        rare = copied[near.measure(copied) > radius]
        return {
            "all copies": self._summarize(copied, sizes, 1.0),
            "rare copies": self._summarize(rare, sizes, np.mean(usual > radius)),
        }

    def _count_near(self, cells, real, near, rng):
        first = draw_places(self.n_train_, _MOST_ROWS, rng)
        rows = np.append(first, self.n_train_ + draw_places(self.n_test_, _MOST_ROWS, rng))
        others, made = near.measure(rows), _Nearest(cells, real, cells.tables[-1]).measure(rows)
        alone = others > TIE
        stuck = rows[alone & (made <= _NEAR * others + TIE)]
        sizes = len(first), len(rows) - len(first)
        return {"near copies": self._summarize(stuck, sizes, np.mean(alone))}

    def _summarize(self, matches, sizes, share_counted):
        n_train, n_test = sizes
        k = int(np.sum(matches < self.n_train_))
        k_test = len(matches) - k
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

    def summary(self) -> str:
        """Summarize the copies and their meaning as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        lines = [
            f"{name}: {row.train:,.0f} of {row.n_train:,.0f} training rows and {row.test:,.0f} of "
            f"{row.n_test:,.0f} held-out rows "
            f"({format_pvalue(row.pvalue, 0)}); copies of {row.smallest_share:.2%} would have been "
            f"found with a probability of {_POWER:.0%}."
            for name, row in self.result_.iterrows()
        ]
        return "\n".join(lines)


def compute_smallest_share(found, share_counted, alpha):
    """Smallest share of the training rows whose copies a test of a level finds."""
    n_train, n_test, k_test = found["n_train"], found["n_test"], found["test"]
    odds, chance = n_train / (n_train + n_test), k_test / n_test * n_train
    smallest = count_smallest_number(chance, k_test, share_counted, odds, alpha)
    return smallest / n_train if smallest <= n_train else np.inf


def count_smallest_number(chance, chance_test, share, odds, alpha):
    """Smallest number of copies that the test finds with a probability of 0.8."""
    if share == 0:
        return np.inf
    matches = np.arange(int(poisson.ppf(1 - 1e-6, chance_test)) + 1)
    weights = poisson.pmf(matches, chance_test)
    # Smallest number of training rows that is significant with each number of held-out rows.
    needed = np.zeros(len(matches))
    for place, other in enumerate(matches):
        count = needed[place - 1] if place else 0
        while binom.sf(count - 1, count + other, odds) > alpha:
            count += 1
        needed[place] = count

    def power(number):
        return weights @ poisson.sf(needed - 1, chance + share * number)

    return 1 + bisect_left(range(1, 2**60), _POWER, key=power)


def _hash(table):
    """One number for each row; numbers that are equal have the same, as 0 and -0."""
    frame = pd.DataFrame({place: column + 0 for place, column in enumerate(table)})
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


class _Nearest:
    """Distances of real rows from the nearest other real row, or from the nearest given row."""

    def __init__(self, cells, real, given=None, rng=None):
        self._cells, self._real, self._given, self._places = cells, real, given, None
        if given is None:
            self._places = draw_places(len(real[0]), _MOST_OTHERS, rng)
            self._given = take(real, self._places)

    def measure(self, rows):
        """Distances of the rows at some places, of shape (n,)."""
        columns, found = range(len(self._cells.columns)), []
        for block in iter_blocks([rows], len(self._given[0])):
            own = take(self._real, block[0])
            distances = self._cells.sum_distances(columns, own, self._given)
            if self._places is not None:
                distances[block[0][:, None] == self._places] = np.inf
            found.append(distances.min(axis=1))
        return np.concatenate([np.zeros(0), *found])
