"""Fitted parts of an estimator, which clone and fit would leave as they are."""

import sys
from functools import partial
from types import FunctionType, MethodType

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.caches import clone_to_train, remove_caches

# These fit each part once, on all that they are given: without its wrapper a part is fitted as it
# has to be. Others (calibration, stacking) fit parts that are not frozen on folds.
_FIT_EACH_PART = (
    ColumnTransformer,
    FeatureUnion,
    Pipeline,
    TransformedTargetRegressor,
    VotingClassifier,
    VotingRegressor,
)


class FitPartsFirst(MetaEstimatorMixin, BaseEstimator):
    """An estimator that takes fitted parts, which are fitted first, on the same records.

    Parameters
    ----------
    estimator : estimator
        Its parts are not fitted.
    parts : tuple of str
        Names of those that it takes fitted, as its ``set_params`` knows them.
    """

    def __init__(self, estimator, parts):
        self.estimator = estimator
        self.parts = parts

    def fit(self, X, y=None):
        """Fit the parts, freeze them, and fit the estimator.

        Parameters
        ----------
        X : array-like of n rows
            Features.
        y : array-like of shape (n,), default=None
            Labels.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        model = clone(self.estimator)
        for name in self.parts:
            part = model.get_params(deep=True)[name]
            model.set_params(**{name: FrozenEstimator(part.fit(X, y))})
        self.estimator_ = model.fit(X, y)
        return self

    def __getattr__(self, name):
        # Combined methods would fit the estimator without its parts.
        if name.startswith("__") or name in ("estimator", "fit_predict", "fit_transform"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return getattr(vars(self).get("estimator_", self.estimator), name)

    def __sklearn_is_fitted__(self):
        return "estimator_" in vars(self)

    def __sklearn_tags__(self):
        return get_tags(self.estimator)


def thaw(estimator):
    """Clone an estimator so that its ``fit`` also fits the parts that were frozen.

    Parts in a FrozenEstimator, at any depth, and those that an estimator with ``prefit`` takes,
    are fitted on the records that the estimator around them is given. The clone keeps no caches.

    Parameters
    ----------
    estimator : estimator
        Of any kind; it is not changed.

    Returns
    -------
    thawed : estimator
        Not fitted.
    names : list of str
        Parameters that hold the parts.

    Raises
    ------
    ValueError
        If a fitted part is held in such a way that it cannot be fitted again.
    """
    names = []
    thawed = remove_caches(_thaw(estimator, "", names))
    shared = list_shared_parts(thawed)
    if shared:
        name, part = shared[0]
        raise ValueError(
            f"The parameter {name!r} of {type(estimator).__name__} holds a fitted "
            f"{type(unwrap(part)).__name__}, which all shadow models would share: what it reveals "
            "about its training records would not be found. Make it a part that the estimator's "
            "fit trains or, if it was fitted on other records than these, keep it: "
            "ShadowPool(..., refit_frozen=False)."
        )
    return thawed, names


def make_recipe(estimator, refit_frozen):
    """What is cloned and fitted for each shadow model, and notes on its frozen parts.

    Parameters
    ----------
    estimator : estimator
        Not wrapped in a FrozenEstimator itself.
    refit_frozen : bool
        Whether its frozen parts are fitted again.

    Returns
    -------
    recipe : estimator
        Not fitted.
    notes : list of str
        What was done with the frozen parts.
    """
    if refit_frozen:
        recipe, names = thaw(estimator)
        kept = name_frozen_modules(recipe)
    else:
        recipe, names = clone_to_train(estimator), []
        kept = name_shared_parts(recipe) + name_frozen_modules(recipe)
    notes = []
    if names:
        notes.append(
            f"Frozen parts of the estimator ({', '.join(names)}) were fitted again on the training "
            "records of each shadow model. If they were fitted on other records than these, pass "
            "ShadowPool(..., refit_frozen=False)."
        )
    if kept:
        notes.append(
            f"Frozen parts of the estimator ({', '.join(kept)}) are the same in all shadow models: "
            "what they reveal about the records that they were fitted on is not measured."
        )
    return recipe, notes


def _thaw(estimator, prefix, names):
    if isinstance(estimator, FrozenEstimator):
        if not _is_fitted(estimator):
            return estimator
        names.append(prefix)
        return _thaw(unwrap(estimator), prefix, names)
    fresh, first = clone(estimator), []
    for name, part in _direct_parts(estimator):
        path = f"{prefix}__{name}" if prefix else name
        n_found, is_prefit = len(names), _takes_fitted(estimator, name)
        if is_prefit and not isinstance(part, FrozenEstimator):
            names.append(path)
        thawed = _thaw(part, path, names)
        if len(names) > n_found:
            fresh.set_params(**{name: thawed})
        if is_prefit or (isinstance(part, FrozenEstimator) and _is_fitted(part)):
            first.append(name)
    if not first or isinstance(estimator, _FIT_EACH_PART):
        return fresh
    return FitPartsFirst(fresh, tuple(first))


def _direct_parts(estimator):
    """Estimators in the parameters of one, by the names that its ``set_params`` knows."""
    values = estimator.get_params(deep=True).items()
    return [(name, value) for name, value in values if "__" not in name and _is_estimator(value)]


def _is_estimator(value):
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


def _takes_fitted(estimator, name):
    parameters = estimator.get_params(deep=False)
    is_prefit = parameters.get("prefit") is True or (
        isinstance(parameters.get("cv"), str) and parameters["cv"] == "prefit"
    )
    return is_prefit and name != "final_estimator"


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except Exception:  # NotFittedError, and whatever objects without tags raise
        return False
    return True


def list_shared_parts(estimator):
    """Fitted estimators that each clone of an estimator holds.

    Parameters
    ----------
    estimator : estimator
        Estimator to search, of any kind.

    Returns
    -------
    shared : list of (str, estimator)
        Names of the parameters, and what they hold.
    """
    values = clone(estimator).get_params(deep=True)
    # Parts that have a parameter of their own are not named by the list that holds them as well.
    order = sorted(values, key=lambda name: not _is_estimator(values[name]))
    found = {}
    for name in order:
        for part in _reached_from(values[name]):
            if _keeps_its_state(part):
                found.setdefault(id(part), (name, part))
    return list(found.values())


def name_frozen_modules(estimator):
    """Parameters that hold torch modules with weights that are not trained, such as a backbone."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    modules = [
        (name, list(value.parameters()))
        for name, value in estimator.get_params(deep=True).items()
        if isinstance(value, torch.nn.Module)
    ]
    return [
        name for name, weights in modules if weights and not any(w.requires_grad for w in weights)
    ]


def name_shared_parts(estimator):
    """Parameters that hold what :func:`list_shared_parts` finds, without parts of these parts."""
    names = list(dict.fromkeys(name for name, _ in list_shared_parts(estimator)))
    return [name for name in names if not any(name.startswith(f"{outer}__") for outer in names)]


def _keeps_its_state(part):
    if not _is_fitted(part):
        return False
    fresh = clone(part)
    return fresh is part or not _is_fitted(fresh)


def _reached_from(value, depth=3):
    """Estimators that a value holds or calls, through containers, methods and functions."""
    if _is_estimator(value):
        return [value]
    if depth == 0:
        return []
    return [reached for held in _held_by(value) for reached in _reached_from(held, depth - 1)]


def _held_by(value):
    if isinstance(value, list | tuple | set):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        names = value.__code__.co_names
        return cells + [value.__globals__[name] for name in names if name in value.__globals__]
    return []


def _is_filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:  # of a function that refers to what is not defined yet
        return False
