"""The conclusion that the numbers and checks of an audit support, and how much is found."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from .._core.brief import show_briefly
from .._core.escaping import visible
from .._core.levels import (
    LEAK,
    NONE,
    REVERSED,
    SHIFT,
    UNKNOWN,
    Level,
    reaches,
    read_level,
    scale_interval,
    set_level,
)
from .._core.pvalues import is_significant
from .._core.text import count_of as count_of
from .._core.text import count_words as count_words
from ._measure import OK, OVERALL, choose_usual, find_overall, list_rows
from ._row_count import ELSEWHERE, LOOKS_ALIKE
from .checks import find_outcome, get_check, list_checks
from .checks._base import (
    BEYOND,
    BLIND,
    CHANCE,
    DIFFERENCE,
    KNOWN,
    PERSONS,
    RECIPE,
    SIDES,
    SMALL,
    UNLISTED,
)
from .checks._beyond_shift import BeyondShiftCheck
from .checks._model_and_table import NOISE, STOP
from .checks._sides import IN_PART, SWAPPED, name_cause

# Roles of the checks without whose answer no finding can be relied on, and of those without whose
# answer the absence of a finding cannot.
GUARDS = (CHANCE, KNOWN, DIFFERENCE)
GUARDS_OF_NOTHING = (BLIND, SIDES, RECIPE, SMALL, PERSONS)

_NULL_COLUMNS = ["attack", "scope", "group", "metric", "max_fpr", "pvalue_adjusted", "pvalue_below"]


@show_briefly
class Grounds(NamedTuple):
    """What a verdict rests on."""

    results: pd.DataFrame  # the numbers of the audit
    # Results of the permutation test: ``attack``, ``scope``, ``group``, ``metric``, ``max_fpr``,
    # ``pvalue_adjusted``, ``pvalue_below``.
    null: pd.DataFrame
    n_permutations: int  # number of permutations in the test
    checks: dict  # the checks by name
    level: float  # confidence level: one minus the probability of a finding without a leak
    asked: list  # names of the requested attacks


def make_grounds(results, permutation, checks, level, asked):
    """Collect what a verdict rests on; the null is empty if the permutation test failed."""
    null, n_permutations = pd.DataFrame(columns=_NULL_COLUMNS), 0
    if permutation is not None:
        null, n_permutations = permutation.frame, permutation.n_permutations
    frames = map(_with_objects, (results, null))
    return Grounds(*frames, n_permutations, checks, level, asked)


def _with_objects(frame):
    """Return a frame with texts as objects: a verdict compares and selects columns many times."""
    frame = frame.copy(deep=False)
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.StringDtype):
            frame[name] = frame[name].astype(object)
    return frame


def list_leaks(grounds):
    """Return the numbers that are above chance, after correction for all that were tested.

    Each side gets half of the significance level, as in a two-sided interval.
    """
    return grounds.null[_find_leaks(grounds)]


def _find_leaks(grounds):
    return is_significant(grounds.null["pvalue_adjusted"].to_numpy(), (1 - grounds.level) / 2)


def list_leaking_parts(grounds):
    """Return scope and group of each part of the records with a number above chance."""
    columns = (grounds.null[name].to_numpy()[_find_leaks(grounds)] for name in ("scope", "group"))
    return set(zip(*columns))


def list_reversals(grounds):
    """Return the AUCs that are below chance, after correction for all AUCs."""
    return grounds.null[is_significant(grounds.null["pvalue_below"], (1 - grounds.level) / 2)]


def choose_evidence(grounds):
    """Return the evidence by the first rule that holds.

    What a warning does depends on the role of its check, see ``checks/_base.py``. A check that
    failed with an error (``_ask_check`` in ``_examine.py``) makes the evidence unknown in place of
    a leak, of "reversed" and of none if its role is in ``GUARDS``, and only in place of none if it
    is in ``GUARDS_OF_NOTHING``; errors of other checks change nothing. With one of the
    role ``DIFFERENCE``, a leak counts only if numbers over all records are above chance and
    ``BeyondShiftCheck`` finds that training adds to the difference: without it, the evidence is a
    shift. An audit is inconclusive unless the evidence is a leak or none.
    """
    checks = grounds.checks
    if is_stopped(checks) or not find_overall(grounds.results, "auc").any():
        return UNKNOWN
    cause = get_cause(grounds)
    if cause is not None:
        return REVERSED if cause == SWAPPED else UNKNOWN
    if get_difference(checks) is not None and get_excess(grounds) is None:
        return SHIFT
    if _find_failed_check(checks, GUARDS) is not None:
        return UNKNOWN
    if _find_leaks(grounds).any():
        return LEAK
    if len(list_reversals(grounds)):
        return REVERSED
    return NONE if get_blindness(checks) is None else UNKNOWN


def is_stopped(checks):
    """Return whether the audit ended because the model does not know the table."""
    found = find_outcome(checks, KNOWN)
    return found is not None and found.is_warning and found.finding == STOP


def has_noise(checks):
    """Whether the model gives other answers when it is asked again, and nothing else is wrong."""
    found = find_outcome(checks, KNOWN)
    return found is not None and found.is_warning and found.finding == NOISE


def get_cause(grounds):
    """Return what is wrong with the two sides themselves, if no leak stands in spite of it."""
    sides = find_outcome(grounds.checks, SIDES)
    if sides is None or not sides.is_warning:
        return None
    cause = name_cause(sides)
    return None if cause == IN_PART and _find_leaks(grounds).any() else cause


def get_excess(grounds):
    """Return the limits of what training adds to the AUC of a shift, if it is above 0; or None."""
    check = find_outcome(grounds.checks, BEYOND)
    if get_difference(grounds.checks) is None or check is None or check.finding is None:
        return None
    is_shown = _leaks_overall(grounds) and check.finding[1] > 0
    return tuple(check.finding) if is_shown else None


def _leaks_overall(grounds):
    return any(scope == OVERALL for scope, _ in list_leaking_parts(grounds))


def get_difference(checks):
    """Return the first check by which members and non-members differ without the model, or None."""
    return _get_warning(checks, DIFFERENCE)


def _get_warning(checks, *roles):
    """Return the name of the first check of these roles whose warning hinders, or None."""
    found = (one.name for one in list_checks(*roles) if one.name in checks)
    return next((name for name in found if get_check(name).hinders(checks[name])), None)


def _find_failed_check(checks, roles):
    """Return the name of the first check of these roles that failed, or None."""
    found = (one.name for one in list_checks(*roles) if one.name in checks)
    return next((name for name in found if checks[name].is_error), None)


def get_blindness(checks):
    """Return the check that prevents a conclusion about this model, or None.

    If attacks succeed on shadow models in a group that is too small to be judged on one model,
    nothing can be said about that group. If people are found though no record is, the numbers of
    records do not tell. A check that failed could have been any of these.
    """
    if is_stopped(checks):
        return find_outcome(checks, KNOWN).name
    return (
        _get_warning(checks, SIDES)
        or _find_failed_check(checks, (*GUARDS, *GUARDS_OF_NOTHING))
        or _get_warning(checks, BLIND, RECIPE, SMALL, PERSONS)
    )


def why_unlisted(checks, provenance):
    """Return why the members are not all training rows, with what would change it, or None."""
    sides, rows = (find_outcome(checks, role) for role in (SIDES, UNLISTED))
    if sides is not None and sides.is_warning:
        return f"{sides.text} Give held-out rows that no part of the model has seen."
    if rows is None or not rows.is_warning:
        return None
    # A statement does not stand against held-out rows that the file itself takes for its own.
    if LOOKS_ALIKE not in rows.text and provenance.get(ELSEWHERE, "").strip():
        return None
    return (
        f"{rows.text} List them as members, or state in provenance, as {ELSEWHERE!r}, where they "
        "are and that no held-out row is one of them."
    )


SERVICE, FILE = "service", "file"


def list_told(rows):
    """Of each number the row of the attack that is told, or those of all if none was chosen.

    The strongest of several by their own numbers is too strong by chance, so that an attack is
    chosen without them (``_choice.py``). Documents of before do not say which.
    """
    chosen = {_get_number(row) for row in rows if is_told(row)}
    return [row for row in rows if is_told(row) or _get_number(row) not in chosen]


def name_told_auc(rows, told):
    """Return what an AUC over all records is called, which is not the highest of all attacks."""
    whole = [row for row in rows if (row["scope"], row["metric"]) == (OVERALL, "auc")]
    highest = max(row["estimate"] for row in whole if row["status"] == OK)
    return "highest AUC" if told["estimate"] >= highest else "AUC"


def is_told(row):
    """Return whether the attack of a row is the one that is told of its number."""
    return row.get("told") == 1  # missing in documents of before


def measure_audit_level(grounds, evidence):
    """Return level of all records and of each group, by what is beyond doubt of the strongest."""
    excess = get_excess(grounds)
    if excess is not None and evidence == LEAK:
        # Only what training adds counts, and no number of a group is known without the shift.
        name, (estimate, low) = BeyondShiftCheck.name, (min(0.5 + one, 1.0) for one in excess[:2])
        number = {"low": low, "estimate": estimate, "attack": name, "max_fpr": None}
        return set_level(LEAK, {"auc": number})
    # The strongest of many is chosen, so lower ends are corrected: those of groups for the number
    # of groups, and all for the number of attacks if one was chosen by these numbers.
    rows, parts = list_rows(grounds.results), {}
    rows = [row for row in rows if row["status"] == OK and row["metric"] != "advantage"]
    for row in list_told(rows):
        parts.setdefault((row["scope"], row["group"]), []).append(row)
    found = list_leaking_parts(grounds)
    whole = parts.pop((OVERALL, "all"), [])
    groups = []
    for (scope, group), rows in parts.items():
        own = NONE if evidence == LEAK and (scope, group) not in found else evidence
        level = set_level(own, _find_largest(rows, grounds.level, len(parts))).as_dict()
        groups.append({"scope": scope, "group": group, **level})
        del groups[-1]["groups"], groups[-1]["overall"]
    level = set_level(evidence, _find_largest(whole, grounds.level, 1))
    is_overall = evidence != LEAK or _leaks_overall(grounds)
    if not is_overall:
        # Nothing is shown over all records, so the level is that of the group with the most.
        leaking = [one for one in map(read_level, groups) if one.rank >= 0]
        level = max(leaking, key=lambda one: one.order, default=level)
    return level.change(groups=tuple(groups), overall=is_overall)


def _find_largest(rows, level, n_parts):
    """Return the highest corrected lower end of an AUC and of a ratio, and the highest estimate."""
    n_attacks = 1 if all(map(is_told, rows)) else len({row["attack"] for row in rows})
    n_compared, numbers = n_parts * n_attacks, {}
    for row in rows:
        wider = scale_interval(1 - (1 - level) / n_compared, level)
        low = max(0.0, row["estimate"] - wider * (row["estimate"] - row["low"]))
        is_auc = row["metric"] == "auc"
        name = "auc" if is_auc else "ratio"
        unit, lowest = (1.0, 1.0) if is_auc else (find_unit(row), find_unit(row, wider))
        new = {
            "low": float(low / lowest),
            "estimate": float(row["estimate"] / unit),
            "attack": row["attack"],
            "max_fpr": None if is_auc else float(row["max_fpr"]),
        }
        old = numbers.setdefault(name, new)
        highest = max(old["estimate"], new["estimate"])
        numbers[name] = max(old, new, key=lambda number: number["low"]) | {"estimate": highest}
    return numbers


def get_fpr(row):
    """Return the false positive rate that was measured for a TPR."""
    fpr = row.get("fpr")
    return row["max_fpr"] if fpr is None or np.isnan(fpr) else fpr


def find_unit(row, wider=1.0):
    """The false positive rate by which a TPR is divided, so that the ratio is not exaggerated.

    Where scores are tied, the rate that was measured can be far below the one that was asked for.
    It may be 0, so the upper end of its interval counts, which is as much wider as that of the TPR.
    """
    high = row.get("fpr_high")
    if high is None or np.isnan(high):
        return row["max_fpr"]
    return min(row["max_fpr"], row["fpr"] + wider * (high - row["fpr"]))


def _get_number(row):
    """Return what a number is of, whichever attack it is by."""
    return get_key(row)[1:]


def _list_number_keys(rows):
    """Return what tells numbers apart: attack, scope, group, metric and rate."""
    return frozenset(map(get_key, rows))


def get_key(row):
    rate = row["max_fpr"] if row["metric"] == "tpr" else None
    return row["attack"], row["scope"], row["group"], row["metric"], rate


class ReleaseRoute(NamedTuple):
    """A way of release with its level and its numbers."""

    way: str  # service or file
    level: Level
    rows: list  # results of all attacks as dicts, on all records and on groups
    leaks: frozenset | None = None  # keys of the numbers that are beyond chance, if tested

    def is_shown(self, row):
        """Return whether a number is beyond chance; without a test, whether its interval is."""
        if self.leaks is not None:
            return get_key(row) in self.leaks
        return row["low"] > (0.5 if row["metric"] == "auc" else get_fpr(row))

    @property
    def own_level(self):
        """The level of all records, of which nothing is shown where only a group leaks."""
        is_of_groups = self.level.rank >= 0 and not self.level.overall
        return Level("none") if is_of_groups else self.level

    def find_best(self, metric, max_fpr=None, scope=OVERALL, group="all", end="estimate"):
        """Return the row of the attack that is told of a part of the records, or None.

        end: the number by which one is chosen if that was not done without the rows.
        """
        rows = [
            row
            for row in self.rows
            if (row["scope"], row["group"], row["metric"]) == (scope, group, metric)
            and row["status"] == OK
            and (max_fpr is None or row["max_fpr"] == max_fpr)
        ]
        rows = list_told(rows)
        # Of equal rates, the one with fewer others mistaken.
        spare = (lambda row: -get_fpr(row)) if metric == "tpr" else (lambda row: 0)
        return max(rows, key=lambda row: (row[end], spare(row)), default=None)


def list_routes(report):
    """The routes of a report that were attacked, the file first, if nothing hinders a verdict."""
    ways = {FILE: report.file, SERVICE: report.service}
    return [
        ReleaseRoute(way, found.level, list_rows(found.results), list_shown(found.grounds))
        for way, found in ways.items()
        if found is not None
    ]


def list_shown(grounds):
    """Return the keys of the numbers that are beyond chance."""
    return _list_number_keys(list_rows(list_leaks(grounds)))


def list_shown_of_document(found, level):
    """Return the same of the part of a document on answers, or on the file."""
    rows = found["permutation"]["numbers"] if found["permutation"] else ()
    return _list_number_keys(
        row for row in rows if is_significant(row["pvalue_adjusted"], (1 - level) / 2)
    )


def get_highest(routes):
    """Return the route that the headline is about: of equal ones the file, where they leak."""
    best = max(routes, key=lambda route: route.level.order)
    return best if best.level.rank >= 0 else routes[-1]


def choose_rate(routes):
    """Return the false positive rate of sentence and picture, or None if none was measured.

    Of those that can be measured (``check_resolution`` in ``metrics/_membership.py``) the smallest
    one from 1% on, else the largest, unless it shows nothing of what was found.
    """
    rates = {
        row["max_fpr"]
        for route in routes
        for row in route.rows
        if row["metric"] == "tpr" and row["status"] == OK and row["scope"] == OVERALL
    }
    route, rate = get_highest(routes), choose_usual(rates)
    if rate is None or route.level.rank < 0 or not route.level.overall:
        return rate
    if route.level == "slight":
        return _choose_shown(route, rates, rate)
    return _choose_decisive(route, rate)


def _choose_shown(route, rates, usual):
    """A rate at which something is beyond chance, where neither ranks nor the usual rate are."""
    whole = [row for row in route.rows if row["scope"] == OVERALL and row["status"] == OK]
    if any(row["metric"] == "auc" and route.is_shown(row) for row in whole):
        return usual
    best = {rate: route.find_best("tpr", rate) for rate in rates}
    shown = {rate for rate, row in best.items() if row is not None and route.is_shown(row)}
    return usual if usual in shown or not shown else choose_usual(shown)


def _choose_decisive(route, usual):
    """Return rate that the level follows from, where neither ranks nor the usual rate give it."""
    level, row = route.level, route.find_best("tpr", usual)
    ranks, ratio = (level.numbers.get(name) for name in ("auc", "ratio"))
    if ratio is None or (ranks is not None and reaches(level, "auc", ranks["low"])):
        return usual
    if row is not None and reaches(level, "ratio", row["low"] / find_unit(row)):
        return usual
    return ratio["max_fpr"]


def name_group(part):
    return visible(f"{part['scope']}: {part['group']}")


def find_worst_group(routes):
    """Return the group with the highest level, if it is above that of all records.

    Its route, or None.
    """
    pairs = [(group, route) for route in routes for group in route.level.groups]
    pairs = [(g, route) for g, route in pairs if read_level(g).order > route.own_level.order]
    return max(pairs, key=lambda pair: read_level(pair[0]).order, default=None)
