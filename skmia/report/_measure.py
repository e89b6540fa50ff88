"""The numbers of an audit: one row for every attack, group of records and metric."""

import numpy as np
import pandas as pd

from ..metrics import advantage_interval, auc_interval, tpr_at_fpr

COLUMNS = (
    "attack",
    "scope",
    "group",
    "metric",
    "max_fpr",
    "estimate",
    "low",
    "high",
    "fpr",
    "fpr_low",
    "fpr_high",
    "n_members",
    "n_nonmembers",
    "status",
)

OVERALL = "overall"
EVERYONE = "all"
MISSING = "(missing)"

OK = "ok"
NOT_RESOLVABLE = "not resolvable"
TOO_FEW = "too few records"

# With a single member or non-member a rate is 0 or 1 and its interval nearly all of [0, 1].
FEWEST = 2

# A table of more rows than anybody reads is a sign that the field is an identifier or a number.
_MOST_GROUPS = 100


def find_subsets(records, group):
    """The records as a whole and by the values of a field.

    Parameters
    ----------
    records : Records of n records
    group : str or None
        Name of a field.

    Returns
    -------
    subsets : list of (scope, group, mask)
        Names of the scope and the group, and a mask of shape (n,). Records without a value are a
        group of their own.

    Raises
    ------
    ValueError
        When there is no such field, or it has too many values or none.
    """
    subsets = [(OVERALL, EVERYONE, np.ones(len(records), dtype=bool))]
    if group is None:
        return subsets
    if group not in records.fields:
        have = ", ".join(records.fields) or "none"
        raise ValueError(
            f"group must name a field of the records; got {group!r}, they have {have}."
        )
    values = pd.Series(np.asarray(records[group])).astype(object)
    missing = values.isna().to_numpy()
    if missing.all():
        raise ValueError(f"The field {group!r} has no value for any record.")
    names = np.array([MISSING if none else str(value) for value, none in zip(values, missing)])
    distinct = np.unique(names)
    if len(distinct) > _MOST_GROUPS:
        raise ValueError(
            f"The field {group!r} has {len(distinct)} values; at most {_MOST_GROUPS} groups are "
            "reported, so put the values into bands."
        )
    return subsets + [(group, str(name), names == name) for name in distinct]


def measure(name, scores, guesses, membership, subsets, fprs, confidence_level):
    """Measure one attack on all records and on each group.

    Parameters
    ----------
    name : str
        Name of the attack.
    scores : ndarray of shape (n,)
        Higher = more likely a member.
    guesses : ndarray of shape (n,), dtype bool
        Guesses at the attack's own threshold.
    membership : ndarray of shape (n,), dtype bool
        The truth.
    subsets : list of (scope, group, mask)
        As given by :func:`find_subsets`.
    fprs : sequence of float
        False positive rates.
    confidence_level : float
        Of every interval.

    Returns
    -------
    rows : list of dict
        With the keys ``COLUMNS``.
    """
    rows = []
    for scope, group, mask in subsets:
        truth = membership[mask]
        n_members = int(truth.sum())
        n_nonmembers = len(truth) - n_members
        if min(n_members, n_nonmembers) < FEWEST:
            numbers = _too_few(fprs)
        else:
            numbers = _measure_subset(scores[mask], guesses[mask], truth, fprs, confidence_level)
        counts = {"n_members": n_members, "n_nonmembers": n_nonmembers}
        rows += [{"attack": name, "scope": scope, "group": group, **counts, **n} for n in numbers]
    return rows


def _number(metric, interval=(np.nan,) * 3, *, max_fpr=np.nan, fpr=(np.nan,) * 3, status=OK):
    numbers = dict(zip(("estimate", "low", "high"), interval))
    rates = dict(zip(("fpr", "fpr_low", "fpr_high"), fpr))
    return {"metric": metric, "max_fpr": max_fpr, **numbers, **rates, "status": status}


def _too_few(fprs):
    plain = [_number(metric, status=TOO_FEW) for metric in ("auc", "advantage")]
    return plain + [_number("tpr", max_fpr=max_fpr, status=TOO_FEW) for max_fpr in fprs]


def _measure_subset(scores, guesses, truth, fprs, confidence_level):
    level = {"confidence_level": confidence_level}
    numbers = [
        _number("auc", auc_interval(truth, scores, **level)),
        _number("advantage", advantage_interval(truth, guesses, **level)),
    ]
    for max_fpr in fprs:
        point = tpr_at_fpr(truth, scores, max_fpr, on_unresolvable="ignore", **level)
        if point.resolvable:
            tpr = (point.tpr, point.tpr_low, point.tpr_high)
            fpr = (point.fpr, point.fpr_low, point.fpr_high)
            numbers.append(_number("tpr", tpr, max_fpr=max_fpr, fpr=fpr))
        else:
            numbers.append(_number("tpr", max_fpr=max_fpr, status=NOT_RESOLVABLE))
    return numbers
