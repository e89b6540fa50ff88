"""Base class of mechanisms that add noise."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.sklearn import validate_params_of
from ._exact_noise import seeded_words, system_words
from ._grid import add_on_grid
from .private_input import FINITE_POSITIVE, validate_rows


class NoiseMechanism(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """Base class of mechanisms whose ``transform`` adds fresh noise in every call.

    A subclass implements ``_calibrate``, which sets the grid ``2**_exponents`` and the whole number
    ``_steps`` of its steps to the scale of the noise of each column (0 where a column gets none),
    and ``_sample``, the law of the noise in steps.
    """

    _parameter_constraints: dict = {"epsilon": [FINITE_POSITIVE], "random_state": ["random_state"]}

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Compute the scale of the noise; of X only the number of columns counts.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Exact values.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator. It holds nothing of the values.
        """
        validate_params_of(self)
        X = validate_rows(self, X, dtype=np.float64)
        self._calibrate(X.shape[1])
        # Without a seed each call asks the operating system, so that two copies of a fitted
        # mechanism never add the same noise.
        self._rng = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            self._rng = np.random.default_rng(seed)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Add fresh noise to each row.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Exact values, one released vector per row.

        Returns
        -------
        X_private : ndarray of shape (n_releases, n_features)
            Noisy values. Each call is a separate release and costs its epsilon again.
        """
        check_is_fitted(self)
        X = self._limit(validate_rows(self, X, dtype=np.float64, reset=False))
        words = system_words if self._rng is None else seeded_words(self._rng)
        noisy = self._steps > 0
        released = X.copy()
        noise = self._sample(self._steps[noisy], (len(X), int(noisy.sum())), words)
        released[:, noisy] = add_on_grid(X[:, noisy], noise, self._exponents[noisy])
        return released

    def _limit(self, X):
        """Bring values to where the claimed sensitivity holds."""
        return X

    @abstractmethod
    def _calibrate(self, n_features):
        """Set the fitted amount of noise."""

    @staticmethod
    @abstractmethod
    def _sample(scales, shape, words):
        """Draw noise, in steps of the grid."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
