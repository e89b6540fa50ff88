"""Queries of a fitted model for its most informative outputs."""

import inspect
import warnings
from contextlib import suppress
from itertools import chain
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.utils import gen_batches, get_tags
from sklearn.utils.validation import check_is_fitted

from .callers import level_of_user
from .containers import accepting_read_only, as_table, choose_columns, copy_frame, take_rows
from .copies import copy_unfitted
from .error_hints import with_advice
from .kinds import get_estimator_type, has_classes_of_several, is_regressor
from .outputs import PREDICTIONS, Outputs, add_predicted, join_outputs
from .randomness import preserved_randomness
from .records import Records
from .skorch_nets import gives_logits, is_skorch, query_logits, query_proba
from .transactions import TransactionMixin


class GivenModel(TransactionMixin):
    """Mixin of victims that wrap a fitted model: they are fitted, and ``fit`` checks parameters."""

    is_trainable = False  # clones ask the same model

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; the model is already fitted.

        Parameters
        ----------
        X, y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._check_model()
        return self

    def _check_model(self):
        """Check the model, where that takes more than the kinds of the parameters."""


# Number of rows per query, which bounds the memory of wide outputs without slowing vectorized
# models.
CHUNK = 50_000

# By how much probabilities of one label may fail to add to 1, rounded as they may be.
_ROUNDED = 0.05


def unwrap(estimator):
    """Return the estimator inside any number of FrozenEstimator."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def get_last_step(model):
    """Return the model at the end of any number of Pipelines and FrozenEstimators."""
    model = unwrap(model)
    while isinstance(model, Pipeline) and model.steps:
        model = unwrap(model.steps[-1][1])
    return model


class FittedSteps(Pipeline):
    """Steps of a fitted Pipeline; samplers among them change no rows.

    A Pipeline whose last step has no fitted attributes, as one that only computes columns, counts
    as not fitted.
    """

    def transform(self, X):
        for _, step in self.steps:
            X = transform_rows(step, X) if hasattr(step, "transform") else X
        return X


def transform_rows(step, X):
    """Return rows as a transformer returns them, also one that changes them in place."""
    if isinstance(X, np.ndarray):
        X = X.view()
        X.flags.writeable = False
    return _ask_writeable(step.transform, copy_frame(X))


def take_first_steps(model):
    """Return what transforms rows before the last step of a fitted Pipeline."""
    return FittedSteps(model.steps[:-1])


def open_steps(model):
    """Return what transforms rows before a fitted model, and this model, which may be in searches.

    Return steps: Pipelines, each of which transforms what the one before it returns.
    """
    steps, model = [], _get_chosen(model)
    while isinstance(model, Pipeline):
        steps += [take_first_steps(model)] if len(model) > 1 else []
        model = _get_chosen(model[-1])
    return steps, model


def _get_chosen(model):
    """Return a model, or the one that a search has chosen."""
    model = unwrap(model)
    while (chosen := unwrap(getattr(model, "best_estimator_", model))) is not model:
        model = chosen
    return model


def trained_as(estimator):
    """Return the estimator of the user inside a recipe that fits its frozen parts first."""
    return getattr(estimator, "_trained_as", estimator)


def copy_recipe(estimator, victim):
    """Return an unfitted copy of an estimator, or of what the victim was trained as."""
    if estimator is not None:
        return _copy_thawed(estimator)
    if victim is None:
        raise ValueError("estimator must say how the victim was trained, as victim is None.")
    model = unwrap(victim)
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return _copy_thawed(model)


def _copy_thawed(estimator):
    """Return an unfitted copy whose fit trains the last step, also a frozen one."""
    copied = copy_unfitted(unwrap(estimator))
    if isinstance(copied, Pipeline) and copied.steps:
        name, last = copied.steps[-1]
        copied.steps[-1] = name, _copy_thawed(last)
    return copied


def refuse_class(value, role):
    """Refuse a class where an instance belongs."""
    if isinstance(value, type):
        name = value.__name__
        raise TypeError(f"The {role} {name} is a class, not an instance: write {name}(...).")


# Estimators whose predictions are no labels that records have, by their tag in scikit-learn.
_UNLABELED = {
    "clusterer": "a clusterer",
    "density_estimator": "a density estimator",
    "outlier_detector": "an outlier detector",
}
_BY_SCORES = (
    "Attack its scores, a number of each model for each record that is higher the better the "
    "record fits: ShadowPool.from_scores with Records.from_ids, as the user guide shows under "
    '"Models without labels"'
)


def _refuse_unlabeled(model):
    """Refuse a model whose predictions, such as numbers of clusters, are no task labels."""
    model = unwrap(model)
    kind = get_estimator_type(model) if has_tags(model) else None
    if kind in _UNLABELED and not answers_queries(model):
        raise TypeError(
            f"{type(model).__name__} is {_UNLABELED[kind]}, and its predictions are no task labels "
            f"of records. {_BY_SCORES}."
        )


def check_victim(victim):
    """Check that a victim is a fitted model."""
    refuse_class(victim, "victim")
    if not hasattr(victim, "predict"):
        inner = unwrap(victim)
        name, remedy = type(inner).__name__, _suggest_remedy(inner)
        if not remedy and has_tags(inner):
            remedy = f". {_BY_SCORES}"
        raise TypeError(
            "victim must be a fitted classifier or regressor with a predict method; "
            f"got {name}{remedy}."
        )
    check_tags(unwrap(victim), "victim")
    check_fitted(unwrap(victim), "victim")  # the tags of a frozen one are a deep copy
    return victim


def has_tags(estimator):
    """Return whether an object is an estimator of scikit-learn."""
    if hasattr(estimator, "__sklearn_tags__"):
        return True
    with suppress(AttributeError):  # the oldest supported scikit-learn has tags for every class
        get_tags(estimator)
        return hasattr(estimator, "fit")
    return False


def check_tags(estimator, role):
    """Refuse what is no estimator of scikit-learn, with the way to make it one."""
    if has_tags(estimator):
        return
    name = f"{type(estimator).__module__.partition('.')[0]}.{type(estimator).__name__}"
    way = (
        "asks it as skmia.victims.CallableVictim(function, classes), with a function of X that "
        "returns class probabilities"
    )
    if hasattr(estimator, "fit"):
        way = f"derives its class from sklearn.base.ClassifierMixin and BaseEstimator, or {way}"
    elif name == "xgboost.Booster":
        way = f"loads its file into XGBClassifier (save_model, load_model), or {way}"
    raise TypeError(
        f"The {role} {name} is no estimator of scikit-learn. Give a model that {way}; or store its "
        "answers with the records, as Records(X, y, outputs=Outputs(...))."
    )


def check_fitted(estimator, role):
    """Refuse an estimator that is not fitted, and say how to keep it so."""
    refuse_class(estimator, role)
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"The {role} {type(estimator).__name__} is not fitted: fit it first, and wrap it in "
            "sklearn.frozen.FrozenEstimator where it is a value in the grid of a search, which "
            "clones such values."
        ) from None


def _suggest_remedy(victim):
    """Return what makes a victim of something that is nearly one."""
    if any(base.__module__.startswith("torch.nn.") for base in type(victim).__mro__):
        return ", which skorch.NeuralNetClassifier makes a classifier"
    return ", which skmia.victims.CallableVictim makes a classifier" if callable(victim) else ""


def answers_queries(model):
    """Return whether a model has its own method for queries, which returns Outputs."""
    return getattr(model, "answers_queries", False) is True


# Models whose labels need not be those with the highest output. Of support vector machines,
# probabilities come from another fit, and votes of pairs of classes can tie.
_THRESHOLDS = FixedThresholdClassifier, TunedThresholdClassifierCV
_VOTES = SVC, NuSVC, OneVsRestClassifier
_INNER = "best_estimator_", "final_estimator_", "estimator_"


def predict_flat(model, X):
    """Return what a model predicts for each row; a column, as of CatBoost, becomes a flat array."""
    predictions = np.asarray(model.predict(copy_frame(X)))
    is_column = predictions.ndim == 2 and predictions.shape[1] == 1
    return predictions[:, 0] if is_column else predictions


def _predicts_otherwise(model, outputs):
    """Return whether a model may predict another label than the one with the highest output."""
    model = get_last_step(model)
    if isinstance(model, _VOTES):
        return outputs.kind == "proba" or outputs.shape[1] > 2
    if isinstance(model, _THRESHOLDS):
        return True
    # Searches, selections of features and defenses answer as the model in them does.
    inner = next((name for name in _INNER if hasattr(model, name)), None)
    return inner is not None and _predicts_otherwise(getattr(model, inner), outputs)


def _query_once(model, X):
    # A model with batches of its own is asked with all rows at once.
    is_whole = getattr(model, "asks_in_batches", False)
    outputs = _query_scores(model, X if is_whole else copy_frame(X))
    if outputs.kind in ("proba", "decision") and _predicts_otherwise(model, outputs):
        return add_predicted(outputs, predict_flat(model, X))
    return outputs


def _query_scores(model, X):
    if answers_queries(model):
        return model.query(X)
    _refuse_unlabeled(model)
    if is_regressor(model):
        values = np.asarray(model.predict(X))
        several = values.ndim == 2 and values.shape[1] > 1
        return Outputs(values, kind="values" if several else "value")
    if gives_logits(model):
        return query_logits(model, X)
    if hasattr(model, "predict_proba"):
        if is_skorch(model):
            return query_proba(model, X)
        proba = model.predict_proba(X)
        _refuse_outputs(proba, model, X)
        return Outputs(proba, _get_classes(model), "proba")
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        if values.ndim == 1:
            values = np.column_stack([np.zeros_like(values), values])
            values = values[:, : len(_get_classes(model))]  # a single class is like the first one
        elif getattr(get_last_step(model), "decision_function_shape", None) == "ovo":
            raise ValueError(
                "A decision function with one value for each pair of classes cannot be read; "
                'set decision_function_shape="ovr".'
            )
        return Outputs(values, _get_classes(model), "decision")
    classes = getattr(model, "classes_", None)
    labels = np.asarray(model.predict(X))
    if labels.ndim == 2 and labels.shape[1] > 1:
        _refuse_outputs([], model, X)
    if classes is None:
        _refuse_numbers(labels, model)
    return Outputs(labels, np.unique(labels) if classes is None else classes, "label")


def _refuse_numbers(answers, model):
    """Refuse predictions that are no labels, of a model without a type."""
    if answers.dtype.kind == "f" and np.any(answers != np.round(answers)):
        name = type(unwrap(model)).__name__
        raise ValueError(
            f"{name} predicts numbers, and scikit-learn does not know that it is a regressor. "
            "Derive its class from sklearn.base.RegressorMixin and BaseEstimator, in this order. "
            f"{_BY_SCORES}."
        )


def _get_classes(model):
    if hasattr(model, "classes_"):
        return model.classes_
    name = type(unwrap(model)).__name__
    raise ValueError(
        f"A classifier or a regressor is needed, and {name} has no classes. Let its fit set "
        "classes_, the labels in the order of its outputs."
    )


def check_targets(model, outputs, y):
    """Refuse predictions of a regressor whose y has not as many columns."""
    if outputs.kind not in PREDICTIONS or y is None or outputs.shape[1:] == np.shape(y)[1:]:
        return
    shapes = outputs.shape, np.shape(y)
    n_answered, n_targets = (shape[1] if len(shape) == 2 else 1 for shape in shapes)
    name = type(unwrap(model)).__name__
    if n_answered == 1:
        raise ValueError(
            f"{name} answers with one number for each record, and y has {n_targets}. Give the "
            "target that it predicts, as Records(X, y[:, k])."
        )
    raise ValueError(
        f"{name} answers with {n_answered} numbers for each record, "
        f"as for several targets or quantiles, and y has {n_targets}. Give y with all targets, as "
        "Records(X, Y); or audit a model of one of them, or one column of its answers: "
        "Outputs(answers[:, k], kind='value'), on the command line --answers."
    )


def _refuse_outputs(answers, model, X):
    if answers is None:
        raise ValueError(f"predict_proba of {type(unwrap(model)).__name__} returned nothing.")
    if (
        (isinstance(answers, list) and any(np.ndim(part) == 2 for part in answers))
        or has_classes_of_several(model)
        or _are_several_labels(answers, model, X)
    ):
        raise ValueError(
            f"{type(unwrap(model)).__name__} has several outputs for each record; attack them one "
            "by one, by skmia.victims.OneOutput(model, k) and records with the labels y[:, k], or "
            "all at once, by skmia.victims.JointOutputs(model, labels), where labels holds each "
            "combination of labels once."
        )


def _are_several_labels(answers, model, X):
    """Return whether probabilities that do not add to 1 are those of several labels."""
    if getattr(model, "classes_are_given", False) or not len(answers):
        return False
    answers = np.asarray(answers)
    if answers.ndim != 2 or answers.dtype.kind != "f":
        return False
    # As np.allclose, whose relative tolerance of 1e-5 is one of 1, in a tenth of the time.
    add_up = np.abs(answers.sum(axis=1) - np.float64(1)) <= _ROUNDED + 1e-5
    return not add_up.all() and np.ndim(model.predict(X)) == 2


def _split_pipeline(victim):
    """Return transformers before a model that has logits, so that it can be asked for them."""
    steps, last = [], unwrap(victim)
    while isinstance(last, Pipeline) and last.steps:
        steps += [take_first_steps(last)] if len(last) > 1 else []
        last = unwrap(last[-1])
    return (steps, last) if gives_logits(last) or answers_queries(last) else ([], unwrap(victim))


def _through(steps, model):
    def ask(X):
        for step in steps:
            X = step.transform(X)
        return _query_once(model, X)

    return ask


def order_named_columns(victim, X):
    """Return a table with its columns in the order of a fitted model, if all names are there.

    LightGBM takes columns by their places, whatever their names are, and so do calibrations and
    ensembles of it; other models refuse another order.
    """
    table, wanted = as_table(X), getattr(_get_chosen(victim), "feature_names_in_", None)
    if table is None or wanted is None:
        return X
    wanted = [str(name).replace(" ", "_") for name in wanted]  # as LightGBM writes them
    names = {str(name).replace(" ", "_"): name for name in table.columns}
    if len(names) != len(table.columns) or names.keys() != {*wanted} or [*names] == wanted:
        return X
    return choose_columns(X, [names[name] for name in wanted])


def _ask_writeable(ask, X):
    """Ask again with a copy where a model, such as a tree about missing values, must have one."""
    try:
        return ask(X)
    except ValueError as error:
        if "read-only" not in str(error) or not isinstance(X, np.ndarray):
            raise
        return ask(X.copy())


def query_victim(victim, X):
    """Query a victim with the rows of X.

    Logits are used if the model has them (skorch nets), else probabilities, decision values or
    predicted labels, whichever is most informative.
    """
    check_victim(victim)
    X = X if hasattr(X, "shape") else np.asarray(X)
    X = order_named_columns(victim, X)
    steps, model = _split_pipeline(victim)
    # Even a query can draw random numbers: a data loader of torch draws a seed for each pass.
    with preserved_randomness(), accepting_read_only():
        n_rows = X.shape[0]
        # A victim with batches of its own is asked once, so that it can go on where it stopped.
        is_whole = getattr(model, "asks_in_batches", False)

        def ask(rows):
            part = X if is_whole else take_rows(X, rows)
            with with_advice(victim, part):
                outputs = _ask_writeable(_through(steps, model), part)
            if len(outputs) != (n := part.shape[0]):
                raise ValueError(f"The victim returned {len(outputs)} outputs for {n} records.")
            return outputs

        if is_whole or n_rows <= CHUNK:
            return ask(slice(None))
        parts = map(ask, gen_batches(n_rows, CHUNK))
        first = next(parts)
        if type(first) is not Outputs:
            return first.concat([first, *parts])
        return join_outputs(chain([first], parts), n_rows)


def refuse_other_than_records(records):
    if not isinstance(records, Records):
        raise TypeError(
            f"Expected skmia.Records, got {type(records).__name__}; "
            "wrap the features and task labels as Records(X, y)."
        )


def query(victim: BaseEstimator | None, records: Records) -> Outputs:
    """Query a victim with records, or read the outputs that they store if it is None.

    Parameters
    ----------
    victim : fitted estimator or None
        Model under attack.
    records : Records
        Records that the victim is queried with; without a victim, those with the field
        ``outputs``, see :meth:`skmia.Records.with_outputs`.

    Returns
    -------
    outputs : Outputs
        The most informative outputs that the victim has: logits, probabilities, decision values or
        predicted labels. Stored outputs are not read if there is a victim.

    Raises
    ------
    TypeError, ValueError
        If the victim is not a fitted model, or the records store no outputs.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.base import query
    >>> from skmia.datasets import load_sklearn
    >>> records = load_sklearn("breast_cancer")
    >>> victim = DecisionTreeClassifier(max_depth=3).fit(records.X, records.y)
    >>> bool(query(victim, records).is_correct(records.y).mean() > 0.9)
    True
    """
    refuse_other_than_records(records)
    if victim is not None:
        outputs = query_victim(victim, records.X)
        check_targets(victim, outputs, records.y)
        check_class_order(victim, outputs, records.y)
        return outputs
    if "outputs" not in records.fields:
        raise ValueError(
            "victim is None and the records hold no outputs; pass a fitted victim or use "
            "records.with_outputs(victim)."
        )
    outputs = records["outputs"]
    if not hasattr(outputs, "kind"):
        raise ValueError(
            "The field 'outputs' is a bare array; wrap it as Outputs(values, classes=...), which "
            "says what its columns are."
        )
    return outputs


def query_aligned(model, X, y):
    """Query a model; add a column for every class that occurs only in ``y``.

    Its probability is 0. What is infinite for it, such as log odds, becomes finite in a pool by the
    smoothing of the signal, in ``signals/_base.py``.
    """
    outputs = query_victim(model, X)
    check_targets(model, outputs, y)
    if outputs.classes is None:  # numbers, such as the predictions of a regressor
        return outputs
    return outputs.aligned_to(np.union1d(outputs.classes, y))


class AlignedModel(GivenModel, ClassifierMixin, BaseEstimator):
    """Fitted classifier that knows further classes, which were not in its training set.

    Their probability is 0.
    """

    answers_queries = True

    def __init__(self, model, classes, kind):
        self.model = model
        self.classes = classes
        self.kind = kind

    @property
    def classes_(self):
        return np.asarray(self.classes)

    def query(self, X):
        """Return the outputs of the model, with a column for each class."""
        return query_aligned(self.model, X, self.classes_)

    def predict(self, X):
        """Return the labels that the model predicts."""
        return self.model.predict(X)


def check_generator(generator):
    """Check that a generator can draw rows, and is fitted where scikit-learn can tell.

    Synthesizers of other packages, and classes of one's own, need no more than a method sample.
    """
    inner = unwrap(generator)
    if not hasattr(inner, "sample"):
        raise TypeError(
            "The victim must be a fitted generator with a sample method; "
            f"got {type(inner).__name__}."
        )
    refuse_class(inner, "generator")
    if hasattr(inner, "__sklearn_tags__"):
        check_fitted(inner, "generator")
    return inner


def draw_samples(generator, n_samples, random_state):
    """Return the rows of a fitted generator.

    The seed is passed on where sample takes one. Of a tuple (rows, labels) the rows are taken;
    records are X, not the container.
    """
    inner = check_generator(generator)
    settings = {}
    if "random_state" in inspect.signature(inner.sample).parameters:
        settings["random_state"] = random_state.randint(np.iinfo(np.int32).max)
    with preserved_randomness():
        drawn = inner.sample(n_samples, **settings)
    drawn = drawn[0] if isinstance(drawn, tuple) else drawn
    return getattr(drawn, "X", drawn)


# Level of the test: low enough that a correct order hardly ever leads to a warning.
_LEVEL = 1e-4
# Rows of probabilities in half precision add to 1 up to this.
_ROUNDED_ORDER = 0.01


def choose_order(outputs, y):
    """Find an order of the classes with which outputs fit the labels significantly better.

    The best order is found on half of the records. It is compared with the given order on the other
    half, by an exact test on the records that only one of the two orders predicts correctly. Return
    the class of each column, of shape (n_classes,), and the shares of the labels that this order
    and the given one predict; None and () if the given order fits as well, or a label is unknown.
    """
    if outputs.kind not in ("proba", "logits", "decision") or len(outputs.classes) < 2:
        return None, ()
    try:
        label = outputs.label_index(y)
    except ValueError:  # unknown labels are reported by the code that reads them
        return None, ()
    guess = outputs.values.argmax(axis=1)
    # Ties are broken arbitrarily, and a constant prediction fits any order, so neither is evidence.
    told = (outputs.values == outputs.values.max(axis=1, keepdims=True)).sum(axis=1) == 1
    guess, label = guess[told], label[told]
    if len(np.unique(guess)) < 2:
        return None, ()
    half = np.random.default_rng(0).permutation(len(label)) % 2 == 0
    counts = np.zeros((len(outputs.classes),) * 2)
    np.add.at(counts, (guess[half], label[half]), 1)
    order = linear_sum_assignment(counts, maximize=True)[1]
    given, other = guess[~half] == label[~half], order[guess[~half]] == label[~half]
    n_better, n_worse = np.sum(other & ~given), np.sum(given & ~other)
    if binom.sf(n_better - 1, n_better + n_worse, 0.5) > _LEVEL:
        return None, ()
    return outputs.classes[order], (float(other.mean()), float(given.mean()))


def _add_to_one(values, kind):
    # One and the same answer to all records is no evidence.
    if kind != "logits" or values.shape[1] < 2 or (values == values[:1]).all():
        return False
    return bool(values.min() >= 0 and np.abs(values.sum(axis=1) - 1).max() < _ROUNDED_ORDER)


# Number of log odds from which on it is no chance that all of them lie between 0 and 1.
_FEWEST_LOG_ODDS = 20


def _look_like_probabilities(log_odds):
    # Equal answers are no evidence.
    if len(log_odds) < _FEWEST_LOG_ODDS or (log_odds == log_odds[0]).all():
        return False
    return bool(log_odds.min() >= 0 and log_odds.max() <= 1)


def check_class_order(victim, outputs, y):
    """Warn if the classes given for a victim seem to be in another order than its columns.

    A CallableVictim is told its classes, and so may an OnnxClassifier be; other models know them.
    """
    if y is not None and getattr(unwrap(victim), "classes_are_given", False):
        warn_of_given(outputs, y)


def warn_of_given(outputs, y):
    """Warn if logits or log odds are probabilities, or if another order of columns fits better.

    A few rows are enough for almost all logits.
    """
    if _add_to_one(outputs.values[:100], outputs.kind) and _add_to_one(outputs.values, "logits"):
        warnings.warn(
            "The logits of each record lie between 0 and 1 and add to 1, as probabilities do. If "
            'they are probabilities, say kind="proba"; their softmax is a wrong answer.',
            UserWarning,
            stacklevel=level_of_user(),
        )
    if outputs.kind == "log_odds" and _look_like_probabilities(outputs.values):
        warnings.warn(
            "All log odds lie between 0 and 1, as probabilities and small losses do. If they are "
            "probabilities p of the label, give scipy.special.logit(p), and of losses -log(p) give "
            "-log(expm1(loss)).",
            UserWarning,
            stacklevel=level_of_user(),
        )
    order, shares = choose_order(outputs, y)
    if order is not None:
        warnings.warn(
            f"{100 * shares[0]:.0f}% of the labels are predicted if the columns of the answers "
            f"stand for the classes {order.tolist()}, and {100 * shares[1]:.0f}% if they stand for "
            f"{outputs.classes.tolist()} as given. Check the order of classes.",
            UserWarning,
            stacklevel=level_of_user(),
        )


# Logarithm of what is smaller than any difference between floats next to 1.
_LEAST = float(np.log(np.finfo(np.float64).eps))


def log_label_scores(outputs: Outputs, resolution: float = 0.0) -> np.ndarray:
    """Return the logarithm of the probability of each class.

    Return scores of shape (n, n_classes).
    """
    if outputs.classes is None:
        raise ValueError(
            "Labels are inferred from probabilities, decision values or predicted labels; got "
            f"outputs of kind {outputs.kind!r}."
        )
    if outputs.kind in ("logits", "decision"):
        return np.maximum(log_softmax(outputs.values.astype(np.float64), axis=1), _LEAST)
    values = outputs.values
    if outputs.kind == "label":
        values = np.eye(len(outputs.classes))[outputs.label_index(values)]
    values = values.astype(np.float64) + resolution / 2
    return np.log(np.maximum(values / values.sum(axis=1, keepdims=True), np.exp(_LEAST)))
