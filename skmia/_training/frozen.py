"""Fitted parts of an estimator, which neither clone nor fit would reset."""

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core.caches import clone_to_train
from .._core.copies import CopiesParameters, copy_parameters, copy_unfitted, is_estimator
from .._core.query import unwrap
from .._core.sample_weights import WEIGHTS, fit_weighted, name_parameter, refuse_row_parameters
from .._core.trained_modules import list_held
from .._core.writers import drop_writers_of_fit
from .recalled import recall_fit

# These estimators fit each part once, on all records, so removing the wrapper of a frozen part is
# enough. Others (calibration, stacking) would fit a part that is not frozen on folds.
_FIT_EACH_PART = (
    ColumnTransformer,
    FeatureUnion,
    Pipeline,
    TransformedTargetRegressor,
    VotingClassifier,
    VotingRegressor,
)


class FitPartsFirst(CopiesParameters, MetaEstimatorMixin, BaseEstimator):
    """Meta-estimator that fits the prefit parts of an estimator first, on the same records.

    Each part is fitted on all records of ``fit``, with their sample weights if its fit takes them.
    Further parameters of ``fit`` are for the estimator alone. Its random_state and those of its
    parts are seeded as in every other estimator (``seed_estimator``).
    """

    def __init__(self, estimator, parts):
        self.estimator = estimator
        self.parts = parts

    def fit(self, X, y=None, sample_weight=None, **fit_params):
        """Fit the parts, freeze them, and fit the estimator."""
        model = copy_unfitted(self.estimator)
        if sample_weight is not None and name_parameter(model) is None:
            fit_params[WEIGHTS] = sample_weight  # refused by the fit that takes none
        for name in self.parts:
            part = fit_weighted(model.get_params(deep=True)[name], X, y, sample_weight)
            model.set_params(**{name: FrozenEstimator(part)})
        self.estimator_ = fit_weighted(model, X, y, sample_weight, fit_params)
        return self

    @property
    def _trained_as(self):
        return self.estimator

    def __getattr__(self, name):
        # Methods such as fit_predict would fit the estimator without fitting its parts first.
        if name.startswith("__") or name in ("estimator", "fit_predict", "fit_transform"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return getattr(vars(self).get("estimator_", self.estimator), name)

    def __sklearn_is_fitted__(self):
        return "estimator_" in vars(self)

    def __sklearn_tags__(self):
        return get_tags(self.estimator)


def thaw(estimator, said=None):
    """Clone an estimator so that its ``fit`` also fits the parts that were frozen.

    Parts in a FrozenEstimator, at any depth, and the parts of an estimator with prefit are fitted
    on the records that are passed to the estimator around them. The clone writes nothing of the
    user's; the list said gets what was left out.
    """
    names = []
    thawed = _thaw(estimator, "", names, [] if said is None else said)
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


class TrainingRecipe(NamedTuple):
    """How the shadow models of a pool are trained."""

    estimator: Any  # unfitted, to be cloned for each model
    fit_params: Any  # parameters of fit, or a function of (X, y) that gives them, or None
    notes: list  # on what differs from the estimator that was given


def make_recipe(estimator, refit_frozen, fit_params=None, n_rows=None):
    """Return what is trained for each shadow model, and notes on what differs in it.

    n_rows: the number of rows of a training set.
    """
    refuse_row_parameters(fit_params)
    notes = []
    if refit_frozen:
        recipe, names = thaw(estimator, notes)
        kept = name_frozen_modules(recipe)
    else:
        recipe, names = clone_to_train(estimator, notes), []
        kept = name_shared_parts(recipe) + name_frozen_modules(recipe)
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
    recalled = recall_fit(estimator, n_rows)
    if recalled.suits(fit_params):
        recipe.set_params(**dict(recalled.settings))
    # A step of a Pipeline that was frozen has told of itself.
    told = tuple(notes)
    notes += [one for one in recalled.tell(fit_params) if not told or not one.startswith(told)]
    if isinstance(fit_params, Mapping):
        drop_writers_of_fit(recipe, dict(fit_params), notes)  # notes what each fit leaves out
    return TrainingRecipe(recipe, recalled.join(fit_params), notes)


def _thaw(estimator, prefix, names, said, was_frozen=False):
    if isinstance(estimator, FrozenEstimator):
        if not _is_fitted(estimator):
            return estimator
        names.append(prefix)
        return _thaw(unwrap(estimator), prefix, names, said, True)
    fresh, first = clone_to_train(estimator, said), []
    parameters = estimator.get_params(deep=False)
    cv = parameters.get("cv")
    takes_fitted = parameters.get("prefit") is True or (isinstance(cv, str) and cv == "prefit")
    for name, part in _direct_parts(estimator):
        path = f"{prefix}__{name}" if prefix else name
        n_found, is_prefit = len(names), takes_fitted and name != "final_estimator"
        if is_prefit and not isinstance(part, FrozenEstimator):
            names.append(path)
        thawed = _thaw(part, path, names, said, is_prefit)
        if len(names) > n_found:
            fresh.set_params(**{name: thawed})
        if is_prefit or (isinstance(part, FrozenEstimator) and _is_fitted(part)):
            first.append(name)
    if was_frozen and prefix:  # what is thawed as a whole, make_recipe recalls
        recalled = recall_fit(estimator)
        fresh.set_params(**dict(recalled.in_constructor()))
        said += recalled.tell_of_part()
    if not first or isinstance(estimator, _FIT_EACH_PART):
        return fresh
    return FitPartsFirst(fresh, tuple(first))


def _direct_parts(estimator):
    """Return estimators among the parameters of an estimator, with the names of the parameters."""
    values = estimator.get_params(deep=True).items()
    return [(name, value) for name, value in values if "__" not in name and is_estimator(value)]


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except Exception:  # NotFittedError, or any error of an object without tags
        return False
    return True


def list_shared_parts(estimator):
    """List the fitted estimators that all clones of an estimator share."""
    values = copy_parameters(estimator).get_params(deep=True)
    # A part in a list, such as a step, also has its own parameter; that name comes first.
    order = sorted(values, key=lambda name: not is_estimator(values[name]))
    found = {}
    for name in order:
        for part in _reached_from(values[name]):
            if _keeps_its_state(part):
                found.setdefault(id(part), (name, part))
    return list(found.values())


def name_frozen_modules(estimator):
    """Name parameters that hold torch modules whose weights are all frozen, such as a backbone."""
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
    """Name parameters that hold shared parts, but not the parts of these parts."""
    names = list(dict.fromkeys(name for name, _ in list_shared_parts(estimator)))
    return [name for name in names if not any(name.startswith(f"{outer}__") for outer in names)]


def _keeps_its_state(part):
    if not _is_fitted(part):
        return False
    fresh = copy_parameters(part)
    return fresh is part or not _is_fitted(fresh)


def _reached_from(value, depth=3):
    """List estimators that a value holds or calls, through containers, methods and functions."""
    if is_estimator(value):
        return [value]
    if depth == 0:
        return []
    return [reached for held in list_held(value) for reached in _reached_from(held, depth - 1)]
