"""Audit by one training with many canaries."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._core.randomness import draw_integers
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import ArrayLike, Seed
from ._base import (
    CANARY_CONSTRAINT,
    EpsilonAuditBase,
    as_number,
    join_canaries,
    read_claim,
    score_canaries,
)
from ._one_run import BOUNDS, needs_delta, one_run_epsilon_lower_bound
from ._result import EpsilonBound, check_coins, check_delta


class OneRunBase(EpsilonAuditBase):
    """Base class of audits that guess the coins of many canaries of one training."""

    _parameter_constraints: dict = {
        **EpsilonAuditBase._parameter_constraints,
        "n_canaries": [at_least(1), Interval(Real, 0, 1, closed="neither")],
        "bound": [StrOptions({"any", "gdp"})],
        "n_guesses": [StrOptions({"auto", "any"}), Integral, "array-like"],
    }
    _GROWS_WITH = "canaries"

    def _begin(self, X, y):
        """Return the checked data and the number of canaries."""
        X, y = self._read(X, y)
        n_canaries = self._count_canaries(X)
        # Contradictory settings are refused before anything is trained.
        self._bound(np.zeros(n_canaries), np.zeros(n_canaries), self._own_delta())
        return X, y, n_canaries

    def _count_canaries(self, X):
        return as_number(self.n_canaries, len(X))

    def _bound(self, coins, scores, delta):
        settings = self._list_settings(delta)
        return one_run_epsilon_lower_bound(coins, scores, bound=self.bound, **settings)

    def _list_settings(self, delta):
        settings = {"n_guesses": self.n_guesses, "confidence_level": self.confidence_level}
        return settings | {"delta": delta}


_IF = {
    "order_statistics": "if canaries are answered independently by {family}",
    "gdp": "if the trade-off curve is one of Gaussian differential privacy",
    "any": "for any mechanism",
}
_FAMILIES = {
    "gaussian": "a Gaussian mechanism",
    "laplace": "a Laplace mechanism",
    "epsilon_delta": "randomized response",
}


@dataclass(frozen=True)
class OneRunBounds:
    """Lower bounds of epsilon from the same run, by what they assume.

    Attributes
    ----------
    any : EpsilonBound or None
        Bound for any mechanism; None if the delta is too large for the number of canaries.
    gdp : EpsilonBound or None
        Bound for mechanisms with a Gaussian trade-off curve; None at a delta of 0.
    order_statistics : EpsilonBound or None
        Bound for mechanisms of a family that answer canaries independently of each other; None for
        the Gaussian family at a delta of 0.
    family : str
        The family of the last one.
    """

    any: EpsilonBound | None
    gdp: EpsilonBound | None
    order_statistics: EpsilonBound | None
    family: str = "gaussian"

    def summary(self) -> str:
        """Print each bound with its assumption.

        Returns
        -------
        text : str
        """
        found = {name: getattr(self, name) for name in _IF}
        lines = [
            f"epsilon >= {bound.epsilon:.4g} {_IF[name].format(family=_FAMILIES[self.family])} "
            f"({bound.counts['n_correct']} of {bound.counts['n_guesses']} guesses right)"
            for name, bound in found.items()
            if bound is not None
        ]
        given = next(bound for bound in found.values() if bound is not None)
        lines.append(f"Each at confidence {given.confidence_level:.6g}, delta = {given.delta:.3g}.")
        return "\n".join(lines)


def one_run_epsilon_bounds(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    family: Literal["gaussian", "laplace", "epsilon_delta"] = "gaussian",
    sample_rate: float = 1.0,
    delta: float = 1e-5,
    n_guesses: Literal["auto", "any"] | int | ArrayLike = "auto",
    confidence_level: float = 0.95,
) -> OneRunBounds:
    """Return the lower bounds of epsilon from one run, under three assumptions.

    The assumptions, not the guesses, make most of the difference. The bound for any mechanism
    always holds. The other two hold under a model of the mechanism that the audit does not test.

    Parameters
    ----------
    y_true : array-like of shape (n_canaries,)
        Coin flips: 1 for canaries that took part.
    y_score : array-like of shape (n_canaries,)
        Finite scores, higher means more likely in.
    family : {"gaussian", "laplace", "epsilon_delta"}, default="gaussian"
        Mechanism of the bound for independent canaries.
    sample_rate : float, default=1.0
        Probability with which a canary takes part in the step of a Gaussian mechanism.
    delta : float, default=1e-5
        The delta at which the bounds are stated, in [0, 1).
    n_guesses : "auto", "any", int or array-like of int, default="auto"
        Numbers of guesses, as in :func:`one_run_epsilon_lower_bound`; ``"any"`` is ``"auto"`` for
        the bounds that do not have it.
    confidence_level : float, default=0.95
        Confidence level of each bound, in (0, 1).

    Returns
    -------
    bounds : OneRunBounds
        The bounds by their names.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    one_run_epsilon_lower_bound : One of them, and what they assume.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import one_run_epsilon_bounds
    >>> rng = np.random.default_rng(0)
    >>> coins = rng.integers(2, size=1000)
    >>> scores = coins + rng.normal(size=1000)  # the truth is 4.38
    >>> print(one_run_epsilon_bounds(coins, scores).summary())
    epsilon >= 4.333 if canaries are answered independently by a Gaussian mechanism (411 of 500 ...)
    epsilon >= 2.753 if the trade-off curve is one of Gaussian differential privacy (92 of 100 ...)
    epsilon >= 1.812 for any mechanism (92 of 100 guesses right)
    Each at confidence 0.95, delta = 1e-05.
    """
    coins, _ = check_coins(y_true, y_score)
    delta, found, measure = check_delta(delta), {}, one_run_epsilon_lower_bound
    for bound in BOUNDS:
        is_any = isinstance(n_guesses, str) and n_guesses == "any"
        is_large = 2 * len(coins) * delta > 1
        is_large |= is_any and len(coins) * delta >= 1 - confidence_level
        found[bound] = None
        if (delta == 0 and needs_delta(bound, family)) or (bound == "any" and is_large):
            continue
        found[bound] = measure(
            y_true,
            y_score,
            bound=bound,
            family=family,
            sample_rate=sample_rate,
            delta=delta,
            n_guesses="auto" if is_any and bound != "any" else n_guesses,
            confidence_level=confidence_level,
        )
        # The first bound says it if the scores are the wrong way round.
        measure = one_run_epsilon_lower_bound.__wrapped__
    return OneRunBounds(**found, family=family)


class OneRunAudit(OneRunBase):
    """Lower bound of epsilon by one training with many canaries.

    A fair coin decides for each canary whether it is in the training data. The estimator is trained
    once, an attack scores the canaries, and coins are guessed from the highest and lowest scores.
    More correct guesses than epsilon allows show that epsilon is larger. The trained model may be
    the one that is released, so the audit needs no additional training. With
    ``canaries="random_label"`` that model has been trained on wrong labels; use
    ``canaries="natural"`` for a model that will be released.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier that is audited; a fitted one in a :class:`~sklearn.frozen.FrozenEstimator` is
        trained again. If None, a logistic regression is used.
    canaries : {"clip_bkd", "exposed", "natural", "random_label"} or callable, \
default="random_label"
        A kind of ``make_canaries``, or a function with the same arguments, X, y, the number of
        canaries and ``random_state``. Those of ``"random_label"`` are rows of X, drawn at random,
        with another label.
    n_canaries : int or float, default=0.1
        Number of canaries, or their share of the rows.
    bound : {"any", "gdp"}, default="any"
        See :func:`one_run_epsilon_lower_bound`; ``"any"`` makes no assumption on the mechanism.
    n_guesses : "auto", "any", int or array-like of int, default="auto"
        Number of coins to guess; see :func:`one_run_epsilon_lower_bound`.
    delta : float, default=None
        The delta at which epsilon is stated. If None, the estimator's: its ``target_delta``, or the
        ``delta_`` of one more training where that is None; without one, 1e-5 or a larger ``delta_``
        of the trained model.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).
    attack : attack, default=None
        Attack that scores the canaries; its parameter ``victim`` is set to the model, and it is
        fitted on the canaries without their coins. If None, the default signal of
        :class:`~skmia.attacks.ThresholdAttack` is used, such as the loss.
    claimed_epsilon : float, default=None
        The epsilon that is claimed at the delta of the bound; the audit warns if it cannot refute
        it. If None, the ``epsilon_`` of the trained model is used, if it has it together with a
        ``delta_``.
    random_state : int, RandomState instance or None, default=None
        Controls the canaries, the coins and the randomness of the training. If None, the estimator
        keeps its own randomness; use this if the noise of a private model must stay secret.

    Attributes
    ----------
    epsilon_ : float
        Lower bound of epsilon, in nats.
    claimed_epsilon_ : float
        The epsilon that is claimed: `claimed_epsilon`, or the one of the trained model; infinite
        if its ``delta_`` is larger than the delta of the bound, because a claim says nothing about
        a smaller delta; 0 if there is none, so that :meth:`predict` says whether the training leaks
        at all.
    result_ : EpsilonBound
        The bound and its basis.
    bounds_ : OneRunBounds
        The bounds under three assumptions. The one for independent canaries is not a bound for the
        losses of a trained model, which is surer of all canaries at once if it is sure of some.
    estimator_ : classifier
        Trained on the other records and the canaries that the coins chose.
    scores_ : ndarray of shape (n_canaries,)
        Scores of the canaries, higher means more likely in.
    membership_ : ndarray of shape (n_canaries,), dtype bool
        Whether each canary was in the training set, by coin flip.
    canaries_ : Canaries
        Canaries and the rows of X that they replace.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where they are strings.

    See Also
    --------
    EpsilonAudit : Audit by many trainings with one canary: more powerful and more expensive.
    LabelAudit : Audit of the labels of records.

    Notes
    -----
    Neighboring data sets differ by a record that is added or removed. Canaries with wrong labels
    cost accuracy; natural ones cost none but leave half of the rows chosen out. With an algorithm
    whose losses differ from record to record more than by membership, such as a logistic
    regression, the loss alone finds little. What no audit of a training sees: :ref:`The limits of
    the guarantee <privacy_limits>`.

    References
    ----------
    Steinke, T., Nasr, M. and Jagielski, M. (2023). Privacy auditing with one (1) training run.
    NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.epsilon import OneRunAudit
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20)
    >>> audit = OneRunAudit(forest, n_canaries=400, n_guesses="any", random_state=0).fit(X, y)
    >>> print(f"{audit.epsilon_:.2f}")
    4.50
    >>> audit.predict(X[:2]), audit.score() == audit.epsilon_
    (array([1, 1]), True)
    >>> print(audit.result_.summary().splitlines()[0])
    epsilon >= 4.498 at confidence 0.95, delta = 1e-05
    """

    _parameter_constraints: dict = {
        **OneRunBase._parameter_constraints,
        "canaries": CANARY_CONSTRAINT,
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        canaries: Literal["clip_bkd", "exposed", "natural", "random_label"]
        | Callable[..., Any] = "random_label",
        *,
        n_canaries: int | float = 0.1,
        bound: Literal["any", "gdp"] = "any",
        n_guesses: Literal["auto", "any"] | int | ArrayLike = "auto",
        delta: float | None = None,
        confidence_level: float = 0.95,
        attack: BaseEstimator | None = None,
        claimed_epsilon: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.canaries = canaries
        self.n_canaries = n_canaries
        self.bound = bound
        self.n_guesses = n_guesses
        self.delta = delta
        self.confidence_level = confidence_level
        self.attack = attack
        self.claimed_epsilon = claimed_epsilon
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        X, y, n_canaries = self._begin(X, y)
        rng = check_random_state(self.random_state)
        self.canaries_ = self._make_canaries(self.canaries, X, y, n_canaries, rng)
        self.membership_ = rng.randint(2, size=n_canaries).astype(bool)
        entropy = draw_integers(rng)
        records, inside = join_canaries(X, y, self.canaries_)
        inside[len(X) :] = self.membership_
        estimator = self._make_estimator()
        delta, estimator = self._settle_delta(estimator, records.X.copy(), records.y)
        self.estimator_ = self._train(estimator, records, np.flatnonzero(inside), entropy)
        canaries = Records(self.canaries_.X, self.canaries_.y)
        self.scores_ = score_canaries(self._make_attack(), self.estimator_, canaries)
        claims = [read_claim(self.estimator_)]
        delta = self._raise_delta(delta, claims)
        self.result_ = self._bound(self.membership_, self.scores_, delta)
        settings = self._list_settings(delta)
        self.bounds_ = one_run_epsilon_bounds(self.membership_, self.scores_, **settings)
        self.epsilon_ = self.result_.epsilon
        self._check_claim(self.result_, claims)
        return self
