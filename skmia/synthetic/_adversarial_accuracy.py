"""Nearest-neighbor adversarial accuracy of synthetic rows, and the privacy loss."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.matrix import validate_matrix
from .._core.pvalues import format_pvalue, is_significant
from .._core.randomness import derive_random_state
from .._core.sklearn import N_JOBS, Interval, StrOptions, at_least
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from ._neighbors import as_frame, as_points, find_nearest, find_own, is_farther
from ._risks import TablesEstimator

VERSIONS = ("tie_corrected", "unbiased", "original")
# What a tie counts.
_TIES = {"tie_corrected": 0.5, "unbiased": 0.0, "original": 0.0}


class AccuracyTerms(NamedTuple):
    """Shares of rows in an adversarial accuracy."""

    real: np.ndarray  # (n,): of either side, whose means are the two sides of the accuracy
    synthetic: np.ndarray
    # (n,): numbers of the real and of the synthetic rows; the last one is the largest.
    rows: np.ndarray
    made: np.ndarray
    edges: list  # numbers of rows, and of the neighbors on which what they add depends

    @property
    def sides(self):
        """Accuracy on real and on synthetic rows."""
        return float(self.real.mean()), float(self.synthetic.mean())

    @property
    def mean(self):
        """The adversarial accuracy."""
        return sum(self.sides) / 2

    @property
    def shares(self):
        """Contribution of each numbered row to the deviation of the mean from its expectation."""
        shares = np.zeros(self.made[-1] + 1)
        shares[self.rows] = self.real - self.real.mean()
        shares[self.made] = self.synthetic - self.synthetic.mean()
        return shares / (2 * len(self.rows))


def count_farther(own, cross, version, n=None):
    """Return what each row adds to its side.

    1 where rows of the other kind are farther than its own.

    Take own of shape (..., n), cross of shape (..., n, 2); return terms of shape (..., n).
    """
    first = is_farther(cross[..., 0], own, _TIES[version])
    if version == "original":
        return first
    # A row has n - 1 others of its kind and n of the other kind, so one of the latter has to be
    # left out. Only if it is the nearest is the second one the nearest.
    n = n or len(own)
    return ((n - 1) * first + is_farther(cross[..., 1], own, _TIES[version])) / n


def estimate_standard_error(shares, edges):
    """Standard error of a sum of shares that depend on each other where rows are neighbors.

    The variance is the sum of the products of all shares with themselves, with the shares of their
    neighbors and of rows with a neighbor in common. Resampling goes wrong here: a bootstrap draws
    rows twice, which then are each other's nearest, and leaving rows out changes the neighbors of
    the rest.
    """
    rows, neighbors = (np.concatenate(ends) for ends in zip(*edges))
    n = len(shares)
    graph = sparse.coo_array((np.ones(len(rows)), (rows, neighbors)), shape=(n, n)).tocsr()
    graph = (graph + graph.T + graph @ graph.T + sparse.csr_array(sparse.eye(n))).astype(bool)
    # Few rows can give a negative sum; the shares alone are then the better guess.
    return float(np.sqrt(max(shares @ (graph @ shares), shares @ shares)))


# Tables with fewer rows have a standard error that is at least the spread over the deals.
FEW_ROWS = 100
# With 199 deals, the standard deviation has a relative error of 5%.
_N_DEALS = 199
# The chance that no row of a table is among so many neighbors is 2^-40.
_N_KEPT = 40


@lru_cache(maxsize=4)
def deal_rows(n):
    """Deal 2 n rows into two tables of n rows.

    The deals are the same in each call, so that a standard error does not depend on a seed.

    Return first of shape (199, 2 n).
    """
    rng = np.random.default_rng(0)
    first = rng.permuted(np.tile(np.arange(2 * n) < n, (_N_DEALS, 1)), axis=1)
    first.flags.writeable = False  # it is kept
    return first


def estimate_least_error(real, synthetic, metric, version, n_jobs):
    """Return the smallest standard error of the accuracy of two tables.

    0 unless they have few rows.

    The standard deviation if the kinds of the rows are exchanged: nearly all rows of small tables
    are neighbors of each other, so that the sum over neighbors has nothing left to estimate a
    variance from. The deals keep ties and distances as they are.

    Shapes: real, synthetic (n, d).
    """
    n = len(real)
    if n >= FEW_ROWS:
        return 0.0
    kept = min(_N_KEPT, 2 * n - 1)
    distances, places = find_nearest(np.concatenate([real, synthetic]), None, kept, metric, n_jobs)
    first = deal_rows(n)
    same = first[:, places] == first[:, :, None]
    cross = take_first(distances, ~same, 2)
    own = take_first(distances, same, 1)[..., 0]
    return float(count_farther(own, cross, version, n).mean(axis=1).std(ddof=1))


def take_first(distances, wanted, k):
    """Return the distances of the first k wanted neighbors, of shape (n_deals, n_rows, k).

    The nearest neighbor stands for one that is not among the neighbors that were kept. Those
    that are found are taken out of what is wanted.
    """
    rows, found = np.arange(len(distances)), []
    for _ in range(k):
        place = np.argmax(wanted, axis=2)
        found.append(distances[rows, place])
        np.put_along_axis(wanted, place[..., None], False, axis=2)
    return np.stack(found, 2)


@dataclass(frozen=True)
class AdversarialAccuracy:
    """Adversarial accuracy of an attacker who uses the nearest row.

    Attributes
    ----------
    mean : float
        Mean of the two sides: 0.5 means that real and synthetic rows cannot be distinguished, 1
        that they lie apart, 0 that each synthetic row lies next to a real one.
    real : float
        Share of the real rows with a real row nearest.
    synthetic : float
        Share of the synthetic rows with a synthetic row nearest.
    standard_error : float
        Standard error of the mean; neighboring rows are not treated as independent. With fewer
        than 100 rows of each kind, it is at least the standard deviation of the mean over 199
        random deals of all rows into two tables.
    n_rows : int
        Number of rows of each kind that were compared.
    n_draws : int
        Number of subsamples over which the shares are averaged; 1 if the tables have equal size.
    """

    mean: float
    real: float
    synthetic: float
    standard_error: float
    n_rows: int
    n_draws: int


def compare_tables(real, synthetic, metric, version, n_jobs=None):
    """Compare two sets of n points; nodes are the real rows, then the synthetic ones."""
    n = len(real)
    rows, made = np.arange(n), np.arange(n, 2 * n)
    (own_real, a), (own_synthetic, b) = (
        find_nearest(points, None, 1, metric, n_jobs) for points in (real, synthetic)
    )
    cross_real, c = find_nearest(real, synthetic, 2, metric, n_jobs)
    cross_synthetic, d = find_nearest(synthetic, real, 2, metric, n_jobs)
    return AccuracyTerms(
        count_farther(own_real[:, 0], cross_real, version),
        count_farther(own_synthetic[:, 0], cross_synthetic, version),
        rows,
        made,
        [(rows, a[:, 0]), (made, n + b[:, 0]), (rows, n + c[:, 0]), (made, d[:, 0])],
    )


def summarize_terms(terms, least_error):
    """Return the accuracy that rows add up to; an :class:`AdversarialAccuracy` of one draw."""
    error = max(estimate_standard_error(terms.shares, terms.edges), least_error)
    return AdversarialAccuracy(terms.mean, *terms.sides, error, len(terms.rows), 1)


def check_sizes(tables, names):
    """Return the number of rows of the smallest table, at least two."""
    sizes = [len(table) for table in tables]
    smallest = int(np.argmin(sizes))
    if sizes[smallest] < 2:
        raise ValueError(f"{names[smallest]} needs at least 2 rows; got {sizes[smallest]}.")
    return sizes[smallest]


def draw_or_keep_rows(table, n_rows, random_state):
    """Return all rows in order, or a draw without replacement."""
    if len(table) == n_rows:
        return table
    return table[random_state.choice(len(table), n_rows, replace=False)]


class NearestNeighborAdversarialAccuracy(TransactionMixin, BaseEstimator):
    """Test whether synthetic rows lie among the real rows, too close to them, or elsewhere.

    A real row is compared with the nearest real and the nearest synthetic row, a synthetic row
    likewise. If the two tables come from one distribution, the nearest row is of the same kind half
    of the time. It is more often of the same kind if the generator misses the distribution, and
    less often if the generator returns rows like its training rows.

    Parameters
    ----------
    version : {"tie_corrected", "unbiased", "original"}, default="tie_corrected"
        ``"original"`` (Yale et al.) finds for a row n - 1 others of its kind and n of the other
        kind, so that it is (n - 1) / (2 n - 1) for equal continuous distributions and not 1/2.
        ``"unbiased"`` (Pedersen) leaves out one row of the other kind, and takes the mean over all
        that can be left out. ``"tie_corrected"`` also counts rows at equal distances by a half, and
        has an expectation of 1/2 for equal distributions of any kind.
    metric : str or callable, default="euclidean"
        Any metric of :class:`~sklearn.neighbors.NearestNeighbors`, or ``"gower"`` for tables with
        categories, see :class:`GowerEncoder`.
    n_draws : int, default=10
        Number of subsamples of the larger table to average over. Tables of equal size need none.
    random_state : int, RandomState instance or None, default=None
        Controls the subsamples.
    n_jobs : int, default=None
        Number of threads of the search for neighbors.

    Attributes
    ----------
    X_ : ndarray or DataFrame of shape (n_real, d)
        The real rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    PrivacyLoss : Comparison of the accuracy on training rows and on other rows.

    Notes
    -----
    A value of 1/2 does not say that a generator is private: one that copies a tenth of its training
    rows and draws others too widely may have it. Compare the value for training rows with that for
    others, with :class:`PrivacyLoss`.

    Under 100 rows of each kind, the standard error is too large if many synthetic rows are copies.
    Simulated 95% intervals cover the mean in 93% of the tables or more.

    Distances that agree to nine digits are equal. All pairs are looked at, in blocks: time grows
    with the square of the number of rows, memory with the number.

    References
    ----------
    Yale, A., Dash, S., Dutta, R., Guyon, I., Pavao, A. and Bennett, K. P. (2020). Generation and
    evaluation of privacy preserving synthetic health data. Neurocomputing 416.

    Pedersen, J. (2022). Privacy preservation and evaluation in machine learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import NearestNeighborAdversarialAccuracy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> accuracy = NearestNeighborAdversarialAccuracy().fit(X)
    >>> round(accuracy.score(rng.normal(size=(300, 2))), 1), round(accuracy.score(X), 1)
    (0.5, 0.0)
    >>> accuracy.predict([*X[:2] + 1e-6, [9.0, 9.0]])
    array([1, 1, 0])
    """

    _parameter_constraints = {
        "version": [StrOptions(set(VERSIONS))],
        "metric": [str, callable],
        "n_draws": [at_least(1)],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        version: Literal["tie_corrected", "unbiased", "original"] = "tie_corrected",
        metric: str | Callable[..., float] = "euclidean",
        n_draws: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.version = version
        self.metric = metric
        self.n_draws = n_draws
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Keep the real rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_real, d)
            Real rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self.X_ = self._check(X, reset=True)
        check_sizes([self.X_], ["X"])
        return self

    def evaluate(self, X: ArrayLike) -> AdversarialAccuracy:
        """Compare synthetic rows with the real ones.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_synthetic, d)
            Synthetic rows.

        Returns
        -------
        accuracy : AdversarialAccuracy
            Adversarial accuracy of both sides, and the mean.
        """
        check_is_fitted(self)
        names = "the real X", "X"
        tables, metric = as_points((self.X_, self._check(X, reset=False)), self.metric, names)
        n_rows = check_sizes(tables, names)
        n_draws = 1 if len(tables[0]) == len(tables[1]) else self.n_draws
        random_state = derive_random_state(self.random_state, "AdversarialAccuracy")
        draws = []
        for _ in range(n_draws):
            drawn = [draw_or_keep_rows(table, n_rows, random_state) for table in tables]
            settings = metric, self.version, self.n_jobs
            terms = compare_tables(*drawn, *settings)
            draws.append(summarize_terms(terms, estimate_least_error(*drawn, *settings)))
        means = [
            float(np.mean([getattr(draw, name) for draw in draws]))
            for name in ("mean", "real", "synthetic", "standard_error")
        ]
        return AdversarialAccuracy(*means, n_rows, n_draws)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return which synthetic rows are suspected copies of a real row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_synthetic, d)
            Synthetic rows.

        Returns
        -------
        copies : ndarray of shape (n_synthetic,), dtype int
            1 where the nearest real row is nearer to the synthetic row than to any other real row,
            otherwise 0.
        """
        check_is_fitted(self)
        names = "the real X", "X"
        tables = self.X_, self._check(X, reset=False, least=1)
        (real, made), metric = as_points(tables, self.metric, names)
        cross, places = find_nearest(made, real, 1, metric, self.n_jobs)
        own = find_nearest(real, None, 1, metric, self.n_jobs)[0]
        return is_farther(own[places[:, 0], 0], cross[:, 0], 0.0).astype(int)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the adversarial accuracy of synthetic rows, the mean of both sides.

        Higher means that an attacker distinguishes synthetic from real rows more often. A search
        with this score selects the metric and the version that distinguish them best. It is not a
        search for the best generator, which has 0.5.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_synthetic, d)
            Synthetic rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        accuracy : float
            Accuracy, in [0, 1]; 0.5 is best.
        """
        return self.evaluate(X).mean

    def _check(self, X, reset, least=2):
        if self.metric == "gower":
            as_frame(X, "X")  # refuses what is no table
            validate_matrix(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_matrix(self, X, reset=reset, ensure_min_samples=least)


# Nearest neighbors that are enough for most rows.
_N_FIRST = 6
# Permutations at a time, which limits memory.
_N_AT_ONCE = 100


class HalfAccuracy:
    """Adversarial accuracy against any half of the real rows, from neighbors found once.

    Shapes: real (2 n, d), synthetic (n, d).
    """

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
        return AccuracyTerms(
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
        """Return the privacy losses for many choices of the training rows.

        Shapes: first (n_deals, 2 n).
        """
        n, made, chosen = len(self._own[0]), self._own[0], np.ascontiguousarray(first.T)
        distances, places = self._of_real
        terms = count_farther(distances, self._cross[0][:, None], self._version, n)
        # Each real row is counted once, on the side that the deal gives it.
        sign = 1 - 2.0 * chosen
        losses = terms[:, 0] @ sign
        for _, rows, steps, count in _iter_steps(terms, places, chosen, chosen):
            losses += steps @ (sign[rows] * (count == 0))
        distances, places = self._of_synthetic
        terms = is_farther(distances, made, _TIES[self._version])
        original = self._version == "original"
        weights = (1.0, 0.0) if original else ((n - 1) / n, 1 / n)
        for k, _, steps, count in _iter_steps(terms, places, chosen):
            for fewest, weight in enumerate(weights):
                # The other side has so few of the nearest k rows, less whether the chosen one has.
                gap = (k - count <= fewest).astype(float) - (count <= fewest)
                losses += weight * (steps @ gap)
        return losses / (2 * n)


def _iter_steps(terms, places, chosen, own=None):
    """Changes of terms with the rank of a neighbor, and how many chosen rows are before it.

    Take terms, places of shape (n, K); chosen, own of shape (n_rows, n_deals): whether a neighbor
    counts, with own if it is as the row itself.; return k; rows whose terms change at k or later;
    changes at k of shape (n,); neighbors among the first k that count of shape (n, n_deals).
    """
    steps = np.diff(terms, axis=1)
    last = np.max(np.arange(1, steps.shape[1] + 1) * (steps != 0), axis=1, initial=0)
    rows = np.arange(len(terms))
    count = np.zeros((len(terms), chosen.shape[1]), dtype=np.int8)
    for k in range(1, last.max() + 1):
        is_left = last[rows] >= k
        rows, count = rows[is_left], count[is_left]
        is_chosen = chosen[places[rows, k - 1]]
        count += is_chosen if own is None else is_chosen == own[rows]
        yield k, rows, steps[rows, k - 1], count


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
    The score is the privacy loss. On a fold of a search it is smaller than on all rows, because as
    many synthetic rows are drawn as the fold has real ones, and with them fewer of the copies.

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
    >>> bool(loss.predict(train).mean() > loss.predict(test).mean() + 0.3)
    True
    >>> loss.score() == loss.statistic_
    True
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

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, synthetic: ArrayLike | None = None
    ) -> Self:
        """Compare synthetic rows with both kinds of real rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_train, d)
            Rows that the generator was trained on. If `synthetic` is None, the rows of all three
            tables. DataFrames are compared by the names of their columns, in any order.
        y : DataFrame or array-like of shape (n_test, d)
            Rows of the same distribution that it has not seen. If `synthetic` is None, an array of
            shape (n_rows,): 1 for training rows, 0 for other rows, -1 for synthetic rows.
        synthetic : DataFrame or array-like of shape (n_synthetic, d), default=None
            Rows that it returned.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        names = "train", "test", "synthetic"
        given = self._read_tables(X, y, synthetic)
        self._test = deepcopy(given[1])
        tables, metric = as_points(given, self.metric, names)
        n = self.n_rows_ = check_sizes(tables, names)
        random_state = derive_random_state(self.random_state, "PrivacyLoss")
        train, test, synthetic = (draw_or_keep_rows(table, n, random_state) for table in tables)
        halves = HalfAccuracy(
            np.concatenate([train, test]), synthetic, metric, self.version, self.n_jobs
        )
        is_train = np.arange(2 * n) < n
        errors = [
            estimate_least_error(real, synthetic, metric, self.version, self.n_jobs)
            for real in (train, test)
        ]
        self._estimate(halves, is_train, errors)
        self.pvalue_, self.pvalue_below_ = None, None
        if self.n_permutations:
            self.pvalue_, self.pvalue_below_ = self._permute(halves, is_train, random_state)
        self._fitted_with = self.confidence_level, self.n_permutations
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return which rows are nearer to a synthetic row than to any other real row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, d)
            Real rows.

        Returns
        -------
        nearer : ndarray of shape (n_rows,), dtype int
            1 where the nearest synthetic row is nearer than the nearest of the other rows given to
            `fit` as ``test``, otherwise 0. One row of ``test`` that is equal to a record counts as
            the record itself, not as another row.
        """
        check_is_fitted(self)
        names = "X", "test", "synthetic"
        given = X, self._test, self._others[0]
        (rows, *others), metric = as_points(given, self.metric, names)
        rng = derive_random_state(self.random_state, "PrivacyLoss.predict")
        test, made = (draw_or_keep_rows(table, self.n_rows_, rng) for table in others)
        distances, places = find_nearest(rows, test, 2, metric, self.n_jobs)
        cross = find_nearest(rows, made, 1, metric, self.n_jobs)[0][:, 0]
        own = np.where(find_own(rows, test, places), *distances.T[::-1])
        return is_farther(own, cross, 0.0).astype(int)

    def _compute_leakage(self):
        return float(self.statistic_)

    def _estimate(self, halves, is_train, least_errors):
        train, test = halves.compare(is_train), halves.compare(~is_train)
        self.train_accuracy_ = summarize_terms(train, least_errors[0])
        self.test_accuracy_ = summarize_terms(test, least_errors[1])
        self.statistic_ = self.test_accuracy_.mean - self.train_accuracy_.mean
        error = estimate_standard_error(test.shares - train.shares, train.edges + test.edges)
        if self.n_rows_ < FEW_ROWS:
            error = max(error, halves.compare_deals(deal_rows(self.n_rows_)).std(ddof=1))
        estimates = {"privacy loss": (self.statistic_, error)}
        for name, found in (("train", self.train_accuracy_), ("test", self.test_accuracy_)):
            estimates[f"resemblance loss, {name}"] = found.mean - 0.5, found.standard_error
        reach = norm.ppf((1 + self.confidence_level) / 2)
        rows = [(v, v - reach * spread, v + reach * spread) for v, spread in estimates.values()]
        columns = ["estimate", "low", "high"]
        self.result_ = pd.DataFrame(rows, index=list(estimates), columns=columns)
        self.interval_ = tuple(self.result_.loc["privacy loss", ["low", "high"]].tolist())

    def _permute(self, halves, is_train, random_state):
        losses = []
        for some in gen_batches(self.n_permutations, _N_AT_ONCE):
            first = [random_state.permutation(is_train) for _ in range(some.start, some.stop)]
            losses.append(halves.compare_deals(np.array(first)))
        losses = np.concatenate(losses)
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
        level, n_permutations = self._fitted_with
        lines = [
            f"{name:28s}{row.estimate:7.3f}  [{row.low:.3f}, {row.high:.3f}]"
            for name, row in self.result_.iterrows()
        ]
        head = f"{self.n_rows_:,} rows of each table, intervals at {100 * level:g}%"
        verdict = "No test was asked for (n_permutations=0)."
        if self.pvalue_ is not None:
            p = format_pvalue(self.pvalue_, 1 / (1 + n_permutations))
            verdict = f"No sign that synthetic rows are nearer to the training rows ({p})."
            if is_significant(self.pvalue_, 1 - level):
                verdict = f"Synthetic rows are nearer to the training rows than to others ({p})."
        return "\n".join([head, *lines, verdict])
