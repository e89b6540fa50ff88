"""Numbers that users pass to functions, and how a value is shown in a message."""

from numbers import Integral, Real

import numpy as np

from .visible import visible

LARGEST = np.finfo(np.float64).max
SMALLEST = np.finfo(np.float64).tiny
_WIDTH = 80


def show(value):
    """A value in one line of bounded length."""
    text = visible(" ".join(repr(value).split()))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def check_number(value, name, allowed, low=-LARGEST, high=LARGEST, *, whole=False):
    """Return one number of [low, high] as it is.

    Parameters
    ----------
    value : object
        What was given; a boolean is not a number.
    name : str
        Name of the parameter, for the message.
    allowed : str
        What it may be, for the message.
    low, high : float
        Both ends are allowed.
    whole : bool, default=False
        Whether it must be an integer.

    Raises
    ------
    ValueError
        Names the parameter, what is allowed and what was got.
    """
    kind = Integral if whole else Real
    is_number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    # Not with numpy's floats, which cannot be compared with integers of any size.
    if not is_number or not float(low) <= value <= float(high):
        raise ValueError(f"{name} must be {allowed}; got {show(value)}.")
    return value


def as_numbers(values, name, allowed):
    """Return numbers as a float64 array."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {allowed}; got {show(values)}.") from None


def check_numbers(values, name, allowed, low=-LARGEST, high=LARGEST):
    """Return numbers as a float64 array, or say which one is not within [low, high]."""
    array = as_numbers(values, name, allowed)
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise ValueError(f"{name} must be {allowed}; got {array[bad].flat[0]}.")
    return array


def check_broadcast(**arrays):
    """Return arrays of numbers in their common shape.

    Raises
    ------
    ValueError
        If they have none.
    """
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{np.shape(one)}" for one in arrays.values())
        raise ValueError(
            f"{', '.join(arrays)} must be numbers or arrays of one shape; got shapes {shapes}."
        ) from None
