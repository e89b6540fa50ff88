"""What fit of a victim was given, as far as the fitted model tells; a clone forgets it.

Whether the models of a checkpoint are those of an estimator is decided by ``identify`` in
``identity.py``, and what of it stays fitted by ``make_recipe`` in ``frozen.py``.
"""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .._core.callers import level_of_user
from .._core.numbers import show
from .._core.query import unwrap

# Parameters of fit by which a user says how long clones are trained: rows for early stopping, and
# models to go on from.
_VALIDATION = {"X_val", "eval_X", "eval_set"}
_OF_LENGTH = {*_VALIDATION, "epochs", "init_model", "xgb_model"}


class RecalledSettings(NamedTuple):
    """Parameters of fit and of the constructor by which clones learn like a fitted model."""

    fit_params: dict | None = None
    settings: Any = ()  # pairs of a parameter of the constructor and its value
    notes: tuple = ()
    stopper: str | None = None  # parameter of fit without which validation rows stop nothing

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

    def in_constructor(self):
        """Return pairs of parameters of the constructor that stand for those of fit as well.

        Those of fit can be given to no part of an estimator. CatBoost takes its columns in both
        places.
        """
        given = self.fit_params or {}
        columns = [(name, value) for name, value in given.items() if name.endswith("_features")]
        return [*self.settings, *columns]

    def suits(self, fit_params):
        """Return whether parameters of fit that a user gives leave the length of training open."""
        if not isinstance(fit_params, Mapping):
            return fit_params is None
        given = {name.rpartition("__")[2] for name in fit_params}
        is_stopped = self.stopper is None or self.stopper in given
        return _OF_LENGTH.isdisjoint(given if is_stopped else given - _VALIDATION)

    def tell(self, fit_params):
        """Return the notes that hold beside the parameters of fit that a user gives."""
        if not self.suits(fit_params):
            return []
        # Of categorical columns, which come first, users may know better.
        is_replaced = bool(self.fit_params and fit_params and {*self.fit_params} & {*fit_params})
        return list(self.notes[is_replaced:])

    def tell_of_part(self):
        """Return the notes on a part of an estimator, whose fit takes no parameters of users."""
        length = self.notes[bool(self.fit_params) :]
        return [note.removesuffix(_INSTEAD) for note in length]

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
        if "sklearn" in roots and n_rows and hasattr(model, "do_early_stopping_"):
            return _recall_stopping(model, n_rows)
    except Exception:  # of whatever kind: versions differ in what they tell
        pass
    return RecalledSettings()


def set_recalled(copied, estimator):
    """Set how long a fitted estimator was trained on an unfitted copy, warn of it, and return it.

    For models that are trained by the parameters of their constructor alone.
    """
    recalled = recall_fit(estimator)
    settings = recalled.in_constructor()
    if settings and not isinstance(copied, FrozenEstimator):
        copied.set_params(**dict(settings))
        for note in recalled.tell_of_part():
            told = note.replace("the shadow models", "the models that are trained here")
            warnings.warn(told, UserWarning, stacklevel=level_of_user())
    return copied


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
    if settings and not {"learning_rate", "eta"} & known.keys():
        # CatBoost would choose one by the number of rounds.
        settings.append(("learning_rate", model.get_all_params()["learning_rate"]))
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
    known, best, settings, stopper = model.get_params(), model.best_iteration_, (), None
    # A name that stands beside n_estimators comes first, as in LightGBM.
    name = next((key for key in known if key in _ROUNDS_OF_LIGHTGBM), "n_estimators")
    n_rounds, n_trained = known[name], model.booster_.current_iteration()
    if best and 0 < best < n_rounds:
        stopping = [(key, None) for key in known if key in _STOPPING_OF_LIGHTGBM and known[key]]
        settings, notes = [(name, best), *stopping], [*notes, _describe_rounds(best, n_rounds)]
        stopper = None if stopping else "callbacks"
    elif n_trained > n_rounds:
        settings = [(name, n_trained)]
        notes.append(_describe_further(n_trained, n_rounds, "rounds", "init_model"))
    return RecalledSettings(given or None, settings, tuple(notes), stopper)


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
    elif net.warm_start and n_epochs:
        return RecalledSettings(None, (), (_NEW_WEIGHTS,))
    else:
        return RecalledSettings()
    return RecalledSettings(None, [("max_epochs", n_epochs)], (note,))


_NEW_WEIGHTS = (
    "The net has warm_start=True, so that it may have begun with weights of another training; the "
    "shadow models begin with new weights. If the net was fine-tuned, pass a module that loads the "
    "weights that it began with."
)


def _recall_passes(model, n_rows):
    """Recall the passes of a linear model or a perceptron that was trained in several calls.

    Each call of partial_fit is one iteration, and t_ counts the rows: of a perceptron those of all
    calls, of a linear model those since the last call of fit.
    """
    is_perceptron = hasattr(model, "loss_curve_")
    n_calls = len(model.loss_curve_) - model.n_iter_ if is_perceptron else 0
    is_one_call = not n_calls and (model.n_iter_ != 1 or model.max_iter == 1)
    if is_one_call or not model.t_:  # L-BFGS counts no rows
        if model.warm_start and not is_perceptron:
            return RecalledSettings(None, (), (_MAY_GO_ON,))
        return RecalledSettings()
    n_seen = round(model.t_) - (not is_perceptron)  # linear models begin at 1
    n_passes = max(1, round(n_seen / n_rows))
    # What stops fit before the last pass does not stop the calls.
    going_on = ("n_iter_no_change", n_passes) if is_perceptron else ("tol", None)
    note = (
        f"The model was trained by partial_fit or warm_start, on {n_seen:,} rows in all calls "
        f"together; the shadow models are trained by one call of fit, in {n_passes} "
        f"pass{'es' * (n_passes > 1)} over their {n_rows:,} rows."
    )
    return RecalledSettings(None, [("max_iter", n_passes), going_on], (note,))


_MAY_GO_ON = (
    "The model has warm_start=True, and it is not known how often its fit was called; the shadow "
    "models are trained by one call. If the model was trained by more, pass an estimator whose "
    "max_iter is the sum of theirs."
)


def _recall_stopping(model, n_rows):
    """Recall whether histogram boosting, which decides by the number of rows, has stopped early."""
    stops = model.do_early_stopping_
    if model.early_stopping != "auto" or stops == (n_rows > _MOST_WITHOUT_STOPPING):
        return RecalledSettings()
    note = (
        f"The model decides by the number of its rows whether it stops early, and it "
        f"{'does' if stops else 'does not'}; so do the shadow models, although they have "
        f"{n_rows:,} rows each (early_stopping={stops})."
    )
    return RecalledSettings(None, [("early_stopping", bool(stops))], (note,))


_MOST_WITHOUT_STOPPING = 10_000  # of scikit-learn


def _describe_categorical(given, names):
    told = f": {show(names)}" if names else ""
    return (
        f"The shadow models are given fit_params={show(given)}, the categorical "
        f"columns that fit of the model was given{told}."
    )


_INSTEAD = (
    " ShadowPool(fit_params=f) and audit(fit_params=f) take a function f(X, y) that gives fit "
    "validation rows instead."
)


def _describe_rounds(n_rounds, most):
    when = f"stopped early, after {n_rounds} of {most} rounds, by rows that its fit was given"
    if n_rounds >= most:
        when = f"did not stop before its last round, {n_rounds}, by rows that its fit was given"
    return f"The model {when} for validation; the shadow models have {n_rounds} rounds.{_INSTEAD}"


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
