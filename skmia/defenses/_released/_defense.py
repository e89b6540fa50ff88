"""Defense that strips a classifier after each fit."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._output._base import OutputDefense
from ._strip import DECIMALS, make_stripped


def _inner_has(name):
    def check(defense):
        getattr(getattr(defense, "estimator_", defense.estimator), name)
        return True

    return check


class ReleasedFileDefense(OutputDefense):
    """Classifier whose stored state is stripped after it was fitted.

    The fitted classifier is replaced by a copy without the state that its predictions do not use,
    see :func:`strip_state`. Predictions stay bitwise equal, unless leaf values are rounded. Only
    attacks on the model's file notice the defense. It does nothing against queries, and for
    boosting next to nothing against attacks on the file.

    Parameters
    ----------
    estimator : classifier
        Unfitted classifier, or a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    decimals : int or None, default=None
        Number of decimals to which leaf values of trees are rounded. If None, they stay.

    Attributes
    ----------
    estimator_ : classifier
        Fitted and stripped. This is what to release.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    strip_state : The same for a model that is fitted already, also a regressor or transformer.

    Notes
    -----
    :class:`~skmia.attacks.NodeEquationsAttack` reads stripped and rounded files, so it is the
    adaptive attack on this defense.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.defenses import ReleasedFileDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(min_samples_leaf=5, random_state=0)
    >>> defended = ReleasedFileDefense(forest).fit(X, y)
    >>> int(defended.estimator_.estimators_[0].tree_.n_node_samples.max())
    0
    >>> bool((defended.predict_proba(X) == forest.fit(X, y).predict_proba(X)).all())
    True
    """

    _parameter_constraints = {
        **OutputDefense._parameter_constraints,
        "decimals": DECIMALS,
    }

    def __init__(self, estimator: BaseEstimator, *, decimals: int | None = None) -> None:
        self.estimator = estimator
        self.decimals = decimals

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the classifier, and strip it.

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
        super().fit(X, y, **fit_params)
        self.estimator_ = make_stripped(self.estimator_, self.decimals)
        return self

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the stripped classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        with self._asking(X):
            return self.estimator_.predict_proba(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Decision values of the stripped classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        with self._asking(X):
            return self.estimator_.decision_function(X)
