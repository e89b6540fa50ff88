"""Base class of attacks on a released mean."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from .._core.gaussians import (
    COVARIANCE_CONSTRAINT,
    check_moments,
    check_noise_scale,
    check_spread,
    estimate_moments,
    get_shrinkage,
    make_moments,
    squared_distances,
)
from .._core.matrix import check_classes, check_matrix, validate_matrix
from .._core.shrinkage import CovarianceMixin
from .._core.sklearn import Interval, at_least, validate_params_of
from .._core.tradeoff import check_rates, power
from .._core.types import FloatOrArray
from .._core.validation import check_finite
from ..metrics import membership_advantage_score
from ._mean_law import ProjectionLaw, estimate_law, hold_out


class BaseMeanAttack(CovarianceMixin, BaseEstimator, ABC):
    """Base class of attacks that test whether a target is among the rows of a released mean.

    Every attack projects released means on a direction. For k rows in the mean, the projection has
    the variance ``direction' covariance direction / k``, and a member moves its mean by
    ``direction' (target - mean) / k``. Mean and variance of the projection follow from known
    moments; with reference rows they are measured on held-out rows, see :mod:`._mean_law`. A
    subclass gives the direction with ``_compute_direction`` and may transform the projection
    into another score with ``_score`` and ``_score_at``.
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
        validate_params_of(self)
        X = validate_matrix(self, X, dtype=np.float64, ensure_min_samples=4)
        n_samples = len(X) if self.n_samples is None else self.n_samples
        check_spread(X)
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
        row = check_matrix(row, dtype=np.float64, ensure_2d=False, input_name=name)
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
        check_is_fitted(self)
        X = validate_matrix(self, X, dtype=np.float64, reset=False)
        return check_finite(self._score(X), "Numbers of this size")

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
        guesses, y = self.predict(X), check_classes(y, "y")
        labels = np.unique(y)
        membership = y == labels[1] if len(labels) == 2 else y
        return membership_advantage_score(membership, guesses, sample_weight=sample_weight)

    def power(self, fpr: float | ArrayLike) -> FloatOrArray:
        """True positive rate of the order of releases at a false positive rate, by theory.

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
        rates = check_rates(fpr)
        tpr = power(rates, np.float64(self._shift), self.sampling_ratio)
        return tpr if rates.ndim else float(tpr)

    def _prepare(self, X):
        """Set what directions need in addition to moments; return rows to hold out, or None."""
        return X

    @abstractmethod
    def _compute_direction(self, moments):
        """Vector to project released means on."""

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
