"""Checks of outputs of models, by what they hold for a record."""

import numpy as np

from .groups import check_columns
from .numbers import to_array
from .probabilities import check_answered, round_into_bounds

# Kinds with one number per record, and what it is.
NUMBERS = {"value": "value", "log_odds": "number"}


def check_classes(classes, kind):
    """Return the labels of columns, which must be given."""
    if classes is None:
        raise ValueError(f"Outputs of kind {kind!r} need the classes of their columns.")
    return check_columns(classes)


def check_single(values, kind):
    """Return one label or number for each record, of shape (n,)."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"The model must return one {NUMBERS.get(kind, kind)} per record; "
            f"got an array of shape {values.shape}."
        )
    if kind in NUMBERS:
        # Log odds keep their precision, which tells how near to 1 a probability could be.
        is_precise = kind == "log_odds" and values.dtype in (np.float32, np.float64)
        dtype = values.dtype if is_precise else np.float64
        values = to_array(values, f"Answers of kind {kind!r}", "hold numbers", dtype)
        check_answered(values[:, None])
    return values


def check_matrix(values, classes, kind):
    """Return one number for each record and class, of shape (n, n_classes)."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"The model must return numbers; got an array of {values.dtype}.")
    if values.ndim != 2 or values.shape[1] != len(classes):
        raise ValueError(
            f"The model must return one number for each of its {len(classes)} classes; "
            f"got an array of shape {values.shape}."
        )
    check_answered(values)
    return round_into_bounds(values) if kind == "proba" and values.size else values


def show_classes(classes):
    """The first classes as a list, for a message."""
    shown = [repr(label) for label in classes[:10].tolist()]
    return f"[{', '.join(shown)}{', ...' if len(classes) > 10 else ''}]"
