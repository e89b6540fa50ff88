"""Defense that returns rounded probabilities."""

import numpy as np
from sklearn.base import BaseEstimator

from ..._core.sklearn import at_least
from ._base import ProbabilityDefense, renormalized


class RoundingDefense(ProbabilityDefense):
    """Classifier that returns rounded probabilities.

    Halves are rounded to even digits. The predicted label stays, so the defense has no effect on
    label-only attacks: evaluate it with one of them.

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
        rounded = np.round(proba, self.decimals)
        return renormalized(rounded) if self.renormalize else rounded
