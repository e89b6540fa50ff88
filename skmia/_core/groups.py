"""Numbering of the groups of records."""

from collections.abc import Hashable
from numbers import Integral

import numpy as np
import pandas as pd
from scipy import sparse

from .containers import as_table, in_memory, take_column
from .numbers import show, to_array

# What to fill in where the person of a record is unknown, and where its group is.
_OWN_VALUES = "with a different one for each record whose group is unknown"
ONE_NAME = "with one name, such as 'unknown', for all records whose group is unknown"


def number_groups(values, n_records, name="group_by", unknown=_OWN_VALUES):
    """Number the groups of records in the order of their sorted names."""
    values = to_array(values, name, f"hold one value for each of {n_records} records")
    if values.shape != (n_records,):
        raise ValueError(
            f"{name} needs one value for each of {n_records} records; got shape {values.shape}."
        )
    values = _as_names(values)
    missing = pd.isna(values)
    if missing.any():
        # Taken for one group, records of unknown persons would be kept together as one person's.
        raise ValueError(
            f"{name} has no value for {missing.sum()} of {n_records} records, first at position "
            f"{missing.argmax()}. Fill in the values, {unknown}, or leave these records out."
        )
    return sorted_values(values, name, return_inverse=True)


def read_names(records, field):
    """Return the values of a field that names the group of each record.

    NaN and None where it is unknown.
    """
    if not isinstance(field, str) or field not in records.fields:
        have = ", ".join(records.fields) or "none"
        raise ValueError(
            f"group must name a field of the records; got {show(field)}, they have {have}."
        )
    names = to_array(records[field], f"Field {field!r}")
    one_each = names.ndim == 1
    if one_each and names.dtype.kind in "OV":
        one_each = all(np.ndim(name) == 0 and isinstance(name, Hashable) for name in names.tolist())
    if not one_each:
        raise ValueError(f"The field {field!r} must hold one name for each record; some are lists.")
    return _as_names(names)


def place_names(names, known):
    """Return the position of each name among different ones that are known, -1 for others."""
    known, names = (pd.Index(values, tupleize_cols=False) for values in (known, names))
    return known.get_indexer(names)


def find_groups(records, group, name="group"):
    """Return the group of each record: a field, a column of X, or an array that is given."""
    if isinstance(group, str | Integral) and not isinstance(group, bool):
        if isinstance(group, str) and group in records.fields:
            return read_names(records, group)
        return _take_group_column(records.X, group, records.fields, name)
    shape = to_array(group, name, f"hold one value for each of {len(records)} records").shape
    if shape != (len(records),):
        raise ValueError(
            f"{name} needs one value for each of {len(records)} records; got shape {shape}. Name a "
            "column of X or a field of the records instead, which is split with them."
        )
    records._warn_of_rows({name: group})
    return group


def _take_group_column(X, group, fields, name):
    table = as_table(X)
    columns = [] if table is None else list(table.columns)
    if group in columns:
        if columns.count(group) > 1:
            raise ValueError(f"X has {columns.count(group)} columns {show(group)}; give one.")
        return np.asarray(take_column(table, group))
    n_columns = X.shape[1] if table is None and X.ndim == 2 else 0
    if not isinstance(group, str) and 0 <= group < n_columns:
        column = in_memory(X)[:, [group]]
        return np.asarray(column.toarray() if sparse.issparse(column) else column).ravel()
    have = ", ".join(map(str, columns)) or (f"0 to {n_columns - 1}" if n_columns else "none")
    raise ValueError(
        f"{name}={show(group)} is not a field of the records, nor a column of X: the fields are "
        f"{', '.join(fields) or 'none'}, the columns {have}. Name one of them, or give the group "
        "of each record."
    )


def _as_names(values):
    """Return numbers in the types that pandas has an index of."""
    if values.dtype == object:
        odd = [isinstance(value, np.float16 | np.longdouble) for value in values]
        odd = np.array(odd, dtype=bool)
        values = values.copy()
        values[odd] = values[odd].astype(np.float64)
        return values
    is_odd = values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8)
    return values.astype(np.float64) if is_odd else values


def sorted_values(values, name, **kwargs):
    """Return distinct values, as :func:`numpy.unique` finds them."""
    try:
        return np.unique(values, **kwargs)
    except (TypeError, ValueError):  # text beside numbers; lists of different lengths
        lacks = pd.isna(pd.Series(np.ravel(values), dtype=object))
        if lacks.any():
            raise ValueError(
                f"{name} has a missing value in {lacks.sum()} of {len(lacks)} rows, first in row "
                f"{lacks.argmax()}; leave these rows out, or give them a value of their own."
            ) from None
        kinds = ", ".join(sorted({type(value).__name__ for value in np.ravel(values).tolist()}))
        raise ValueError(
            f"{name} must hold values of one type, such as all text or all numbers; got {kinds}. "
            "Convert them, for example with astype(str)."
        ) from None


def check_class_labels(classes):
    """Return the labels of columns, which are of one type and all different."""
    allowed = "one or more different labels"
    labels = to_array(classes, "classes", f"be {allowed}")
    usable = labels.ndim == 1 and len(labels) and not pd.isna(labels).any()
    if not usable or len(sorted_values(labels, "classes")) < len(labels):
        raise ValueError(f"classes must be {allowed}; got {show(classes)}.")
    return labels


def locate_labels(classes, y):
    """Return the place of each label among classes in any order, and whether it is there."""
    order = np.argsort(classes)
    try:
        place = np.searchsorted(classes, y, sorter=order)
    except TypeError:  # of another type than the classes
        return np.zeros(len(y), dtype=np.intp), np.zeros(len(y), dtype=bool)
    place = order[np.minimum(place, len(classes) - 1)]
    return place, classes[place] == y


def sum_by_group(values, codes, n_groups):
    """Return the sum of each group, in double precision.

    Values are added in their own order, not that of the records: groups of equal values tie.
    """
    values = np.asarray(values)
    if values.dtype.kind == "f":  # sums of others are exact in any order
        values = values.astype(np.float64, copy=False)
        order = np.argsort(values)
        values, codes = values[order], codes[order]
    return np.bincount(codes, weights=values, minlength=n_groups)


def mean_by_group(values, codes, n_groups):
    """Return the mean of each group, NaN where it has no record.

    Groups of equal values tie, and so do groups of one value, of whatever sizes.
    """
    least = np.full(n_groups, np.inf)
    np.minimum.at(least, codes, values)
    count = np.bincount(codes, minlength=n_groups)
    above = sum_by_group(values - least[codes], codes, n_groups)
    return np.divide(above, count, out=np.full(n_groups, np.nan), where=count > 0) + least
