"""Attack on a released mean by its distance from the target."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ncx2
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from .._core.sklearn import StrOptions, at_least
from ._mean_attack_base import BaseMeanAttack
from ._mean_law import DistanceLaw, estimate_distances
from ._noncentral import ncx2_logcdf

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
        Share of the rows in the released mean, in (0, 1].
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
        """Squared distance between the target and the mean of the rows."""
        return float(self.direction_ @ (self.target_ - self._moments.mean))

    def _score(self, X):
        distances = np.empty(len(X))
        for rows in gen_batches(len(X), max(1, _BLOCK // X.shape[1])):
            away = X[rows] - self.target_
            away[:, self._moments.constant] = 0
            distances[rows] = self._moments.inner(away, away)
        return self._score_distances(distances)

    def _score_distances(self, distances):
        """Minus the log p-value of squared distances from the target."""
        factor = self._n_drawn - 1 if self.factor == "n-1" else self._n_drawn
        noncentrality = self._n_drawn * self._from_mean()
        return -ncx2_logcdf(factor * distances, self._df, noncentrality)
