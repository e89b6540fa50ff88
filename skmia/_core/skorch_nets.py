"""What is particular to the answers of skorch nets."""

import numpy as np

from .outputs import Outputs

# Probabilities in bfloat16 are rounded by up to 0.4% each, and so are the sums of a row.
_SUM_TOLERANCE = 0.01


def is_skorch(model):
    """Whether a model is a skorch net, or of a class made from one."""
    return any(base.__module__.startswith("skorch.") for base in type(model).__mro__)


def gives_logits(model):
    """Whether a skorch net's module ends in logits, to which skorch itself applies the link."""
    criterion = type(getattr(model, "criterion_", None)).__name__
    return (
        is_skorch(model)
        and getattr(model, "predict_nonlinearity", None) == "auto"
        and criterion in ("CrossEntropyLoss", "BCEWithLogitsLoss")
    )


def query_logits(net, X):
    """Logits of a net for which :func:`gives_logits` holds."""
    answers = _as_numpy(net.forward_iter(X))
    parts = [part[0] if isinstance(part, tuple) else part for part in answers]
    if not parts:
        raise ValueError("A net is asked about at least 1 record; got 0.")
    logits = np.concatenate(parts)
    if logits.ndim == 1 or logits.shape[1] == 1:
        logits = np.column_stack([np.zeros(len(logits), logits.dtype), logits.ravel()])
    return Outputs(logits, skorch_classes(net, logits.shape[1]), "logits")


def _as_numpy(batches):
    from skorch.utils import to_numpy

    return (to_numpy(batch) for batch in batches)


def skorch_classes(net, n_columns):
    """Labels of the columns of a net's answers."""
    # skorch lists the labels of the training rows, but labels are the numbers of the output units:
    # a class that is absent from the rows keeps its unit.
    classes = np.asarray(net.classes_)
    return classes if len(classes) == n_columns else np.arange(n_columns)


def query_proba(net, X):
    """Class probabilities of a net that applies its own nonlinearity.

    Raises
    ------
    ValueError
        If the answers are not probabilities, because skorch does not know the criterion.
    """
    proba = np.asarray(net.predict_proba(X))
    refusal = why_not_probabilities(net, proba)
    if refusal:
        raise ValueError(refusal)
    return Outputs(proba, skorch_classes(net, proba.shape[1]), "proba")


def why_not_probabilities(net, proba):
    """Reason why a net's answers are not class probabilities, and what to do; None if they are."""
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
        return None  # another fault, which Outputs names
    low, high = values.min(), values.max()
    # As wide as the other tolerance: Outputs says what is too far outside by rounding alone.
    if low < -_SUM_TOLERANCE or high > 1 + _SUM_TOLERANCE:
        return f"they lie between {low:.3g} and {high:.3g}"
    if net.predict_nonlinearity != "auto":
        return None  # the user says that they are probabilities
    sums = values.sum(axis=1)
    if np.abs(sums - 1).max() > _SUM_TOLERANCE:
        return f"the probabilities of a record sum to between {sums.min():.3g} and {sums.max():.3g}"
    return None
