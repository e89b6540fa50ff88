"""Margins of shadow models and their gradients, for attacks that make one query per record."""

import numpy as np

from .._core.numbers import as_numbers as as_array
from .._core.numbers import show
from ..signals._perturbation import as_rows_of_numbers
from ..victims import open_white_box

# Kinds of outputs that tell the predicted label.
CLASSES = frozenset({"proba", "logits", "decision", "label"})


def compute_margin(box, points, y):
    """Return by how much the logit of the label exceeds the others, and its gradient."""
    logits, row = box.logits(points), np.arange(len(points))
    label = np.searchsorted(box.classes, y)
    own = logits[row, label]
    logits[row, label] = -np.inf
    other = logits.argmax(axis=1)
    weights = np.zeros_like(logits)
    weights[row, label], weights[row, other] = 1, -1
    return own - logits[row, other], box.logit_gradient(points, weights)


def as_values(X, who):
    """Return the features as floating-point numbers, and a function that restores the container."""
    values, restore = as_rows_of_numbers(X, who)
    return values.astype(values.dtype if values.dtype.kind == "f" else float), restore


def open_boxes(records, models, who):
    """Open models, and check that they take the features of the records."""
    boxes, values = [open_white_box(model) for model in models], as_values(records.X, who)[0]
    for box in boxes:
        _check_features(box, records.X, values, who)
    return boxes


def _check_features(box, X, values, who):
    """Check that a model takes the features as they are.

    Raises
    ------
    ValueError
        If it transforms them, or is a regressor.
    """
    if box.classes is None:
        raise ValueError(f"{who} needs classifiers; got a pool of regressors.")
    inputs = box.encode(X)
    if inputs.shape != values.shape or not np.array_equal(inputs, values.astype(inputs.dtype)):
        raise ValueError(
            f"{who} changes the features that the shadow models take, and these models "
            "transform them first; transform the features of the records instead."
        )


def check_bounds(bounds):
    """Check the smallest and the largest value of a feature, if there are any.

    Raises
    ------
    ValueError
        If they are not two numbers in order.
    """
    if bounds is None:
        return
    ends = as_array(bounds, "bounds", "two numbers")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"bounds must be two numbers, the smaller one first; got {show(bounds)}.")


def check_labels(records, pool):
    """Check that the shadow models know the labels of the records.

    Raises
    ------
    ValueError
        If they do not.
    """
    unknown = np.flatnonzero(~np.isin(records.y, pool.classes_))
    if len(unknown):
        raise ValueError(
            f"{len(unknown)} of {len(records)} records have a task label that no shadow model "
            f"knows, first {show(records.y[unknown[0]])} at position {unknown[0]}."
        )
