"""Attacks on a released mean by its projection on a direction."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._core.sklearn import StrOptions
from .._core.types import Seed
from ._mean_attack_base import BaseMeanAttack


class MeanLikelihoodRatioAttack(BaseMeanAttack):
    r"""The optimal attack on a released mean: the likelihood ratio of its limit laws.

    .. math:: \ell(\hat\mu) = (z - \mu)^\top \Sigma^{-1} (\hat\mu - \mu)
              - \tfrac{1}{2n} (z - \mu)^\top \Sigma^{-1} (z - \mu)

    for the released mean :math:`\hat\mu` of n rows and the target z. An attacker without the true
    moments estimates them from reference rows; with a covariance of all columns, this is the
    covariance attack of Azize and Basu. After :meth:`from_moments` the score is this ratio. After
    ``fit`` it is the ratio of the estimated moments minus :math:`(1 - \tfrac{1}{2n}) p`, the same
    number for all releases (see Notes).

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        Target row. If None, the reference row that leaks most is used.
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
        Released means are projected on it.
    effective_score_ : float
        Leakage score that this attack makes use of; here the target's score.
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
    MahalanobisLeakage : The power of this attack on each row at once.
    MeanScalarProductAttack : Attack without a covariance, weaker if columns differ in variance.

    Notes
    -----
    Scores are in nats and the threshold of the largest advantage is 0. The ratio of estimated
    moments would be too high by a constant: the direction :math:`a = \Sigma^{-1} (z - \mu)` points
    away from the reference rows that gave :math:`\mu` and :math:`\Sigma`, so new rows project on it
    at :math:`a^\top \mu + p`, where the pull p is nine tenths of the mean projection
    :math:`a^\top (x - \mu)` of a held-out tenth of the reference rows on the direction of the
    others. This center takes the place of :math:`a^\top \mu` in both terms, which subtracts
    :math:`(1 - \tfrac{1}{2 \rho n}) p` from :math:`\ell`, for the share :math:`\rho` of the rows in
    the mean. After sub-sampling the score
    is the ratio :math:`\ell` of a mean of :math:`\rho n` rows that the target is among for sure.
    The ratio of the game itself, :math:`\log(1 - \rho + \rho e^\ell)`, increases with it but is the
    same number for all small :math:`\ell`, up to rounding. The paper prints another ratio, which
    holds for columns that are sub-sampled one by one.

    Reference rows that stay the same hardly change the order of releases: of the score m there
    remains :math:`m^2 / (m + \tau / n_0)` with :math:`n_0` reference rows and :math:`\tau = d / n`.
    The threshold for a `target_fpr` is the end of a prediction interval. Each tenth of the
    reference rows is projected on the direction that the other rows give; mean and variance of
    these projections estimate projections of new rows, also if columns are correlated in ways that
    `covariance` leaves out. Student's law with :math:`n_0 - 1` degrees of freedom and the error of
    the mean are added, so that the rate holds on average over draws of the reference rows. For one
    set of reference rows the rate varies: the error of their mean shifts all scores by about
    :math:`\sqrt{m n / n_0}`. This also costs power: the score that remains is
    :math:`m^2 / (m (1 + n / n_0) + \tau / n_0 + 2 \tau n / n_0^2)`. Projections are taken to be
    about normal, as sums over many columns and means of many rows are.

    With ``target=None`` the row that is taken leaves the reference rows. Columns that are constant
    in the reference rows take no part.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065.

    Sankararaman, S., Obozinski, G., Jordan, M. I. and Halperin, E. (2009). Genomic privacy and
    limits of individual detection in a pool. Nature Genetics 41.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import MeanLikelihoodRatioAttack
    >>> rng = np.random.default_rng(0)
    >>> reference, target = rng.normal(size=(200, 300)), rng.normal(size=300)
    >>> without = rng.normal(size=(100, 50, 300))
    >>> members = without.copy()
    >>> members[:, 0] = target
    >>> X_released = np.concatenate([without.mean(axis=1), members.mean(axis=1)])
    >>> membership = np.repeat([0, 1], 100)
    >>> attack = MeanLikelihoodRatioAttack(target, n_samples=50).fit(reference)
    >>> bool(attack.score(X_released, membership) > 0.6)
    True
    >>> round(attack.power(0.05), 1)
    0.8
    """

    def __init__(
        self,
        target: ArrayLike | None = None,
        *,
        n_samples: int | None = None,
        noise_scale: float | ArrayLike = 0.0,
        sampling_ratio: float = 1.0,
        covariance: Literal["auto", "diagonal", "full"] | BaseEstimator = "auto",
        target_fpr: float | None = None,
    ) -> None:
        self.target = target
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.covariance = covariance
        self.target_fpr = target_fpr

    def _compute_direction(self, moments):
        return moments.solve(self.target_ - moments.mean)

    def _score_at(self, projection):
        return projection - self._law.center - self._move / 2


class MeanScalarProductAttack(BaseMeanAttack):
    r"""Attack that compares a released mean with the target and with another row.

    The score is :math:`(z - z_0)^\top \hat\mu` for the released mean :math:`\hat\mu`, the target z
    and one other row :math:`z_0` of the same distribution. The score needs no moments. The
    threshold and the theoretical power use mean and variance of the projection, which reference
    rows estimate.

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        Target row. If None, the reference row that leaks most is used.
    reference : {"row", "mean"} or array-like of shape (n_features,), default="row"
        The row :math:`z_0`: a reference row drawn at random, the mean of the reference rows, which
        is stronger, or a given one.
    n_samples : int, default=None
        Rows of the private data set. If None, the number of reference rows.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of the mechanism's noise in each row.
    sampling_ratio : float, default=1.0
        Share of the rows in the released mean, in (0, 1].
    covariance : {"auto", "diagonal", "full"} or covariance estimator, default="diagonal"
        Covariance that decides which reference row leaks most, if no target is given; the score
        does not depend on it. See :class:`MahalanobisLeakage`.
    target_fpr : float, default=None
        False positive rate of `predict`; with reference rows it holds on average over draws of
        these rows. If None, the threshold has the largest advantage.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of the reference row.

    Attributes
    ----------
    target_ : ndarray of shape (n_features,)
        Target row.
    reference_ : ndarray of shape (n_features,)
        The other row.
    direction_ : ndarray of shape (n_features,)
        Released means are projected on it: the difference of the two.
    effective_score_ : float
        Leakage score that this attack makes use of, at most the target's score.
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
    MeanLikelihoodRatioAttack : Optimal attack, which weighs columns by their variance.

    Notes
    -----
    It orders releases like the likelihood ratio where all columns have the same variance,
    no two of them are correlated and :math:`z_0` is the true mean.

    References
    ----------
    Dwork, C., Smith, A., Steinke, T., Ullman, J. and Vadhan, S. (2015). Robust traceability from
    trace amounts. FOCS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import MeanLikelihoodRatioAttack, MeanScalarProductAttack
    >>> rng = np.random.default_rng(0)
    >>> variances = np.geomspace(0.01, 10, 300)
    >>> target = rng.normal(size=300) * np.sqrt(variances)
    >>> moments = {"mean": np.zeros(300), "covariance": variances, "n_samples": 50}
    >>> attack = MeanScalarProductAttack.from_moments(target, **moments, reference="mean")
    >>> best = MeanLikelihoodRatioAttack.from_moments(target, **moments)
    >>> print(f"{attack.effective_score_:.1f} of {best.effective_score_:.1f}")
    2.1 of 6.2
    """

    _parameter_constraints = {
        **BaseMeanAttack._parameter_constraints,
        "reference": [StrOptions({"row", "mean"}), "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        target: ArrayLike | None = None,
        *,
        reference: Literal["row", "mean"] | ArrayLike = "row",
        n_samples: int | None = None,
        noise_scale: float | ArrayLike = 0.0,
        sampling_ratio: float = 1.0,
        covariance: Literal["auto", "diagonal", "full"] | BaseEstimator = "diagonal",
        target_fpr: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.target = target
        self.reference = reference
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.covariance = covariance
        self.target_fpr = target_fpr
        self.random_state = random_state

    def _prepare(self, X):
        if not isinstance(self.reference, str):
            self.reference_ = self._check_row(self.reference, "reference")
            return X
        if self.reference == "mean":
            self.reference_ = self.location_
            return X
        if X is None:
            raise ValueError("reference='row' needs reference rows; pass a row, or 'mean'.")
        row = check_random_state(self.random_state).randint(len(X))
        self.reference_ = X[row].copy()
        return np.delete(X, row, axis=0)

    def _compute_direction(self, moments):
        is_mean = isinstance(self.reference, str) and self.reference == "mean"
        return self.target_ - (moments.mean if is_mean else self.reference_)
