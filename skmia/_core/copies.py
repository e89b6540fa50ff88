"""Unfitted copies of estimators, also of those that ``sklearn.base.clone`` refuses."""

import copy
import inspect
from functools import lru_cache
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .numbers import show
from .sklearn import copy_configuration
from .trained_modules import refuse_trained_module


class RememberedFacts(dict):
    """What an object remembers of what was done with it, which is no part of what it is.

    Pickles carry it; digests that tell whether two objects are the same leave it out.
    """


class CopiesParameters:
    """Mixin of estimators that hold estimators of users; ``clone`` copies them in our way.

    ``_subjects`` names the parameters that the estimator does not fit, such as the victim of an
    attack: a clone keeps them as they are if they are fitted, and ``set_params`` never changes
    them: an unfitted copy takes their place.
    """

    _subjects: tuple = ()

    def __sklearn_clone__(self):
        return _copy_parametrized(self, _keep_parameters)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator and of the estimators in it.

        Parameters
        ----------
        **params : dict
            Parameters by name, those of an inner estimator as ``<parameter>__<inner parameter>``.
            Those of a fitted victim or pool do not change it: an unfitted copy takes its place.

        Returns
        -------
        self : object
            The estimator.
        """
        inner, own = {}, self.get_params(deep=False)
        for key in list(params):
            name, is_inner, rest = key.partition("__")
            if is_inner and name in own and name in self._subjects:
                inner.setdefault(name, {})[rest] = params.pop(key)
        super().set_params(**params)  # type: ignore[misc]  # of the estimator beside it
        for name, values in inner.items():
            value = getattr(self, name)
            if not hasattr(value, "set_params"):
                raise ValueError(
                    f"Parameter {name!r} of {type(self).__name__} is {show(value)}, which has no "
                    f"parameter {next(iter(values))!r}; set {name!r} itself, or pass an estimator "
                    "with this parameter."
                )
            changed = _as_changeable(value)
            changed.set_params(**values)  # that of a frozen one returns None
            setattr(self, name, changed)
        return self


def _as_changeable(value):
    """Return an estimator whose parameters can be set without changing a fitted one."""
    if isinstance(value, FrozenEstimator):
        return copy.copy(value)
    return copy_unfitted(value) if is_fitted(value) else value


def is_fitted(value):
    """Return whether a model is fitted; an object without ``fit`` counts as fitted."""
    while isinstance(value, FrozenEstimator):  # whose tags are a deep copy
        value = value.estimator
    try:
        check_is_fitted(value)
    except NotFittedError:
        return False
    except (TypeError, AttributeError):  # not an estimator; check_victim has a better message
        pass
    return True


def is_estimator(value):
    """Return whether a value can be fitted and has parameters; a class is none."""
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


def list_parameters(estimator):
    """Return all parameters at any depth, without those inside of a fitted victim or pool."""
    found = estimator.get_params(deep=True)
    closed = [
        f"{prefix}{name}__"
        for prefix, part in [("", estimator), *((f"{name}__", one) for name, one in found.items())]
        if isinstance(part, CopiesParameters) and not isinstance(part, type)
        for name in part._subjects
        if hasattr(getattr(part, name, None), "get_params") and is_fitted(getattr(part, name))
    ]
    return {name: value for name, value in found.items() if not name.startswith(tuple(closed))}


def copy_unfitted(estimator):
    """Copy an estimator that is about to be trained, from the beginning.

    A net that holds a module as an object is refused: its copies start where other fits ended.
    """
    refuse_trained_module(estimator)
    return copy_parameters(estimator)


def copy_parameters(estimator):
    """Clone an estimator, or copy it by its parameters if ``clone`` refuses to.

    ``clone`` refuses an estimator whose constructor copies or converts a parameter, such as the
    ``cat_features`` of CatBoost.
    """
    try:
        return _keep_settings(estimator, clone(estimator), _keep_parameters)
    except Exception:  # of whatever kind: the copy says what is wrong
        if not hasattr(estimator, "get_params") or isinstance(estimator, type):
            raise
        return _copy_value(estimator, _keep_parameters, type(estimator).__name__)


def _keep_settings(estimator, made, change):
    """Give a copy the settings that the estimators in it do not list as parameters.

    These are the further keywords of a constructor, and settings of estimators that it has made.
    """
    if isinstance(made, list | tuple | set):
        return made
    parts = {"": estimator, **estimator.get_params(deep=True)}
    parts = {name: part for name, part in parts.items() if is_estimator(part)}
    settings = {name: found for name, part in parts.items() if (found := _list_settings(part))}
    copied = {"": made, **made.get_params(deep=True)} if settings else {}
    for place, names in settings.items():
        part, other = parts[place], copied.get(place)
        if part is not other and type(part) is type(other):
            for name in _list_lost(names, part, other):
                value = getattr(part, name)
                setattr(other, name, _copy_value(value, change, type(part).__name__))
    return made


def _list_settings(estimator):
    """Return attributes that may be settings; most estimators have none besides parameters."""
    keywords = _name_further_keywords(type(estimator))
    own = vars(estimator).items()
    names = [name for name, value in own if name == keywords or is_estimator(value)]
    listed = estimator.get_params(deep=False) if names else ()
    return [name for name in names if name not in listed]


def _list_lost(names, estimator, made):
    """Yield attributes that a constructor has set to something else than in the original."""
    keywords = _name_further_keywords(type(made))
    for name in names:
        value, found = getattr(estimator, name), vars(made).get(name)
        if name == keywords:
            is_lost = found == {} and type(value) is dict and bool(value)
        else:
            is_lost = type(value) is type(found) and _describe(value) != _describe(found)
        if is_lost:
            yield name


def _describe(estimator):
    """Return the parameters of an estimator as text; None if it does not list them."""
    try:
        return repr(estimator.get_params())
    except Exception:  # of whatever kind: classes of users need not list what they were given
        return None


@lru_cache(maxsize=1 << 8)  # as many copies are made of the same classes
def _name_further_keywords(kind):
    parameters = inspect.signature(kind.__init__).parameters.values()
    return next((one.name for one in parameters if one.kind is one.VAR_KEYWORD), None)


def copy_changed(estimator, change):
    """Copy an estimator unfitted, with ``change(part, parameters)`` for those of each part.

    The parameters are changed before they are copied, so that what cannot be copied, such as an
    open file, can be left out. As in :func:`copy_unfitted`, modules as objects are refused.
    """
    refuse_trained_module(estimator)
    return _copy_value(estimator, change, type(estimator).__name__)


def _keep_parameters(part, parameters):
    return parameters


def _copy_value(value, change, place):
    """Copy a value of a parameter, and the estimators in it."""
    kind = type(value)
    if kind is dict:
        return {key: _copy_value(item, change, place) for key, item in value.items()}
    if kind in (list, tuple, set, frozenset):
        return kind([_copy_value(item, change, place) for item in value])
    if isinstance(value, type) or not hasattr(value, "get_params"):
        return _copy_deep(value, place)
    if _has_own_clone(value):
        return value.__sklearn_clone__()
    return _copy_parametrized(value, change)


def _has_own_clone(estimator):
    own = getattr(type(estimator), "__sklearn_clone__", None)
    usual = BaseEstimator.__sklearn_clone__, CopiesParameters.__sklearn_clone__
    return own is not None and own not in usual


def _copy_subject(value, change, place):
    """Keep what is fitted or no estimator, such as the function of a service; copy the rest."""
    if type(value) in (list, tuple):
        return type(value)(_copy_subject(item, change, place) for item in value)
    has_parameters = hasattr(value, "get_params") and not isinstance(value, type)
    return _copy_value(value, change, place) if has_parameters and not is_fitted(value) else value


def _copy_deep(value, place):
    try:
        return copy.deepcopy(value)
    except Exception as error:  # of whatever kind, such as a lock, an open file or a generator
        raise ValueError(
            f"{place} holds an object of type {type(value).__name__}, which cannot be copied, and "
            "each model that is trained here needs a copy of its own. Give the name of a file in "
            "place of an open one, and a list in place of a generator."
        ) from error


def _copy_parametrized(estimator, change):
    """Make an estimator of the same class with copies of its parameters."""
    kind = type(estimator)
    subjects = getattr(kind, "_subjects", ())
    given = {
        name: (_copy_subject if name in subjects else _copy_value)(
            value, change, f"The parameter {name!r} of {kind.__name__}"
        )
        for name, value in change(estimator, estimator.get_params(deep=False)).items()
    }
    made = kind(**given)
    set_here = made.get_params(deep=False)
    lost = [
        name
        for name in given
        if name in set_here and not _is_same_parameter(given[name], set_here[name])
    ]
    if lost:
        made = _copy_whole(estimator, lost[0])
    copy_configuration(estimator, made)
    return _keep_settings(estimator, made, change)


def _copy_whole(estimator, name):
    """Copy an unfitted estimator whose constructor does not keep a parameter."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return copy.deepcopy(estimator)
    except (TypeError, AttributeError):
        pass
    raise ValueError(
        f"{type(estimator).__name__} cannot be trained again: its constructor does not keep the "
        f"parameter {name!r} as it is given. Pass an unfitted one as estimator=."
    )


def _is_same_parameter(given, found):
    """Return whether a constructor has kept the value of a parameter, or an equal one."""
    if given is found:
        return True
    if isinstance(given, np.ndarray) and isinstance(found, np.ndarray):
        return given.dtype == found.dtype and repr(given.tolist()) == repr(found.tolist())
    return type(given) is type(found) and repr(given) == repr(found)
