"""Nearest-neighbor adversarial accuracy of synthetic rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.matrix import validate_matrix
from .._core.randomness import check_random_state
from .._core.sklearn import N_JOBS, StrOptions, at_least, validate_params_of
from .._core.types import ArrayLike, Seed
from ._neighbors import as_points, find_nearest, is_farther

VERSIONS = ("tie_corrected", "unbiased", "original")
# What a tie counts.
_TIES = {"tie_corrected": 0.5, "unbiased": 0.0, "original": 0.0}


class Terms(NamedTuple):
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
    """What each row adds to its side: 1 where rows of the other kind are farther than its own."""
    # own (..., n), cross (..., n, 2) -> terms (..., n)
    first = is_farther(cross[..., 0], own, _TIES[version])
    if version == "original":
        return first
    # A row has n - 1 others of its kind and n of the other kind, so one of the latter has to be
    # left out. Only if it is the nearest is the second one the nearest.
    n = n or len(own)
    return ((n - 1) * first + is_farther(cross[..., 1], own, _TIES[version])) / n


def estimate_standard_error(shares, edges):
    """Standard error of a sum of shares that depend on each other where rows are neighbors."""
    # The variance is the sum of the products of all shares with themselves, with the shares of
    # their neighbors and of rows with a neighbor in common. Resampling goes wrong here: a bootstrap
    # draws rows twice, which then are each other's nearest, and leaving rows out changes the
    # neighbors of the rest.
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


def deal_rows(n):
    """Deal 2 n rows into two tables of n rows."""
    # The deals are the same in each call, so that a standard error does not depend on a seed.
    # -> first (199, 2 n)
    rng = np.random.default_rng(0)
    return rng.permuted(np.tile(np.arange(2 * n) < n, (_N_DEALS, 1)), axis=1)


def estimate_least_error(real, synthetic, metric, version, n_jobs):
    """Smallest standard error of the accuracy of two tables; 0 unless they have few rows."""
    # The standard deviation if the kinds of the rows are exchanged: nearly all rows of small tables
    # are neighbors of each other, so that the sum over neighbors has nothing left to estimate a
    # variance from. The deals keep ties and distances as they are.
    # real, synthetic (n, d)
    n = len(real)
    if n >= FEW_ROWS:
        return 0.0
    kept = min(_N_KEPT, 2 * n - 1)
    distances, places = find_nearest(np.concatenate([real, synthetic]), None, kept, metric, n_jobs)
    first = deal_rows(n)
    same = first[:, places] == first[:, :, None]
    own = take_first(distances, same, 1)[..., 0]
    cross = take_first(distances, ~same, 2)
    return float(count_farther(own, cross, version, n).mean(axis=1).std(ddof=1))


def take_first(distances, wanted, k):
    """Distances of the first k wanted neighbors, of shape (n_deals, n_rows, k)."""
    # The nearest neighbor stands for one that is not among the neighbors that were kept.
    rank = np.cumsum(wanted, axis=2, dtype=np.int8)
    rows = np.arange(len(distances))
    return np.stack([distances[rows, np.argmax(rank == j, axis=2)] for j in range(1, k + 1)], 2)


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
    return Terms(
        count_farther(own_real[:, 0], cross_real, version),
        count_farther(own_synthetic[:, 0], cross_synthetic, version),
        rows,
        made,
        [(rows, a[:, 0]), (made, n + b[:, 0]), (rows, n + c[:, 0]), (made, d[:, 0])],
    )


def summarize(terms, least_error):
    """The accuracy that rows add up to; an :class:`AdversarialAccuracy` of one draw."""
    error = max(estimate_standard_error(terms.shares, terms.edges), least_error)
    return AdversarialAccuracy(terms.mean, *terms.sides, error, len(terms.rows), 1)


def check_sizes(tables, names):
    """Return the number of rows of the smallest table, at least two."""
    sizes = [len(table) for table in tables]
    smallest = int(np.argmin(sizes))
    if sizes[smallest] < 2:
        raise ValueError(f"{names[smallest]} needs at least 2 rows; got {sizes[smallest]}.")
    return sizes[smallest]


def draw_rows(table, n_rows, random_state):
    """Return all rows in order, or a draw without replacement."""
    if len(table) == n_rows:
        return table
    return table[random_state.choice(len(table), n_rows, replace=False)]


class NearestNeighborAdversarialAccuracy(BaseEstimator):
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
        validate_params_of(self)
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
        random_state = check_random_state(self.random_state)
        draws = []
        for _ in range(n_draws):
            drawn = [draw_rows(table, n_rows, random_state) for table in tables]
            settings = metric, self.version, self.n_jobs
            terms = compare_tables(*drawn, *settings)
            draws.append(summarize(terms, estimate_least_error(*drawn, *settings)))
        means = [
            float(np.mean([getattr(draw, name) for draw in draws]))
            for name in ("mean", "real", "synthetic", "standard_error")
        ]
        return AdversarialAccuracy(*means, n_rows, n_draws)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the adversarial accuracy of synthetic rows, the mean of both sides.

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

    def _check(self, X, reset):
        if self.metric == "gower":
            validate_matrix(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_matrix(self, X, reset=reset, ensure_min_samples=2)
