"""Rules about hyper-parameters, read from TOML files."""

import operator
import re
import tomllib
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from .._core.numbers import show
from .._core.types import PathLike
from ..victims import find_model, is_xgboost
from ._policy import load_toml

_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_FORM = re.compile(r"(not )?(?:(<=|>=|<|>|==) (\S+)|(none|all|int))")
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class ParameterCondition:
    """A condition on one parameter of an estimator."""

    parameter: str
    # "<", "<=", ">", ">=" or "==" with a value, "none", "all" (all features: None or 1.0) or "int";
    # "not " before it for the contrary. What is not a number, such as None, is neither above nor
    # below a value, so that "not < 5" holds for it; "==" also compares text and bools.
    text: str

    def holds(self, settings: dict) -> bool:
        """Return whether the condition holds; it does not if there is no such parameter."""
        if self.parameter not in settings:
            return False
        negated, sign, wanted, word = _FORM.fullmatch(self.text).groups()
        value = settings[self.parameter]
        holds = _is(word, value) if word else _compare_value(sign, value, wanted)
        return holds != bool(negated)


def parse_conditions(parameter, texts):
    """Return the conditions on a parameter, of one text or a list of texts."""
    texts = texts if isinstance(texts, list) else [texts]
    for text in texts:
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None or (match[2] in _COMPARISONS and _as_number(match[3]) is None):
            raise ValueError(
                f"The condition on {parameter} must be a comparison such as '<= 5', or 'none', "
                f"'all' or 'int', each with 'not ' before it or without; got {show(text)}."
            )
    return [ParameterCondition(parameter, text) for text in texts]


def _is(word, value):
    if word == "none":
        return value is None
    if word == "all":
        return value is None or (isinstance(value, float | np.floating) and value == 1)
    return isinstance(value, Integral) and not isinstance(value, bool)


def _compare_value(sign, value, wanted):
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


# By name of a parameter: what it sets, and what that has to do with training records.
_SETTINGS = {
    "max_depth": ("Levels of a tree", "deep trees end in leaves of few records"),
    "min_samples_leaf": ("Records of a leaf", "a small leaf describes its records"),
    "min_child_samples": ("Records of a leaf", "a small leaf describes its records"),
    "min_samples_split": ("Records of a split", "a split of few records follows each of them"),
    "max_features": ("Features of a split", "they decide how closely splits follow the records"),
    "n_estimators": ("Trees", "each further tree reveals more about the records"),
    "bootstrap": ("A sample for each tree", "it decides which trees have seen a record"),
    "splitter": ("Choice of a split", "the best one follows the records, a random one less"),
    "min_child_weight": ("Weight of a leaf", "a light leaf describes few records"),
    "C": ("Weight of errors", "it decides how much weight a single record has"),
    "gamma": ("Reach of a record", "it decides how much weight a single record has"),
    "eps": ("Privacy budget", "it sets the noise that hides a record"),
    "dhat": ("Features of the kernel", "they set how the noise hides a record"),
}
_SIGNS = {">": "more than", "<=": "at most", ">=": "at least", "<": "less than"}
_CONTRARY = {">": "<=", "<=": ">", ">=": "<", "<": ">="}
_VALUES = {"int": "a whole number", "none": "not given", "all": "all of them"}


def describe_flags(flags):
    """Return what rules that hold say of each setting, in a sentence with its plain name."""
    found = {}
    for condition in (condition for rule in flags for condition in rule.conditions):
        found.setdefault(condition.parameter, {})[_tell_condition(condition)] = None
    return [
        f"{plain} ({name}), {' and '.join(told)}{why and ': '}{why}."
        for name, told in found.items()
        for plain, why in [_SETTINGS.get(name, ("Setting", ""))]
    ]


def _tell_condition(condition):
    negated, sign, wanted, word = _FORM.fullmatch(condition.text).groups()
    if sign not in _SIGNS:
        told = _VALUES[word] if word else wanted
        if not negated:
            return told
        return told.removeprefix("not ") if told.startswith("not ") else f"not {told}"
    sign = _CONTRARY[sign] if negated else sign
    # Rules have halves between counts.
    return f"{_SIGNS[sign]} {wanted.removesuffix('.5') if sign in ('>', '<=') else wanted}"


SHIPPED = ("skmia", "sacro_ml", "safemodel")


@dataclass(frozen=True)
class Rule:
    """A rule, which holds if all of its conditions do.

    Attributes
    ----------
    name : str
    estimators : tuple of str
        Names of the classes that it is about, and of classes that these derive from.
    conditions : tuple of ParameterCondition
    source : str
        Where it comes from.
    """

    name: str
    estimators: tuple[str, ...]
    conditions: tuple[ParameterCondition, ...]
    source: str


@dataclass(frozen=True)
class RuleBook:
    """Rules about hyper-parameters, as :func:`load_rules` reads them.

    Attributes
    ----------
    name : str
    source : str
    rules : tuple of Rule
    fractions : tuple of str
        Parameters whose fractions are converted to numbers of training rows.
    missing, zero : dict of str to dict
        By name of a class: numbers that stand for parameters that are None, or 0. Of the classes
        that a model is derived from, the nearest one counts.
    """

    name: str
    source: str
    rules: tuple[Rule, ...]
    fractions: tuple[str, ...]
    missing: dict
    zero: dict

    def list_flags(self, model: object, n_rows: int) -> list[Rule] | None:
        """Return the rules that hold for a model, or None if that cannot be said.

        It cannot if no rule is about its kind, or if the model was loaded from a file of XGBoost,
        which does not store the settings of its training.

        Parameters
        ----------
        model : estimator
            Model, fitted or not; of a Pipeline or a search the model at its end.
        n_rows : int
            Number of training rows.

        Returns
        -------
        flags : list of Rule or None
        """
        found = find_model(model)[0]
        kinds = [kind.__name__ for kind in type(found).__mro__]
        about = [rule for rule in self.rules if set(rule.estimators) & set(kinds)]
        if not about or not hasattr(found, "get_params") or _has_lost_settings(found):
            return None
        settings = self._read_settings(found, kinds, n_rows)
        return [
            rule
            for rule in about
            if all(condition.holds(settings) for condition in rule.conditions)
        ]

    def _read_settings(self, model, kinds, n_rows):
        settings = model.get_params(deep=False)
        for kind in kinds:  # from the class of the model to those that it is derived from
            for name, value in self.missing.get(kind, {}).items():
                if name in settings and settings[name] is None:
                    settings[name] = value
            for name, value in self.zero.get(kind, {}).items():
                if _is_zero(settings.get(name)):
                    settings[name] = value
        for name in self.fractions:
            if isinstance(settings.get(name), float | np.floating):
                least = 2 if name == "min_samples_split" else 1
                settings[name] = max(least, int(np.ceil(settings[name] * n_rows)))
        return settings


def _has_lost_settings(model):
    """Return whether a booster was loaded from a file.

    It has other rounds than its settings say.
    """
    if not is_xgboost(model):
        return False
    if not model.__sklearn_is_fitted__() or model.early_stopping_rounds is not None:
        return False
    return model.get_booster().num_boosted_rounds() != model.get_num_boosting_rounds()


def _is_zero(value):
    return isinstance(value, Integral | float) and not isinstance(value, bool) and value == 0


def load_rules(rules: PathLike = "skmia") -> RuleBook:
    """Load rules about hyper-parameters.

    Parameters
    ----------
    rules : str or path-like, default="skmia"
        ``"skmia"``; ``"sacro_ml"`` and ``"safemodel"``, which are rules as published; or a path to
        a TOML file in the same format.

    Returns
    -------
    book : RuleBook

    Raises
    ------
    ValueError
        If a file is not TOML, or not in the format of rules.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    structural_checks : Compares the settings of a model with the rules.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.disclosure import load_rules
    >>> rules = load_rules("sacro_ml")
    >>> model = DecisionTreeClassifier(max_depth=8, min_samples_leaf=7, min_samples_split=14)
    >>> [rule.name for rule in rules.list_flags(model, n_rows=100)]
    ['tree 1']
    """
    return load_toml(rules, "rules", SHIPPED, "rules", _make_book)


def _make_book(text):
    stored = tomllib.loads(text)
    name, source = (_get_rule_entry(stored, key, str) for key in ("name", "source"))
    rules = tuple(_make_rule(rule, source) for rule in _get_rule_entry(stored, "rules", list))
    tables = [_check_rule_tables(stored.get(key, {}), key) for key in ("missing", "zero")]
    fractions = _get_rule_entry({"fractions": [], **stored}, "fractions", list)
    return RuleBook(name, source, rules, tuple(map(str, fractions)), *tables)


def _make_rule(stored, source):
    if not isinstance(stored, dict):
        raise ValueError(f"Each of rules must be a table; got {show(stored)}.")
    name, kinds, parts = (
        _get_rule_entry(stored, key, kind)
        for key, kind in (("name", str), ("estimators", list), ("flag_if", dict))
    )
    if not parts:
        raise ValueError(f"The rule {show(name)} needs a condition in flag_if; it has none.")
    conditions = tuple(
        condition for key, text in parts.items() for condition in parse_conditions(key, text)
    )
    return Rule(name, tuple(map(str, kinds)), conditions, str(stored.get("source", source)))


def _check_rule_tables(tables, key):
    inner = tables.values() if isinstance(tables, dict) else [None]
    if not all(isinstance(table, dict) for table in inner):
        raise ValueError(f"{key} must hold a table for each class; got {show(tables)}.")
    return tables


def _get_rule_entry(stored, key, kind):
    value = stored.get(key)
    if not isinstance(value, kind):
        words = {str: "text", list: "a list", dict: "a table"}
        raise ValueError(f"Rules need {key}, which must be {words[kind]}; got {show(value)}.")
    return value
