"""Helpers of signals and attacks that query the victim with changed records."""

import numpy as np
import pandas as pd
from scipy import sparse

from .._core.asking import query_victim
from .._core.containers import is_frame, is_tensor, to_numpy
from .._core.numbers import SMALLEST, check_numbers
from ._confidence import Correctness


def as_numbers(X, who):
    """Return the numbers in a container of rows, and a function that restores the container.

    Raises
    ------
    ValueError
        If it is sparse or holds something else; the message says who changes the features.
    """
    changes = f"{who} changes every feature by a number"
    if sparse.issparse(X):
        raise ValueError(f"{changes}; X must not be sparse.")
    if is_tensor(X):
        return to_numpy(X), lambda values: X.new_tensor(values)
    if is_frame(X):
        for name, dtype in X.dtypes.items():
            if not pd.api.types.is_numeric_dtype(dtype):
                raise ValueError(f"{changes}; {name!r} holds no numbers.")
        values = X.to_numpy()
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{changes}; some of X are missing.")
        return values, lambda values: pd.DataFrame(values, columns=X.columns)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{changes}; X holds no numbers but {X.dtype}.")
    return X, lambda values: values


def as_scale(scale, shape, who):
    """One positive unit for each feature, of the shape of one record.

    Raises
    ------
    ValueError
        If there is another number of units than of features.
    """
    scale, size = np.ravel(check_scale(scale)), int(np.prod(shape))
    if len(scale) not in (1, size):
        raise ValueError(
            f"scale of {who} must be one number or one for each of {size} features; "
            f"got {len(scale)}."
        )
    return np.broadcast_to(scale, size).reshape(shape)


def check_scale(scale):
    """Return units, one or more numbers above 0."""
    return check_numbers(scale, "scale", "above 0", SMALLEST)


def is_right(victim, rows, y, who):
    """Whether the predicted class is the label.

    Raises
    ------
    ValueError
        If the victim is a regressor, or does not know a label.
    """
    answers = query_victim(victim, rows)
    if answers.kind == "value":
        raise ValueError(f"{who} needs a classifier; got a regressor.")
    if answers.kind == "label" and not hasattr(victim, "classes_"):
        return answers.values == y  # a batch need not contain every label
    return Correctness()(answers, y) == 1
