"""Outputs of skorch nets."""

import numpy as np

from .outputs import Outputs
from .skorch_bulk import forward

# Probabilities in bfloat16, and therefore the sums of a row, are rounded by up to 0.4%.
_SUM_TOLERANCE = 0.01


def is_skorch(model):
    """Whether a model is a skorch net or an instance of a subclass."""
    return any(base.__module__.startswith("skorch.") for base in type(model).__mro__)


def gives_logits(model):
    """Whether the module of a skorch net returns logits, which skorch turns into probabilities."""
    criterion = type(getattr(model, "criterion_", None)).__name__
    return (
        is_skorch(model)
        and getattr(model, "predict_nonlinearity", None) == "auto"
        and criterion in ("CrossEntropyLoss", "BCEWithLogitsLoss")
    )


def query_logits(net, X):
    """Query a net for which :func:`gives_logits` is true for its logits."""
    answers = _as_numpy(forward(net, X))
    parts = [part[0] if isinstance(part, tuple) else part for part in answers]
    if not parts:
        raise ValueError("A net must be queried for at least 1 record; got 0.")
    logits = np.concatenate(parts)
    if logits.ndim == 1 or logits.shape[1] == 1:
        logits = np.column_stack([np.zeros(len(logits), logits.dtype), logits.ravel()])
    return Outputs(logits, skorch_classes(net, logits.shape[1]), "logits")


def _as_numpy(batches):
    from skorch.utils import to_numpy

    return (to_numpy(batch) for batch in batches)


def skorch_classes(net, n_columns):
    """Return the labels of the columns of a net's outputs."""
    # skorch lists the labels of the training rows. Labels are the numbers of the output units, so a
    # class that is absent from these rows still has its unit.
    classes = np.asarray(net.classes_)
    return classes if len(classes) == n_columns else np.arange(n_columns)


def query_proba(net, X):
    """Query a net that applies its own nonlinearity for class probabilities.

    Raises
    ------
    ValueError
        If the outputs are not probabilities, because skorch does not know the criterion.
    """
    proba = np.asarray(net.predict_proba(X))
    refusal = why_not_probabilities(net, proba)
    if refusal:
        raise ValueError(refusal)
    return Outputs(proba, skorch_classes(net, proba.shape[1]), "proba")


def why_not_probabilities(net, proba):
    """Return why a net's outputs are not class probabilities, and what to do; None if they are."""
    found = _describe_fault(net, proba)
    if found is None:
        return None
    criterion = type(getattr(net, "criterion_", None)).__name__
    if criterion == "NLLLoss":
        return (
            f"The net's answers are not probabilities ({found}). With NLLLoss, skorch takes the "
            "logarithm itself: let the module return probabilities (softmax, not log_softmax), or "
            "let it return logits and use CrossEntropyLoss."
        )
    return (
        f"The net's answers are not probabilities ({found}): skorch knows which function makes "
        "probabilities of the module's output for CrossEntropyLoss, BCEWithLogitsLoss and BCELoss, "
        f"but not for {criterion}. Set the net's predict_nonlinearity to that function, such as "
        "torch.nn.Softmax(dim=-1), or to None if the module returns one probability per class."
    )


def _describe_fault(net, proba):
    if proba.ndim != 2:
        return f"an array of shape {proba.shape}, not one column per class"
    values = proba.astype(np.float64)
    if np.isnan(values).any() or not values.size:
        return None  # Outputs reports these faults
    low, high = values.min(), values.max()
    # Smaller deviations may be rounding, and Outputs refuses those that are too large for it.
    if low < -_SUM_TOLERANCE or high > 1 + _SUM_TOLERANCE:
        return f"they lie between {low:.3g} and {high:.3g}"
    if net.predict_nonlinearity != "auto":
        return None  # the user has declared that they are probabilities
    sums = values.sum(axis=1)
    if np.abs(sums - 1).max() > _SUM_TOLERANCE:
        return f"the probabilities of a record sum to between {sums.min():.3g} and {sums.max():.3g}"
    return None
