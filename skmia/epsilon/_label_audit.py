"""Audit of label privacy by one training on labels that coins decided."""

from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._core.query import log_label_scores, query_aligned
from .._core.randomness import derive_random_state, draw_integers
from .._core.records import Records
from .._core.sklearn import StrOptions
from .._core.types import ArrayLike, Seed
from ..metrics import Interval as Estimate
from ..metrics import clopper_pearson
from ._base import read_claim, score_canaries
from ._one_run_audit import OneRunBase


class LabelAudit(OneRunBase):
    """Lower bound of the epsilon of label privacy from one trained model.

    Each canary is a row with two possible labels, and a fair coin decides which of them the
    estimator is trained on. An attacker who knows both labels and the trained model guesses the
    coins. Because the coins are independent of the features, what the model learns about the
    population is of no help: guesses are right more often than half of the time only as far as the
    model reveals the labels that it was trained on.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier that is audited; a fitted one in a :class:`~sklearn.frozen.FrozenEstimator` is
        trained again. If None, a logistic regression is used.
    alternatives : {"own", "wrong"}, default="own"
        The two labels of a canary:

        - ``"own"``: the label in y and another one, drawn at random;
        - ``"wrong"``: two different labels other than the one in y, drawn at random. It needs three
          classes, and gives every canary a label that only memorization can fit.
    n_canaries : int or float, default=0.1
        Number of canaries, or their share of the rows.
    reference : bool, default=True
        Whether a second model is trained, without the canaries. From its preference between the two
        labels, the preference of the audited model is predicted by least squares, and what the
        prediction leaves is the score. If False, the preference itself is the score, and one
        training suffices.
    bound : {"any", "gdp"}, default="any"
        See :func:`one_run_epsilon_lower_bound`; ``"any"`` makes no assumption on the mechanism.
    n_guesses : "auto", "any", int or array-like of int, default="auto"
        Number of coins to guess; see :func:`one_run_epsilon_lower_bound`.
    delta : float, default=None
        The delta at which epsilon is stated. If None, the estimator's: its ``target_delta``, or the
        ``delta_`` of one more training where that is None; without one, 1e-5 or a larger ``delta_``
        of the trained model.
    confidence_level : float, default=0.95
        Confidence level of the bound and of the interval, in (0, 1).
    attack : attack, default=None
        Attack on membership that scores each canary with either label; its parameter ``victim`` is
        set to the model, and it is fitted on the canaries without their coins. If None, the log
        probabilities of the labels are used.
    claimed_epsilon : float, default=None
        The epsilon of label privacy that is claimed at the delta of the bound; the audit warns if
        it cannot refute it. If None, the ``epsilon_`` of the trained model is used, if it has it
        together with a ``delta_``.
    random_state : int, RandomState instance or None, default=None
        Controls the canaries, their labels, the coins and the randomness of the training. If None,
        the estimator keeps its own randomness; use this if the noise of a private model must stay
        secret.

    Attributes
    ----------
    epsilon_ : float
        Lower bound of the epsilon of label privacy, in nats.
    claimed_epsilon_ : float
        The epsilon that is claimed: `claimed_epsilon`, or the one of the trained model; infinite
        if its ``delta_`` is larger than the delta of the bound, because a claim says nothing about
        a smaller delta; 0 if there is none, so that :meth:`predict` says whether the training leaks
        at all.
    result_ : EpsilonBound
        The bound and its basis.
    advantage_ : Interval
        ``(estimate, low, high)`` of the advantage of the attacker, the share of right guesses minus
        the share of wrong ones, where every coin is guessed by the sign of its score.
    estimator_ : classifier
        Model that was trained on the labels that the coins chose.
    reference_ : classifier or None
        Model that was trained without the canaries.
    rows_ : ndarray of shape (n_canaries,)
        Rows of X that are canaries.
    labels_ : ndarray of shape (n_canaries, 2)
        The two labels of each canary.
    coins_ : ndarray of shape (n_canaries,), dtype bool
        True where the model was trained on the first label.
    scores_ : ndarray of shape (n_canaries,)
        Higher means more likely trained on the first label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where they are strings.

    See Also
    --------
    OneRunAudit : Audit of whole records instead of labels.
    skmia.attacks.LabelInferenceAttack : Inference of the labels of a given model.

    Notes
    -----
    Neighboring data sets differ in the label of one record. The audited model is trained on wrong
    labels of canaries, with ``"own"`` of about half of them, so that it should not be released. An
    estimator that is differentially private for whole records is so for labels: with the same
    epsilon if records are replaced, and with twice the epsilon if they are added or removed. So the
    ``epsilon_`` of a model is doubled, and its delta is ``delta_ * (1 + exp(epsilon_))``, unless
    the model has ``neighbors_ = "replace"``. What no audit of a training sees: :ref:`The limits of
    the guarantee <privacy_limits>`.

    The bound holds for every way to score the canaries. With ``bound="gdp"`` it does not hold for
    randomized response, which protects labels in some methods: in simulations it exceeded an
    epsilon of 2 in 54% to 83% of the audits.

    The reference removes what the features tell about the labels, and finds more where labels can
    be predicted. The interval of ``advantage_`` is Clopper-Pearson's; without leakage every guess
    is right with a probability of one half, whatever the model has learned about the population.

    References
    ----------
    Malek, M., Mironov, I., Prasad, K., Shilov, I. and Tramer, F. (2021). Antipodes of label
    differential privacy: PATE and ALIBI. NeurIPS.

    Steinke, T., Nasr, M. and Jagielski, M. (2023). Privacy auditing with one (1) training run.
    NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.epsilon import LabelAudit
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20)
    >>> audit = LabelAudit(forest, n_canaries=200, random_state=0).fit(X, y)
    >>> bool(audit.epsilon_ > 2), bool(audit.advantage_.low > 0.9)
    (True, True)
    >>> audit.predict(X[:2]), audit.score() == audit.epsilon_
    (array([1, 1]), True)
    """

    _parameter_constraints: dict = {
        **OneRunBase._parameter_constraints,
        "alternatives": [StrOptions({"own", "wrong"})],
        "reference": ["boolean"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        alternatives: Literal["own", "wrong"] = "own",
        *,
        n_canaries: int | float = 0.1,
        reference: bool = True,
        bound: Literal["any", "gdp"] = "any",
        n_guesses: Literal["auto", "any"] | int | ArrayLike = "auto",
        delta: float | None = None,
        confidence_level: float = 0.95,
        attack: BaseEstimator | None = None,
        claimed_epsilon: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.alternatives = alternatives
        self.n_canaries = n_canaries
        self.reference = reference
        self.bound = bound
        self.n_guesses = n_guesses
        self.delta = delta
        self.confidence_level = confidence_level
        self.attack = attack
        self.claimed_epsilon = claimed_epsilon
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        X, y, n_canaries = self._begin(X, y)
        rng = derive_random_state(self.random_state, "LabelAudit")
        self.rows_ = np.sort(rng.permutation(len(X))[:n_canaries])
        self.labels_ = self._draw_labels(y[self.rows_], rng)
        self.coins_ = rng.randint(2, size=n_canaries).astype(bool)
        ties = rng.randint(2, size=n_canaries).astype(bool)
        entropy = draw_integers(rng)
        given = y.copy()
        given[self.rows_] = np.where(self.coins_, *self.labels_.T)
        delta, estimator = self._settle_delta(self._make_estimator(), X.copy(), given)
        records, everything = Records(X, given), np.arange(len(X))
        self.estimator_ = self._train(estimator, records, everything, entropy)
        self.reference_ = None
        if self.reference:
            others = np.setdiff1d(everything, self.rows_)
            self.reference_ = self._train(self._make_estimator(), records, others, entropy)
        self.scores_ = self._compare(X[self.rows_])
        claims = [read_claim(self.estimator_, replaces=True)]
        delta = self._raise_delta(delta, claims)
        self.result_ = self._bound(self.coins_, self.scores_, delta)
        self.epsilon_ = self.result_.epsilon
        self.advantage_ = self._measure_advantage(ties)
        self._check_claim(self.result_, claims)
        return self

    def _count_canaries(self, X):
        n_canaries = super()._count_canaries(X)
        most = len(X) - 2 if self.reference else len(X)
        if n_canaries > most:
            raise ValueError(
                f"n_canaries must be at most {most} of {len(X)} rows, so that "
                f"{'the reference has rows' if self.reference else 'each is a row'}; got "
                f"{n_canaries}."
            )
        if self.alternatives == "wrong" and len(self.classes_) < 3:
            raise ValueError(
                'alternatives="wrong" needs three classes or more; got '
                f"{len(self.classes_)} classes."
            )
        return n_canaries

    def _draw_labels(self, y, rng):
        """Draw the two labels of each canary."""
        n_classes = len(self.classes_)
        first = np.searchsorted(self.classes_, y)
        other = rng.randint(1, n_classes, size=len(y))
        if self.alternatives == "own":
            return self.classes_[np.column_stack([first, (first + other) % n_classes])]
        # A second shift, other than 0 and than the first.
        shift = rng.randint(1, n_classes - 1, size=len(y))
        shift += shift >= other
        return self.classes_[np.column_stack([first + other, first + shift]) % n_classes]

    def _compare(self, X):
        """By how much more the model prefers the first label than is expected without the coins."""
        scores = self._prefer(self.estimator_, X)
        if self.reference_ is None:
            return scores
        known = np.column_stack([np.ones(len(X)), self._prefer(self.reference_, X)])
        return scores - known @ np.linalg.lstsq(known, scores, rcond=None)[0]

    def _prefer(self, model, X):
        if self.attack is not None:
            first, second = (
                score_canaries(self._make_attack(), model, Records(X, labels))
                for labels in self.labels_.T
            )
            return first - second
        outputs = query_aligned(model, X, self.classes_)
        scores = log_label_scores(outputs, outputs.compute_resolution())
        first, second = (outputs.label_index(labels) for labels in self.labels_.T)
        rows = np.arange(len(X))
        return scores[rows, first] - scores[rows, second]

    def _measure_advantage(self, ties):
        guesses = np.where(self.scores_ == 0, ties, self.scores_ > 0)
        right, n = int((guesses == self.coins_).sum()), len(guesses)
        limits = clopper_pearson(right, n, confidence_level=self.confidence_level)
        return Estimate(*(float(2 * rate - 1) for rate in (right / n, *limits)))
