"""Defense that returns flatter probabilities."""

from numbers import Real

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator

from ..._core.probabilities import PROBABILITY_FLOOR
from ..._core.sklearn import Interval
from ._base import ProbabilityDefense


class TemperatureDefense(ProbabilityDefense):
    """Classifier whose log-probabilities are divided by a temperature.

    The order of the classes stays, and knowing the temperature suffices to undo it up to rounding:
    judge it with an attack that does.

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
        return softmax(np.log(np.maximum(proba, PROBABILITY_FLOOR)) / self.temperature, axis=1)
