"""Mechanisms that release the mean of a private data set."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.gaussians import scale_noise_of_mean
from .._core.matrix import validate_matrix
from .._core.numbers import check_count
from .._core.randomness import check_random_state
from .._core.sklearn import Interval
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed

# Number of values in the largest temporary array.
_BLOCK = 2**22


class _MeanMechanism(TransactionMixin, BaseEstimator, ABC):
    """Base class of mechanisms: `fit` stores a data set, `sample` releases its mean."""

    _parameter_constraints: dict = {}

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Store a private data set.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The private data set.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_matrix(self, X, dtype=np.float64)
        self.n_samples_fit_ = len(X)
        self._fit(X)
        return self

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> np.ndarray:
        """Release the mean of the private data set again.

        Parameters
        ----------
        n_samples : int, default=1
            Number of independent releases.
        random_state : int, RandomState instance or None, default=None
            Controls the draws of the mechanism. Pass an int for reproducible results.

        Returns
        -------
        X_released : ndarray of shape (n_samples, n_features)
            One released mean per row.
        """
        check_is_fitted(self)
        n_samples = check_count(n_samples, "n_samples")
        return self._sample(n_samples, check_random_state(random_state))

    @abstractmethod
    def _fit(self, X):
        """Store what `sample` needs."""

    @abstractmethod
    def _sample(self, n_samples, random_state):
        """Draw releases."""


class EmpiricalMean(_MeanMechanism):
    """Mechanism that releases the mean unchanged.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the private data set.
    n_samples_fit_ : int
        Rows of the private data set.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    MahalanobisLeakage : Leakage of each row. NoisyMean, SubsampledMean : Mechanisms that leak less.

    Examples
    --------
    >>> from skmia.leakage import EmpiricalMean
    >>> EmpiricalMean().fit([[0.0, 1.0], [1.0, 1.0]]).sample(2)
    array([[0.5, 1. ],
           [0.5, 1. ]])
    """

    def _fit(self, X):
        self.mean_ = X.mean(axis=0)

    def _sample(self, n_samples, random_state):
        return np.tile(self.mean_, (n_samples, 1))


class NoisyMean(_MeanMechanism):
    """Mechanism that releases the mean with normal noise.

    Noise of the standard deviation `noise_scale` in each row would reach the mean of n rows as
    ``noise_scale / sqrt(n)``; that much is added to the mean itself.

    Parameters
    ----------
    noise_scale : float or array-like of shape (n_features,), default=1.0
        Standard deviation of the noise of each row, in the units of the column.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the private data set, without noise: not for release.
    n_samples_fit_ : int
        Rows of the private data set.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    MahalanobisLeakage : Leakage of each row, with the same `noise_scale`.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import NoisyMean
    >>> mechanism = NoisyMean(noise_scale=2.0).fit(np.zeros((100, 3)))
    >>> mechanism.sample(1000, random_state=0).std(axis=0).round(1)
    array([0.2, 0.2, 0.2])
    """

    _parameter_constraints = {
        "noise_scale": [Interval(Real, 0, None, closed="left"), "array-like"],
    }

    def __init__(self, noise_scale: float | ArrayLike = 1.0) -> None:
        self.noise_scale = noise_scale

    def _fit(self, X):
        self._noise = scale_noise_of_mean(self.noise_scale, X.shape[1], len(X))
        self.mean_ = X.mean(axis=0)

    def _sample(self, n_samples, random_state):
        noise = random_state.normal(size=(n_samples, len(self.mean_)))
        return self.mean_ + self._noise * noise


class SubsampledMean(_MeanMechanism):
    """Mechanism that releases the mean of some rows, drawn without replacement per release.

    Parameters
    ----------
    sampling_ratio : float, default=0.5
        Share of the rows that is drawn, in (0, 1]; rounded to whole rows, at least one.
    noise_scale : float or array-like of shape (n_features,), default=0.0
        Standard deviation of normal noise of each row; the mean of k rows gets
        ``noise_scale / sqrt(k)``.

    Attributes
    ----------
    n_drawn_ : int
        Number of rows in each released mean.
    n_samples_fit_ : int
        Rows of the private data set.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    MahalanobisLeakage : Leakage of each row, with the same parameters.

    Notes
    -----
    The fitted mechanism holds the private rows: release samples of it, not the object.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import SubsampledMean
    >>> mechanism = SubsampledMean(sampling_ratio=0.5).fit(np.eye(4))
    >>> mechanism.n_drawn_
    2
    >>> mechanism.sample(3, random_state=0)
    array([[0.5, 0. , 0. , 0.5],
           [0.5, 0. , 0.5, 0. ],
           [0. , 0.5, 0. , 0.5]])
    """

    _parameter_constraints = {
        "sampling_ratio": [Interval(Real, 0, 1, closed="right")],
        "noise_scale": [Interval(Real, 0, None, closed="left"), "array-like"],
    }

    def __init__(
        self, sampling_ratio: float = 0.5, *, noise_scale: float | ArrayLike = 0.0
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.noise_scale = noise_scale

    def _fit(self, X):
        self.n_drawn_ = max(1, round(self.sampling_ratio * len(X)))
        self._noise = scale_noise_of_mean(self.noise_scale, X.shape[1], self.n_drawn_)
        self._fit_X = X

    def _sample(self, n_samples, random_state):
        n, k = self.n_samples_fit_, self.n_drawn_
        means = np.empty((n_samples, self._fit_X.shape[1]))
        for rounds in gen_batches(n_samples, max(1, _BLOCK // n)):
            # The smallest k of n random numbers stand at a random set of k places.
            keys = random_state.uniform(size=(rounds.stop - rounds.start, n))
            drawn = np.argpartition(keys, k - 1, axis=1)[:, :k]
            weights = np.zeros_like(keys)
            np.put_along_axis(weights, drawn, 1 / k, axis=1)
            means[rounds] = weights @ self._fit_X
        return means + self._noise * random_state.normal(size=means.shape)
