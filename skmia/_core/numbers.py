"""Checks of numbers and arrays that users pass, and the display of a value in a message."""

from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy import sparse

from .containers import is_tensor, refuse_masked, to_numpy
from .escaping import visible

LARGEST = np.finfo(np.float64).max
SMALLEST = np.finfo(np.float64).tiny
# More rows, draws or rounds are never possible.
MOST = 2**31 - 1
_WIDTH = 80


def show(value):
    """Show a value on one line of bounded length, a number of numpy as one of Python."""
    if isinstance(value, np.number | np.bool_ | np.str_):
        value = value.item()
    text = visible(" ".join(repr(value).split()))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def refuse_first(sentences, start=""):
    """Refuse something by the first sentence on what is wrong with it, if there is one."""
    for sentence in sentences:
        raise ValueError(f"{start}{sentence}")


def check_number(value, name, allowed, low=-LARGEST, high=LARGEST, *, whole=False):
    """Check a number in [low, high] and return it unchanged."""
    kind = Integral if whole else Real
    is_number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    # Python floats are used, because numpy's cannot be compared with integers of any size.
    if not is_number or not float(low) <= value <= float(high):
        raise ValueError(f"{name} must be {allowed}; got {show(value)}.")
    return value


def check_count(value, name, low=1, high=MOST):
    """Check an integer in [low, high] and return it as an int."""
    last = "2**31 - 1" if high == MOST else high
    return int(check_number(value, name, f"an integer from {low} to {last}", low, high, whole=True))


def to_array(values, name, must="be an array", dtype=None):
    """Convert values, such as a list, a column or a tensor with gradients, to an array."""
    refuse_masked(values, name)
    if sparse.issparse(values):  # numpy makes one object of it
        raise ValueError(f"{name} must {must}; got a sparse matrix. Convert it with toarray().")
    if is_tensor(values):
        values = to_numpy(values)
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        if dtype is None and isinstance(error, TypeError):
            raise  # from a container of ours, whose message says what to do
        raise ValueError(f"{name} must {must}; got {show(values)}.") from None


def make_room(array, values):
    """Return an array in its type, or in a wider one that does not cut values off as they are set.

    Whole numbers would lose fractions and wrap around, and text would lose its end; floats round.
    """
    values = np.asarray(values)
    if array.dtype.kind not in "biuU":
        return array
    with np.errstate(invalid="ignore"):
        is_held = np.array_equal(values.astype(array.dtype), values)
    return array if is_held else array.astype(np.result_type(array, values))


def are_consecutive(numbers):
    """Return whether each of some whole numbers follows the one before."""
    span = len(numbers) - 1
    return span < 0 or bool(numbers[-1] - numbers[0] == span and (np.diff(numbers) > 0).all())


def as_series(values, infers=False):
    """Return a column, with objects in the type that all of them have if it ``infers``."""
    try:
        column = pd.Series(values)
        return column.infer_objects() if infers else column
    except UnicodeEncodeError:  # half a character, which text of Arrow cannot hold
        return pd.Series(values, dtype=object)


def denullify(array):
    """Convert objects of a nullable column to numbers, with NaN for missing values."""
    if array.dtype != object:
        return array
    filled = np.where(pd.isna(array), np.nan, array).reshape(-1)
    return as_series(filled, infers=True).to_numpy().reshape(array.shape)


def are_allowed_numbers(array, allowed):
    """Return whether an array only holds numbers that are allowed."""
    return array.dtype.kind in "biuf" and bool(np.isin(array, allowed).all())


def as_numbers(values, name, allowed):
    """Return numbers as a float64 array."""
    return to_array(values, name, f"be {allowed}", np.float64)


def check_numbers(values, name, allowed, low=-LARGEST, high=LARGEST):
    """Return numbers as a float64 array after checking that all are in [low, high]."""
    array = as_numbers(values, name, allowed)
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise ValueError(f"{name} must be {allowed}; got {array[bad].flat[0]}.")
    return array


def check_broadcast(**arrays):
    """Broadcast arrays of numbers to their common shape."""
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{np.shape(array)}" for array in arrays.values())
        raise ValueError(
            f"{', '.join(arrays)} must be numbers or arrays of one shape; got shapes {shapes}."
        ) from None
