"""Base classes of defenses that wrap an estimator."""

from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core.advice import with_advice
from .._core.probabilities import check_answered
from .._core.randomness import preserved_randomness
from .._core.sklearn import HasMethods


class Defended(MetaEstimatorMixin, BaseEstimator):
    """Base class of defenses that wrap an estimator.

    A subclass sets ``estimator_``, the fitted estimator.
    """

    _parameter_constraints: dict = {"estimator": [HasMethods(["fit", "predict"])]}

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        return self._of_estimator("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features seen in ``fit``, where there were any."""
        return self._of_estimator("feature_names_in_")

    def _of_estimator(self, name):
        # An unfitted defense has no such attribute, rather than one that fails.
        if "estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return getattr(self.estimator_, name)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Labels or targets predicted by the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        with self._asking(X):
            return self.estimator_.predict(X)

    @contextmanager
    def _asking(self, X):
        """Ask the estimator without a trace in global generators; its errors name it."""
        with preserved_randomness(), with_advice(self.estimator_, X):  # asking a net draws
            yield

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class DefendedClassifier(ClassifierMixin, Defended):
    """Base class of defenses that wrap a classifier.

    A subclass sets ``estimator_``, the fitted classifier, and ``classes_``.
    """

    def _ask_proba(self, X):
        """Probabilities of the classifier, none of them NaN."""
        with self._asking(X):
            proba = np.asarray(self.estimator_.predict_proba(X))
        check_answered(proba)
        return proba

    def _widen(self, proba):
        """Columns for all classes; those that ``estimator_`` does not know are 0."""
        if proba.shape[1] == len(self.classes_):
            return proba
        wide = np.zeros((len(proba), len(self.classes_)), dtype=proba.dtype)
        wide[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = proba
        return wide

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = get_tags(self.estimator).classifier_tags
        return tags
