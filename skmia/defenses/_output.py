"""Defenses that change the outputs of a classifier."""

from abc import abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.copies import copy_unfitted
from .._core.error_hints import with_advice
from .._core.numbers import to_array
from .._core.probabilities import PROBABILITY_FLOOR
from .._core.routing import route_params
from .._core.sklearn import Interval, at_least, validate_params_of
from .._core.types import ArrayLike
from ._meta import DefendedClassifier, can_continue

# Beyond it, rounding by numpy multiplies by numbers that are not finite.
_MOST_DECIMALS = 300


def _has_probabilities(defense):
    model = defense._asked
    if hasattr(model, "predict_proba"):
        return True
    raise AttributeError(
        f"{type(defense).__name__} changes probabilities, and {type(model).__name__} has none."
    )


class OutputDefense(DefendedClassifier):
    """Base class of defenses that change the outputs of a classifier, but not its training.

    Predicted labels come from the classifier. A fitted one is kept as it is in a FrozenEstimator.
    """

    _takes_outputs = False  # several for each row
    _fits_rows_once = True  # so that estimator_ claims for all, as audits of epsilon read it

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        **fit_params : dict
            Passed to the ``fit`` of the classifier; with metadata routing enabled, if it requests
            them.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If there are several outputs for each row, of which the probabilities are changed.
        """
        y = self._read_labels(y)
        routed = route_params(self, "fit", fit_params)
        with with_advice(self.estimator, X):
            self.estimator_ = copy_unfitted(self.estimator).fit(X, y, **routed)
        self.classes_ = self.estimator_.classes_
        return self

    def _read_labels(self, y):
        shape = to_array(y, "y").shape
        if not self._takes_outputs and len(shape) == 2:
            if shape[1] > 1:
                name = type(self).__name__
                raise ValueError(
                    f"{name} changes the probabilities of one output; got y of shape {shape}. Give "
                    f"sklearn.multioutput.MultiOutputClassifier({name}(...)), which defends each."
                )
            y = column_or_1d(y, warn=True)
        return y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label &= self._takes_outputs
        given = get_tags(self.estimator).target_tags
        tags.target_tags.multi_output = given.multi_output and self._takes_outputs
        return tags


class ContinuedDefense(OutputDefense):
    """Base class of output defenses whose classifier can be trained further."""

    _routed = ("fit", "partial_fit")
    __metadata_request__partial_fit = {"classes": UNUSED}  # passed on as they are

    @available_if(can_continue)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Train the classifier further.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that any call has. Most classifiers need them in the first call.
        **fit_params : dict
            Passed to the ``partial_fit`` of the classifier; with metadata routing enabled, if it
            requests them.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        y = self._read_labels(y)
        given = fit_params if classes is None else {"classes": classes, **fit_params}
        routed = route_params(self, "partial_fit", given)
        known = "estimator_" in vars(self)
        model = self.estimator_ if known else copy_unfitted(self.estimator)
        with with_advice(model, X):
            self.estimator_ = model.partial_fit(X, y, **routed)
        self.classes_ = self.estimator_.classes_
        return self


class ProbabilityDefense(ContinuedDefense):
    """Base of output defenses that change probabilities; a subclass implements ``_change``."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the changed probabilities.

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
        """Return what is answered instead of these probabilities; the array may be written to."""


def renormalized(proba):
    """Return rows that sum to 1; a row of zeros becomes equal shares."""
    total = proba.sum(axis=1, keepdims=True)
    return np.where(total > 0, proba / np.where(total > 0, total, 1), 1 / proba.shape[1])


class LabelOnlyDefense(ContinuedDefense):
    """Classifier that returns the predicted label and no probability.

    There is no ``predict_proba``, so tools that need probabilities raise an error. Labels still
    leak membership if the classifier is correct more often on members.

    Parameters
    ----------
    estimator : classifier
        Unfitted classifier, or a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    References
    ----------
    Choquette-Choo, C. A., Tramer, F., Carlini, N. and Papernot, N. (2021). Label-only membership
    inference attacks. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmia.defenses import LabelOnlyDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> defended = LabelOnlyDefense(GaussianNB()).fit(X, y)
    >>> hasattr(defended, "predict_proba")
    False
    """

    _takes_outputs = True

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator


class RoundingDefense(ProbabilityDefense):
    """Classifier that returns rounded probabilities.

    Halves are rounded to even digits. The predicted label does not change, so the defense has no
    effect on label-only attacks: evaluate it with one of them.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    decimals : int, default=3
        Number of decimals.
    renormalize : bool, default=True
        Whether to divide by the sum, so that rows sum to 1 as users of classifiers expect; an
        attacker can undo it. A row that was rounded to zeros becomes equal shares.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmia.defenses import RoundingDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> RoundingDefense(GaussianNB(), decimals=1).fit(X, y).predict_proba(X[70:71])
    array([[0. , 0.2, 0.8]])
    """

    _parameter_constraints = {
        **ProbabilityDefense._parameter_constraints,
        "decimals": [at_least(0)],
        "renormalize": ["boolean"],
    }

    def __init__(
        self, estimator: BaseEstimator, *, decimals: int = 3, renormalize: bool = True
    ) -> None:
        self.estimator = estimator
        self.decimals = decimals
        self.renormalize = renormalize

    def _change(self, proba):
        rounded = np.round(proba, min(self.decimals, _MOST_DECIMALS))
        return renormalized(rounded) if self.renormalize else rounded


class TemperatureDefense(ProbabilityDefense):
    """Classifier whose log-probabilities are divided by a temperature.

    The order of the classes with a probability of 1e-12 or more does not change. An attacker who
    knows the temperature can undo it up to rounding, so evaluate the defense with such an attack.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    temperature : float, default=5.0
        Temperature; above 1, the probabilities become more equal.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmia.defenses import TemperatureDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> TemperatureDefense(GaussianNB()).fit(X, y).predict_proba(X[70:71]).round(2)
    array([[0.  , 0.41, 0.58]])
    """

    _parameter_constraints = {
        **ProbabilityDefense._parameter_constraints,
        "temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, estimator: BaseEstimator, *, temperature: float = 5.0) -> None:
        self.estimator = estimator
        self.temperature = temperature

    def _change(self, proba):
        logs = np.log(np.maximum(proba, PROBABILITY_FLOOR))
        logs -= logs.max(axis=1, keepdims=True)  # so that the largest is 0 at any temperature
        with np.errstate(over="ignore"):
            return softmax(logs / self.temperature, axis=1)


class TopKDefense(ProbabilityDefense):
    """Classifier that returns the k largest probabilities and zeros.

    The predicted label does not change, so the defense has no effect on label-only attacks:
    evaluate it with one of them.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    k : int, default=3
        Number of probabilities kept; among equal ones the first classes.
    renormalize : bool, default=False
        Whether to divide by the sum of the kept probabilities. If False, the kept probabilities are
        not changed, as in the paper, and rows need not sum to 1.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    LabelOnlyDefense : Classifier that returns no probability at all.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmia.defenses import TopKDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> defended = TopKDefense(GaussianNB(), k=1).fit(X, y)
    >>> defended.predict_proba(X[70:71]).round(2)
    array([[0.  , 0.  , 0.85]])
    """

    _parameter_constraints = {
        **ProbabilityDefense._parameter_constraints,
        "k": [at_least(1)],
        "renormalize": ["boolean"],
    }

    def __init__(self, estimator: BaseEstimator, *, k: int = 3, renormalize: bool = False) -> None:
        self.estimator = estimator
        self.k = k
        self.renormalize = renormalize

    def _change(self, proba):
        dropped = np.argsort(-proba, axis=1, kind="stable")[:, self.k :]
        np.put_along_axis(proba, dropped, 0, axis=1)
        return renormalized(proba) if self.renormalize else proba
