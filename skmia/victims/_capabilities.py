"""What a model offers to an attack, determined without a query."""

from sklearn.exceptions import NotFittedError

from .._core.kinds import is_regressor
from .._core.query import answers_queries, get_last_step, unwrap
from .._core.sample_weights import read_weights, weights_for
from .._core.skorch_nets import gives_logits, is_skorch
from ._node_equations.read import has_node_equations
from ._service import CallableVictim
from ._split_thresholds import has_split_thresholds
from ._stationarity import has_stationarity
from ._sufficient_statistics import has_stored_sums
from ._white_box import open_white_box
from ._white_box._dense import FAMILIES

PARTS_OF_FILES = {
    "nodes": has_node_equations,
    "thresholds": has_split_thresholds,
    "optimum": has_stationarity,
    "sums": has_stored_sums,
}


def get_kind(model):
    """Return the kind of the :class:`~skmia.Outputs` that a model gives, fitted or not."""
    if is_regressor(unwrap(model)):  # the tags of a frozen one are a deep copy
        return "value"
    if answers_queries(get_last_step(model)):
        return get_last_step(model).kind
    if gives_logits(get_last_step(model)):
        return "logits"
    # A stack without a final estimator takes a logistic regression when it is fitted.
    if (
        hasattr(model, "predict_proba")
        or getattr(get_last_step(model), "final_estimator", 0) is None
    ):
        return "proba"
    return "decision" if hasattr(model, "decision_function") else "label"


def get_access(model):
    """Return what a model offers beyond outputs, in the terms of :class:`skmia.base.Needs`."""
    last = get_last_step(model)
    name = type(last).__name__
    unknown = f"which skmia cannot read from {name}"
    is_open = _opens(model, last)
    offers = {
        "gradients": (is_open, unknown),
        "layers": (is_open, unknown),
        "file": (has_file(model), "which is kept elsewhere"),
        "tokens": (getattr(last, "gives_tokens", False), f"which {name} does not give"),
    } | {word: (is_known(model), unknown) for word, is_known in PARTS_OF_FILES.items()}
    found = {"queries", *(word for word, (is_given, _) in offers.items() if is_given)}
    if hasattr(unwrap(model), "sample"):
        found.add("samples")
    return frozenset(found), {word: why for word, (_, why) in offers.items() if word not in found}


def _opens(model, last):
    try:
        open_white_box(model)
    except NotFittedError:
        return isinstance(last, FAMILIES) or is_skorch(last)
    except Exception:  # whatever a foreign model does when it is looked into
        return False
    return True


def is_trainable(model):
    """Return whether clones of a model can be trained: a function or service cannot.

    A model can also say so itself, by an attribute is_trainable.
    """
    last = get_last_step(model)
    return not isinstance(last, CallableVictim) and getattr(last, "is_trainable", True)


def read_training_weights(model, records):
    """Return the sample weights of records that a fitted model was trained with, or None.

    A model that is not trained here, such as a service, is taken to have used those of the field.
    """
    if model is None or not is_trainable(model):
        return read_weights(records)
    return weights_for(unwrap(model), records)


def has_file(model):
    """Return whether what a model stores can be read: a function or service keeps it elsewhere."""
    return not isinstance(get_last_step(model), CallableVictim)
