"""What fit of a victim was given, as far as the fitted model tells; a clone forgets it."""

from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from .._core.numbers import show
from .._core.query import unwrap


class RecalledSettings(NamedTuple):
    """Parameters of fit and of the constructor by which clones learn like a fitted model."""

    fit_params: dict | None = None
    settings: Any = ()  # pairs of a parameter of the constructor and its value
    notes: tuple = ()

    def at_step(self, name):
        """Return the same for a pipeline whose last step has these."""
        given = self.fit_params and {
            f"{name}__{key}": part for key, part in self.fit_params.items()
        }
        return self._replace(
            fit_params=given, settings=[(f"{name}__{key}", value) for key, value in self.settings]
        )

    def join(self, fit_params):
        """Return the parameters of fit with those that a user gives, which come first."""
        if self.fit_params is None or callable(fit_params):
            return fit_params
        return {**self.fit_params, **(fit_params or {})}


def recall_fit(estimator):
    """Recall what fit of an estimator was given beside X and y.

    CatBoost and LightGBM take categorical columns, and rows for early stopping, as parameters of
    ``fit``. A model that is fitted knows the columns and the number of rounds.
    """
    model = unwrap(estimator)
    if isinstance(model, Pipeline) and model.steps:
        name, last = model.steps[-1]
        return recall_fit(last).at_step(name) if hasattr(last, "get_params") else RecalledSettings()
    roots = {base.__module__.partition(".")[0] for base in type(model).__mro__}
    try:
        if "catboost" in roots and model.is_fitted():
            return _recall_catboost(model)
        if "lightgbm" in roots and hasattr(model, "booster_"):
            return _recall_lightgbm(model)
    except Exception:  # of whatever kind: versions differ in what they tell
        pass
    return RecalledSettings()


def _recall_catboost(model):
    known, names = model.get_params(), list(model.feature_names_)
    given, notes = {}, []
    for kind in ("cat", "text", "embedding"):
        columns = getattr(model, f"get_{kind}_feature_indices")()
        if columns and known.get(f"{kind}_features") is None:
            is_named = names != [str(j) for j in range(len(names))]
            given[f"{kind}_features"] = [names[j] if is_named else j for j in columns]
    if given:
        notes.append(_describe_categorical(given, []))
    n_rounds = model.get_all_params().get("iterations", model.tree_count_)
    if not model.tree_count_ < n_rounds or known.get("eval_fraction"):  # clones split rows as well
        return RecalledSettings(given or None, (), tuple(notes))
    name = next((key for key in _ROUNDS if key in known), "iterations")
    settings = [(name, model.tree_count_), *_without_stopping(known)]
    notes.append(_describe_rounds(model.tree_count_, n_rounds))
    return RecalledSettings(given or None, settings, tuple(notes))


_ROUNDS = "iterations", "n_estimators", "num_boost_round", "num_trees"
_STOPPING = "early_stopping_rounds", "od_type", "od_wait", "od_pval", "use_best_model"


def _without_stopping(known):
    """Switch off what would stop again, and needs rows for that."""
    return [(name, None) for name in _STOPPING if known.get(name) is not None]


def _recall_lightgbm(model):
    booster, given, notes = model.booster_, {}, []
    columns = booster.params.get("categorical_column")
    if columns and not booster.pandas_categorical:
        names = model.feature_name_
        given["categorical_feature"] = [int(column) for column in columns]
        notes.append(_describe_categorical(given, [names[int(column)] for column in columns]))
    best = model.best_iteration_
    if not best or not 0 < best < model.n_estimators:
        return RecalledSettings(given or None, (), tuple(notes))
    notes.append(_describe_rounds(best, model.n_estimators))
    settings = [("n_estimators", best)]
    known = model.get_params()
    settings += [(name, None) for name in ("early_stopping_round",) if known.get(name)]
    return RecalledSettings(given or None, settings, tuple(notes))


def _describe_categorical(given, names):
    told = f": {show(names)}" if names else ""
    return (
        f"The shadow models are given fit_params={show(given)}, the categorical "
        f"columns that fit of the model was given{told}."
    )


def _describe_rounds(n_rounds, most):
    return (
        f"The model stopped early, after {n_rounds} of {most} rounds, by rows that its fit was "
        f"given for validation; the shadow models have {n_rounds} rounds. "
        "ShadowPool(fit_params=f) and audit(fit_params=f) take a function f(X, y) that gives fit "
        "validation rows instead."
    )
