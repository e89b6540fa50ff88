"""Base class of all attacks."""

import warnings
from abc import ABC, abstractmethod
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from .._core.callers import level_of_user
from .._core.copies import CopiesParameters
from .._core.needs import ANY, BOTH, NOBODY, Needs
from .._core.probabilities import as_columns, posterior_of
from .._core.records import Records, change_table
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from .._core.validation import (
    check_membership,
    check_records,
    check_width,
    order_features,
    refuse_nan,
    say_one_label,
    set_features,
)
from ..metrics import membership_advantage_score, membership_roc_curve
from ..victims import order_columns


def best_threshold(membership, scores):
    """Return the threshold of highest balanced accuracy, halfway between two scores."""
    fpr, tpr, thresholds = membership_roc_curve(membership, scores)
    best = np.argmax(tpr - fpr)
    if not np.isfinite(thresholds[best]):
        return float(np.nextafter(scores.max(), np.inf))
    lower = scores[scores < thresholds[best]].max()  # flagging all records is never best
    middle = (thresholds[best] + lower) / 2
    # No float lies between two adjacent ones: their midpoint is rounded to one of them.
    return float(middle if middle > lower else thresholds[best])


class PosteriorMixin:
    """Mixin of attacks whose scores tell the probability of membership."""

    def predict_proba(self, X: Records) -> np.ndarray:
        """Return the probability of membership, given the share of members that is assumed.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        proba : ndarray of shape (n, 2)
            Probabilities of non-membership and membership. The share of members is the one in
            ``fit`` of an attack that learns from known members, else the attack's ``prior``, or
            one half.
        """
        return as_columns(self._to_probability(self.score_samples(X)))

    def _to_probability(self, scores):
        """Turn scores, log likelihood ratios unless a subclass knows better, into probabilities."""
        return posterior_of(scores, getattr(self, "prior", 0.5))


# Number of records from which on members and non-members have different labels by no chance.
_FEWEST_EQUAL = 20


def _warn_of_membership(records, membership):
    """Warn if membership is in another order than the records, or holds their task labels."""
    records._warn_of_rows({"membership": membership})
    if len(records) >= _FEWEST_EQUAL and np.array_equal(records.y, membership):
        warnings.warn(
            "The membership of all records equals their task labels, which records.y holds. Pass "
            "1 for the records that the victim was trained on and 0 for the others.",
            UserWarning,
            stacklevel=level_of_user(),
        )


class BaseAttack(TransactionMixin, CopiesParameters, ClassifierMixin, BaseEstimator, ABC):
    """Base class of all attacks: classifiers of records into members (1) and non-members (0).

    A subclass implements ``_fit(records, membership)``, ``_score_samples(records)`` and
    ``_natural_offset(records)``, and declares in ``_needs()`` what it needs to run. All public
    methods are defined here, and with them the one rule about records that an attack cannot judge
    (``_can_judge(records)``): they are never predicted as members, whatever their score.

    A clone keeps a fitted ``victim`` and a fitted pool ``shadows`` as they are, and copies the
    other parameters. ``set_params(shadows__n_estimators=...)`` never changes a fitted pool, nor
    ``victim__...`` a fitted victim: an unfitted copy takes its place. The shadow models of an
    unfitted pool are trained once for the table that the records given to ``fit`` are slices of;
    the notes of :class:`~skmia.ShadowPool` say where they are kept, and
    :meth:`skmia.Records.detached` makes a slice a table of its own.

    Attributes
    ----------
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.
    n_features_in_ : int
        Number of features of the records of ``fit``, if their X is a matrix or a table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a table whose columns are named by text. Later tables may
        have these columns in another order.
    """

    _parameter_constraints: dict = {"victim": "no_validation"}

    # What is attacked, and with what: clones of the attack keep them.
    _subjects = ("victim", "shadows")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # Help and the reference would show the parameters of __new__ otherwise.
        own = signature(cls.__init__)
        cls.__signature__ = own.replace(parameters=[*own.parameters.values()][1:])

    def __new__(cls, *args, **kwargs):
        for name in {"n_jobs", "random_state", "verbose"} & kwargs.keys():
            parameters = signature(cls.__init__).parameters
            if name not in parameters and "shadows" in parameters:
                raise TypeError(
                    f"{cls.__name__} has no parameter {name!r}, which belongs to the pool: "
                    f"shadows=ShadowPool(model, {name}={kwargs[name]!r})."
                )
        if cls.__abstractmethods__:
            raise TypeError(
                f"{cls.__name__} does not define {', '.join(sorted(cls.__abstractmethods__))}; the "
                'page "An attack of your own" of the user guide shows what each method returns.'
            )
        return super().__new__(cls)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            owner, why = type(self).__name__, ""
            if name == "predict_proba":
                why = ", because its scores are not probabilities of membership; "
                why += f"CalibratedClassifierCV({owner}(...)) turns them into some"
            raise AttributeError(f"{owner!r} object has no attribute {name!r}{why}.")

    def needs(self) -> Needs:
        """Return what the attack needs with its current parameters; it need not be fitted.

        Returns
        -------
        needs : Needs
            Kinds of outputs, access to the victim, what shadow models must keep, whose membership
            must be known, and which parameters must be given.
        """
        return self._needs()

    def fit(self, X: Records, y: ArrayLike | None = None) -> Self:
        """Fit the attack.

        Parameters
        ----------
        X : Records of n records
            Labeled records, members and non-members mixed.
        y : array-like of shape (n,), default=None
            1 for members, 0 for non-members. If given, ``offset_`` is the threshold of the highest
            balanced accuracy of the predictions on these records. If None, the attack sets its own
            threshold, which requires no knowledge of the victim's members.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        records = self._check_and_order(X)
        if "file" in self.needs().access:
            check_width(self.victim, records)
        membership = None
        if y is not None:
            membership = check_membership(y, len(records))
            _warn_of_membership(records, y)
        elif self.__sklearn_tags__().target_tags.required:
            raise ValueError(
                f"{type(self).__name__} learns from known members and non-members. Pass their "
                "membership: fit(records, membership)."
            )
        self._fit(records, membership)
        set_features(self, records)
        self.classes_ = np.array([0, 1])
        if membership is None:
            self.offset_ = float(self._natural_offset(records))
        else:
            self.offset_ = float(self._learned_offset(records, membership))
        return self

    def _check_and_order(self, X):
        """Check the targets of records, and return them with the columns in the order of a file."""
        records = check_records(X, targets=True)
        if records.y.ndim == 2 and "values" not in self.needs().reads:
            raise ValueError(say_one_label(records, type(self).__name__))
        if "file" in self.needs().access:  # which is read, and refuses no order of columns
            records = change_table(records, partial(order_columns, self.victim))
        return records

    def score_samples(self, X: Records) -> np.ndarray:
        """Compute a membership score of each record.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        scores : ndarray of shape (n,)
            Higher means more likely a member.
        """
        records = order_features(self, self._check_and_order(X))
        scores = np.asarray(self._score_samples(records), dtype=np.float64)
        if scores.shape != (len(records),):
            raise ValueError(
                f"_score_samples of {type(self).__name__} must return one score for each of "
                f"{len(records)} records; got an array of shape {scores.shape}."
            )
        return refuse_nan(scores)

    def decision_function(self, X: Records) -> np.ndarray:
        """Compute the distance to the threshold, ``score_samples(records) - offset_``.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        decision : ndarray of shape (n,)
            Records with values of 0 and above are predicted as members. A record that the attack
            cannot judge has a value just below 0 where the distance is not negative.
        """
        scores = self.score_samples(X)
        lacking = (scores >= self.offset_) & ~self._flag(X, scores)
        return np.where(lacking, np.nextafter(0.0, -1.0), scores - self.offset_)

    def predict(self, X: Records) -> np.ndarray:
        """Predict the membership of each record.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        membership : ndarray of shape (n,)
            1 for members, 0 for non-members and for records that the attack cannot judge.
        """
        is_member = self._flag(X, self.score_samples(X))
        return self.classes_[is_member.astype(int)]

    def _flag(self, records, scores):
        """Return which records are predicted as members: judged, and not below the threshold."""
        flagged = scores >= self.offset_
        return flagged & self.can_judge(records) if flagged.any() else flagged

    def score(self, X: Records, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the membership advantage of the predictions, TPR - FPR.

        Parameters
        ----------
        X : Records of n records
            Labeled records.
        y : array-like of shape (n,)
            1 for members, 0 for non-members.
        sample_weight : array-like of shape (n,), default=None
            Weights of the records.

        Returns
        -------
        advantage : float
            Membership advantage, in [-1, 1]; 0 is chance, 1 means that every prediction is correct.
        """
        guesses = self.predict(X)
        _warn_of_membership(X, y)
        return membership_advantage_score(y, guesses, sample_weight=sample_weight)

    def can_judge(self, X: Records) -> np.ndarray:
        """Return which records the attack can judge.

        A record that it cannot judge has a score just below the neutral one, is not predicted as a
        member, and should be left out of results.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        judged : ndarray of shape (n,), dtype bool
            False, for example, for records without a shadow model that was trained on them, if the
            attack needs one.
        """
        records = order_features(self, self._check_and_order(X))
        return np.asarray(self._can_judge(records), dtype=bool)

    def _can_judge(self, records):
        return np.ones(len(records), dtype=bool)

    def _needs(self):
        """Return the needs; by default any victim is accepted and stored outputs suffice."""
        return Needs(ANY, known=BOTH if self.__sklearn_tags__().target_tags.required else NOBODY)

    @abstractmethod
    def _fit(self, records, membership):
        """Learn what the attack needs; ``membership`` is a boolean array or None."""

    @abstractmethod
    def _score_samples(self, records):
        """Compute the score of each record."""

    def _learned_offset(self, records, membership):
        """Return the threshold of the highest balanced accuracy on the records given to ``fit``."""
        scores, judged = self.score_samples(records), self._can_judge(records)
        n_infinite = np.count_nonzero(np.isinf(scores))
        if n_infinite:
            raise ValueError(
                f"No threshold is learned from scores of which {n_infinite} of {len(scores)} are "
                "infinite, as logits of -inf make them; use a signal without logarithms, such as "
                '"confidence".'
            )
        if judged.any():  # those that are never predicted as members come last
            scores = np.where(judged, scores, np.nextafter(scores[judged].min(), -np.inf))
        return best_threshold(membership, scores)

    @abstractmethod
    def _natural_offset(self, records):
        """Return the threshold that is used without membership labels."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = False
        return tags
