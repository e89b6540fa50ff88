"""Test whether synthetic rows are nearer to training rows than to other rows."""

from collections.abc import Callable
from numbers import Real
from typing import Literal, Self

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.pvalues import format_pvalue
from .._core.sklearn import N_JOBS, Interval, StrOptions, at_least, validate_params_of
from .._core.types import ArrayLike, Seed
from ._adversarial_accuracy import (
    FEW_ROWS,
    VERSIONS,
    Terms,
    check_sizes,
    count_farther,
    deal_rows,
    draw_rows,
    estimate_least_error,
    estimate_standard_error,
    summarize,
    take_first,
)
from ._neighbors import as_points, find_nearest
from ._risks import TablesEstimator

# Number of nearest real rows that are kept for each row. Half of the real rows are chosen, so the
# chance that none of 40 neighbors is chosen is 2^-40. The first few neighbors are enough for most
# rows.
_N_KEPT, _N_FIRST = 40, 6


class Halves:
    """Adversarial accuracy against any half of the real rows, from neighbors found once."""

    # real (2 n, d), synthetic (n, d)

    def __init__(self, real, synthetic, metric, version, n_jobs):
        n = len(synthetic)
        self._version = version
        self._of_real = find_nearest(real, None, min(_N_KEPT, 2 * n - 1), metric, n_jobs)
        self._of_synthetic = find_nearest(synthetic, real, min(_N_KEPT, 2 * n), metric, n_jobs)
        self._own = find_nearest(synthetic, None, 1, metric, n_jobs)
        self._cross = find_nearest(real, synthetic, 2, metric, n_jobs)

    def compare(self, chosen):
        """Compare the synthetic rows with a choice of the real rows."""
        rows, made = np.flatnonzero(chosen), np.arange(len(self._own[0]))
        own, own_place = _find_first(*self._of_real, chosen, 1, rows)
        cross, cross_place = _find_first(*self._of_synthetic, chosen, 2, made)
        n_real = len(chosen)
        return Terms(
            count_farther(own[:, 0], self._cross[0][rows], self._version),
            count_farther(self._own[0][:, 0], cross, self._version),
            rows,
            n_real + made,
            [
                (rows, own_place[:, 0]),
                (rows, n_real + self._cross[1][rows, 0]),
                (n_real + made, n_real + self._own[1][:, 0]),
                (n_real + made, cross_place[:, 0]),
            ],
        )

    def compare_deals(self, first):
        """Privacy losses for many choices of the training rows."""
        # first (n_deals, 2 n)
        n, made = len(self._own[0]), self._own[0][:, 0]
        distances, places = self._of_real
        own = take_first(distances, first[:, places] == first[:, :, None], 1)[..., 0]
        real = count_farther(own, self._cross[0], self._version, n)
        # Each real row is counted once, on the side that the deal gives it.
        losses = np.where(first, -real, real).sum(axis=1)
        distances, places = self._of_synthetic
        for sign, chosen in ((-1, first), (1, ~first)):
            cross = take_first(distances, chosen[:, places], 2)
            losses += sign * count_farther(made, cross, self._version, n).sum(axis=1)
        return losses / (2 * n)


def _find_first(distances, places, chosen, k, rows):
    """Distances to the first k chosen neighbors and their positions, each of shape (n, k)."""
    column = np.empty((len(rows), k), dtype=np.intp)
    left, n_kept = np.arange(len(rows)), distances.shape[1]
    for width in (min(_N_FIRST, n_kept), n_kept):
        rank = np.cumsum(chosen[places[rows[left], :width]], axis=1, dtype=np.int8)
        # With too few chosen neighbors, the farthest stored neighbor stands for one farther away.
        ready = (rank[:, -1] >= k) | (width == n_kept)
        for nearest in range(k):
            first = np.argmax(rank[ready] > nearest, axis=1)
            first[rank[ready, -1] <= nearest] = width - 1
            column[left[ready], nearest] = first
        left = left[~ready]
    return distances[rows[:, None], column], places[rows[:, None], column]


class PrivacyLoss(TablesEstimator):
    """Leakage of a generator's training rows, measured by nearest neighbors.

    The adversarial accuracy of synthetic rows against other real rows, minus their accuracy
    against the training rows. A generator that has learned only the distribution is equally far
    from both; one that returns rows like its training rows is nearer to these, and the loss is
    positive.

    Parameters
    ----------
    version : {"tie_corrected", "unbiased", "original"}, default="tie_corrected"
        See :class:`NearestNeighborAdversarialAccuracy`.
    metric : str or callable, default="euclidean"
        Any metric of :class:`~sklearn.neighbors.NearestNeighbors`, or ``"gower"`` for tables with
        categories, see :class:`GowerEncoder`.
    n_permutations : int, default=999
        Number of random splits of the real rows into training and other rows, for the p-value; 0
        for no test.
    confidence_level : float, default=0.95
        Confidence level of each interval, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls subsamples and permutations.
    n_jobs : int, default=None
        Threads of the search for neighbors.

    Attributes
    ----------
    statistic_ : float
        The privacy loss, ``test_accuracy_.mean - train_accuracy_.mean``; 0 means no leakage, 0.5
        means that synthetic rows are copies of training rows.
    interval_ : tuple (low, high)
        Its confidence limits.
    pvalue_ : float or None
        Probability of a loss as large if training rows do not differ from other rows.
    pvalue_below_ : float or None
        Probability of a loss as small.
    train_accuracy_, test_accuracy_ : AdversarialAccuracy
        Synthetic rows against training rows, and against other rows. Above 0.5, they miss the
        distribution; the excess is the resemblance loss.
    result_ : DataFrame
        A row for ``"privacy loss"``, ``"resemblance loss, train"`` and ``"resemblance loss,
        test"``, with the columns ``estimate``, ``low``, ``high``.
    n_rows_ : int
        Rows of each of the three tables that were compared.

    Raises
    ------
    ValueError
        If a table has fewer than two rows, values are missing, or columns differ.

    See Also
    --------
    NearestNeighborAdversarialAccuracy : Accuracy on one table.

    Notes
    -----
    Larger tables are cut to the size of the smallest one by one random draw: distances to nearest
    rows depend on how many there are.

    The test is exact: under the null hypothesis all ways to split the real rows are equally likely,
    given the synthetic ones. The intervals are normal, with a variance to which rows that are
    neighbors contribute together. With fewer than 100 rows of each table, a standard error is at
    least the standard deviation over 199 random deals: of the real rows into training and other
    rows for the loss, of the real and synthetic rows into two tables for a resemblance loss.

    Duplicates between the two real tables bring the loss to zero, whatever the generator does. Rows
    of one person belong into one of them.

    References
    ----------
    Yale, A., Dash, S., Dutta, R., Guyon, I., Pavao, A. and Bennett, K. P. (2020). Generation and
    evaluation of privacy preserving synthetic health data. Neurocomputing 416.

    Pedersen, J. (2022). Privacy preservation and evaluation in machine learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import PrivacyLoss
    >>> rng = np.random.default_rng(0)
    >>> train, test = rng.normal(size=(2, 200, 3))
    >>> blurred = train + 0.1 * rng.normal(size=train.shape)
    >>> loss = PrivacyLoss(random_state=0).fit(train, test, blurred)
    >>> loss.statistic_ > 0.3, loss.pvalue_
    (True, 0.001)
    """

    _parameter_constraints = {
        "version": [StrOptions(set(VERSIONS))],
        "metric": [str, callable],
        "n_permutations": [at_least(0)],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        version: Literal["tie_corrected", "unbiased", "original"] = "tie_corrected",
        metric: str | Callable[..., float] = "euclidean",
        n_permutations: int = 999,
        confidence_level: float = 0.95,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.version = version
        self.metric = metric
        self.n_permutations = n_permutations
        self.confidence_level = confidence_level
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, train: ArrayLike, test: ArrayLike, synthetic: ArrayLike) -> Self:
        """Compare synthetic rows with both kinds of real rows.

        Parameters
        ----------
        train : DataFrame or array-like of shape (n_train, d)
            Rows that the generator was trained on.
        test : DataFrame or array-like of shape (n_test, d)
            Rows of the same distribution that it has not seen.
        synthetic : DataFrame or array-like of shape (n_synthetic, d)
            Rows that it returned.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        names = "train", "test", "synthetic"
        tables, metric = as_points((train, test, synthetic), self.metric, names)
        n = self.n_rows_ = check_sizes(tables, names)
        random_state = check_random_state(self.random_state)
        train, test, synthetic = (draw_rows(table, n, random_state) for table in tables)
        halves = Halves(np.concatenate([train, test]), synthetic, metric, self.version, self.n_jobs)
        is_train = np.arange(2 * n) < n
        errors = [
            estimate_least_error(real, synthetic, metric, self.version, self.n_jobs)
            for real in (train, test)
        ]
        self._estimate(halves, is_train, errors)
        self.pvalue_, self.pvalue_below_ = None, None
        if self.n_permutations:
            self.pvalue_, self.pvalue_below_ = self._permute(halves, is_train, random_state)
        return self

    def _estimate(self, halves, is_train, least_errors):
        train, test = halves.compare(is_train), halves.compare(~is_train)
        self.train_accuracy_ = summarize(train, least_errors[0])
        self.test_accuracy_ = summarize(test, least_errors[1])
        self.statistic_ = self.test_accuracy_.mean - self.train_accuracy_.mean
        error = estimate_standard_error(test.shares - train.shares, train.edges + test.edges)
        if self.n_rows_ < FEW_ROWS:
            error = max(error, halves.compare_deals(deal_rows(self.n_rows_)).std(ddof=1))
        estimates = {
            "privacy loss": (self.statistic_, error),
        }
        for name, found in (("train", self.train_accuracy_), ("test", self.test_accuracy_)):
            estimates[f"resemblance loss, {name}"] = found.mean - 0.5, found.standard_error
        reach = norm.ppf((1 + self.confidence_level) / 2)
        rows = [(v, v - reach * spread, v + reach * spread) for v, spread in estimates.values()]
        columns = ["estimate", "low", "high"]
        self.result_ = pd.DataFrame(rows, index=list(estimates), columns=columns)
        self.interval_ = tuple(self.result_.loc["privacy loss", ["low", "high"]].tolist())

    def _permute(self, halves, is_train, random_state):
        permuted = (random_state.permutation(is_train) for _ in range(self.n_permutations))
        losses = np.array([halves.compare(~p).mean - halves.compare(p).mean for p in permuted])
        # Equal ones may differ by rounding.
        beyond = losses >= self.statistic_ - 1e-12, losses <= self.statistic_ + 1e-12
        return tuple(float((1 + is_so.sum()) / (1 + self.n_permutations)) for is_so in beyond)

    def summary(self) -> str:
        """Summarize the estimates and their meaning as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        lines = [
            f"{name:28s}{row.estimate:7.3f}  [{row.low:.3f}, {row.high:.3f}]"
            for name, row in self.result_.iterrows()
        ]
        head = f"{self.n_rows_:,} rows of each table, intervals at {self.confidence_level:.0%}"
        verdict = "No test was asked for (n_permutations=0)."
        if self.pvalue_ is not None:
            p = format_pvalue(self.pvalue_, 1 / (1 + self.n_permutations))
            verdict = f"No sign that synthetic rows are nearer to the training rows ({p})."
            if self.pvalue_ <= 1 - self.confidence_level:
                verdict = f"Synthetic rows are nearer to the training rows than to others ({p})."
        return "\n".join([head, *lines, verdict])
