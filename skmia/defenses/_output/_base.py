"""Base classes of output defenses."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._core.advice import with_advice
from ..._core.sklearn import validate_params_of
from .._meta import DefendedClassifier


def _has_probabilities(defense):
    model = getattr(defense, "estimator_", defense.estimator)
    if hasattr(model, "predict_proba"):
        return True
    raise AttributeError(
        f"{type(defense).__name__} changes probabilities, and {type(model).__name__} has none."
    )


class OutputDefense(DefendedClassifier):
    """Base class of defenses that change the outputs of a classifier, but not its training.

    Predicted labels come from the classifier. A fitted one is kept as it is in a
    :class:`~sklearn.frozen.FrozenEstimator`.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        **fit_params : dict
            Passed to the ``fit`` of the classifier.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        with with_advice(self.estimator, X):
            self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        self.classes_ = self.estimator_.classes_
        return self


class ProbabilityDefense(OutputDefense):
    """Base of output defenses that change probabilities; a subclass implements ``_change``."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Changed probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)

        Raises
        ------
        ValueError
            If the model answers NaN.
        """
        check_is_fitted(self)
        return self.change_proba(self._ask_proba(X))

    def change_proba(self, proba: ArrayLike) -> np.ndarray:
        """Return what is answered instead of given probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Probabilities of the classifier; it need not be fitted.

        Returns
        -------
        changed : ndarray of shape (n_samples, n_classes)
        """
        validate_params_of(self)
        return self._change(np.array(proba, dtype=np.float64))

    @abstractmethod
    def _change(self, proba):
        """What is answered instead of these probabilities; the array may be written to."""


def renormalized(proba):
    """Rows that sum to 1; a row of zeros becomes equal shares."""
    total = proba.sum(axis=1, keepdims=True)
    return np.where(total > 0, proba / np.where(total > 0, total, 1), 1 / proba.shape[1])
