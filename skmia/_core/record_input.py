"""Checks of the fields, labels and columns from which records are made."""

import warnings
from numbers import Real

import numpy as np
import pandas as pd

from .containers import is_tensor, read_only
from .numbers import LARGEST, show, to_array
from .outputs import Outputs
from .visible import visible

_MOST_NAMES = 30  # of columns, in a message
_RESERVED = frozenset({"X", "y", "fields"})


def as_array(values, name):
    """Convert values to an array in which missing values can still be found."""
    array = to_array(values, name, "hold one value for each record")
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # In a list of strings, numpy would convert NaN to the string "nan".
        objects = np.asarray(values, dtype=object)
        return objects if pd.isna(objects).any() else array
    return array


def check_one_type(y):
    """Refuse labels of several types, or of a type without an order."""
    if y.dtype != object:
        return
    try:
        np.unique(y)
    except (TypeError, ValueError):  # several types, or a type without an order
        kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
        raise ValueError(
            f"y must hold labels of one type, such as all text or all numbers; got {kinds}. "
            "Convert them, for example with astype(str)."
        ) from None
    if any(isinstance(label, Real) and abs(label) > float(LARGEST) for label in y.tolist()):
        raise ValueError("y must hold numbers that a float can hold, or text; convert larger ones.")


def as_labels(y, n_records):
    y = as_array(y, "y")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1:
        advice = "; skmia.victims.OneOutput attacks one of several outputs" if y.ndim == 2 else ""
        raise ValueError(
            f"y must hold one task label per record; got an array of shape {y.shape}{advice}."
        )
    if len(y) != n_records:
        raise ValueError(f"X has {n_records} records and y has {len(y)} labels.")
    missing = pd.isna(y)
    if missing.any():
        raise ValueError(
            f"y has no label for {missing.sum()} of {n_records} records, "
            f"first at position {missing.argmax()}."
        )
    if y.dtype == object:  # from a nullable column; scikit-learn does not accept objects as classes
        y = pd.Series(y).infer_objects().to_numpy()
    check_one_type(y)
    return read_only(y)


def as_ids(ids):
    """Check identifiers; each record needs its own."""
    ids = as_array(ids, "ids")
    if ids.ndim != 1 or not len(ids) or pd.isna(ids).any():
        raise ValueError(f"ids must hold one identifier for each record; got {show(ids)}.")
    again = pd.Series(ids).duplicated()
    if again.any():
        first = ids[again].tolist()[0]
        raise ValueError(f"ids must be all different; {show(first)} occurs more than once.")
    return ids


def as_field(name, values, n_records):
    if not name.isidentifier() or name in _RESERVED:
        raise ValueError(
            f"A field needs a name that is an identifier other than X and y; got {show(name)}."
        )
    if values is None:
        raise ValueError(f"Field {name!r} is None; leave it out instead.")
    if not (isinstance(values, Outputs) or is_tensor(values)):
        values = read_only(as_array(values, f"Field {name!r}"))
    if getattr(values, "ndim", 1) == 0 or len(values) != n_records:
        size = "is a scalar" if getattr(values, "ndim", 1) == 0 else f"has {len(values)} values"
        raise ValueError(f"X has {n_records} records and field {name!r} {size}.")
    return values


def check_order(fields, y):
    """Warn if stored outputs seem to be of another kind or in another order."""
    if y is not None and isinstance(fields.get("outputs"), Outputs):
        from .order import warn_of_given

        warn_of_given(fields["outputs"], y, stacklevel=4)


def check_column(frame, column):
    try:
        known = column in frame.columns
    except TypeError:  # a list or an array, or a string if column names are dates
        known = False
    if not known:
        names = ", ".join(map(visible, frame.columns[:_MOST_NAMES]))
        more = ", ..." if len(frame.columns) > _MOST_NAMES else ""
        raise ValueError(f"Unknown column {show(column)}; the columns are {names}{more}.")


def warn_of_rows(X, given, stacklevel=3):
    """Warn if values of pandas have the row labels of X in another order.

    Parameters
    ----------
    X : container of n rows
    given : dict of str to array-like of shape (n,)
        Values that belong to the rows, by their position, under the names of parameters.
    stacklevel : int, default=3
        As for :func:`warnings.warn`.
    """
    rows = getattr(X, "index", None)
    for name, values in given.items():
        own = getattr(values, "index", None)
        if not isinstance(rows, pd.Index) or not isinstance(own, pd.Index) or own.equals(rows):
            continue
        if len(own) == len(rows) and own.is_unique and rows.is_unique and own.isin(rows).all():
            warnings.warn(
                f"{name} has the index of X in another order, and values belong to rows by their "
                f"position. Use {name}.loc[X.index], or {name}.to_numpy() if the positions are "
                "right.",
                UserWarning,
                stacklevel=stacklevel,
            )
