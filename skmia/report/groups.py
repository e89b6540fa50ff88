"""By what the numbers of an audit are broken down."""

import numpy as np
import pandas as pd

from .._core.groups import read_names
from .._core.numbers import show

OVERALL = "overall"
EVERYONE = "all"
CLASS = "class"
MISSING = "(missing)"

# A table with very many rows is a sign that the field is an identifier or a number.
_MOST_GROUPS = 100

# Classes that are listed without being asked for.
_MOST_CLASSES = 20


def list_subsets(records, group, *, classes=False):
    """The records as a whole, by the values of fields, and by class.

    Parameters
    ----------
    records : Records of n records
    group : str, sequence of str or None
        Names of fields.
    classes : bool, default=False
        Whether to add the classes of the task, where there are no more than twenty.

    Returns
    -------
    subsets : list of (scope, group, mask)
        Names of the scope and the group, and a mask of shape (n,). Records without a value are a
        group of their own.

    Raises
    ------
    ValueError
        When the field does not exist, or it has too many values or none.
    """
    subsets = [(OVERALL, EVERYONE, np.ones(len(records), dtype=bool))]
    fields = [group] if isinstance(group, str) else [] if group is None else group
    if not isinstance(fields, list | tuple) or not all(isinstance(one, str) for one in fields):
        raise TypeError(f"group must name a field of the records, or several; got {show(group)}.")
    if OVERALL in fields:
        raise ValueError(
            f"group must not name a field {OVERALL!r}, as the report calls all records."
        )
    for field in dict.fromkeys(fields):
        subsets += _split(field, _read_names(records, field))
    if classes and CLASS not in fields:
        labels, codes = np.unique(records.y, return_inverse=True)
        if 2 <= len(labels) <= _MOST_CLASSES:
            subsets += _split(CLASS, labels.astype(str)[codes])
    return subsets


def _split(scope, names):
    return [(scope, str(name), names == name) for name in np.unique(names)]


def _read_names(records, field):
    values = pd.Series(read_names(records, field)).astype(object)
    missing = values.isna().to_numpy()
    if missing.all():
        raise ValueError(f"The field {field!r} has no value for any record.")
    names = np.array([MISSING if none else str(value) for value, none in zip(values, missing)])
    n_names = len(np.unique(names))
    if n_names > _MOST_GROUPS:
        raise ValueError(
            f"The field {field!r} has {n_names} values; at most {_MOST_GROUPS} groups are "
            "reported, so put the values into bands."
        )
    return names


def get_people(records, membership):
    """Who each record belongs to, where records were assigned to a side together.

    These are the values of ``group_by``, or else equal records when none of them is on both sides:
    assigned one by one, some would be.

    Parameters
    ----------
    records : Records of n records
    membership : ndarray of shape (n,), dtype bool

    Returns
    -------
    people : ndarray of shape (n,) or None
        None where records were assigned one by one.
    """
    if "group_by" in records.fields:
        return records["group_by"]
    _, copies = np.unique(records.fingerprint, return_inverse=True)
    n_copies, n_members = np.bincount(copies), np.bincount(copies, membership)
    is_mixed = (n_members > 0) & (n_members < n_copies)
    return None if is_mixed.any() or n_copies.max() == 1 else copies
