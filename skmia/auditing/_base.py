"""What audits that train models share."""

from abc import ABC, abstractmethod
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._records import Records
from ..shadow._seeding import refuse_trained_module
from ..shadow._together import accepting_read_only
from ..signals import get_signal
from ..utils._sklearn import HasMethods, Interval, StrOptions
from ._canaries import CANARIES, Canaries, exposed_canaries

CANARY_CONSTRAINT = [StrOptions(set(CANARIES)), callable]


class EpsilonAuditBase(BaseEstimator, ABC):
    """Base of audits: they train a classifier with canaries and bound its epsilon."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"]), None],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "attack": [HasMethods(["fit", "score_samples"]), None],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def fit(self, X, y):
        """Make the audit."""

    def score(self, X=None, y=None):
        """The lower bound of epsilon that ``fit`` found; higher = less private.

        Parameters
        ----------
        X : array-like of shape (n, n_features), default=None
            Checked, and not used otherwise: the audit is of the data given to ``fit``.
        y : Ignored
            Not used.

        Returns
        -------
        epsilon : float
        """
        check_is_fitted(self)
        if X is not None:
            validate_data(self, X, reset=False)
        return self.epsilon_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _read(self, X, y):
        X, y = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("y must hold two classes or more; got 1 class.")
        return X, y

    def _make_estimator(self):
        if self.estimator is None:
            return LogisticRegression(max_iter=1000)
        refuse_trained_module(self.estimator)
        return clone(self.estimator)

    def _make_attack(self):
        """The attack without a victim; None for the loss alone."""
        if self.attack is None:
            return None
        attack = clone(self.attack)
        if "victim" not in attack.get_params(deep=False):
            raise TypeError(
                "attack must take the model under attack as its parameter victim; "
                f"{type(attack).__name__} has no such parameter."
            )
        return attack

    def _make_canaries(self, kind, X, y, n_canaries, random_state):
        """Canaries of a kind, checked if a user's function made them."""
        make = CANARIES[kind] if isinstance(kind, str) else kind
        settings = {}
        if make is exposed_canaries and hasattr(self.estimator, "predict_proba"):
            settings["estimator"] = self.estimator
        made = make(X, y, n_canaries, random_state=random_state, **settings)
        X_made, y_made, rows = (np.asarray(part) for part in made)
        if X_made.shape != (n_canaries, X.shape[1]) or y_made.shape != (n_canaries,):
            raise ValueError(
                f"Canaries must be {n_canaries} rows of {X.shape[1]} features and as many labels; "
                f"got shapes {X_made.shape} and {y_made.shape}."
            )
        if not np.isin(y_made, self.classes_).all():
            raise ValueError("Labels of canaries must be among those of y; got others.")
        return Canaries(X_made, y_made, rows.astype(np.intp))


def score_canaries(attack, model, canaries):
    """What an attack makes of the canaries, given a model; without one, their negative loss."""
    victim = FrozenEstimator(model)
    with accepting_read_only():
        if attack is None:
            scores = get_signal("loss").of(victim, canaries)
        else:
            attack = clone(attack).set_params(victim=victim)
            scores = attack.fit(canaries).score_samples(canaries)
    return np.asarray(scores, dtype=np.float64)


def join(X, y, canaries, n_copies=1):
    """Records of the data with the canaries at the end, and which of them are others."""
    X_all = np.concatenate([X, np.repeat(canaries.X, n_copies, axis=0)])
    y_all = np.concatenate([y, np.repeat(canaries.y, n_copies)])
    others = np.arange(len(X_all)) < len(X)
    others[canaries.rows] = False
    return Records(X_all, y_all), others


def as_number(n_canaries, n_records):
    """A number of canaries that may be a share of the records."""
    if isinstance(n_canaries, Integral):
        return int(n_canaries)
    return max(1, int(n_canaries * n_records))
