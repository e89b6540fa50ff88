"""What fit of a victim was given, as far as the fitted model tells; a clone forgets it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from .._core.numbers import show
from .._core.query import unwrap

# Parameters of fit by which a user says how long clones are trained: rows for early stopping, and
# models to go on from.
_OF_LENGTH = {"X_val", "epochs", "eval_X", "eval_set", "init_model", "xgb_model"}


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

    def inside(self, name):
        """Return the same for an estimator with this one as a parameter."""
        return self._replace(settings=[(f"{name}__{key}", value) for key, value in self.settings])

    def suits(self, fit_params):
        """Return whether parameters of fit that a user gives leave the length of training open."""
        if not isinstance(fit_params, Mapping):
            return fit_params is None
        return _OF_LENGTH.isdisjoint(name.rpartition("__")[2] for name in fit_params)

    def tell(self, fit_params):
        """Return the notes that hold beside the parameters of fit that a user gives."""
        if not self.suits(fit_params):
            return []
        # Of categorical columns, which come first, users may know better.
        is_replaced = bool(self.fit_params and fit_params and {*self.fit_params} & {*fit_params})
        return list(self.notes[is_replaced:])

    def join(self, fit_params):
        """Return the parameters of fit with those that a user gives, which come first."""
        if self.fit_params is None or callable(fit_params):
            return fit_params
        return {**self.fit_params, **(fit_params or {})}


def recall_fit(estimator, n_rows=None):
    """Recall how an estimator was trained, beyond what its constructor was given.

    CatBoost and LightGBM take categorical columns, and rows for early stopping, as parameters of
    ``fit``. A model that is fitted knows the columns and the number of rounds. A model that was
    trained further, by ``partial_fit`` or from another model, knows for how long.

    Parameters
    ----------
    estimator : estimator
        Fitted, or nothing is recalled.
    n_rows : int, default=None
        Number of rows of a training set of its clones, where passes over them have to be counted.
    """
    model = unwrap(estimator)
    if isinstance(model, Pipeline) and model.steps:
        name, last = model.steps[-1]
        if not hasattr(last, "get_params"):
            return RecalledSettings()
        return recall_fit(last, n_rows).at_step(name)
    for fitted, parameter in _INSIDE:
        inner = getattr(model, fitted, None)
        if hasattr(inner, "get_params") and hasattr(model, parameter):
            return recall_fit(inner, n_rows).inside(parameter)
    roots = {base.__module__.partition(".")[0] for base in type(model).__mro__}
    try:
        if "catboost" in roots and model.is_fitted():
            return _recall_catboost(model)
        if "lightgbm" in roots and hasattr(model, "booster_"):
            return _recall_lightgbm(model)
        if "xgboost" in roots and model.__sklearn_is_fitted__():
            return _recall_xgboost(model)
        if "skorch" in roots and getattr(model, "initialized_", False):
            return _recall_skorch(model)
        if "sklearn" in roots and n_rows and hasattr(model, "t_"):
            return _recall_passes(model, n_rows)
    except Exception:  # of whatever kind: versions differ in what they tell
        pass
    return RecalledSettings()


# Fitted attributes with a model inside of another one that passes parameters of fit on to it, and
# the parameters of the constructor that it was copied from.
_INSIDE = (
    ("best_estimator_", "estimator"),
    ("regressor_", "regressor"),
)


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
    name = next((key for key in _ROUNDS if key in known), "iterations")
    # What the model was trained further from counts among the trees, and not among these.
    n_rounds = model.get_all_params().get("iterations", known.get(name, model.tree_count_))
    if model.tree_count_ > n_rounds:
        settings = [(name, model.tree_count_)]
        notes.append(_describe_further(model.tree_count_, n_rounds, "rounds", "init_model"))
    elif model.tree_count_ < n_rounds and not known.get("eval_fraction"):  # clones split as well
        settings = [(name, model.tree_count_), *_without_stopping(known)]
        notes.append(_describe_rounds(model.tree_count_, n_rounds))
    else:
        settings = ()
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
    known, best, settings = model.get_params(), model.best_iteration_, ()
    # A name that stands beside n_estimators comes first, as in LightGBM.
    name = next((key for key in known if key in _ROUNDS_OF_LIGHTGBM), "n_estimators")
    n_rounds, n_trained = known[name], model.booster_.current_iteration()
    if best and 0 < best < n_rounds:
        settings = [(name, best)]
        settings += [(key, None) for key in known if key in _STOPPING_OF_LIGHTGBM and known[key]]
        notes.append(_describe_rounds(best, n_rounds))
    elif n_trained > n_rounds:
        settings = [(name, n_trained)]
        notes.append(_describe_further(n_trained, n_rounds, "rounds", "init_model"))
    return RecalledSettings(given or None, settings, tuple(notes))


_ROUNDS_OF_LIGHTGBM = {
    "max_iter",
    "n_iter",
    "nrounds",
    "num_boost_round",
    "num_iteration",
    "num_iterations",
    "num_round",
    "num_rounds",
    "num_tree",
    "num_trees",
}
_STOPPING_OF_LIGHTGBM = {
    "early_stopping",
    "early_stopping_round",
    "early_stopping_rounds",
    "n_iter_no_change",
}


def _recall_xgboost(model):
    if type(model).__name__.startswith("XGBRF"):  # whose trees are all of one round
        return RecalledSettings()
    n_rounds, n_trained = model.get_num_boosting_rounds(), model.get_booster().num_boosted_rounds()
    callbacks = model.callbacks or []
    others = [one for one in callbacks if type(one).__name__ != "EarlyStopping"]
    if model.early_stopping_rounds or len(others) < len(callbacks):
        n_trained = model.best_iteration + 1  # which it predicts with
        settings = [("n_estimators", n_trained), ("early_stopping_rounds", None)]
        settings += [("callbacks", others or None)] * bool(callbacks)
        return RecalledSettings(None, settings, (_describe_rounds(n_trained, n_rounds),))
    if n_trained > n_rounds:
        note = _describe_further(n_trained, n_rounds, "rounds", "xgb_model")
    elif n_trained < n_rounds and not callbacks:
        note = _describe_fewer(n_trained, n_rounds, "rounds", "n_estimators")
    else:
        return RecalledSettings()
    if model.n_estimators is None:
        note += (
            " The file of an XGBoost model does not hold parameters such as max_depth and "
            "learning_rate: if the model was loaded from one, set them as they were in training."
        )
    return RecalledSettings(None, [("n_estimators", n_trained)], (note,))


def _recall_skorch(net):
    n_epochs = len(net.history)
    if n_epochs > net.max_epochs:
        note = _describe_further(n_epochs, net.max_epochs, "epochs", "partial_fit")
    # Callbacks may have stopped it, and they stop clones as well.
    elif 0 < n_epochs < net.max_epochs and not net.callbacks:
        note = _describe_fewer(n_epochs, net.max_epochs, "epochs", "max_epochs")
    else:
        return RecalledSettings()
    return RecalledSettings(None, [("max_epochs", n_epochs)], (note,))


def _recall_passes(model, n_rows):
    """Recall the passes of a linear model or a perceptron that was trained by partial_fit alone.

    Each call is one iteration, and t_ counts the rows of all calls.
    """
    if model.n_iter_ != 1 or model.max_iter == 1 or not model.t_:  # 0 for L-BFGS
        return RecalledSettings()
    is_perceptron = hasattr(model, "loss_curve_")
    n_seen = round(model.t_) - (not is_perceptron)  # linear models begin at 1
    n_passes = max(1, round(n_seen / n_rows))
    # What stops fit before the last pass does not stop partial_fit.
    going_on = ("n_iter_no_change", n_passes) if is_perceptron else ("tol", None)
    note = (
        f"The model was trained by partial_fit, on {n_seen:,} rows in all calls together; the "
        f"shadow models are trained by fit, in {n_passes} pass{'es' * (n_passes > 1)} over their "
        f"{n_rows:,} rows."
    )
    return RecalledSettings(None, [("max_iter", n_passes), going_on], (note,))


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


def _describe_further(n_trained, n_set, what, way):
    return (
        f"The model was trained for {n_trained} {what}, more than the {n_set} of one fit, for "
        f"example by {way}; the shadow models are trained for {n_trained} {what} from the "
        "beginning."
    )


def _describe_fewer(n_trained, n_set, what, name):
    return (
        f"The model was trained for {n_trained} {what}, and its {name} is {n_set}; the shadow "
        f"models are trained for {n_trained} {what}."
    )
