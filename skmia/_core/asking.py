"""Queries of a fitted model for its most informative outputs."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .advice import with_advice
from .containers import accepting_read_only
from .outputs import Outputs
from .randomness import preserved_randomness
from .skorch_nets import gives_logits, is_skorch, query_logits, query_proba

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


def check_victim(victim):
    """Check that a victim is a fitted model.

    Raises
    ------
    TypeError
        If it has no ``predict``.
    NotFittedError
        If it is not fitted, which is what ``clone`` makes of a victim that is not frozen.
    """
    if not hasattr(victim, "predict"):
        raise TypeError(
            "victim must be a fitted classifier or regressor with a predict method; "
            f"got {type(unwrap(victim)).__name__}{_suggest_remedy(unwrap(victim))}."
        )
    check_fitted(unwrap(victim), "victim")  # the tags of a frozen one are a deep copy
    return victim


def check_fitted(estimator, role):
    """Refuse an estimator that is not fitted, and say how to keep it so."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"The {role} {type(estimator).__name__} is not fitted. Fit the {role.split()[-1]} and "
            "wrap it in sklearn.frozen.FrozenEstimator, because clone() resets fitted estimators."
        ) from None


def _suggest_remedy(victim):
    """What makes a victim of something that is nearly one."""
    if any(base.__module__.startswith("torch.nn.") for base in type(victim).__mro__):
        return ", which skorch.NeuralNetClassifier makes a classifier"
    return ", which skmia.victims.CallableVictim makes a classifier" if callable(victim) else ""


def answers_queries(model):
    """Whether a model has its own method for queries, which returns Outputs."""
    return getattr(model, "answers_queries", False) is True


def _ask(model, X):
    if answers_queries(model):
        return model.query(X)
    if is_regressor(model):
        return Outputs(model.predict(X), kind="value")
    if gives_logits(model):
        return query_logits(model, X)
    if hasattr(model, "predict_proba"):
        if is_skorch(model):
            return query_proba(model, X)
        proba = model.predict_proba(X)
        _refuse_outputs(proba, model, X)
        return Outputs(np.asarray(proba), model.classes_, "proba")
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        if values.ndim == 1:
            values = np.column_stack([np.zeros_like(values), values])
        elif getattr(_last_step(model), "decision_function_shape", None) == "ovo":
            raise ValueError(
                "A decision function with one value for each pair of classes cannot be read; "
                'set decision_function_shape="ovr".'
            )
        return Outputs(values, model.classes_, "decision")
    classes = getattr(model, "classes_", None)
    labels = np.asarray(model.predict(X))
    if labels.ndim == 2 and labels.shape[1] > 1:
        _refuse_outputs([], model, X)
    return Outputs(labels, np.unique(labels) if classes is None else classes, "label")


def _refuse_outputs(answers, model, X):
    if (
        isinstance(answers, list)
        or isinstance(getattr(model, "classes_", None), list)
        or _are_several_labels(answers, model, X)
    ):
        raise ValueError(
            f"{type(unwrap(model)).__name__} has several outputs for each record; attack them one "
            "by one, by skmia.victims.OneOutput(model, k) and records with the labels y[:, k], or "
            "all at once, by skmia.victims.JointOutputs."
        )


def _are_several_labels(answers, model, X):
    """Whether probabilities that do not add to 1 are those of several labels."""
    if getattr(model, "classes_are_given", False) or not len(answers):
        return False
    answers = np.asarray(answers)
    if answers.ndim != 2 or answers.dtype.kind != "f":
        return False
    sums = answers.sum(axis=1)
    return not np.allclose(sums, 1, atol=_ROUNDED) and np.ndim(model.predict(X)) == 2


def _last_step(model):
    return unwrap(model[-1]) if isinstance(model, Pipeline) else model


def _is_asked_itself(model):
    return gives_logits(model) or answers_queries(model)


def _split_pipeline(victim):
    """Transformers before a model that has logits, so that it can be asked for them."""
    model = unwrap(victim)
    if isinstance(model, Pipeline) and _is_asked_itself(_last_step(model)):
        return (model[:-1] if len(model) > 1 else None), _last_step(model)
    return None, model


def _through(transform, model):
    def ask(X):
        return _ask(model, X if transform is None else transform.transform(X))

    return ask


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

    Parameters
    ----------
    victim : fitted estimator
        Classifier or regressor.
    X : array-like of n rows
        Rows in the form that the victim expects.

    Returns
    -------
    outputs : Outputs
        Predictions of the victim for the n records.
    """
    check_victim(victim)
    X = X if hasattr(X, "shape") else np.asarray(X)
    transform, model = _split_pipeline(victim)
    parts = []
    # Even a query can draw random numbers: a data loader of torch draws a seed for each pass.
    with preserved_randomness(), accepting_read_only():
        n_rows = X.shape[0]
        for rows in gen_batches(n_rows, CHUNK) if n_rows > CHUNK else [slice(None)]:
            part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            with with_advice(victim, part):
                parts.append(_ask_writeable(_through(transform, model), part))
    outputs = parts[0] if len(parts) == 1 else type(parts[0]).concat(parts)
    if len(outputs) != n_rows:
        raise ValueError(f"The victim returned {len(outputs)} outputs for {n_rows} records.")
    return outputs


def query_aligned(model, X, y):
    """Query a model; add a column for every class that occurs only in ``y``."""
    outputs = query_victim(model, X)
    if outputs.classes is None:  # numbers, such as the predictions of a regressor
        return outputs
    return outputs.aligned_to(np.union1d(outputs.classes, y))
