"""Test whether a synthetic table holds copies of training rows."""

from numbers import Real
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import binom, poisson
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.pvalues import format_pvalue
from .._core.sklearn import Interval, validate_params_of
from .._core.types import Seed
from ._risks._cells import TIE, Cells, iter_blocks, take
from ._risks._rates import excess_risk

# Held-out rows from which the distance that makes a row rare is estimated.
_MOST_ROWS = 2000
# Chance of detection at the smallest share that is reported.
_POWER = 0.8


class CopyTest(BaseEstimator):
    """Test whether a synthetic table holds copies of training rows.

    Some real rows occur in a synthetic table by chance. If the generator copies nothing, training
    rows and held-out rows occur equally often, and each match is as likely to be one as the other.
    Matches of rare rows show copies best, because few of them occur by chance.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Confidence level of the intervals; the test has the level ``1 - confidence_level``.
    random_state : int, RandomState instance or None, default=None
        Controls the split of the held-out rows.

    Attributes
    ----------
    pvalue_ : float
        P-value of the rare copies.
    smallest_share_ : float
        Share of training rows that, copied, would have been found with a probability of 0.8, by the
        rare copies; infinite if copying all rows would not suffice.
    result_ : DataFrame
        Rows ``"all copies"`` and ``"rare copies"`` with the matches among training and held-out
        rows (``train``, ``test``), the share of the training rows that was copied by
        :func:`excess_risk` (``share``, ``low``, ``high``), ``pvalue`` and ``smallest_share``.
    n_train_, n_test_ : int
        Number of training rows and of held-out rows that were looked for.

    See Also
    --------
    PrivacyLoss : Test whether synthetic rows are near training rows.
    GeneratorAttack : Scores of single records; ``statistic="rare_copies"``.

    Notes
    -----
    A row is rare if no row of the reference is nearer to it, in Gower's distance, than the median
    distance of a held-out row from its nearest reference row. Without ``reference``, a random half
    of the held-out rows is the reference and is not looked for.

    The binomial test assumes rows that were assigned to training and held-out rows independently of
    each other. The test finds exact copies alone: a generator that changes each row in a known way
    reveals all of them and passes.

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
            Further rows of the population. If None, a random half of ``test``.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        train, test, known, made, cells = self._read(train, test, synthetic, reference)
        self.n_train_, self.n_test_ = len(train[0]), len(test[0])
        keys = np.unique(_hash(made))
        copied = [np.isin(_hash(table), keys) for table in (train, test)]
        usual = _distances(cells, take(test, slice(_MOST_ROWS)), known)
        radius = np.median(usual) + TIE
        rare = [
            np.sum(_distances(cells, take(table, matches), known) > radius)
            for table, matches in zip((train, test), copied)
        ]
        found = {
            "all copies": self._summarize(*(matches.sum() for matches in copied), 1.0),
            "rare copies": self._summarize(*rare, np.mean(usual > radius)),
        }
        self.result_ = pd.DataFrame(found).T
        self.pvalue_ = found["rare copies"]["pvalue"]
        self.smallest_share_ = found["rare copies"]["smallest_share"]
        return self

    def _read(self, train, test, synthetic, reference):
        if reference is not None:
            names = "train", "test", "reference", "synthetic"
            cells = Cells((train, test, reference, synthetic), names)
            return *cells.tables, cells
        cells = Cells((train, test, synthetic), ("train", "test", "synthetic"))
        n_test = cells.sizes[1]
        if n_test < 2:
            raise ValueError(f"test needs at least 2 rows if reference is None; got {n_test}.")
        order = check_random_state(self.random_state).permutation(n_test)
        train, test, made = cells.tables
        half = n_test // 2
        return train, take(test, order[half:]), take(test, order[:half]), made, cells

    def _summarize(self, k, k_test, share_rare):
        n_train, n_test = self.n_train_, self.n_test_
        k, k_test = int(k), int(k_test)
        share, low, high = excess_risk(
            k, n_train, k_test, n_test, confidence_level=self.confidence_level
        )
        alpha, odds = 1 - self.confidence_level, n_train / (n_train + n_test)
        smallest = count_smallest_number(k_test / n_test * n_train, k_test, share_rare, odds, alpha)
        return {
            "train": k,
            "test": k_test,
            "share": share,
            "low": low,
            "high": high,
            "pvalue": float(binom.sf(k - 1, k + k_test, odds)),
            "smallest_share": smallest / n_train if smallest <= n_train else np.inf,
        }

    def summary(self) -> str:
        """Summarize the copies and their meaning as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        lines = [
            f"{name}: {row.train:.0f} of {self.n_train_:,} training rows and {row.test:.0f} of "
            f"{self.n_test_:,} held-out rows are in the synthetic table "
            f"({format_pvalue(row.pvalue, 0)}); copies of {row.smallest_share:.2%} would have been "
            f"found with a probability of {_POWER:.0%}."
            for name, row in self.result_.iterrows()
        ]
        return "\n".join(lines)


def count_smallest_number(chance, chance_test, share, odds, alpha):
    """Smallest number of copies that the test finds with a probability of 0.8.

    Parameters
    ----------
    chance, chance_test : float
        Expected matches by chance among training and held-out rows.
    share : float
        Share of the copied rows that the test counts.
    odds : float
        Probability under the null hypothesis that a match is a training row.
    alpha : float
        Level of the test.

    Returns
    -------
    number : float
        Infinite if the test counts none of the copies.
    """
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

    low, high = 0, 1
    while power(high) < _POWER:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= _POWER else (middle, high)
    return high


def _hash(table):
    """One number for each row; numbers that are equal have the same, as 0 and -0."""
    frame = pd.DataFrame({place: column + 0 for place, column in enumerate(table)})
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def _distances(cells, table, known):
    """Distances of rows from the nearest reference row."""
    if not len(table[0]):
        return np.zeros(0)
    columns = range(len(cells.columns))
    blocks = iter_blocks(table, len(known[0]))
    return np.concatenate(
        [cells.sum_distances(columns, rows, known).min(axis=1) for rows in blocks]
    )
