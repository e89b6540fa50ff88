"""Attack on a released mean by its distance from the target."""

from typing import Literal

import numpy as np
from scipy.special import erfcx, log_ndtr, xlogy
from scipy.stats import ncx2
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from .._core.gaussians import check_moments, make_moments
from .._core.matrix import check_feature_matrix
from .._core.metric_inputs import check_option
from .._core.numbers import check_count, check_numbers
from .._core.sklearn import StrOptions, at_least
from .._core.types import ArrayLike
from ._mean_attacks import BaseMeanAttack, DistanceLaw, estimate_distances

# Standard deviations beyond which scipy's series underflow, overflow or take seconds.
_FAR = 12.0

# Mean beyond which they take seconds anywhere, and the signed root is normal to 1e-4.
_LARGE = 1e9

# Values of 0 are taken for this one, so that all logarithms are finite.
_FLOOR = 1e-300


def ncx2_logcdf(x, df, nc):
    """Return the log of Pr[chi'^2_df(nc) <= x], finite for all x of 0 and above.

    Beyond 12 standard deviations it is the saddlepoint approximation of Lugannani and Rice; for the
    df and nc of a released mean its relative error is about 1e-6 of the probability.
    """
    x = np.maximum(x, _FLOOR)
    w, v = _saddlepoint(x, df, nc)
    if df + nc > _LARGE:
        return log_ndtr(w)
    logcdf = np.empty_like(x)
    lowest, highest = w < -_FAR, w > _FAR
    logcdf[lowest] = _log_tail(-w[lowest], -v[lowest])
    logcdf[highest] = -np.exp(_log_tail(w[highest], v[highest]))
    low, high = ~lowest & (w < 0), ~highest & (w >= 0)
    logcdf[low] = np.log(ncx2.cdf(x[low], df, nc))
    logcdf[high] = np.log1p(-ncx2.sf(x[high], df, nc))
    return logcdf


def _saddlepoint(x, df, nc):
    """Return the signed root of the deviance at x, which is about normal, and its correction.

    The slope of the cumulant generating function is x at e / (2 + 2 e).
    """
    inverse = 2 * x / (df + np.sqrt(df**2 + 4 * x * nc))
    e = inverse - 1
    log = np.where(e < -0.5, np.log(inverse), np.log1p(np.maximum(e, -0.5)))
    w = np.sign(e) * np.sqrt(df * (e - log) + nc * e**2)
    return w, e / 2 * np.sqrt(2 * df + 4 * nc * (1 + e))


def _log_tail(w, v):
    """Return the log of the probability beyond a positive signed root."""
    mills = np.sqrt(np.pi / 2) * erfcx(w / np.sqrt(2))
    return -(w**2) / 2 - np.log(2 * np.pi) / 2 + np.log(mills - 1 / w + 1 / v)


# Distance of a count from a whole number that rounding explains.
_ROUNDING = 1e-6


def mean_log_likelihood_ratio(
    released: ArrayLike,
    target: ArrayLike,
    mean: ArrayLike,
    covariance: ArrayLike | None = None,
    *,
    n_samples: int,
    family: Literal["normal", "bernoulli"] = "normal",
) -> np.ndarray:
    r"""Exact log likelihood ratio of a mean of n rows, for and against a target among them.

    Against the target all n rows are drawn from the distribution; for it n - 1 are, and the target
    is the last one. No attack on the released mean ranks releases better.

    Parameters
    ----------
    released : array-like of shape (n_releases, d)
        Released means.
    target : array-like of shape (d,)
        Target row.
    mean : array-like of shape (d,)
        Mean of the rows; for ``"bernoulli"`` the probabilities of a 1, in (0, 1).
    covariance : array-like of shape (d,) or (d, d), default=None
        Variances of independent columns, or the covariance matrix, for ``"normal"``.
    n_samples : int
        Number of rows n of the private data set, at least 2.
    family : {"normal", "bernoulli"}, default="normal"
        Distribution of the rows: normal, or independent columns of 0 and 1.

    Returns
    -------
    log_ratio : ndarray of shape (n_releases,)
        Logarithm of the ratio of the densities, in nats; positive if the release is more likely
        with the target. Minus infinity where the release excludes the target.

    Raises
    ------
    ValueError
        If shapes do not fit, if a covariance is missing or not taken by the family, or if a
        release, a target or a mean cannot occur.

    See Also
    --------
    MeanLikelihoodRatioAttack : The ratio in the limit of many rows, linear in the release.
    MeanGLiRAttack : Orders releases like the ratio of normal rows, with thresholds and power.

    Notes
    -----
    For normal rows it is :math:`\tfrac d2 \log \tfrac n{n-1} - \tfrac12 [\tfrac{n^2}{n-1} \|
    \hat\mu - \mu - \tfrac{z - \mu}n \|^2_{\Sigma^{-1}} - n \|\hat\mu - \mu\|^2_{\Sigma^{-1}}]`,
    and decreases with the distance of the release from the target alone. For k ones in a column of
    probability p it is :math:`\log \tfrac{k}{np}` if the target has a 1 there, else :math:`\log
    \tfrac{n - k}{n (1 - p)}`, summed over columns.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065, equation 3.

    Examples
    --------
    >>> from skmia.leakage import mean_log_likelihood_ratio
    >>> mean_log_likelihood_ratio([[1.0], [0.0]], [2.0], [0.0], [1.0], n_samples=2).round(3)
    array([ 1.347, -1.653])
    >>> mean_log_likelihood_ratio(
    ...     [[0.5, 0.5]], [1, 0], [0.25, 0.25], n_samples=4, family="bernoulli"
    ... ).round(3)
    array([0.288])
    """
    check_option(family, "family", ("normal", "bernoulli"))
    n_samples = check_count(n_samples, "n_samples", 2)
    released = check_feature_matrix(released, dtype=np.float64, input_name="released")
    d = released.shape[1]
    rows = {}
    for name, values in (("target", target), ("mean", mean)):
        rows[name] = check_numbers(values, name, "finite numbers")
        if rows[name].shape != (d,):
            raise ValueError(
                f"{name} must be one row of {d} features, as released has; got shape "
                f"{rows[name].shape}."
            )
    if (covariance is None) == (family == "normal"):
        raise ValueError(
            f"covariance {'is needed' if family == 'normal' else 'is not used'} with "
            f"family={family!r}."
        )
    if family == "bernoulli":
        return _bernoulli_ratio(released, rows["target"], rows["mean"], n_samples)
    moments = make_moments(*check_moments(rows["mean"], covariance))
    if moments.constant.any():
        raise ValueError("covariance must have variances above 0.")
    move = (rows["target"] - rows["mean"]) / n_samples
    apart, nearer = released - rows["mean"], released - rows["mean"] - move
    without = n_samples * moments.inner(apart, apart)
    with_target = n_samples**2 / (n_samples - 1) * moments.inner(nearer, nearer)
    return d / 2 * np.log(n_samples / (n_samples - 1)) - (with_target - without) / 2


def _bernoulli_ratio(released, target, probability, n_samples):
    if not np.isin(target, (0, 1)).all():
        raise ValueError("target must hold 0 and 1 with family='bernoulli'.")
    if not ((probability > 0) & (probability < 1)).all():
        raise ValueError("mean must hold probabilities in (0, 1) with family='bernoulli'.")
    counts = n_samples * released
    ones = np.rint(counts)
    if (np.abs(counts - ones) > _ROUNDING * n_samples).any() or not (
        (ones >= 0) & (ones <= n_samples)
    ).all():
        raise ValueError(
            f"released must hold means of {n_samples} values of 0 and 1 with family='bernoulli'."
        )
    same = np.where(target == 1, ones, n_samples - ones)
    chance = np.where(target == 1, probability, 1 - probability)
    # xlogy(1, 0) is minus infinity: no row of the data set has the value of the target.
    return xlogy(1.0, same / (n_samples * chance)).sum(axis=1)


# Number of values in the largest temporary array.
_BLOCK = 2**22


class MeanGLiRAttack(BaseMeanAttack):
    r"""Gaussian likelihood ratio attack, by the distance of the mean from the target.

    Released means are compared by their squared Mahalanobis distance from the target. For
    non-members, n times this distance is noncentral chi-square with d degrees of freedom and the
    noncentrality :math:`n \|z - \mu\|^2_{\Sigma^{-1}}`. The score is minus the logarithm of the
    p-value. For normal rows it orders releases exactly like the likelihood ratio; for
    others it is in the limit.

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        Target row. If None, the reference row that leaks most is used.
    factor : {"n-1", "n"}, default="n-1"
        What the squared distance is multiplied with. ``"n-1"`` follows the authors' code, with
        p-values that are too small on average; ``"n"`` makes them uniform. The order of releases
        and the predictions are the same.
    n_samples : int, default=None
        Rows of the private data set. If None, the number of reference rows.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of the mechanism's noise in each row.
    sampling_ratio : float, default=1.0
        Share of the rows in the released mean, in (0, 1]. Laws are those of ``sampling_ratio *
        n_samples`` rows, which :class:`SubsampledMean` rounds to whole ones, at least one.
    covariance : {"auto", "diagonal", "full"} or covariance estimator, default="auto"
        How the covariance of the rows is estimated, see :class:`MahalanobisLeakage`.
    target_fpr : float, default=None
        False positive rate of `predict`; with reference rows it holds on average over draws of
        these rows. If None, the threshold has the largest advantage.

    Attributes
    ----------
    target_ : ndarray of shape (n_features,)
        Target row.
    direction_ : ndarray of shape (n_features,)
        Direction of the likelihood ratio, to which the distance is equivalent in the limit.
    effective_score_ : float
        Leakage score that this attack makes use of; in the limit the target's score.
    offset_ : float
        Threshold of the scores.
    location_ : ndarray of shape (n_features,)
        Mean of the rows.
    covariance_ : ndarray of shape (n_features,) or (n_features, n_features)
        Variances, or covariance matrix, of the rows, without noise.
    n_samples_ : int
        Rows of the private data set.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    MeanLikelihoodRatioAttack : Attack with the likelihood ratio itself.

    References
    ----------
    Leemann, T., Pawelczyk, M. and Kasneci, G. (2023). Gaussian membership inference privacy.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import MeanGLiRAttack
    >>> rng = np.random.default_rng(0)
    >>> target = rng.normal(size=300)
    >>> attack = MeanGLiRAttack.from_moments(
    ...     target, np.zeros(300), np.ones(300), n_samples=50, factor="n"
    ... )
    >>> without = rng.normal(size=(2000, 300)) / np.sqrt(50)
    >>> p_values = np.exp(-attack.score_samples(without))
    >>> print(f"{p_values.mean():.1f}")
    0.5
    """

    _parameter_constraints = {
        **BaseMeanAttack._parameter_constraints,
        "factor": [StrOptions({"n", "n-1"})],
        "n_samples": [at_least(2), None],
    }

    def __init__(
        self,
        target: ArrayLike | None = None,
        *,
        factor: Literal["n-1", "n"] = "n-1",
        n_samples: int | None = None,
        noise_scale: float | ArrayLike = 0.0,
        sampling_ratio: float = 1.0,
        covariance: Literal["auto", "diagonal", "full"] | BaseEstimator = "auto",
        target_fpr: float | None = None,
    ) -> None:
        self.target = target
        self.factor = factor
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.covariance = covariance
        self.target_fpr = target_fpr

    def _prepare(self, X):
        if self._n_drawn <= 1:
            raise ValueError(
                "The mean must have more than 1 row; n_samples * sampling_ratio is "
                f"{self._n_drawn:g}."
            )
        self._df = int((~self._moments.constant).sum())
        if self._df == 0:
            raise ValueError("All columns are constant: no distance can be measured.")
        return X

    def _compute_direction(self, moments):
        return moments.solve(self.target_ - moments.mean)

    def _choose_offset(self):
        k = self._n_drawn
        law = self._estimate_distances()
        if self.target_fpr is None:
            # Where the densities of a mean of k normal rows with and without the target are equal.
            distance = (1 - 1 / k) * (law.from_mean - law.square * np.log1p(-1 / k))
        elif self._held_out is None:
            distance = ncx2.ppf(self.target_fpr, self._df, k * law.from_mean) / k
        else:
            distance = law.threshold(self.target_fpr)
        return self._score_distances(np.array([max(distance, 0.0)]))[0]

    def _estimate_distances(self):
        """Law of the squared distance between the target and a mean that it has no part in."""
        k, from_mean = self._n_drawn, self._from_mean()
        if self._held_out is None:
            return DistanceLaw(from_mean, self._df)
        noise = self._moments.trace_of(np.broadcast_to(self._noise**2, self.n_features_in_))
        return estimate_distances(from_mean, self._held_out, self._law, noise, self._df, k)

    def _from_mean(self):
        """Return the squared distance between the target and the mean of the rows."""
        return float(self.direction_ @ (self.target_ - self._moments.mean))

    def _score(self, X):
        distances = np.empty(len(X))
        for rows in gen_batches(len(X), max(1, _BLOCK // X.shape[1])):
            away = X[rows] - self.target_
            away[:, self._moments.constant] = 0
            distances[rows] = self._moments.inner(away, away)
        return self._score_distances(distances)

    def _score_distances(self, distances):
        """Return minus the log p-value of squared distances from the target."""
        factor = self._n_drawn - 1 if self.factor == "n-1" else self._n_drawn
        noncentrality = self._n_drawn * self._from_mean()
        return -ncx2_logcdf(factor * distances, self._df, noncentrality)
