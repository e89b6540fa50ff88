"""Defense that returns only the largest probabilities."""

import numpy as np
from sklearn.base import BaseEstimator

from ..._core.sklearn import at_least
from ._base import ProbabilityDefense, renormalized


class TopKDefense(ProbabilityDefense):
    """Classifier that returns the k largest probabilities and zeros.

    The predicted label stays, so the defense has no effect on label-only attacks: evaluate it with
    one of them.

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
