"""The gate: limits that hold, and whether the audit is conclusive."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.escaping import visible
from .._core.levels import LEAK, UNKNOWN, read_level
from .._core.text import choose_base, drop_sign, write_apart
from ..metrics import MIN_FALSE_POSITIVES
from ..report import (
    OK,
    OVERALL,
    TOO_FEW,
    column_name,
    join_names,
    list_leaks,
    name_part,
    show_way,
)
from ._options import LEVEL

# The exit codes of an audit. A limit is exceeded, or a policy says no (``_policy.py``); the program
# is at fault; the audit is inconclusive. ``_main.py`` ends with 2 where what was given cannot be
# used, with 3 after an error that nobody expected, and with 128 and the number of a signal.
CODES = 0, 1, 3, 4
_, EXCEEDED, BROKEN, INCONCLUSIVE = CODES
SERVICE, FILE = "service", "file"
VERDICT = "verdict"  # name of the finding on all numbers together


class GateFinding(NamedTuple):
    """What was asked of an audit, and what came out."""

    way: str  # of release
    name: str  # VERDICT, or a limit as the user gave it, with the group that it was applied to
    code: int  # 0 if it holds, EXCEEDED, or INCONCLUSIVE
    text: str  # what was found, as a sentence without its period; empty where a limit holds
    level: Any = None  # of the leak, of a verdict
    is_policy: bool = False  # whether a policy says it, which knows the verdict


def list_findings(report, limits, release=SERVICE):
    """List whether the audit is conclusive, and whether each limit holds.

    A limit without a scope holds for all records, and for each group in which leakage was found: a
    leak that the numbers over all records hide does not pass.
    """
    ways = {SERVICE: report.service}
    ways |= {FILE: report.file} if release == FILE else {}
    return [
        finding for way, found in ways.items() for finding in _list_way(report, way, found, limits)
    ]


def judge(findings):
    """Return the exit code of an audit and the reasons for it.

    Return code: 1 if a policy recommends no release, whatever the verdict, so that a pipeline that
    tolerates code 4 does not let it pass, or if a number of a conclusive audit exceeds a limit;
    else 4 if the audit is inconclusive, in general or for a number with a limit or in a policy;
    else 0.
    """
    outcomes = [
        _judge_way([finding for finding in findings if finding.way == way])
        for way in dict.fromkeys(finding.way for finding in findings)
    ]
    for code in (EXCEEDED, INCONCLUSIVE):
        if any(code == found for found, _ in outcomes):
            return code, [reason for found, some in outcomes if found == code for reason in some]
    return 0, []


def _judge_way(findings):
    """Return the exit code and the reasons for the answers of a model, or for its file."""
    verdict, *limits = findings
    exceeded = [finding for finding in limits if finding.code == EXCEEDED]
    unmeasured = [finding.text for finding in limits if finding.code == INCONCLUSIVE]
    doubts = [verdict.text] if verdict.code else []
    # A number above a limit may come from what makes the audit inconclusive, as other populations.
    decides = any(finding.is_policy for finding in exceeded) or not doubts
    exceeded = [finding.text for finding in exceeded]
    if exceeded and decides:
        return EXCEEDED, [*exceeded, *doubts]
    if doubts:
        return INCONCLUSIVE, [*doubts, *exceeded]
    return (INCONCLUSIVE, unmeasured) if unmeasured else (0, [])


def judge_verdict(way, screen):
    """Return the finding on all numbers together.

    What its first screen tells, and if it is a verdict.
    """
    code = INCONCLUSIVE if screen.level == UNKNOWN else 0
    return GateFinding(way, VERDICT, code, screen.told, screen.level)


def _list_way(report, way, found, limits):
    if found is None:
        text = (
            "the model has no file at hand, or its file was not attacked; give the file of the "
            "model, or ask for --release service"
        )
        return [GateFinding(way, VERDICT, INCONCLUSIVE, text)]
    findings = [judge_verdict(way, show_way(report, way))]
    for limit in limits:
        for scope, group, needed in _list_limited_parts(found, limit):
            compare = _compare_level if limit.metric == LEVEL else _compare_limit
            code, text = compare(found, limit, scope, group)
            if needed or code != INCONCLUSIVE:
                where = "" if limit.scope or scope == OVERALL else f" in {name_part(scope, group)}"
                findings.append(GateFinding(way, visible(limit.text) + where, code, text))
    return findings


def _list_limited_parts(found, limit):
    """Return parts of the records to which a limit applies; whether it must be measured there."""
    if limit.scope is not None:
        return [(limit.scope, limit.group, True)]
    leaks = list_leaks(found.grounds) if found.evidence == LEAK else found.grounds.null[:0]
    hidden = not (leaks["scope"] == OVERALL).any()
    leaks = leaks[leaks["scope"] != OVERALL]
    parts = dict.fromkeys(zip(leaks["scope"], leaks["group"]))
    return [(OVERALL, "all", True), *((scope, group, hidden) for scope, group in parts)]


def _compare_level(found, limit, scope, group):
    """Return whether a level is at most the one of a limit, and a sentence if it does not."""
    levels = {(one["scope"], one["group"]): read_level(one) for one in found.level.groups}
    levels[OVERALL, "all"] = found.level
    level = levels.get((scope, group))
    where = "" if scope == OVERALL else f" in {name_part(scope, group)}"
    if level is None or level == UNKNOWN:
        return miss_number(f"the level{where} could not be measured", limit)
    if level <= limit.value:
        return 0, ""
    return EXCEEDED, f"the level{where} is {level.word.lower()}, above {limit.value}"


def _compare_limit(found, limit, scope, group):
    """Return whether a limit holds in a part of the records, and a sentence if it does not."""
    frame = found.results
    rows = frame[(frame["scope"] == scope) & (frame["group"] == group)]
    rows = rows[rows["metric"] == limit.metric]
    if limit.max_fpr is not None:
        rows = rows[(rows["max_fpr"] - limit.max_fpr).abs() < 1e-12]
    # The reported attack, if one was chosen, has a number where another may have none.
    told = rows["told"].eq(True) if "told" in rows else None
    rows = rows if told is None or not told.any() else rows[told]
    where = "" if scope == OVERALL else f" in {name_part(scope, group)}"
    name = column_name(limit.metric, limit.max_fpr) + where
    there = (rows["status"] == OK) & np.isfinite(rows[limit.column].astype(float))
    missing = list(rows.loc[~there, "attack"])
    if rows.empty or missing:
        by = f" by {join_names(map(visible, missing))}" if len(rows) and there.any() else ""
        return miss_number(f"{name} could not be measured{by}", limit, _tell_needed(limit, rows))

    def tell(worst):
        return f"{name} of {visible(worst['attack'])}{_tell_measured(worst)}"

    return compare_largest(rows, limit, tell)


def _tell_measured(row):
    """The false positive rate that was measured, where it is another one than the limit names."""
    fpr, base = row.get("fpr"), choose_base(row["max_fpr"]) if row["metric"] == "tpr" else 1
    if row["metric"] != "tpr" or fpr is None or round(base * fpr) == round(base * row["max_fpr"]):
        return ""
    return f" (measured at {100 * fpr:.3g}%)"


def _tell_needed(limit, rows):
    """Return what would measure a number that is missing, as a clause."""
    more = "audit with more members and non-members"
    if limit.max_fpr is None:
        return more
    least = math.ceil(MIN_FALSE_POSITIVES / limit.max_fpr * (1 - 1e-9))
    of_people = ""
    if rows["n_nonmembers"].max() >= least:
        if (rows["status"] == TOO_FEW).any():  # members
            return more
        of_people = " of different people"  # so many records of fewer people may be alike
    return (
        f"it takes {least:,} non-members or more{of_people}, and {limit.max_fpr:g} among the rates "
        "(--fpr)"
    )


def miss_number(why, limit, needed=None):
    """Return what is said of a limit whose number is not there, and what would measure it."""
    told = f"{why}, so {visible(limit.text)} cannot be said to hold"
    return INCONCLUSIVE, told if needed is None else f"{told}; {needed}"


def compare_largest(rows, limit, name):
    """Whether a limit holds for the largest of some numbers, and a sentence if it does not."""
    worst = rows.loc[rows[limit.column].astype(float).idxmax()]
    if worst[limit.column] <= limit.value:
        return 0, ""
    end = "" if limit.column == "estimate" else f", whose {limit.column} end is"
    numbers = (worst["estimate"], worst["low"], worst["high"])
    estimate, low, high = write_apart(_write_number, numbers, limit.value)
    return EXCEEDED, f"{name(worst)} is {estimate} [{low}, {high}]{end} above {limit.value:g}"


def _write_number(value, more):
    return drop_sign(f"{value:.{3 + more}f}")
