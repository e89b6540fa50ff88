"""Leakage of a released mean."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy.special import ndtr
from sklearn.base import BaseEstimator

from .._core.gaussians import (
    COVARIANCE_CONSTRAINT,
    CovarianceMixin,
    check_column_variance,
    check_moments,
    check_noise_scale,
    estimate_moments,
    get_shrinkage,
    inner_products,
    make_moments,
)
from .._core.hashing import hash_records
from .._core.matrix import validate_matrix
from .._core.metric_inputs import check_option
from .._core.numbers import check_count, check_number, check_numbers
from .._core.sklearn import Interval, StrOptions, at_least, validate_params_of
from .._core.tradeoff import (
    DIRECTIONS,
    advantage_of_shift,
    beside,
    check_epsilons,
    check_fpr_fractions,
    make_subsampling,
    power,
    privacy_budget,
    privacy_profile,
    threshold,
)
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike


class KnownRows:
    """Moments that leave out the row whose distance is measured.

    A row pulls the mean and the directions of a covariance towards itself; with more columns than
    rows its distance would be too small by a third or more. The variances of columns use all rows.

    Shapes: X (n, d).
    """

    def __init__(self, X, moments, shrinkage):
        n_rows = len(X)
        self._known = np.unique(hash_records(X, None))
        self._moments = moments
        self._n_rows = n_rows
        # The sample covariance without a row is, up to a factor near 1, the covariance of all rows
        # minus this multiple of the outer product of the row's deviation from the mean.
        self._weight = shrinkage.scale * (1 - shrinkage.share) * n_rows / (n_rows - 1) ** 2

    def inner_products(self, left, right, removed):
        """Inner products like :func:`inner_products`, each without a row of the third argument.

        Shapes: left, right, removed (k, d).
        """
        known = np.isin(hash_records(removed, None), self._known)
        products = inner_products(left, right, self._moments)
        if known.any():
            rows = np.flatnonzero(known)
            parts = (part[rows] for part in (left, right, removed))
            products[rows] = self._without(*parts)
        return products

    def _without(self, left, right, removed):
        mean, n_rows = self._moments.mean, self._n_rows
        away = removed - mean
        shift = away / (n_rows - 1)  # of the mean, when the row leaves
        # Rows as deviations from the mean of the others, around the mean of all.
        left, right, away = left + shift, right + shift, mean + away
        products = inner_products(left, right, self._moments)
        own = inner_products(away, away, self._moments)
        sides = [inner_products(side, away, self._moments) for side in (left, right)]
        with np.errstate(invalid="ignore"):  # infinite where a column without spread differs
            correction = self._weight * sides[0] * sides[1] / (1 - self._weight * own)
        finite = np.isfinite(products)
        return np.where(finite, (products + correction) * (n_rows - 2) / (n_rows - 1), products)


Direction = Literal["both", "in/out", "out/in"]


class RowCurvesMixin:
    """Adds curves of each row to an estimator with ``_shifts(X)`` and ``_subsampling``."""

    _shifts: Any
    _subsampling: Any

    def power(self, X: ArrayLike, fpr: float | ArrayLike) -> np.ndarray:
        """Return the true positive rate of the best attacker who knows `covariance_`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        fpr : float or array-like of shape (k,)
            False positive rates, fractions.

        Returns
        -------
        tpr : ndarray of shape (n_rows,) or (n_rows, k)
            One row per target, one column per rate.
        """
        rates = check_fpr_fractions(fpr)
        shifts = beside(self._shifts(X), rates)
        return power(rates, shifts, self._subsampling.inclusion)

    def threshold(self, X: ArrayLike, fpr: float | ArrayLike) -> np.ndarray:
        """Return the threshold of the log-likelihood ratio with a false positive rate.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        fpr : float or array-like of shape (k,)
            False positive rates, fractions.

        Returns
        -------
        thresholds : ndarray of shape (n_rows,) or (n_rows, k)
            In nats, for the scores of :class:`MeanLikelihoodRatioAttack`. Rows with at least this
            ratio are predicted as members. The advantage is largest at 0. A row of infinite score
            has the threshold 0.
        """
        rates = check_fpr_fractions(fpr)
        shifts = beside(self._shifts(X), rates)
        return threshold(rates, shifts)

    def privacy_profile(
        self, X: ArrayLike, epsilon: float | ArrayLike, *, direction: Direction = "both"
    ) -> np.ndarray:
        """Smallest delta of (epsilon, delta)-differential privacy with respect to each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        epsilon : float or array-like of shape (k,)
            Privacy parameters in nats, 0 or more.
        direction : {"both", "in/out", "out/in"}, default="both"
            ``"in/out"`` bounds the probability of a mean with the row by the probability of the
            same mean without it, ``"out/in"`` the reverse, and ``"both"`` is the larger delta.
            They differ after sub-sampling only.

        Returns
        -------
        delta : ndarray of shape (n_rows,) or (n_rows, k)
            Fractions; the mean with the row and the mean without it are this close. It holds for
            these targets and rows drawn from the distribution, and is not a guarantee for other
            data sets.
        """
        epsilons = check_epsilons(epsilon)
        shifts = beside(self._shifts(X), epsilons)
        check_option(direction, "direction", DIRECTIONS)
        return privacy_profile(epsilons, shifts, self._subsampling.inclusion, direction)

    def privacy_budget(
        self, X: ArrayLike, delta: float | ArrayLike, *, direction: Direction = "both"
    ) -> np.ndarray:
        """Smallest epsilon of (epsilon, delta)-differential privacy with respect to each row.

        It is the inverse of :meth:`privacy_profile`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        delta : float or array-like of shape (k,)
            Probabilities, in [0, 1).
        direction : {"both", "in/out", "out/in"}, default="both"
            As for :meth:`privacy_profile`. After sub-sampling a share s of the rows, ``"out/in"``
            is at most ``-log(1 - s)`` whatever the row is, and ``"in/out"`` is larger than without
            sub-sampling, because the mean has fewer rows.

        Returns
        -------
        epsilon : ndarray of shape (n_rows,) or (n_rows, k)
            In nats; infinite at a delta of 0, unless sub-sampling bounds it or the score is 0.
        """
        deltas = check_numbers(delta, "delta", "0 or more and below 1", 0, np.nextafter(1, 0))
        shifts = beside(self._shifts(X), deltas)
        check_option(direction, "direction", DIRECTIONS)
        return privacy_budget(deltas, shifts, self._subsampling.inclusion, direction)

    def leakage_table(
        self, X: ArrayLike, *, record_ids: ArrayLike | None = None, delta: float = 1e-5
    ) -> pd.DataFrame:
        """Return what the mean reveals about each row, for people who ask about their own record.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        record_ids : array-like of shape (n_rows,), default=None
            Names of the rows. If None, the index of a DataFrame, otherwise the positions.
        delta : float, default=1e-5
            The delta at which epsilon is stated, in [0, 1).

        Returns
        -------
        table : DataFrame
            Indexed by the names: ``score`` (see :meth:`score_samples`), ``epsilon in/out`` and
            ``epsilon out/in`` at `delta`, ``delta at epsilon 1``, ``tpr at fpr 0.01`` of the best
            attacker, and ``percentile``, the percentage of these rows that leak at most as much.
            It is about the *mean*, and an attacker who knows all else in distribution; it is not
            the epsilon of a model.

        See Also
        --------
        privacy_profile, privacy_budget : The functions that it shows at single points.

        Examples
        --------
        >>> import numpy as np
        >>> from skmia.leakage import MahalanobisLeakage
        >>> X = np.random.default_rng(0).normal(size=(100, 50))
        >>> leakage = MahalanobisLeakage(covariance="diagonal").fit(X)
        >>> table = leakage.leakage_table(X[:3], record_ids=["Ann", "Bob", "Cem"])
        >>> print(table[["score", "epsilon in/out", "tpr at fpr 0.01"]].round(2))
                score  epsilon in/out  tpr at fpr 0.01
        record
        Ann      0.45            2.76             0.05
        Bob      0.52            3.01             0.05
        Cem      0.45            2.76             0.05
        """
        delta = float(check_number(delta, "delta", "0 or more and below 1", 0, np.nextafter(1, 0)))
        scores = self.score_samples(X)
        names = getattr(X, "index", None) if record_ids is None else np.asarray(record_ids)
        if callable(names):  # a list has a method of this name
            names = None
        if names is not None and (np.ndim(names) != 1 or len(names) != len(scores)):
            raise ValueError(f"record_ids needs one name for each of the {len(scores)} rows of X.")
        n_below = np.searchsorted(np.sort(scores), scores, side="right")
        columns = {
            "score": scores,
            "epsilon in/out": self.privacy_budget(X, delta, direction="in/out"),
            "epsilon out/in": self.privacy_budget(X, delta, direction="out/in"),
            "delta at epsilon 1": self.privacy_profile(X, 1.0),
            "tpr at fpr 0.01": self.power(X, 0.01),
            "percentile": 100 * n_below / len(scores),
        }
        index = None if names is None else pd.Index(names, name="record")
        return pd.DataFrame(columns, index=index)


@dataclass(frozen=True)
class MisspecifiedTarget:
    """Leakage of targets to an attacker whose test was designed for other targets.

    Returned by :meth:`MahalanobisLeakage.misspecified`. Each array has one entry per pair of a true
    and an assumed target.

    Attributes
    ----------
    true_score : ndarray of shape (n,)
        Leakage score of the true target, with the correct test.
    assumed_score : ndarray of shape (n,)
        Leakage score of the target that the test was designed for.
    cross_score : ndarray of shape (n,)
        Scalar product of the two targets in place of the squared norm of one; negative where the
        test is misled.
    inclusion : float
        Probability with which a member takes part in the mean.
    scale : float
        Factor of the scores due to sub-sampling.
    """

    true_score: np.ndarray
    assumed_score: np.ndarray
    cross_score: np.ndarray
    inclusion: float = 1.0
    scale: float = 1.0

    @property
    def _shift(self):
        spread = np.sqrt(self.assumed_score)
        out = np.zeros_like(spread)
        shift = np.divide(self.cross_score, spread, out=out, where=spread > 0)
        return np.sqrt(self.scale) * shift

    @property
    def effective_score(self) -> np.ndarray:
        """Score of a target with the same power under the correct test, at most ``true_score``."""
        return self._shift**2 / self.scale

    @property
    def advantage(self) -> np.ndarray:
        """Advantage at the best threshold, with the sign of the test reversed if it is misled."""
        return advantage_of_shift(self._shift, self.inclusion)

    @property
    def loss(self) -> np.ndarray:
        """Advantage that the wrong target costs, 0 or more."""
        right = advantage_of_shift(np.sqrt(self.scale * self.true_score), self.inclusion)
        return np.maximum(right - self.advantage, 0.0)

    @property
    def naive_advantage(self) -> np.ndarray:
        """Advantage of the attacker who believes the test and keeps its threshold of 0."""
        spread = np.sqrt(self.scale * self.assumed_score)
        return self.inclusion * (ndtr(self._shift - spread / 2) - ndtr(-spread / 2))

    def power(self, fpr: float | ArrayLike) -> np.ndarray:
        """Return the true positive rate at a false positive rate.

        Parameters
        ----------
        fpr : float or array-like of shape (k,)
            False positive rates, fractions.

        Returns
        -------
        tpr : ndarray of shape (n,) or (n, k)
            True positive rates; below `fpr` if the test is misled.
        """
        rates = check_fpr_fractions(fpr)
        shift = self._shift
        return power(rates, shift if rates.ndim == 0 else shift[:, np.newaxis], self.inclusion)


class MahalanobisLeakage(TransactionMixin, RowCurvesMixin, CovarianceMixin, BaseEstimator):
    r"""Per-record membership leakage of a released mean.

    An attacker who knows the distribution of the rows and one row :math:`z` sees the mean of
    :math:`n` rows and tests whether :math:`z` is among them. The power of the best attacker depends
    on one number, the leakage score

    .. math:: m(z) = \tfrac1n (z - \mu)^\top (\Sigma + C_\gamma)^{-1} (z - \mu),

    with the mean :math:`\mu` and the covariance :math:`\Sigma` of the rows and noise of the
    standard deviations :math:`\gamma` in each row. The log-likelihood ratio tends to
    :math:`N(-m/2, m)` for a non-member and to :math:`N(m/2, m)` for a member when rows and columns
    grow together. On average over the rows of the distribution :math:`m = d / n`: the more columns
    are released, the more each record leaks, and records far from the center leak most.

    Parameters
    ----------
    covariance : {"auto", "diagonal", "full"} or covariance estimator, default="auto"
        How the covariance of the rows is estimated.

        - ``"auto"``: the mixture of the sample covariance and its diagonal under which held-out
          rows have the largest normal likelihood; the diagonal alone if no mixture is better. No
          matrix of all pairs of columns is made if there are more columns than rows.
        - ``"diagonal"``: the variances of the columns, with the divisor n - 1. Scores then describe
          the best attacker who treats the columns as uncorrelated: right if they are, and right on
          average otherwise, but too low for some records and too high for others.
        - ``"full"``: the sample covariance, which needs many more rows than columns; a
          singular one is refused.
        - an estimator of :mod:`sklearn.covariance`, which is cloned and fitted; one that was fitted
          on other, public rows goes in a :class:`~sklearn.frozen.FrozenEstimator`.
    n_samples : int, default=None
        Number of rows of the private data set. If None, the number of rows of X.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of normal noise in each row, so that the released mean of k rows has
        noise of ``noise_scale / sqrt(k)``.
    sampling_ratio : float, default=1.0
        Share of the rows, drawn without replacement, that the mean is taken of; in (0, 1]. Laws are
        those of ``sampling_ratio * n_samples`` rows, which :class:`SubsampledMean` rounds to whole
        ones, at least one.
    subsampling : {"exact", "published"}, default="exact"
        Law of the test after sub-sampling. ``"published"`` is there to redraw the printed curves;
        see Notes.
    level : float, default=0.1
        Advantage in [0, 1] above which :meth:`predict` says that a row leaks.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        Mean of the rows.
    covariance_ : ndarray of shape (n_features,) or (n_features, n_features)
        Variances, or covariance matrix, of the rows, without noise. With ``"auto"`` it holds
        variances if the diagonal was chosen.
    shrinkage_ : float or None
        Share of the diagonal in the mixture of ``"auto"``, 1 if it was chosen alone; None for
        another `covariance`.
    n_samples_ : int
        Rows of the private data set.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    MeanLikelihoodRatioAttack : The attack that reaches this bound.
    SubsampledMean : The mechanism with sub-sampling.

    Notes
    -----
    In the game a non-member's mean has n fresh rows; for a member one of them is replaced by the
    target.

    The paper states that sub-sampling multiplies the score by the sampling ratio :math:`\rho`. This
    is correct if each coordinate draws its own rows. If rows are drawn, one event decides for all
    columns whether the target takes part, and no attacker has more power than :math:`(1 - \rho)
    \alpha + \rho \Phi(\Phi^{-1}(\alpha) + \sqrt{m / \rho})` at the false positive rate
    :math:`\alpha`, nor an advantage above :math:`\rho`. For large m the printed curve exceeds both,
    and at low false positive rates it shows too little leakage. With ``subsampling="exact"``,
    :meth:`score_samples` describes the mean of all rows, because no single score describes a
    mixture.

    Columns without spread are ignored; a row that differs from the mean in such a column is
    exposed: its score is infinite. A row pulls moments that are estimated from it towards itself.
    If ``"auto"`` takes correlations, a row that was given to `fit` is therefore left out of the
    moments behind its own score. With ``"full"`` its score stays below 1 however far out it lies:
    to find outliers, fit on other rows and give `n_samples`.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import MahalanobisLeakage
    >>> X = np.random.default_rng(0).normal(size=(100, 400))
    >>> X[7] *= 2
    >>> leakage = MahalanobisLeakage().fit(X)
    >>> leakage.top_k(X, 1)
    array([7])
    >>> leakage.advantage(X[[7, 8]]).round(2)
    array([0.95, 0.66])
    >>> leakage.set_params(level=0.9).predict(X[[7, 8]])
    array([1, 0])
    >>> round(leakage.score(X), 2)
    0.68
    >>> MahalanobisLeakage(noise_scale=2.0).fit(X).advantage(X[[7, 8]]).round(2)
    array([0.64, 0.33])
    """

    _parameter_constraints: dict = {
        "covariance": COVARIANCE_CONSTRAINT,
        "n_samples": [at_least(1), None],
        "noise_scale": [Interval(Real, 0, None, closed="left"), "array-like"],
        "sampling_ratio": [Interval(Real, 0, 1, closed="right")],
        "subsampling": [StrOptions({"exact", "published"})],
        "level": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        covariance: Literal["auto", "diagonal", "full"] | BaseEstimator = "auto",
        n_samples: int | None = None,
        noise_scale: float | ArrayLike = 0.0,
        sampling_ratio: float = 1.0,
        subsampling: Literal["exact", "published"] = "exact",
        level: float = 0.1,
    ) -> None:
        self.covariance = covariance
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.subsampling = subsampling
        self.level = level

    @classmethod
    def from_moments(
        cls, mean: ArrayLike, covariance: ArrayLike, *, n_samples: int, **params: Any
    ) -> Self:
        """Create a fitted estimator for a distribution with known moments.

        Parameters
        ----------
        mean : array-like of shape (n_features,)
            Mean of the rows.
        covariance : array-like of shape (n_features,) or (n_features, n_features)
            Variances of uncorrelated columns, or the covariance matrix.
        n_samples : int
            Rows of the private data set.
        **params : dict
            Further parameters of the constructor.

        Returns
        -------
        leakage : MahalanobisLeakage
            The fitted estimator.
        """
        mean, covariance = check_moments(mean, covariance)
        kind = "diagonal" if covariance.ndim == 1 else "full"
        leakage = cls(covariance=kind, n_samples=n_samples, **params)
        validate_params_of(leakage)
        leakage.n_features_in_ = len(mean)
        return leakage._set_moments(mean, covariance, n_samples)

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate mean and covariance of the distribution of the rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The private data set, or other rows of the same distribution and `n_samples`.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_matrix(self, X, dtype=np.float64, ensure_min_samples=2)
        check_column_variance(X)
        shrinkage = get_shrinkage(X, self.covariance)
        mean, covariance = estimate_moments(X, self.covariance, shrinkage)
        n_samples = len(X) if self.n_samples is None else self.n_samples
        self._set_moments(mean, covariance, n_samples)
        self.shrinkage_ = None if shrinkage is None else shrinkage.share
        if shrinkage is not None and shrinkage.share < 1:
            self._known_rows = KnownRows(X, self._moments, shrinkage)
        return self

    def _set_moments(self, mean, covariance, n_samples):
        """Set what scores depend on.

        Noise is added to the variances of a row, by its square. Sub-sampling changes the shift and
        the share of included rows after that: ``SubsamplingEffect`` in ``_core/tradeoff.py``.
        """
        noise = check_noise_scale(self.noise_scale, len(mean))
        self._moments = make_moments(mean, covariance, noise)
        self._subsampling = make_subsampling(self.sampling_ratio, self.subsampling)
        self._known_rows, self.shrinkage_ = None, None
        self.location_, self._covariance = mean, covariance
        self.n_samples_ = n_samples
        return self

    def _check_rows(self, X):
        return validate_matrix(self, X, dtype=np.float64, reset=False)

    def _products(self, left, right, targets):
        """Inner products under moments that no target has a part in, over the rows of the mean."""
        if self._known_rows is None:
            return inner_products(left, right, self._moments) / self.n_samples_
        return self._known_rows.inner_products(left, right, targets) / self.n_samples_

    def _scores(self, X):
        """Return the leakage scores of the mean of all rows."""
        X = self._check_rows(X)
        return self._products(X, X, X)

    def _shifts(self, X):
        scores = self._scores(X)
        return np.sqrt(self._subsampling.scale * scores)

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the leakage score of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            0 and above, typically ``n_features / n_samples``. The advantage of the optimal attacker
            increases with it. After sub-sampling it still describes the mean of all rows, with
            ``subsampling="published"`` it is multiplied by the sampling ratio.
        """
        scores = self._scores(X)
        # As it was fitted: 1 and above for the exact effect, the sampling ratio for the published.
        return min(1.0, self._subsampling.scale) * scores

    def advantage(self, X: ArrayLike) -> np.ndarray:
        """Return the membership advantage of the best attacker who knows `covariance_`, TPR - FPR.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.

        Returns
        -------
        advantages : ndarray of shape (n_rows,)
            Membership advantage, in [0, 1]; 0 means that the mean carries no information about the
            row.
        """
        shifts = self._shifts(X)
        return advantage_of_shift(shifts, self._subsampling.inclusion)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return which rows leak more than `level`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.

        Returns
        -------
        leaks : ndarray of shape (n_rows,), dtype int
            1 where the :meth:`advantage` is above `level`, otherwise 0.
        """
        return (self.advantage(X) > self.level).astype(int)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the average leakage of rows; higher means that the mean reveals more.

        A search with this score selects the setting under which most leaks, the worst case. It is
        not a way to choose `covariance`: one that is estimated from few rows puts other rows too
        far from the mean. ``"auto"`` chooses by likelihood.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean of the :meth:`advantage` of the rows, in [0, 1].
        """
        return float(self.advantage(X).mean())

    def misspecified(self, X: ArrayLike, X_assumed: ArrayLike) -> MisspecifiedTarget:
        """Return the leakage of targets to an attacker whose test was designed for other targets.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            True targets.
        X_assumed : array-like of shape (n_rows, n_features)
            Targets that the attacker assumes instead, row by row.

        Returns
        -------
        leakage : MisspecifiedTarget
            Scores, advantages and power of each pair.

        Raises
        ------
        ValueError
            If the numbers of rows differ, or a row differs from the mean in a column without
            spread.
        """
        X, X_assumed = self._check_rows(X), self._check_rows(X_assumed)
        if len(X) != len(X_assumed):
            raise ValueError(
                f"X_assumed needs one row for each of the {len(X)} rows of X; got {len(X_assumed)}."
            )
        true, assumed, cross = (
            self._products(left, right, X)
            for left, right in ((X, X), (X_assumed, X_assumed), (X, X_assumed))
        )
        if np.isinf(cross).any():
            raise ValueError(
                f"The pair in row {np.isinf(cross).argmax()} differs from the mean in a column "
                "without spread, which reveals membership without any test."
            )
        return MisspecifiedTarget(true, assumed, cross, *self._subsampling)

    def top_k(self, X: ArrayLike, k: int) -> np.ndarray:
        """Return the rows that leak most, as canaries of an audit.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Candidates.
        k : int
            Number of rows to return, from 1 to n_rows.

        Returns
        -------
        rows : ndarray of shape (k,)
            Their indices, the most leaking row first; of equal rows the first one.
        """
        scores = self._scores(X)
        check_count(k, "k", high=len(scores))
        return np.argsort(-scores, kind="stable")[:k]
