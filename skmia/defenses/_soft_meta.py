"""Base class of defenses that train on target probabilities."""

from abc import abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._core.advice import with_advice
from .._core.containers import as_rows, take_rows
from .._core.matrix import check_classes
from .._core.numbers import to_array
from .._core.sklearn import validate_params_of
from ._meta import DefendedClassifier
from ._soft_targets import check_takes_targets, fit_on_targets


class Labeled(NamedTuple):
    """Training rows."""

    X: object
    y: np.ndarray  # (n,)
    sample_weight: np.ndarray | None  # (n,), positive

    def take(self, rows):
        """Some of them."""
        return Labeled(*(take_rows(part, rows) for part in self))

    def fit(self, model, targets, classes):
        """Fit a model on targets for these rows, in place; see :func:`fit_on_targets`."""
        return fit_on_targets(model, self.X, self.y, targets, classes, self.sample_weight)

    def fit_labels(self, model):
        """Fit a model on the labels, in place."""
        if self.sample_weight is None:
            with with_advice(model, self.X):
                return model.fit(self.X, self.y)
        classes = np.unique(self.y)
        return self.fit(model, one_hot(self.y, classes), classes)


def check_labeled(X, y, sample_weight):
    """Training rows without rows of weight 0, which count as absent."""
    if not isinstance(X, np.ndarray) or X.ndim == 0:
        X = as_rows(X)
    y = check_classes(y, "y", warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    check_consistent_length(X, y)
    if len(y) == 0:
        raise ValueError("Expected at least 1 row; got 0.")
    if sample_weight is None:
        return Labeled(X, y, None)
    weight = to_array(sample_weight, "sample_weight", "hold one number for each row", np.float64)
    if weight.shape != y.shape:
        raise ValueError(
            f"sample_weight must have the shape {y.shape}, one number for each row; "
            f"got {weight.shape}."
        )
    if not (np.isfinite(weight).all() and weight.min(initial=0) >= 0):
        raise ValueError("sample_weight must be finite and not negative.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row.")
    data = Labeled(X, y, weight)
    return data if weight.all() else data.take(np.flatnonzero(weight))


def one_hot(y, classes):
    """Target probabilities that are the labels themselves, shape (n, n_classes)."""
    return (y[:, None] == classes).astype(np.float64)


def _has_probabilities(defense):
    return hasattr(getattr(defense, "estimator_", defense.estimator), "predict_proba")


class SoftTargetDefense(DefendedClassifier):
    """Base class of defenses that train on class probabilities instead of labels.

    A subclass implements ``_fit_targets``.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Make the targets and fit the classifier on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the loss of each row; a row of weight 0 counts as absent.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        check_takes_targets(self.estimator, type(self).__name__)
        data = check_labeled(X, y, sample_weight)
        self._fit_targets(data)
        self.classes_ = np.union1d(np.unique(data.y), self.estimator_.classes_)
        return self

    @abstractmethod
    def _fit_targets(self, data):
        """Set ``estimator_``."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities predicted by the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities; 0 for a class without any target probability.

        Raises
        ------
        ValueError
            If the model returns NaN.
        """
        check_is_fitted(self)
        return self._widen(self._ask_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags
