"""Parts of the records for which an audit reports numbers."""

import numpy as np
import pandas as pd

from .._core.groups import read_names
from .._core.numbers import show

OVERALL = "overall"
EVERYONE = "all"
CLASS = "class"
MISSING = "(missing)"

# A field with more values than this is probably an identifier or a number.
_MOST_GROUPS = 100

# Classes are listed without a request, unless there are more than this.
_MOST_CLASSES = 20


class Subsets:
    """Parts of the records: (scope, group, mask), the records as a whole first.

    Masks of many groups would take many times the memory of their numbers, so a mask is made when
    its turn comes.

    Parameters
    ----------
    n_records : int
    """

    def __init__(self, n_records):
        self._n_records, self._scopes = n_records, []

    def add(self, scope, names, codes):
        """Add the parts of a scope, by the number of the group of each record."""
        codes = codes.astype(np.min_scalar_type(len(names)), copy=False)
        self._scopes.append((scope, [str(name) for name in names], codes))

    def __len__(self):
        return 1 + sum(len(names) for _, names, _ in self._scopes)

    def __iter__(self):
        yield OVERALL, EVERYONE, np.ones(self._n_records, dtype=bool)
        for scope, names, codes in self._scopes:
            for place, name in enumerate(names):
                yield scope, name, codes == place


def list_subsets(records, group, *, classes=False):
    """List the records as a whole, by the values of fields, and by class.

    Parameters
    ----------
    records : Records of n records
    group : str, sequence of str or None
        Names of fields.
    classes : bool, default=False
        Whether to add the classes of the task, if there are at most twenty.

    Returns
    -------
    subsets : Subsets
        Names of the scope and the group, and a mask of shape (n,). Records without a value form
        their own group.

    Raises
    ------
    ValueError
        If a field does not exist, or has too many values or none.
    """
    subsets = Subsets(len(records))
    fields = [group] if isinstance(group, str) else [] if group is None else group
    if not isinstance(fields, list | tuple) or not all(isinstance(name, str) for name in fields):
        raise TypeError(f"group must name a field of the records, or several; got {show(group)}.")
    if OVERALL in fields:
        raise ValueError(
            f"group must not name a field {OVERALL!r}, because the report uses this name for all "
            "records."
        )
    for field in dict.fromkeys(fields):
        subsets.add(field, *_number_names(records, field))
    if classes and CLASS not in fields:
        labels, codes = np.unique(records.y, return_inverse=True)
        if 2 <= len(labels) <= _MOST_CLASSES:
            names, places = np.unique(labels.astype(str), return_inverse=True)
            subsets.add(CLASS, names, places[codes])
    return subsets


def _number_names(records, field):
    """Sorted names of the groups of a field, and the number of the group of each record."""
    values = pd.Series(read_names(records, field)).astype(object)
    missing = values.isna().to_numpy()
    if missing.all():
        raise ValueError(f"The field {field!r} has no value for any record.")
    names = np.array([MISSING if none else str(value) for value, none in zip(values, missing)])
    names, codes = np.unique(names, return_inverse=True)
    if len(names) > _MOST_GROUPS:
        raise ValueError(
            f"The field {field!r} has {len(names)} values; at most {_MOST_GROUPS} groups are "
            "reported, so put the values into bands."
        )
    return names, codes


def get_people(records, membership):
    """Return the person of each record if whole people were assigned to one side.

    People are the values of ``group_by``. Without this field, equal records count as one person if
    none of them is on both sides: if records had been assigned one by one, some copies would be.

    Parameters
    ----------
    records : Records of n records
    membership : ndarray of shape (n,), dtype bool

    Returns
    -------
    people : ndarray of shape (n,) or None
        Person of each record; None if records were assigned one by one.
    """
    if "group_by" in records.fields:
        return records["group_by"]
    _, copies = np.unique(records.fingerprint, return_inverse=True)
    n_copies, n_members = np.bincount(copies), np.bincount(copies, membership)
    is_mixed = (n_members > 0) & (n_members < n_copies)
    return None if is_mixed.any() or n_copies.max() == 1 else copies
