"""What the checks share."""

from numbers import Number

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._core.records import Records

# The same numbers computed again.
_RELATIVE, _ABSOLUTE = 1e-5, 1e-6

# Scores of the same record in another batch: sums in float32 and matrix products round otherwise,
# and a small variance multiplies the difference.
BATCH = 1e-4


def expect(holds, sentence):
    """Raise an AssertionError with a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)


def expect_close(actual, expected, claim, relative=_RELATIVE):
    """Raise an AssertionError unless two arrays agree up to rounding."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    holds = actual.shape == expected.shape
    expect(holds, f"{claim}; got the shape {actual.shape} instead of {expected.shape}.")
    differs = ~np.isclose(actual, expected, rtol=relative, atol=_ABSOLUTE)
    if differs.any():
        first = np.flatnonzero(differs.ravel())[0]
        raise AssertionError(
            f"{claim}; {differs.sum()} of {differs.size} values differ, first at position {first}: "
            f"{actual.ravel()[first]} instead of {expected.ravel()[first]}."
        )


def expect_refusal(call, error, word, what):
    """Raise an AssertionError unless a call is refused with one sentence that says why."""
    errors = error if isinstance(error, tuple) else (error,)
    wanted = " or ".join(kind.__name__ for kind in errors)
    try:
        call()
    except errors as refusal:
        message = str(refusal)
    except Exception as other:
        raise AssertionError(
            f"{what} must raise {wanted}; got {type(other).__name__}: {other}"
        ) from other
    else:
        raise AssertionError(f"{what} must raise {wanted}; nothing was raised.")
    is_sentence = message.endswith(".") and "\n" not in message and " " in message
    holds = is_sentence and word.lower() in message.lower()
    expect(holds, f"{what} must be refused with a sentence that mentions {word!r}; got: {message}")


def fresh(attack):
    """Return an unfitted copy whose random numbers are fixed."""
    attack = clone(attack)
    if attack.get_params(deep=False).get("random_state", 0) is None:
        attack.set_params(random_state=0)
    return attack


def fitted(attack, records, membership):
    """Return a fitted copy whose random numbers are fixed."""
    return fresh(attack).fit(records, membership)


class _OpaqueVictim(BaseEstimator):
    """A victim that answers as another one does, and cannot be looked into."""

    def __init__(self, victim):
        self.victim = victim

    def fit(self, X=None, y=None):
        return self

    def __sklearn_is_fitted__(self):
        check_is_fitted(self.victim)
        return True

    def __reduce_ex__(self, protocol):
        raise TypeError("This victim has no file.")

    def predict(self, X):
        return self.victim.predict(X)


def _has(name):
    return lambda self: hasattr(self.victim, name)


class AnsweringClassifier(ClassifierMixin, _OpaqueVictim):
    """A classifier that answers as another one does."""

    @property
    def classes_(self):
        return self.victim.classes_

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        return self.victim.predict_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X):
        return self.victim.decision_function(X)


class AnsweringRegressor(RegressorMixin, _OpaqueVictim):
    """A regressor that answers as another one does."""


def _asks(ways):
    def mark(check):
        check.ways = ways
        return check

    return mark


# Marks of a check that gets the attack fitted, with membership, in each way, or with membership
# only if the attack needs it. Such checks only ask the attack and share one fit of each way: that
# asking changes nothing is a check of its own.
asks_fitted = _asks(lambda attack, membership: (membership,))
asks_fitted_each_way = _asks(lambda attack, membership: ways_to_fit(attack, membership))
asks_fitted_as_declared = _asks(lambda attack, membership: ways_to_fit(attack, membership)[-1:])


class SharedFits:
    """Fitted copies of an attack, made when a check first asks for them."""

    def __init__(self, records, membership):
        self.records, self.membership = records, membership
        self._attack, self._fits = None, {}

    def get(self, attack, ways):
        """Return the fitted copies of an attack for a check with certain ways to fit."""
        if attack is not self._attack:
            self._attack, self._fits = attack, {}
        asked = ways(attack, self.membership)
        for bits in asked:
            if (bits is None) not in self._fits:
                self._fits[bits is None] = fitted(attack, self.records, bits)
        return [self._fits[bits is None] for bits in asked]


def choose_half(membership):
    """Return the positions of every other member and of every other non-member."""
    return np.concatenate([np.flatnonzero(membership == bit)[::2] for bit in (0, 1)])


def needs_membership(attack):
    """Return whether the attack learns from known members and non-members."""
    return attack.__sklearn_tags__().target_tags.required


def ways_to_fit(attack, membership):
    """Return what the attack may be fitted with.

    The membership, and where it needs none also None.
    """
    return (membership,) if needs_membership(attack) else (membership, None)


def get_plain_state(thing):
    """Attributes of an object that are numbers, text, arrays or records, but no estimators.

    An estimator may count its calls or build an index when it is first asked.
    """
    plain = (np.ndarray, Number, str, tuple, Records, type(None))
    return {name: value for name, value in vars(thing).items() if isinstance(value, plain)}


def get_collaborator(attack, name):
    """Return a parameter of the attack, None where it has no such parameter."""
    return attack.get_params(deep=False).get(name)
