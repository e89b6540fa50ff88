"""Conditions of rules about hyper-parameters."""

import operator
import re
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from .._core.numbers import show

_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_FORM = re.compile(r"(not )?(?:(<=|>=|<|>|==) (\S+)|(none|all|int))")
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class Condition:
    """A condition on one parameter of an estimator.

    Attributes
    ----------
    parameter : str
    text : str
        ``"<"``, ``"<="``, ``">"``, ``">="`` or ``"=="`` with a value, ``"none"``, ``"all"`` (all
        features: None or 1.0) or ``"int"``; ``"not "`` before it for the contrary. A comparison
        with what is not a number does not hold.
    """

    parameter: str
    text: str

    def holds(self, settings: dict) -> bool:
        """Whether the condition holds; it does not if there is no such parameter.

        Parameters
        ----------
        settings : dict
            Parameters of the estimator.

        Returns
        -------
        holds : bool
        """
        if self.parameter not in settings:
            return False
        negated, sign, wanted, word = _FORM.fullmatch(self.text).groups()
        value = settings[self.parameter]
        holds = _is(word, value) if word else _compare(sign, value, wanted)
        return holds != bool(negated)


def parse_conditions(parameter, texts):
    """Return the conditions on a parameter, of one text or a list of texts.

    Raises
    ------
    ValueError
        If a text is not a condition.
    """
    texts = texts if isinstance(texts, list) else [texts]
    for text in texts:
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None or (match[2] in _COMPARISONS and _as_number(match[3]) is None):
            raise ValueError(
                f"The condition on {parameter} must be a comparison such as '<= 5', or 'none', "
                f"'all' or 'int', each with 'not ' before it or without; got {show(text)}."
            )
    return [Condition(parameter, text) for text in texts]


def _is(word, value):
    if word == "none":
        return value is None
    if word == "all":
        return value is None or (isinstance(value, float | np.floating) and value == 1)
    return isinstance(value, Integral) and not isinstance(value, bool)


def _compare(sign, value, wanted):
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if sign != "==":
        return is_number and bool(_COMPARISONS[sign](value, _as_number(wanted)))
    if wanted in _WORDS:
        return isinstance(value, bool | np.bool_) and bool(value) == _WORDS[wanted]
    return value == _as_number(wanted) if is_number else str(value) == wanted


def _as_number(text):
    try:
        return float(text)
    except ValueError:
        return None
