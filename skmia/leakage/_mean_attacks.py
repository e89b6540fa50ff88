"""Attacks on a released mean."""

from numbers import Integral

import numpy as np
from scipy.stats import ncx2
from sklearn.utils import check_random_state, gen_batches

from ..utils._matrix import check_matrix
from ..utils._sklearn import Interval, StrOptions
from ._mean_attack_base import BaseMeanAttack
from ._noncentral import ncx2_logcdf

# Numbers in the largest temporary array.
_BLOCK = 2**22


class MeanLikelihoodRatioAttack(BaseMeanAttack):
    r"""The optimal attack on a released mean: the likelihood ratio of its limit laws.

    .. math:: \ell(\hat\mu) = (z - \mu)^\top \Sigma^{-1} (\hat\mu - \mu)
              - \tfrac{1}{2n} (z - \mu)^\top \Sigma^{-1} (z - \mu)

    for the released mean :math:`\hat\mu` of n rows and the target z. An attacker without the true
    moments puts in those of reference rows; with a covariance of all columns this is the
    covariance attack of Azize and Basu.

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        The row in question. None takes the reference row that leaks most.
    n_samples : int, default=None
        Rows of the private data set; None takes as many as there are reference rows.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of the mechanism's noise in each row.
    sampling_ratio : float, default=1.0
        Share of the rows that the mechanism takes the mean of, in (0, 1].
    covariance : {"diagonal", "full"} or covariance estimator, default="diagonal"
        How the covariance of the rows is estimated, see :class:`MahalanobisLeakage`.
    target_fpr : float, default=None
        False positive rate of `predict`. None takes the threshold of the largest advantage.

    Attributes
    ----------
    target_ : ndarray of shape (n_features,)
        The row in question.
    direction_ : ndarray of shape (n_features,)
        Released means are projected on it.
    effective_score_ : float
        Leakage score that this attack makes use of; here that of the target.
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
        Names of the columns, where they are strings.

    See Also
    --------
    MahalanobisLeakage : The power of this attack on each row at once.
    MeanScalarProductAttack : Needs no covariance and is weaker where columns differ in variance.

    Notes
    -----
    Scores are in nats and the threshold of the largest advantage is 0. After sub-sampling the score
    is the ratio :math:`\ell` of a mean of :math:`\rho n` rows that the target is among for sure.
    The ratio of the game itself, :math:`\log(1 - \rho + \rho e^\ell)`, increases with it but is the
    same number for all small :math:`\ell`, up to rounding. The paper prints another ratio, that of
    columns which are sub-sampled one by one.

    Reference rows that stay the same cost next to no power: of the score m there remains
    :math:`m^2 / (m + \tau / n_0)` with :math:`n_0` reference rows and :math:`\tau = d / n`. But the
    error of their mean shifts all scores by about :math:`\sqrt{m n / n_0}`: unless there are many
    more of them than private rows, `offset_` misses the rate that was asked for. Where many attacks
    with reference rows of their own share one threshold, the score that remains is
    :math:`m^2 / (m (1 + n / n_0) + \tau / n_0 + 2 \tau n / n_0^2)`.

    Columns that are constant in the reference rows take no part.

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
        target=None,
        *,
        n_samples=None,
        noise_scale=0.0,
        sampling_ratio=1.0,
        covariance="diagonal",
        target_fpr=None,
    ):
        self.target = target
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.covariance = covariance
        self.target_fpr = target_fpr

    def _find_direction(self, X):
        return self._moments.solve(self.target_ - self._moments.mean)

    def _score_at(self, projection):
        return projection - self.direction_ @ self.location_ - self._move / 2


class MeanScalarProductAttack(BaseMeanAttack):
    r"""The attack that compares a released mean with the target and with somebody else.

    The score is :math:`(z - z_0)^\top \hat\mu` for the released mean :math:`\hat\mu`, the target z
    and one other row :math:`z_0` of the same distribution. It needs no moments at all; they set
    the threshold and the theoretical power only.

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        The row in question. None takes the reference row that leaks most.
    reference : {"row", "mean"} or array-like of shape (n_features,), default="row"
        The row :math:`z_0`: a reference row drawn at random, the mean of the reference rows, which
        is stronger, or a given one.
    n_samples : int, default=None
        Rows of the private data set; None takes as many as there are reference rows.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of the mechanism's noise in each row.
    sampling_ratio : float, default=1.0
        Share of the rows that the mechanism takes the mean of, in (0, 1].
    covariance : {"diagonal", "full"} or covariance estimator, default="diagonal"
        How the covariance of the rows is estimated, see :class:`MahalanobisLeakage`.
    target_fpr : float, default=None
        False positive rate of `predict`. None takes the threshold of the largest advantage.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of the reference row.

    Attributes
    ----------
    target_ : ndarray of shape (n_features,)
        The row in question.
    reference_ : ndarray of shape (n_features,)
        The other row.
    direction_ : ndarray of shape (n_features,)
        Released means are projected on it: the difference of the two.
    effective_score_ : float
        Leakage score that this attack makes use of, at most that of the target.
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
        Names of the columns, where they are strings.

    See Also
    --------
    MeanLikelihoodRatioAttack : Weighs columns by their variance; the optimal attack.

    Notes
    -----
    Its order of releases is that of the likelihood ratio where all columns have the same variance,
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
        target=None,
        *,
        reference="row",
        n_samples=None,
        noise_scale=0.0,
        sampling_ratio=1.0,
        covariance="diagonal",
        target_fpr=None,
        random_state=None,
    ):
        self.target = target
        self.reference = reference
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.covariance = covariance
        self.target_fpr = target_fpr
        self.random_state = random_state

    def _find_direction(self, X):
        self.reference_ = self._choose_reference(X)
        return self.target_ - self.reference_

    def _choose_reference(self, X):
        if not isinstance(self.reference, str):
            reference = check_matrix(
                self.reference, dtype=np.float64, ensure_2d=False, input_name="reference"
            )
            if reference.shape != self.target_.shape:
                raise ValueError(
                    f"reference must be one row of {len(self.target_)} features; "
                    f"got shape {reference.shape}."
                )
            return reference
        if self.reference == "mean":
            return self.location_
        if X is None:
            raise ValueError("reference='row' needs reference rows; give a row, or 'mean'.")
        return X[check_random_state(self.random_state).randint(len(X))].copy()


class MeanGLiRAttack(BaseMeanAttack):
    r"""The Gaussian likelihood ratio attack, by the distance of the mean from the target.

    Released means are compared by their squared Mahalanobis distance from the target. For
    non-members, n times this distance is noncentral chi-square with d degrees of freedom and the
    noncentrality :math:`n \|z - \mu\|^2_{\Sigma^{-1}}`. The score is minus the logarithm of the
    p-value. For normal rows the order of releases is exactly that of the likelihood ratio; for
    others it is in the limit.

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        The row in question. None takes the reference row that leaks most.
    factor : {"n-1", "n"}, default="n-1"
        What the squared distance is multiplied with. ``"n-1"`` is that of the authors' code, with
        p-values that are too small on average; ``"n"`` makes them uniform. The order of releases
        and the guesses are the same.
    n_samples : int, default=None
        Rows of the private data set; None takes as many as there are reference rows.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of the mechanism's noise in each row.
    sampling_ratio : float, default=1.0
        Share of the rows that the mechanism takes the mean of, in (0, 1].
    covariance : {"diagonal", "full"} or covariance estimator, default="diagonal"
        How the covariance of the rows is estimated, see :class:`MahalanobisLeakage`.
    target_fpr : float, default=None
        False positive rate of `predict`. None takes the threshold of the largest advantage.

    Attributes
    ----------
    target_ : ndarray of shape (n_features,)
        The row in question.
    direction_ : ndarray of shape (n_features,)
        Direction of the likelihood ratio, to which the distance is equivalent in the limit.
    effective_score_ : float
        Leakage score that this attack makes use of; in the limit that of the target.
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
        Names of the columns, where they are strings.

    See Also
    --------
    MeanLikelihoodRatioAttack : The ratio itself.

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
        "n_samples": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        target=None,
        *,
        factor="n-1",
        n_samples=None,
        noise_scale=0.0,
        sampling_ratio=1.0,
        covariance="diagonal",
        target_fpr=None,
    ):
        self.target = target
        self.factor = factor
        self.n_samples = n_samples
        self.noise_scale = noise_scale
        self.sampling_ratio = sampling_ratio
        self.covariance = covariance
        self.target_fpr = target_fpr

    def _find_direction(self, X):
        if self._n_drawn <= 1:
            raise ValueError(
                "The mean must have more than 1 row; n_samples * sampling_ratio is "
                f"{self._n_drawn:g}."
            )
        self._df = int((~self._moments.constant).sum())
        if self._df == 0:
            raise ValueError("All columns are constant: no distance can be measured.")
        return self._moments.solve(self.target_ - self._moments.mean)

    def _find_offset(self):
        k, from_mean = self._n_drawn, self._move * self._n_drawn
        if self.target_fpr is None:
            # Where the densities of a mean of k normal rows with and without the target are equal.
            distance = (1 - 1 / k) * (from_mean - self._df * np.log1p(-1 / k))
        else:
            distance = ncx2.ppf(self.target_fpr, self._df, k * from_mean) / k
        return self._score_distances(np.array([distance]))[0]

    def _score(self, X):
        distances = np.empty(len(X))
        for rows in gen_batches(len(X), max(1, _BLOCK // X.shape[1])):
            white = self._moments.whiten(X[rows] - self.target_)
            distances[rows] = np.einsum("ij,ij->i", white, white)
        return self._score_distances(distances)

    def _score_distances(self, distances):
        """Minus the log p-value of squared distances from the target."""
        factor = self._n_drawn - 1 if self.factor == "n-1" else self._n_drawn
        noncentrality = self._n_drawn**2 * self._move
        return -ncx2_logcdf(factor * distances, self._df, noncentrality)
