"""Keys by which users select records and outputs."""

import numbers

import numpy as np

from .numbers import show, to_array


def check_positions(key, n_records):
    outside = (key < -n_records) | (key >= n_records)
    if outside.any():
        raise IndexError(
            f"Record {key[outside.argmax()]} was requested; there are {n_records} records."
        )


def _is_whole(key):
    """Whether the parts of a slice are integers or None."""
    parts = (key.start, key.stop, key.step)
    return key.step != 0 and all(part is None or hasattr(part, "__index__") for part in parts)


def as_key(key, n_records):
    """Turn any row selection into a slice or an index array."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]
    if isinstance(key, slice) and _is_whole(key):
        # Tensors do not support slices with negative steps.
        return key if key.step is None or key.step > 0 else np.arange(n_records)[key]
    if isinstance(key, numbers.Integral) and not isinstance(key, bool | np.bool_):
        if not -n_records <= key < n_records:
            raise IndexError(f"Record {key} was requested; there are {n_records} records.")
        return np.array([int(key)])
    given = key
    try:
        key = to_array(key, "The key")
    except ValueError:  # lists of different lengths, or a masked array
        key = np.asarray(None)
    if key.ndim == 1 and key.dtype == bool:
        if len(key) != n_records:
            raise IndexError(f"The mask has {len(key)} entries; there are {n_records} records.")
        return np.flatnonzero(key)
    if key.ndim == 1 and (key.dtype.kind in "iu" or key.size == 0):
        check_positions(key, n_records)
        return key.astype(np.intp)
    raise IndexError(
        "Records are selected by an integer, a slice, an array of integers or a boolean mask; "
        f"got {show(given)}."
    )
