"""Defense that strips a classifier after each fit."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._core.randomness import check_random_state
from ..._core.types import Seed
from .._output._base import OutputDefense
from ._strip import DECIMALS, make_stripped
from ._thresholds import move_in_place


def _inner_has(name):
    def check(defense):
        getattr(getattr(defense, "estimator_", defense.estimator), name)
        return True

    return check


class ReleasedFileDefense(OutputDefense):
    """Classifier whose stored state is stripped after it was fitted.

    The fitted classifier is replaced by a copy without the state that its predictions do not use,
    see :func:`strip_state`. Predictions stay bitwise equal, unless leaf values are rounded or
    thresholds moved; moved thresholds change no prediction for the training rows. It is a defense
    against attacks on the file, not against queries, and for boosting stripping alone does next to
    nothing.

    Parameters
    ----------
    estimator : classifier
        Unfitted classifier, or a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    decimals : int or None, default=None
        Number of decimals to which leaf values of trees are rounded. If None, they stay.
    move : bool, default=False
        Whether thresholds of trees are moved between two training values, see
        :func:`move_thresholds`. The classifier has to be one that this function takes.
    random_state : int, RandomState instance or None, default=None
        Controls how thresholds are moved. An attacker who can guess an int undoes it: leave it None
        for a release.

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
    move_thresholds : Moves the thresholds of a fitted model.

    Notes
    -----
    :class:`~skmia.attacks.NodeEquationsAttack` reads stripped and rounded files, and
    :class:`~skmia.attacks.SplitThresholdAttack` those with moved thresholds: these are the adaptive
    attacks on this defense.

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
        "move": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        decimals: int | None = None,
        move: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.decimals = decimals
        self.move = move
        self.random_state = random_state

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
        if self.move:
            move_in_place(self.estimator_, X, check_random_state(self.random_state))
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
        return self._ask_proba(X)

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
