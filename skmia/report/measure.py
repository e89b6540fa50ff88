"""The numbers of an audit: one row for every attack, group of records and metric."""

import numpy as np
from scipy.special import expit, logit

from ..metrics import advantage_interval, auc_interval, operating_point

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

OK = "ok"
NOT_RESOLVABLE = "not resolvable"
TOO_FEW = "too few records"

# With a single member or non-member a rate is 0 or 1 and its interval nearly all of [0, 1].
FEWEST = 2


def measure(name, scores, guesses, case):
    """Measure one attack on all records and on each group.

    Parameters
    ----------
    name : str
        Name of the attack.
    scores : ndarray of shape (n,)
        Higher means more likely a member.
    guesses : ndarray of shape (n,), dtype bool
        Predictions at the attack's own threshold.
    case : Case
        The records with their membership and people, the groups, the rates and the confidence
        level. Each group is measured on its own records: the threshold of the TPR at an FPR is set
        on the group's non-members.

    Returns
    -------
    rows : list of dict
        Rows with the keys ``COLUMNS``.
    """
    rows, people = [], case.records.fields.get("group_by")
    for scope, group, mask in case.subsets:
        truth = case.membership[mask]
        n_members = int(truth.sum())
        n_nonmembers = len(truth) - n_members
        if min(n_members, n_nonmembers) < FEWEST:
            numbers = _too_few(case.fprs)
        else:
            settings = {
                "groups": None if people is None else people[mask],
                "confidence_level": case.level,
            }
            numbers = _measure_subset(scores[mask], guesses[mask], truth, case.fprs, settings)
        counts = {"n_members": n_members, "n_nonmembers": n_nonmembers}
        rows += [{"attack": name, "scope": scope, "group": group, **counts, **n} for n in numbers]
    return rows


def widen(row):
    """Widen the intervals of a cross-fitted attack, as with half as many records.

    Each fold is judged by an attack that has learned from the others. Two folds that are alike by
    chance therefore count twice, and the numbers vary as with half as many records. Limits
    are moved on the log-odds scale; if the estimate is 0 or 1, by the binomial law instead.

    Parameters
    ----------
    row : dict
        Row as returned by :func:`measure`.

    Returns
    -------
    row : dict
    """
    start, span = (-1, 2) if row["metric"] == "advantage" else (0, 1)
    estimate, low, high = ((row[name] - start) / span for name in ("estimate", "low", "high"))
    if estimate == 0:
        high = 1 - (1 - high) ** 2
    elif estimate == 1:
        low = low**2
    else:
        center, *limits = logit(np.clip([estimate, low, high], 0, 1))
        low, high = expit(center + np.sqrt(2) * (limits - center))
    return {**row, "low": start + span * float(low), "high": start + span * float(high)}


def _number(metric, interval=(np.nan,) * 3, *, max_fpr=np.nan, fpr=(np.nan,) * 3, status=OK):
    numbers = dict(zip(("estimate", "low", "high"), interval))
    rates = dict(zip(("fpr", "fpr_low", "fpr_high"), fpr))
    return {"metric": metric, "max_fpr": max_fpr, **numbers, **rates, "status": status}


def _too_few(fprs):
    plain = [_number(metric, status=TOO_FEW) for metric in ("auc", "advantage")]
    return plain + [_number("tpr", max_fpr=max_fpr, status=TOO_FEW) for max_fpr in fprs]


def _measure_subset(scores, guesses, truth, fprs, settings):
    numbers = [
        _number("auc", auc_interval(truth, scores, **settings)),
        _number("advantage", advantage_interval(truth, guesses, **settings)),
    ]
    for max_fpr in fprs:
        point = operating_point(truth, scores, max_fpr, on_unresolvable="ignore", **settings)
        if point.resolvable:
            tpr = (point.tpr, point.tpr_low, point.tpr_high)
            fpr = (point.fpr, point.fpr_low, point.fpr_high)
            numbers.append(_number("tpr", tpr, max_fpr=max_fpr, fpr=fpr))
        else:
            numbers.append(_number("tpr", max_fpr=max_fpr, status=NOT_RESOLVABLE))
    return numbers
