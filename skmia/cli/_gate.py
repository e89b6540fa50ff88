"""The gate: limits that hold, and whether the audit is conclusive."""

import numpy as np

from .._core.visible import visible
from ..report.evidence import LEAK, NONE, list_leaks
from ..report.groups import OVERALL
from ..report.measure import OK
from ..report.text import column_name, join_names
from ..report.verdict import name_part

EXCEEDED, BROKEN, INCONCLUSIVE = 1, 3, 4


def judge(report, limits, release="service"):
    """Return the exit code of an audit and the reasons for it.

    A limit without a scope holds for all records, and for each group in which leakage was found:
    a leak that the numbers over all records hide does not pass.

    Parameters
    ----------
    report : AuditReport
    limits : list of Limit
    release : {"service", "file"}, default="service"
        How the model is released. What a service answers is known to those who have the file, so
        limits on a file hold for both.

    Returns
    -------
    code : {0, 1, 4}
        0 if every limit holds and the audit is conclusive, 1 if a limit is exceeded, 4 if the audit
        is inconclusive, in general or for a number with a limit.
    reasons : list of str
        Reasons as sentences; empty for code 0.
    """
    ways = [report] if release == "service" else [report, report.file]
    outcomes = [_judge_way(way, limits) for way in ways]
    for code in (EXCEEDED, INCONCLUSIVE):
        if any(code == found for found, _ in outcomes):
            return code, [reason for found, some in outcomes if found == code for reason in some]
    return 0, []


def _judge_way(found, limits):
    """The exit code and the reasons for the answers of a model, or for its file."""
    if found is None:
        return INCONCLUSIVE, ["the model has no file at hand, or its file was not attacked"]
    exceeded, unmeasured = [], []
    for limit in limits:
        for scope, group, needed in _list_parts(found, limit):
            above, missing = _compare(found.results, limit, scope, group)
            exceeded += above
            unmeasured += missing if needed else []
    if found.evidence not in (LEAK, NONE):
        return INCONCLUSIVE, [found.verdict, *exceeded]
    if exceeded:
        return EXCEEDED, exceeded
    return (INCONCLUSIVE, unmeasured) if unmeasured else (0, [])


def _list_parts(found, limit):
    """The parts of the records to which a limit applies; whether it must be measured there."""
    if limit.scope is not None:
        return [(limit.scope, limit.group, True)]
    leaks = list_leaks(found.grounds) if found.evidence == LEAK else found.grounds.null[:0]
    hidden = not (leaks["scope"] == OVERALL).any()
    leaks = leaks[leaks["scope"] != OVERALL]
    parts = dict.fromkeys(zip(leaks["scope"], leaks["group"]))
    return [(OVERALL, "all", True), *((scope, group, hidden) for scope, group in parts)]


def _compare(frame, limit, scope, group):
    """Sentences on numbers that exceed a limit, and on those that there are not."""
    rows = frame[(frame["scope"] == scope) & (frame["group"] == group)]
    rows = rows[rows["metric"] == limit.metric]
    if limit.max_fpr is not None:
        rows = rows[(rows["max_fpr"] - limit.max_fpr).abs() < 1e-12]
    where = "" if scope == OVERALL else f" in {name_part(scope, group)}"
    name = column_name(limit.metric, limit.max_fpr) + where
    there = (rows["status"] == OK) & np.isfinite(rows[limit.column].astype(float))
    missing = list(rows.loc[~there, "attack"])
    if rows.empty or missing:
        by = f" by {join_names(map(visible, missing))}" if len(rows) and there.any() else ""
        return [], [
            f"{name} could not be measured{by}, so {visible(limit.text)} cannot be said to hold"
        ]
    worst = rows.loc[rows[limit.column].astype(float).idxmax()]
    if worst[limit.column] <= limit.value:
        return [], []
    end = "" if limit.column == "estimate" else f", whose {limit.column} end is"
    return [
        f"{name} of {visible(worst['attack'])} is {worst['estimate']:.3f} "
        f"[{worst['low']:.3f}, {worst['high']:.3f}]{end} above {limit.value:g}"
    ], []
