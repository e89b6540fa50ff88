"""Checks of the arguments of a white box."""

import numpy as np

from ..._core.checks import check_option
from ..._core.numbers import show, to_array


def check_inputs(inputs):
    """Inputs as an array of numbers with one row for each of at least one record."""
    inputs = to_array(inputs, "inputs", "be an array of numbers, as encode(X) makes it")
    if inputs.ndim < 2 or not len(inputs) or inputs.dtype.kind not in "biuf":
        raise ValueError(
            "inputs must be an array of numbers with one row for each of one or more records, as "
            f"encode(X) makes it; got an array of {inputs.dtype} of shape {inputs.shape}."
        )
    return inputs


def check_answers(forward, start):
    """A forward pass whose first record is at a position, where no answer is NaN."""
    bad = np.isnan(forward.raw).any(axis=1)
    if bad.any():
        raise ValueError(
            f"The model returned NaN for the record at position {start + bad.argmax()}."
        )
    return forward


def check_classifier(classes):
    """Check that there are classes to have logits of."""
    if classes is None:
        raise ValueError("A regressor has no logits; outputs(inputs) gives its values.")


def check_wrt(wrt, white_box):
    """Check what gradients are taken with respect to."""
    if (
        check_option(wrt, "wrt", ("parameters", "inputs")) == "parameters"
        and not white_box.n_parameters
    ):
        raise ValueError("The model has no trained parameters.")


def check_parameters(names, shapes):
    """Names of parameters as a list; if None, the weights of the last layer."""
    if names is None:
        return [name for name, shape in shapes.items() if len(shape) > 1][-1:]
    if isinstance(names, str) or not np.iterable(names):
        raise ValueError(f"parameters must be a sequence of names; got {show(names)}.")
    for name in names:
        if not isinstance(name, str) or name not in shapes:
            raise ValueError(f"Unknown parameter {name!r}; the parameters are {', '.join(shapes)}.")
    return list(names)
