"""Attacks on a released mean by its projection on a direction."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import t as student
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.gaussians import (
    COVARIANCE_CONSTRAINT,
    CovarianceMixin,
    check_column_variance,
    check_moments,
    check_noise_scale,
    estimate_moments,
    get_shrinkage,
    make_moments,
    squared_distances,
)
from .._core.matrix import check_class_column, check_feature_matrix, validate_matrix
from .._core.sklearn import Interval, StrOptions, at_least, validate_params_of
from .._core.tradeoff import check_fpr_fractions, power
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, FloatOrArray, Seed
from .._core.validation import refuse_nan
from ..metrics import membership_advantage_score

# Number of folds of held-out reference rows, each projected on the direction of the other folds.
_N_FOLDS = 10


class ProjectionLaw(NamedTuple):
    """Law of the projection of rows without the target on the direction of an attack."""

    center: float  # mean of a projected row
    variance: float  # variance of a projected row, with its noise
    error: float = 0.0  # variance of the center as an estimate; 0 if the moments are known
    dof: float = np.inf  # degrees of freedom of the variance; infinite if the moments are known

    def threshold(self, rate, n_drawn):
        """Return the projection that means of `n_drawn` new rows exceed at a rate.

        With estimates it is the end of a prediction interval for a mean of new rows: the rate holds
        on average over draws of the reference rows.
        """
        return self.center + self.quantile(rate) * np.sqrt(self.variance / n_drawn + self.error)

    def quantile(self, rate):
        """Return the standard deviations above the center that are exceeded at a rate."""
        return student.isf(rate, self.dof)


class HeldOut(NamedTuple):
    """Deviations of reference rows from the mean of other ones."""

    projections: np.ndarray  # (n,): on the direction that the other rows gave
    # (n,): squared Mahalanobis distances from a true mean, under the covariance of the other rows.
    squares: np.ndarray
    # Mean difference between the true mean and the projected mean of all rows: the direction away
    # from an estimated mean points away from the rows that it was estimated from.
    pull: float


def hold_out(X, compute_moments, compute_direction):
    """Project each row on a direction that was estimated without it.

    Shapes: X (n, d).
    """
    n_folds = min(_N_FOLDS, len(X))
    folds = np.arange(len(X)) % n_folds
    projections, squares = np.empty((2, len(X)))
    for fold in range(n_folds):
        held = folds == fold
        rest = X[~held]
        moments = compute_moments(rest)
        away = X[held] - rest.mean(axis=0)
        projections[held] = away @ compute_direction(moments)
        squares[held] = moments.inner(away, away) / (1 + 1 / len(rest))
    # It decreases with the number of rows, and each fold had fewer.
    pull = float((1 - 1 / n_folds) * projections.mean())
    return HeldOut(projections, squares, pull)


def estimate_law(X, direction, held_out, noise):
    """Return the law of the projection from reference rows.

    Shapes: X (n, d), direction, noise (d,).
    """
    variance = float(held_out.projections.var(ddof=1))
    return ProjectionLaw(
        center=float(direction @ X.mean(axis=0)) + held_out.pull,
        variance=variance + float(direction**2 @ noise),
        error=(variance + max(held_out.pull, 0.0)) / len(X),
        dof=len(X) - 1.0,
    )


class DistanceLaw(NamedTuple):
    """Law of the squared distance of a mean from a target that is not among its rows."""

    from_mean: float  # squared distance of the target from the mean of rows
    square: float  # mean squared distance of a row, with its noise, from the mean of rows
    # Of the squared distance of a mean of new rows, with the errors of the estimates; known moments
    # need neither.
    center: float = np.nan
    variance: float = np.nan
    dof: float = np.inf  # degrees of freedom of the variance

    def threshold(self, rate):
        """Return the distance below which means of new rows lie at a rate, or less often."""
        return self.center - student.isf(rate, self.dof) * np.sqrt(self.variance)


def estimate_distances(from_mean, held_out, law, noise, df, n_drawn):
    """Return the law of the squared distance from reference rows."""
    n_rows = len(held_out.squares)
    square, pull = held_out.squares.mean(), held_out.pull
    # The distance has a part that is linear in the mean of new rows, and its square: the variances
    # add up. The target's distance from the estimated mean is too large by the pull of the rows.
    linear = 4 * (max(law.variance - pull, 0.0) / n_drawn + law.error)
    quadratic = np.sqrt(held_out.squares.var(ddof=1) / 2)
    with_noise = quadratic + noise / np.sqrt(df)
    curved = 2 * ((with_noise / n_drawn) ** 2 + (quadratic / n_rows) ** 2)
    centered = from_mean - 2 * pull + square / n_rows
    return DistanceLaw(
        from_mean=max(centered, 0.0),
        square=square + noise,
        center=centered + (square + noise) / n_drawn,
        variance=linear + curved,
        dof=law.dof,
    )


class BaseMeanAttack(TransactionMixin, CovarianceMixin, BaseEstimator, ABC):
    """Base class of attacks that test whether a target is among the rows of a released mean.

    Every attack projects released means on a direction. For k rows in the mean, the projection has
    the variance direction' covariance direction / k, and a member moves its mean by direction'
    (target - mean) / k. Mean and variance of the projection follow from known moments; with
    reference rows they are measured on held-out rows, by `hold_out`. A subclass gives the
    direction with _compute_direction and may transform the projection into another score with
    _score and _score_at.
    """

    _parameter_constraints: dict = {
        "target": ["array-like", None],
        "n_samples": [at_least(1), None],
        "noise_scale": [Interval(Real, 0, None, closed="left"), "array-like"],
        "sampling_ratio": [Interval(Real, 0, 1, closed="right")],
        "covariance": COVARIANCE_CONSTRAINT,
        "target_fpr": [Interval(Real, 0, 1, closed="neither"), None],
    }

    @classmethod
    def from_moments(
        cls,
        target: ArrayLike,
        mean: ArrayLike,
        covariance: ArrayLike,
        *,
        n_samples: int,
        **params: Any,
    ) -> Self:
        """Create a fitted attack of an attacker who knows the distribution.

        Parameters
        ----------
        target : array-like of shape (n_features,)
            Target row.
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
        attack : object
            The fitted attack.
        """
        mean, covariance = check_moments(mean, covariance)
        kind = "diagonal" if covariance.ndim == 1 else "full"
        attack = cls(target, n_samples=n_samples, covariance=kind, **params)
        validate_params_of(attack)
        if target is None:
            raise ValueError("target must be a row; it has no default without reference rows.")
        attack.n_features_in_ = len(mean)
        attack.target_ = attack._check_row(target, "target")
        attack._set_moments(mean, covariance, n_samples)
        attack._set_law(None, None)
        return attack

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate mean and covariance of the rows from a reference set.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Reference rows from the same distribution as the private data set, but not in it.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_matrix(self, X, dtype=np.float64, ensure_min_samples=4)
        n_samples = len(X) if self.n_samples is None else self.n_samples
        check_column_variance(X)
        shrinkage = get_shrinkage(X, self.covariance)
        if self.target is None:
            self._set_moments(*estimate_moments(X, self.covariance, shrinkage), n_samples)
            row = np.argmax(squared_distances(X, self._moments))
            self.target_, X = X[row].copy(), np.delete(X, row, axis=0)
        else:
            self.target_ = self._check_row(self.target, "target")
        self._set_moments(*estimate_moments(X, self.covariance, shrinkage), n_samples)
        self._set_law(X, shrinkage)
        return self

    def _set_moments(self, mean, covariance, n_samples):
        self._noise = check_noise_scale(self.noise_scale, len(mean))
        self._moments = make_moments(mean, covariance, self._noise)
        self.location_, self._covariance = mean, covariance
        self.n_samples_ = n_samples
        self._n_drawn = self.sampling_ratio * n_samples

    def _set_law(self, X, shrinkage):
        """Set direction, law of the projection and threshold; X is None for known moments."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._compute_law(self._prepare(X), shrinkage)
        if not np.isfinite(self._move + self._spread):
            raise ValueError(
                "The squares of target and moments exceed the range of floating point numbers, so "
                "there is no score; scale the columns."
            )

    def _compute_law(self, X, shrinkage):
        self.direction_ = self._compute_direction(self._moments)
        if X is None:
            self._held_out = None
            center = float(self.direction_ @ self.location_)
            variance = self._moments.variance_along(self.direction_)
            self._law = ProjectionLaw(center, variance)
        else:
            self._held_out = hold_out(
                X, lambda rows: self._estimate(rows, shrinkage), self._compute_direction
            )
            noise = np.broadcast_to(self._noise**2, X.shape[1])
            self._law = estimate_law(X, self.direction_, self._held_out, noise)
        self._move = (float(self.direction_ @ self.target_) - self._law.center) / self._n_drawn
        self._spread = np.sqrt(self._law.variance / self._n_drawn)
        self.effective_score_ = float(self.sampling_ratio * self._shift**2)
        self.classes_ = np.array([0, 1])
        self.offset_ = float(self._choose_offset())

    def _estimate(self, X, shrinkage):
        return make_moments(*estimate_moments(X, self.covariance, shrinkage), self._noise)

    def _check_row(self, row, name):
        row = check_feature_matrix(row, dtype=np.float64, ensure_2d=False, input_name=name)
        if row.shape != (self.n_features_in_,):
            raise ValueError(
                f"{name} must be one row of {self.n_features_in_} features; got shape {row.shape}."
            )
        return row

    @property
    def _shift(self):
        """Return the distance of the two laws of the projection in standard deviations."""
        if self._move == 0:
            return 0.0
        return self._move / self._spread if self._spread > 0 else np.copysign(np.inf, self._move)

    def _choose_offset(self):
        """Return the score at which both hypotheses are equally likely, or of the target FPR."""
        if self.target_fpr is None:
            return self._score_at(self._law.center + self._move / 2)
        return self._score_at(self._law.threshold(self.target_fpr, self._n_drawn))

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Compute a score of each released mean; higher if the target is likely among its rows.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Released means.

        Returns
        -------
        scores : ndarray of shape (n_releases,)
            Higher means more likely a member.
        """
        X = validate_matrix(self, X, dtype=np.float64, reset=False)
        return refuse_nan(self._score(X), "Numbers of this size")

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Compute the distance to the threshold, ``score_samples(X) - offset_``.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Released means.

        Returns
        -------
        decision : ndarray of shape (n_releases,)
            Values of 0 and above predict that the target is among the rows.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict whether the target is among the rows of each released mean.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Released means.

        Returns
        -------
        membership : ndarray of shape (n_releases,)
            1 for members, 0 for non-members.
        """
        is_member = self.score_samples(X) >= self.offset_
        return self.classes_[is_member.astype(int)]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the membership advantage of the predictions, TPR - FPR.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Released means of data sets with and without the target.
        y : array-like of shape (n_releases,)
            1 if the target is a member of the data set, 0 if not. Of two other labels, the larger
            one stands for members.
        sample_weight : array-like of shape (n_releases,), default=None
            Weights of the releases.

        Returns
        -------
        advantage : float
            Membership advantage, in [-1, 1]; 0 is chance, 1 means that every prediction is correct.
        """
        guesses, y = self.predict(X), check_class_column(y, "y")
        labels = np.unique(y)
        membership = y == labels[1] if len(labels) == 2 else y
        return membership_advantage_score(membership, guesses, sample_weight=sample_weight)

    def power(self, fpr: float | ArrayLike) -> FloatOrArray:
        """Return the theoretical true positive rate of the scores at a false positive rate.

        Parameters
        ----------
        fpr : float or array-like
            False positive rates, fractions.

        Returns
        -------
        tpr : float or ndarray of the shape of `fpr`
            Theoretical power for many rows and columns. With reference rows, it assumes a threshold
            that is chosen on releases; predictions for a `target_fpr` lose further power because
            the mean is estimated.
        """
        check_is_fitted(self)
        rates = check_fpr_fractions(fpr)
        tpr = power(rates, np.float64(self._shift), self.sampling_ratio)
        return tpr if rates.ndim else float(tpr)

    def _prepare(self, X):
        """Set what directions need in addition to moments; return rows to hold out, or None."""
        return X

    @abstractmethod
    def _compute_direction(self, moments):
        """Return the vector to project released means on."""

    def _score(self, X):
        scores = self._score_at(X @ self.direction_)
        return np.where(np.isinf(scores), np.nan, scores)  # a sum that overflows is no evidence

    def _score_at(self, projection):
        return projection

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Not a classifier of its training rows, but `score` takes membership bits.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class MeanLikelihoodRatioAttack(BaseMeanAttack):
    r"""The optimal attack on a released mean: the likelihood ratio of its limit laws.

    .. math:: \ell(\hat\mu) = (z - \mu)^\top \Sigma^{-1} (\hat\mu - \mu)
              - \tfrac{1}{2n} (z - \mu)^\top \Sigma^{-1} (z - \mu)

    for the released mean :math:`\hat\mu` of n rows and the target z; with noise, the variances of
    ``noise_scale`` are added to the diagonal of :math:`\Sigma`. An attacker without the true
    moments estimates them from reference rows; with a covariance of all columns, this is the
    covariance attack of Azize and Basu. The threshold of the largest advantage is 0 for known
    moments and is measured on held-out rows for estimated ones (see Notes).

    Parameters
    ----------
    target : array-like of shape (n_features,), default=None
        Target row. If None, the reference row that leaks most is used.
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
    Scores are in nats. The ratio of estimated moments is too high by a constant: the direction
    :math:`a = \Sigma^{-1} (z - \mu)` points away from the reference rows that gave :math:`\mu` and
    :math:`\Sigma`, so new rows project on it at :math:`a^\top \mu + p`, where the pull p is nine
    tenths of the mean projection :math:`a^\top (x - \mu)` of a held-out tenth of the reference rows
    on the direction of the others. It moves the threshold of the largest advantage from 0 to
    :math:`(1 - \tfrac{1}{2 \rho n}) p`, which is `offset_`, for the share :math:`\rho` of the rows
    in the mean. After sub-sampling the score is the ratio :math:`\ell` of a mean of :math:`\rho n`
    rows that the target is among for sure; the ratio of the game itself, :math:`\log(1 - \rho +
    \rho e^\ell)`, increases with it. The paper prints another ratio, which holds for columns that
    are sub-sampled one by one.

    The threshold for a `target_fpr` is the end of a prediction interval, so that the rate holds on
    average over draws of the reference rows: mean and variance of the projections of held-out
    tenths, Student's law with :math:`n_0 - 1` degrees of freedom for :math:`n_0` reference rows,
    and the error of the mean. For one set of reference rows the rate varies, as the error of their
    mean shifts all scores by about :math:`\sqrt{m n / n_0}`. This costs power: of the score m there
    remains :math:`m^2 / (m (1 + n / n_0) + \tau / n_0 + 2 \tau n / n_0^2)` with :math:`\tau = d /
    n`. Projections are taken to be about normal.

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
        at_mean, at_target = (float(self.direction_ @ x) for x in (self.location_, self.target_))
        return projection - at_mean - (at_target - at_mean) / self._n_drawn / 2


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
        Share of the rows in the released mean, in (0, 1]. Laws are those of ``sampling_ratio *
        n_samples`` rows, which :class:`SubsampledMean` rounds to whole ones, at least one.
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
