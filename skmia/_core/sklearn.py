"""The only module that uses private parts of scikit-learn.

Each function has a test whose name says which part has changed if a new version breaks it.
"""

import copy
from numbers import Integral, Number
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _param_validation
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)
from sklearn.utils._set_output import _get_output_config

from .kinds import is_classifier, is_regressor
from .numbers import MOST, show

__all__ = [
    "N_JOBS",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "SupportVectors",
    "at_least",
    "continue_shuffles",
    "copy_configuration",
    "encode_for_boosting",
    "export_training",
    "fit_to_first_epoch",
    "give_optimizer",
    "has_stalled",
    "import_training",
    "load_tree_types",
    "make_adam",
    "make_sgd",
    "note_loss",
    "read_baseline",
    "read_categorical_columns",
    "read_edges_of_boosting",
    "read_initial_margins",
    "read_known_categories_of_boosting",
    "read_leaves_of_boosting",
    "read_sampling",
    "read_support_vectors",
    "read_trees_of_boosting",
    "replace_available_method",
    "returns_pandas",
    "validate_parameter_constraints",
    "validate_params_of",
]


class HasMethods(_param_validation.HasMethods):
    """Constraint that an estimator has methods, of which it may have `predict` after fit alone.

    So has a StackingClassifier without a final estimator.
    """

    def is_satisfied_by(self, val):
        """Return whether the estimator has all methods."""
        missing = [name for name in self.methods if not callable(getattr(val, name, None))]
        if missing != ["predict"]:
            return not missing
        is_model = hasattr(val, "get_params") and not isinstance(val, type)
        return (
            is_model and hasattr(type(val), "predict") and (is_classifier(val) or is_regressor(val))
        )


# Values that joblib accepts: 0 has no meaning there, and larger numbers overflow.
N_JOBS = [
    Interval(Integral, 1, MOST, closed="both"),
    Interval(Integral, -MOST, -1, closed="both"),
    None,
]


def at_least(low):
    """Return the constraint of a count, a size or a number of rounds that numpy can hold."""
    return Interval(Integral, low, MOST, closed="both")


def copy_configuration(estimator, made):
    """Give a copy of an estimator what ``clone`` copies beside its parameters."""
    for name in ("_metadata_request", "_sklearn_output_config"):
        if hasattr(estimator, name):
            setattr(made, name, copy.deepcopy(getattr(estimator, name)))
    if hasattr(estimator, "_skl_callbacks"):  # of scikit-learn 1.9, shared by all clones
        made._skl_callbacks = estimator._skl_callbacks


def replace_available_method(descriptor, change):
    """Return what ``available_if`` made of a method, with ``change(method)``."""
    method = getattr(descriptor, "fn", None)
    if method is None or change(method) is method:
        return descriptor
    replaced = copy.copy(descriptor)
    replaced.fn = change(method)
    return replaced


def returns_pandas(transformer):
    """Return whether a transformer returns frames of pandas, by its own setting or the global."""
    return _get_output_config("transform", transformer)["dense"] == "pandas"


def _is_numeric(constraint):
    is_type = isinstance(constraint, type) and issubclass(constraint, Number)
    return is_type or isinstance(constraint, Interval)


def _check_parameter(allowed, name, value, caller_name):
    """Check a parameter, also one that scikit-learn cannot compare: an array, a huge number."""
    start = f"The {name!r} parameter of {caller_name} must"
    try:
        _param_validation.validate_parameter_constraints(
            {name: allowed}, {name: value}, caller_name
        )
        if isinstance(value, Number) and any(_is_real(constraint) for constraint in allowed):
            float(value)
    except InvalidParameterError as error:
        # A table in full would hide the rest of the sentence.
        sentence = str(error).replace(f"Got {value!r} instead.", f"Got {show(value)} instead.")
        raise InvalidParameterError(f"{sentence}{_name_cure(allowed, value)}") from None
    except (TypeError, ValueError, OverflowError):
        kinds = " or ".join(
            str(_param_validation.make_constraint(constraint)) for constraint in allowed
        )
        raise InvalidParameterError(f"{start} be {kinds}. Got {show(value)} instead.") from None
    # True equals 1 in Python, but a user who passes a boolean does not mean a number.
    others = [constraint for constraint in allowed if not _is_numeric(constraint)]
    if (
        isinstance(value, bool | np.bool_)
        and len(others) < len(allowed)
        and not any(
            _param_validation.make_constraint(constraint).is_satisfied_by(value)
            for constraint in others
        )
    ):
        raise InvalidParameterError(f"{start} not be a boolean. Got {value!r} instead.")


def _name_cure(allowed, value):
    needs_records = any(getattr(kind, "__name__", None) == "Records" for kind in allowed)
    if not needs_records or not hasattr(value, "shape"):
        return ""
    return " Wrap the features and task labels as Records(X, y)."


def _is_real(constraint):
    return isinstance(constraint, Interval) and constraint.type is not Integral


def validate_parameter_constraints(constraints, params, caller_name):
    """Check parameters against constraints; a boolean does not count as a number."""
    for name, value in params.items():
        allowed = constraints.get(name, "no_validation")
        if not isinstance(allowed, str):
            _check_parameter(allowed, name, value, caller_name)


def validate_arguments(constraints, arguments, caller_name):
    """Check the arguments of a function that have constraints; it passes ``locals()``."""
    given = {name: arguments[name] for name in constraints}
    validate_parameter_constraints(constraints, given, caller_name)


def validate_params_of(estimator):
    """Check the parameters of an estimator against its ``_parameter_constraints``."""
    validate_parameter_constraints(
        estimator._parameter_constraints,
        estimator.get_params(deep=False),
        caller_name=type(estimator).__name__,
    )


# Attributes that an epoch changes in a perceptron, in addition to weights and generator.
_OF_EPOCHS = ("n_iter_", "t_", "loss_", "best_loss_", "loss_curve_", "_no_improvement_count")


def fit_to_first_epoch(model, fit):
    """Fit a perceptron up to its first epoch.

    scikit-learn itself validates the input, encodes labels and draws the weights; only its loop
    over the epochs is left out. If a version of scikit-learn has another loop, the model is trained
    to the end.

    Return X of shape (n, d): training records after validation. None if the model is trained to the
    end, as for sparse records; y of shape (n, n_outputs).
    """
    found, ordinary = [], model._fit_stochastic

    def stop_here(X, y, *others, **settings):
        if sparse.issparse(X):
            return ordinary(X, y, *others, **settings)
        found.append((X, y))

    model._fit_stochastic = stop_here
    try:
        fit()
    finally:
        del model._fit_stochastic
    return found[0] if found else (None, None)


def continue_shuffles(model, values):
    """Shuffle an array as the next epoch of a perceptron would shuffle its records."""
    model._random_state.shuffle(values)


def note_loss(model, loss):
    """Store the loss of an epoch in a perceptron, and whether it is an improvement."""
    model.loss_ = loss
    model.loss_curve_.append(loss)
    worse = loss > model.best_loss_ - model.tol
    model._no_improvement_count = model._no_improvement_count + 1 if worse else 0
    model.best_loss_ = min(model.best_loss_, loss)


def has_stalled(model):
    """Return whether a perceptron ends its training because its loss no longer improves."""
    return model._no_improvement_count > model.n_iter_no_change


def export_training(model):
    """Return the state of the training without weights, as values that JSON can hold."""
    random = model._random_state.get_state(legacy=False)
    random["state"] = {**random["state"], "key": random["state"]["key"].tolist()}
    known = vars(model)
    return {"random": random, **{name: known[name] for name in _OF_EPOCHS if name in known}}


def import_training(model, facts):
    """Restore a state that :func:`export_training` returned."""
    random = facts["random"]
    random["state"]["key"] = np.array(random["state"]["key"], dtype=np.uint32)
    model._random_state.set_state(random)
    for name in _OF_EPOCHS:
        if name in facts:
            setattr(model, name, facts[name])


def give_optimizer(model, optimizer):
    """Store an optimizer in a perceptron, with which ``partial_fit`` continues."""
    model._optimizer = optimizer


def start_adam(parameters, rate):
    """Start scikit-learn's own Adam on arrays, which ``update_params`` changes in place."""
    from sklearn.neural_network._stochastic_optimizers import AdamOptimizer

    return AdamOptimizer(parameters, rate)


def make_adam(rate, betas, epsilon, moments, n_steps):
    """Make the optimizer of a perceptron with ``solver="adam"`` after some steps."""
    from sklearn.neural_network._stochastic_optimizers import AdamOptimizer

    adam, (beta_1, beta_2) = AdamOptimizer([], rate, *betas, epsilon), betas
    (adam.ms, adam.vs), adam.t = moments, n_steps
    adam.learning_rate = rate * np.sqrt(1 - beta_2**n_steps) / (1 - beta_1**n_steps)
    return adam


def make_sgd(rate, momentum, nesterov, power_t, velocities):
    """Make the optimizer of a perceptron with ``solver="sgd"`` and a constant rate."""
    from sklearn.neural_network._stochastic_optimizers import SGDOptimizer

    sgd = SGDOptimizer([], rate, "constant", momentum, nesterov, power_t)
    sgd.velocities = velocities
    return sgd


def list_fitted_estimators(model):
    """List the fitted estimators of an ensemble, in the order in which it holds them.

    None are listed of a model that is no ensemble. numpy would take those apart that have a length
    themselves, as Pipelines and forests.
    """
    return [] if (held := getattr(model, "estimators_", None)) is None else [*_iter_held(held)]


def _iter_held(held):
    if isinstance(held, np.ndarray):
        held = held.ravel().tolist()
    if not isinstance(held, list | tuple):
        yield held
        return
    for one in held:
        yield from _iter_held(one)


def load_tree_types():
    """Import the compiled types of trees, in forests and in histogram boosting."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree._tree import Tree

    return Tree, TreePredictor


def read_trees_of_boosting(model):
    """Return the trees of a HistGradientBoostingClassifier or -Regressor as a list."""
    return [tree for iteration in model._predictors for tree in iteration]


def read_edges_of_boosting(model):
    """Return the edges of the bins of each feature, of a fitted histogram boosting."""
    return [np.asarray(edges) for edges in model._bin_mapper.bin_thresholds_]


def encode_for_boosting(model, X):
    """Return columns as the nodes of histogram boosting number them.

    Codes of categories come first.

    Categories that the model does not know become NaN.
    """
    return np.asarray(model._preprocess_X(X, reset=False), dtype=np.float64)


def read_categorical_columns(model):
    """Return which columns hold categories, in the order of the nodes of histogram boosting."""
    found = model._is_categorical_remapped
    return np.zeros(model.n_features_in_, dtype=bool) if found is None else np.asarray(found)


def read_known_categories_of_boosting(model):
    """Return number and categories of each column of categories of a fitted histogram boosting."""
    if model.is_categorical_ is None:
        return []
    encoder = model._preprocessor.named_transformers_["encoder"]
    return list(zip(np.flatnonzero(model.is_categorical_), encoder.categories_, strict=True))


def read_sampling(model):
    """Return how the rows of each tree of a forest or bag were drawn, as far as the model says.

    Return n_drawn, n_rows: number of draws of each tree and of training rows; 0 if the file does
    not state them; chances of shape (n_rows,): probability of each training row at a draw; None if
    they are equal, or not stored.
    """
    n_rows = getattr(model, "_n_samples", None)
    n_drawn = getattr(model, "_n_samples_bootstrap", None) or getattr(model, "_max_samples", None)
    if n_rows is None:
        return 0, 0, None
    weights = getattr(model, "_sample_weight", None)
    return n_drawn or n_rows, n_rows, None if weights is None else weights / np.sum(weights)


def read_leaves_of_boosting(model, X):
    """Yield the leaf of each row in each tree of histogram boosting, also for categories.

    The compiled prediction is run on copies of the trees whose values are the numbers of the nodes.

    X (n, n_features), as encode_for_boosting returns them.
    """
    known, numbers = model._bin_mapper.make_known_categories_bitsets()
    _, predictor = load_tree_types()
    for tree in read_trees_of_boosting(model):
        nodes = tree.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        numbered = predictor(nodes, tree.binned_left_cat_bitsets, tree.raw_left_cat_bitsets)
        yield numbered.predict(X, known, numbers, n_threads=1).astype(np.intp)


def read_categories_of_boosting(model):
    """Whether each feature of a histogram boosting is a category, and the edges of its bins."""
    bins = model._bin_mapper
    return np.asarray(bins.is_categorical_).astype(bool), bins.bin_thresholds_


def read_infrequent_categories(model):
    """List for each feature the columns that categories of an encoder are merged into, if any."""
    mappings = getattr(model, "_default_to_infrequent_mappings", None)
    if mappings is None:
        return []
    pairs = zip(mappings, model._n_features_outs, strict=True)
    return [pair for pair in pairs if pair[0] is not None]


def read_baseline(model):
    """Return the initial raw predictions of histogram boosting, of shape (1, n_outputs)."""
    return np.reshape(np.asarray(model._baseline_prediction, dtype=np.float64), (1, -1))


def read_initial_margins(model, X):
    """Return the initial raw predictions of gradient boosting, of shape (n, n_outputs)."""
    return np.array(model._raw_predict_init(X), dtype=np.float64)


class SupportVectors(NamedTuple):
    """Arrays that the compiled code of a support vector machine reads."""

    counts: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    calibrations: tuple  # the two arrays of Platt's scaling, empty without probability


def read_support_vectors(model):
    """Return the numbers from which a fitted support vector machine predicts.

    Public attributes hold the same numbers, but a forged file may set the two to different ones.
    """
    calibrations = model._probA, model._probB
    counts = np.asarray(model._n_support)
    return SupportVectors(counts, model._dual_coef_, model._intercept_, calibrations)


def refuse_frozen_models(estimator, who):
    """Refuse an estimator with a fitted model in it, of which copies keep what it has learned."""
    parts = [estimator, *estimator.get_params().values()]
    frozen = [part for part in parts if isinstance(part, FrozenEstimator)]
    if any(is_classifier(part) or is_regressor(part) for part in frozen):
        raise InvalidParameterError(
            f"{who} is trained from the beginning; a FrozenEstimator in it keeps what it has "
            "learned. Give an unfitted one."
        )
