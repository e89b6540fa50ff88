"""Base class of audits that train models."""

import math
import warnings
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._core.caches import clone_to_train
from .._core.callers import level_of_user
from .._core.containers import accepting_read_only, take_rows
from .._core.copies import CopiesParameters, copy_unfitted
from .._core.error_hints import with_advice
from .._core.groups import sorted_values
from .._core.matrix import check_class_column, check_feature_matrix, validate_matrix
from .._core.numbers import show, to_array
from .._core.query import unwrap
from .._core.randomness import isolated_randomness, seed_estimator
from .._core.records import Records, has_column
from .._core.sklearn import HasMethods, Interval, StrOptions
from .._core.targets import shape_targets
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from .._training.frozen import name_shared_parts
from .._training.recalled import set_recalled
from ..exceptions import PrivacyWarning
from ..signals import threshold_signal_of
from ..victims import get_kind
from .canaries import KINDS, Canaries, make_canaries

CANARY_CONSTRAINT = [StrOptions(set(KINDS)), callable]


class EpsilonAuditBase(TransactionMixin, CopiesParameters, BaseEstimator, ABC):
    """Base class of audits that train a classifier with canaries and bound its epsilon."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"]), None],
        "delta": [Interval(Real, 0, 1, closed="left"), None],
        "claimed_epsilon": [Interval(Real, 0, None, closed="left"), None],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "attack": [HasMethods(["fit", "score_samples"]), None],
        "random_state": ["random_state"],
    }

    # Where neither the audit nor the estimator has one.
    _DELTA = 1e-5

    # What the largest epsilon that an audit can show grows with.
    _GROWS_WITH = "runs"

    @abstractmethod
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train with canaries, and bound epsilon.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        self : object
            Fitted estimator.
        """

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return whether the audit refutes the epsilon that is claimed.

        Differential privacy promises the same to each record, so all rows have one answer.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Records.

        Returns
        -------
        refuted : ndarray of shape (n,), dtype int
            1 if the bound is above ``claimed_epsilon_``, otherwise 0, which does not mean that the
            claim is true.
        """
        return np.full(len(validate_matrix(self, X, reset=False)), int(self._is_refuted))

    def score(self, X: ArrayLike | None = None, y: Any = None) -> float:
        """Return the lower bound of epsilon; higher means less private.

        A search with this score selects the canaries, the attack and the bound that show most. The
        largest of several bounds does not have the confidence level of one of them; the audit that
        the search refits with its selection has it.

        Parameters
        ----------
        X : array-like of shape (n, n_features), default=None
            Checked, and not used otherwise: the audit is of the data given to ``fit``.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        epsilon : float
        """
        check_is_fitted(self)
        if X is not None:
            validate_matrix(self, X, reset=False)
        return self.epsilon_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _read(self, X, y):
        X, y = validate_matrix(self, X, y, ensure_min_samples=2)
        self.classes_ = sorted_values(y, "y")
        check_classification_targets(y)
        if len(self.classes_) < 2:
            raise ValueError("y must hold two classes or more; got 1 class.")
        shared = [] if self.estimator is None else name_shared_parts(unwrap(self.estimator))
        if shared:
            warnings.warn(
                f"Fitted parts of the estimator ({', '.join(shared)}) are the same in all "
                "trainings, so that the bound says nothing about the records that they were "
                "fitted on. Remove their FrozenEstimator to train them as well.",
                PrivacyWarning,
                stacklevel=level_of_user(),
            )
        return X, y

    def _make_estimator(self):
        if self.estimator is None:
            return LogisticRegression(max_iter=1000)
        estimator = unwrap(self.estimator)  # a frozen one would learn nothing of a canary
        return set_recalled(clone_to_train(estimator), estimator)

    def _own_delta(self):
        """Return the delta of the bound as far as the audit alone decides."""
        return self._DELTA if self.delta is None else self.delta

    def _settle_delta(self, estimator, X, y):
        """Return the delta of the bound, and the estimator, set to it unless delta is given.

        Shapes: X (n, n_features), y (n,).
        """
        name = _find_target_delta(estimator)
        if name is None:
            return self._own_delta(), estimator
        if self.delta is not None:
            return self.delta, estimator
        own = estimator.get_params()[name]
        if own is None:  # its default can depend on the number of rows
            own = _reach_private(copy_unfitted(estimator).fit(X, y)).delta_
        return own, estimator.set_params(**{name: own})

    def _check_claim(self, result, claims):
        """Compare with what is claimed, and warn where the audit could not have refuted it."""
        claimed = self._choose_claim(claims, result.delta)
        self._set_claim(claimed, result.epsilon)
        is_comparable = claimed is not None and claimed < math.inf
        if is_comparable and result.largest is not None and claimed > result.largest:
            warnings.warn(
                f"epsilon={claimed:.4g} is claimed, and these {self._GROWS_WITH} cannot show more "
                f"than {result.largest:.4g}: the audit cannot refute the claim. Use more "
                f"{self._GROWS_WITH}.",
                PrivacyWarning,
                stacklevel=level_of_user(),
            )

    def _raise_delta(self, delta, claims):
        """Return the delta of the bound: the one of the claims if it is larger and none is given.

        A claim about removed records has a larger delta where a record is replaced.
        """
        if self.delta is not None or self.claimed_epsilon is not None:
            return delta
        deltas = [delta, *(claim[1] for claim in claims if claim is not None)]
        return max(each for each in deltas if each < 1)

    def _choose_claim(self, claims, delta):
        """Return the epsilon that is claimed at the delta of the bound; None without a claim.

        It is infinite if a model claims its epsilon at a larger delta only.
        """
        if self.claimed_epsilon is not None:
            return float(self.claimed_epsilon)
        claims = [PrivacyClaim(*claim) for claim in claims if claim is not None]
        largest = max((claim.delta for claim in claims), default=delta)
        if largest > delta:
            warnings.warn(
                f"The bound is at delta={delta:g} and the claim of the model at the larger "
                f"delta={largest:g}, so the audit does not compare the two epsilons. Leave delta "
                f"out, or state the epsilon at delta={delta:g} as claimed_epsilon.",
                PrivacyWarning,
                stacklevel=level_of_user(),
            )
        return max((claim.at(delta) for claim in claims), default=None)

    def _set_claim(self, claimed, epsilon):
        self.claimed_epsilon_ = 0.0 if claimed is None else float(claimed)
        self._is_refuted = bool(epsilon > self.claimed_epsilon_)

    def _train(self, model, records, rows, entropy):
        """Train on some rows; the entropy seeds the training unless there is no random_state."""
        X = take_rows(records.X, rows)
        data = X, shape_targets(model, X, records.y[rows], has_column(records))
        if self.random_state is None:
            with with_advice(model, X):
                return model.fit(*data)
        seeds = np.random.SeedSequence(entropy)
        seed_estimator(model, seeds)
        with isolated_randomness(seeds), with_advice(model, X):
            return model.fit(*data)

    def _make_attack(self):
        """Return the attack without a victim; None for the loss alone."""
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
        """Return the canaries of a kind, checked if a user's function made them."""
        make, settings = (make_canaries, {"kind": kind}) if isinstance(kind, str) else (kind, {})
        if kind == "exposed" and hasattr(self.estimator, "predict_proba"):
            settings["estimator"] = unwrap(self.estimator)
        try:
            made = make(X, y, n_canaries, random_state=random_state, **settings)
        except TypeError as error:
            raise TypeError(
                "canaries must be one of the kinds, or a function that is called as "
                f"f(X, y, n_canaries, random_state=...); got {show(kind)}: {error}"
            ) from error
        return _check_canaries(made, n_canaries, X, self.classes_)


def _check_canaries(made, n_canaries, X, classes):
    """Return what a user's function made, as arrays."""
    if not isinstance(made, tuple | list) or len(made) != 3:
        raise ValueError(f"Canaries must be a tuple of X, y and rows; got {show(made)}.")
    X_made = check_feature_matrix(made[0], input_name="X of canaries")
    y_made, rows = to_array(made[1], "y of canaries"), to_array(made[2], "rows of canaries")
    if X_made.shape != (n_canaries, X.shape[1]) or y_made.shape != (n_canaries,):
        raise ValueError(
            f"Canaries must be {n_canaries} rows of {X.shape[1]} features and as many labels; "
            f"got shapes {X_made.shape} and {y_made.shape}."
        )
    y_made = check_class_column(y_made, "y of canaries")
    if pd.isna(y_made).any() or not np.isin(y_made, classes).all():
        raise ValueError("Labels of canaries must occur in y; got others.")
    if rows.size and not (rows.dtype.kind in "iu" and 0 <= rows.min() <= rows.max() < len(X)):
        raise ValueError(f"rows of canaries must be numbers of rows of X; got {show(made[2])}.")
    return Canaries(X_made, y_made, rows.astype(np.intp))


class PrivacyClaim(NamedTuple):
    """What a model claims of itself: that its training is (epsilon, delta)-private."""

    epsilon: float
    delta: float

    def at(self, delta):
        """Return the epsilon that the claim promises at a delta, infinite at a smaller one.

        A larger delta allows more, and of a smaller one the claim says nothing.
        """
        return self.epsilon if self.delta <= delta else math.inf

    def twice(self):
        """Return what the claim promises where a record is removed and another one added."""
        if self.delta == 0:
            return PrivacyClaim(2 * self.epsilon, 0.0)
        with np.errstate(over="ignore"):
            delta = self.delta * (1 + np.exp(self.epsilon))
        return PrivacyClaim(2 * self.epsilon, min(1.0, float(delta)))


def _find_target_delta(estimator, prefix=""):
    """Return the name of the target_delta of an estimator, or of the private one in it, or None."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return None
    if "target_delta" in estimator.get_params(deep=False):
        return f"{prefix}target_delta"
    name, inner = _open(estimator, "estimator")
    return _find_target_delta(inner, f"{prefix}{name}__")


def _reach_private(model):
    """Return the part of a fitted model that claims to be private, or None."""
    while getattr(model, "epsilon_", None) is None or getattr(model, "delta_", None) is None:
        _, model = _open(model, "estimator_")
        if model is None:
            return None
    return model


def _open(model, place):
    """Return the name of the only part of a model that is fitted on private rows, and this part.

    Other models, such as searches, ensembles and most defenses, fit several, or on other rows: what
    one of these fits claims is no claim of the whole.
    """
    if isinstance(model, Pipeline) and model.steps:
        return model.steps[-1]
    is_open = getattr(type(model), "_fits_rows_once", False)
    return "estimator", getattr(model, place, None) if is_open else None


def read_claim(model, replaces=False):
    """Return the epsilon that a private model claims, with its ``delta_``; None without a claim.

    GaussianNB has an epsilon_ of another kind, and no ``delta_``; None is no claim either. The
    claim of a Pipeline, or of a defense of the outputs of a private model, is that of the private
    model. If a record is replaced, the claim is applied twice, unless the model has ``neighbors_ =
    "replace"``.
    """
    model = _reach_private(model)
    epsilon, delta = getattr(model, "epsilon_", None), getattr(model, "delta_", None)
    if epsilon is None or delta is None:
        return None
    claim = PrivacyClaim(float(epsilon), float(delta))
    is_covered = not replaces or getattr(model, "neighbors_", "add") == "replace"
    return claim if is_covered else claim.twice()


def score_canaries(attack, model, canaries):
    """Score the canaries with an attack, or by their negative loss without one."""
    with accepting_read_only():
        if attack is None:
            scores = threshold_signal_of(get_kind(model)).of(model, canaries)
        else:
            attack = clone(attack).set_params(victim=model)
            scores = attack.fit(canaries).score_samples(canaries)
    return np.asarray(scores, dtype=np.float64)


def join_canaries(X, y, canaries, n_copies=1):
    """Return the records of the data with the canaries at the end, and which of them are others."""
    X_all = np.concatenate([X, np.repeat(canaries.X, n_copies, axis=0)])
    y_all = np.concatenate([y, np.repeat(canaries.y, n_copies)])
    others = np.arange(len(X_all)) < len(X)
    others[canaries.rows] = False
    return Records(X_all, y_all), others


def as_number(n_canaries, n_records):
    """Return a number of canaries that may be a share of the records."""
    if isinstance(n_canaries, Integral):
        return int(n_canaries)
    return max(1, int(n_canaries * n_records + 1e-9))  # 0.29 * 100 is below 29
