"""What is given to records: fields, labels, and the keys by which they are selected."""

import numbers

import numpy as np
import pandas as pd

from .containers import is_tensor, read_only, refuse_masked
from .numbers import show
from .outputs import Outputs
from .visible import visible

_MOST_NAMES = 30  # of columns, in a message
_RESERVED = frozenset({"X", "y", "fields"})


def as_array(values):
    """Values as an array in which missing ones can still be found."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # numpy turns the NaN of a list of texts into the text "nan".
        objects = np.asarray(values, dtype=object)
        return objects if pd.isna(objects).any() else array
    return array


def check_one_type(y):
    """Refuse labels of which some are text and others are not."""
    kinds = {type(label).__name__ for label in y.tolist()} if y.dtype == object else ()
    if len(kinds) < 2:
        return
    try:
        np.unique(y)
    except TypeError:
        kinds = ", ".join(sorted(kinds))
        raise ValueError(
            f"y must hold labels of one type, such as all text or all numbers; got {kinds}. "
            "Convert them, for example with astype(str)."
        ) from None


def as_labels(y, n_records):
    if is_tensor(y):
        y = y.detach().cpu().numpy()
    refuse_masked(y, "y")
    y = as_array(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y must hold one task label per record; got an array of shape {y.shape}.")
    if len(y) != n_records:
        raise ValueError(f"X has {n_records} records and y has {len(y)} labels.")
    missing = pd.isna(y)
    if missing.any():
        raise ValueError(
            f"y has no label for {missing.sum()} of {n_records} records, "
            f"first at position {missing.argmax()}."
        )
    if y.dtype == object:  # numbers of a nullable column; scikit-learn takes no objects for classes
        y = pd.Series(y).infer_objects().to_numpy()
    check_one_type(y)
    return read_only(y)


def as_field(name, values, n_records):
    if not name.isidentifier() or name in _RESERVED:
        raise ValueError(
            f"A field needs a name that is an identifier other than X and y; got {name!r}."
        )
    if values is None:
        raise ValueError(f"Field {name!r} is None; leave it out instead.")
    refuse_masked(values, f"Field {name!r}")
    if not (isinstance(values, Outputs) or is_tensor(values)):
        values = read_only(as_array(values))
    if getattr(values, "ndim", 1) == 0 or len(values) != n_records:
        size = "is a scalar" if getattr(values, "ndim", 1) == 0 else f"has {len(values)} values"
        raise ValueError(f"X has {n_records} records and field {name!r} {size}.")
    return values


def check_order(fields, y):
    """Warn if answers that were collected elsewhere have their columns in another order."""
    if y is not None and isinstance(fields.get("outputs"), Outputs):
        from .order import warn_of_order

        warn_of_order(fields["outputs"], y, stacklevel=4)


def check_column(frame, column):
    try:
        known = column in frame.columns
    except TypeError:  # a list, an array, or text beside dates
        known = False
    if not known:
        names = ", ".join(map(visible, frame.columns[:_MOST_NAMES]))
        more = ", ..." if len(frame.columns) > _MOST_NAMES else ""
        raise ValueError(f"There is no column {show(column)}; the columns are {names}{more}.")


def check_positions(key, n_records):
    outside = (key < -n_records) | (key >= n_records)
    if outside.any():
        raise IndexError(
            f"Record {key[outside.argmax()]} was asked for; there are {n_records} records."
        )


def as_key(key, n_records):
    """Turn any row selection into a slice or an index array."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]
    if isinstance(key, slice):
        # Tensors have no slices that run backwards.
        return key if key.step is None or key.step > 0 else np.arange(n_records)[key]
    if isinstance(key, numbers.Integral) and not isinstance(key, bool | np.bool_):
        if not -n_records <= key < n_records:
            raise IndexError(f"Record {key} was asked for; there are {n_records} records.")
        return np.array([int(key)])
    try:
        key = np.asarray(key)
    except ValueError:  # lists of different lengths
        key = np.asarray(key, dtype=object)
    if key.ndim == 1 and key.dtype == bool:
        if len(key) != n_records:
            raise IndexError(f"The mask has {len(key)} entries; there are {n_records} records.")
        return np.flatnonzero(key)
    if key.ndim == 1 and (key.dtype.kind in "iu" or key.size == 0):
        check_positions(key, n_records)
        return key.astype(np.intp)
    raise IndexError(
        "Records are selected by an integer, a slice, an array of integers or a boolean mask; "
        f"got {show(key)}."
    )
