"""What became of the leakage between two audits, by the numbers that both measured.

Only like is compared with like: attacks of one name and setting that both audits ran with the same
number of shadow models, on parts of the records and at rates that both measured. Of these attacks,
the one that each audit tells counts in each part. The interval of the difference is corrected for
all numbers that are compared, and for the choice of the strongest where none was chosen without
them.
"""

from typing import NamedTuple

import numpy as np

from .._core.levels import CONCLUSIVE, LEAK, NONE, read_level, scale_interval
from ..metrics import Interval, difference_interval
from ._document import as_audit_document, read_grounds
from ._evidence import (
    FILE,
    SERVICE,
    ReleaseRoute,
    is_told,
    list_leaks,
    measure_audit_level,
)
from ._measure import INTERVAL, OK, OVERALL, choose_usual

# Scope of the numbers about people, who count once for all their records.
PEOPLE = "people with all their records"
READ_SO = (
    "The intervals assume that the two audits are independent. If the audits share records, the "
    "intervals are usually too wide."
)
# Why an attack, or a route, is not compared.
COUNTED, NOT_ATTACKED = "numbers of shadow models", "not attacked in"
LESS, MORE, SAME, BOTH, UNSAID = "less", "more", "same", "mixed", "unsaid"


class AttackDifference(NamedTuple):
    """A number of one attack that both audits have, with pointwise intervals."""

    scope: str  # part of the records
    group: str
    attack: str
    metric: str
    max_fpr: float  # rate of a TPR; NaN for other metrics
    first: tuple  # estimate and ends of the interval in each audit
    second: tuple
    difference: tuple  # second minus first, with the ends of its interval
    way: str = SERVICE  # or FILE: what the attack reads


class NumberChange(NamedTuple):
    """A number of the strongest attack of each audit, and whether it changed."""

    way: str
    scope: str
    group: str
    metric: str
    max_fpr: float | None
    attacks: tuple  # the strongest in each audit
    first: tuple  # estimate and ends of its interval in each audit
    second: tuple
    difference: tuple  # second minus first; the interval is corrected for all numbers
    sign: int  # of the difference; 0 if it is not shown to be one
    levels: tuple | None = None  # of the part in each audit, of a group

    @property
    def is_overall(self):
        return self.scope in (OVERALL, PEOPLE)


class RouteChange(NamedTuple):
    """What became of a way of release."""

    way: str
    levels: tuple  # in each audit, by the attacks that are compared; None if it was not attacked
    outcome: str  # less, more, same, mixed or unsaid
    why: str  # if it is unsaid
    changes: tuple  # numbers of all records, then those of groups, the worst of them first


class AuditComparison(NamedTuple):
    """What became of the leakage between two audits."""

    routes: tuple  # those that changed first, then the file
    numbers: tuple  # Difference of each attack
    attacks: tuple  # names of those that are compared
    left_out: tuple  # those that only one audit ran, or ran in another way, each with the reason
    n_compared: int  # numbers for which the intervals of changes are corrected
    level: float  # confidence level of the intervals of single numbers
    unshared: tuple = ()  # groups and rates that only one audit measured, each with the reason

    @property
    def outcome(self):
        """What became of the leakage by all routes together."""
        said = {route.outcome for route in self.routes} - {UNSAID}
        changed = said - {SAME}
        if len(changed) > 1:
            return BOTH
        return changed.pop() if changed else SAME if said else UNSAID


def compare_audits(first, second):
    """Compare two audits: documents, as they are read, or reports."""
    documents = [
        one if isinstance(one, dict) else as_audit_document(one) for one in (first, second)
    ]
    level = documents[0]["settings"]["confidence_level"]
    shared, left_out = _list_shared(documents)
    sides = [_list_shared_routes(document, shared) for document in documents]
    pairs = {way: tuple(side[way] for side in sides) for way in (FILE, SERVICE)}
    pairs = {way: pair for way, pair in pairs.items() if pair != (None, None)}
    why = {way: _find_obstacle(*pair) for way, pair in pairs.items()}
    numbers, people = [], _compare_people_aucs(documents, shared)
    for way, pair in pairs.items():
        if why[way] is None:
            numbers += _pair_numbers(way, *pair)
            if way == SERVICE and people is not None:
                part = way, PEOPLE, "", "auc", None
                numbers.append(_SharedNumbers(*part, people, None, len(shared)))
    changes = _find_changes(numbers, level)
    routes = [
        _make_route(way, pair, why[way], [one for one in changes if one.way == way])
        for way, pair in pairs.items()
    ]
    routes.sort(key=lambda route: (route.outcome == UNSAID, route.outcome == SAME))
    differences = [] if people is None else [_compare_people(people)]
    for way, pair in pairs.items():
        differences += [] if None in pair else _list_attack_differences(way, *pair)
    differences.sort(key=lambda difference: difference.scope != OVERALL)
    given = map(tuple, (routes, differences, shared, left_out))
    unshared = *_list_unshared(documents), *_list_unshared_people(documents, people)
    return AuditComparison(*given, len(numbers), level, unshared)


# --- what both have


def _list_shared(documents):
    """Names of the attacks that both audits ran in the same way, and the others with the reason."""
    listed = [_describe_attacks(document) for document in documents]
    shared, left_out = [], []
    for name in dict.fromkeys([*listed[0], *listed[1]]):
        first, second = (attacks.get(name) for attacks in listed)
        if first == second:
            shared.append(name)
        else:
            left_out.append((name, _tell_difference(first, second)))
    return shared, left_out


def _list_unshared(documents):
    """Return groups and rates that only one audit measured, with the name of the audit.

    All groups of a column that only one of them knows are named once.
    """
    measured = [_list_measured(document) for document in documents]
    for side, own, other in (("A", *measured), ("B", *measured[::-1])):
        scopes = {scope for scope, _ in other.parts}
        names = [
            f"{scope}: {group}" if scope in scopes else f"groups of {scope}"
            for scope, group in own.parts
            if (scope, group) not in other.parts
        ]
        names += [f"a rate of {100 * rate:g}%" for rate in sorted(own.rates - other.rates)]
        for name in dict.fromkeys(names):
            yield name, f"{side} alone"


def _list_unshared_people(documents, compared):
    """Return the AUC on people, if an audit has it and it is not compared, with the reason."""
    found = [document["person_level"] for document in documents]
    have = [one is not None and one["auc"] is not None for one in found]
    if compared is not None or not any(have):
        return []
    return [(PEOPLE, "other attacks" if all(have) else f"{'A' if have[0] else 'B'} alone")]


class _Measured(NamedTuple):
    parts: dict  # scope and group of each part of the records that has an AUC
    rates: set  # false positive rates at which all records have a TPR


def _list_measured(document):
    rows = [*document["results"], *(document["file"] or {"results": []})["results"]]
    rows = [row for row in rows if row["status"] == OK]
    parts = [(row["scope"], row["group"]) for row in rows if row["metric"] == "auc"]
    rates = [row for row in rows if (row["metric"], row["scope"]) == ("tpr", OVERALL)]
    whole = (OVERALL, "all")
    return _Measured(
        dict.fromkeys(one for one in parts if one != whole), {row["max_fpr"] for row in rates}
    )


class _AttackSetting(NamedTuple):
    """How an audit ran an attack."""

    n_models: int | None  # shadow models; None if it uses none
    recipe: str | None  # whether these are clones of the victim, of a recipe, or of a stand-in
    parameters: str | None


def _describe_attacks(document):
    """Return the setting of each attack that has a number."""
    settings, reference, file = (document[name] for name in ("settings", "reference", "file"))
    counts, recipe = {}, None
    if reference is not None:
        counts = {row["attack"]: row["n_models"] for row in reference["attacks"]}
        recipe = reference["recipe"]
    ran = {}
    for part in (document, file or {"results": []}):
        for row in part["results"]:
            if row["status"] == OK:
                name = row["attack"]
                n_models = counts.get(name)
                if reference is None and part is document:  # it may use all of them
                    n_models = settings["n_shadows"]
                own = None if n_models is None else recipe
                ran[name] = _AttackSetting(n_models, own, settings["attacks"].get(name))
    return ran


def _tell_difference(first, second):
    """In what the settings of an attack differ between two audits."""
    if first is None or second is None:
        return f"{'B' if first is None else 'A'} alone"
    if first.n_models != second.n_models:
        told = [f"{one.n_models or 'no'} in {side}" for one, side in zip((first, second), "AB")]
        return f"{COUNTED}: {', '.join(told)}"
    if first.recipe != second.recipe:
        return "shadow models of another recipe"
    return "other parameters"


def _list_shared_routes(document, shared):
    """Return routes of a document, each with the rows and the level of the shared attacks alone."""
    found = {SERVICE: document, FILE: document["file"]}
    return {way: part and _keep_shared(way, part, document, shared) for way, part in found.items()}


def _keep_shared(way, part, document, shared):
    rows = [row for row in part["results"] if row["attack"] in shared]
    level = read_level(part["level"])
    # What only one audit ran is no part of the level either; a file is attacked in one way.
    if way == SERVICE and part["evidence"] in CONCLUSIVE and 0 < len(rows) < len(part["results"]):
        grounds = read_grounds(document)
        results, null = (
            frame[frame["attack"].isin(shared)].reset_index(drop=True)
            for frame in (grounds.results, grounds.null)
        )
        grounds = grounds._replace(results=results, null=null, asked=shared)
        level = measure_audit_level(grounds, LEAK if len(list_leaks(grounds)) else NONE)
    return ReleaseRoute(way, level, rows)


def _find_obstacle(first, second):
    """Return why nothing can be said of a route, or None."""
    sides = {"A": first, "B": second}
    missing = [name for name, one in sides.items() if one is None]
    if missing:
        return f"{NOT_ATTACKED} {missing[0]}"
    unknown = [name for name, one in sides.items() if one.level.name == "unknown"]
    if unknown:
        return f"no verdict in {' and '.join(unknown)}"
    if any(one.find_best("auc") is None for one in sides.values()):
        return "no number in common"
    return None


class _SharedNumbers(NamedTuple):
    """The numbers of all shared attacks in one part of the records, of both audits."""

    way: str
    scope: str
    group: str
    metric: str
    max_fpr: float | None
    sides: tuple  # of each audit: interval by attack
    levels: tuple | None
    n_attacks: int  # of which the strongest was chosen


def _pair_numbers(way, first, second):
    """Yield the AUC of each part of the records, and the TPR at the rate that both measured."""
    routes = first, second
    # By the rates alone: one chosen by the numbers of an audit would be high in it by chance.
    rate = choose_usual(set.intersection(*map(_list_rates, routes)))
    parts = dict.fromkeys((row["scope"], row["group"]) for row in first.rows)
    groups = [{(g["scope"], g["group"]): g for g in route.level.groups} for route in routes]
    metrics = [("auc", None)] + ([] if rate is None else [("tpr", rate)])
    for part in parts:
        levels = None
        if all(part in listed for listed in groups):
            levels = tuple(read_level(listed[part]) for listed in groups)
        for metric in metrics:
            rows = [_list_rows(route, part, metric) for route in routes]
            sides = _choose_told(rows) or _choose_common(rows)
            if sides:
                yield _SharedNumbers(way, *part, *metric, sides, levels, len(sides[0]))


def _choose_told(rows):
    """Return the number that each audit tells, if both ran both attacks; or None."""
    told = [[row for row in some if is_told(row)] for some in rows]
    names = [{row["attack"] for row in some} for some in rows]
    if not all(told) or not {one["attack"] for (one,) in told} <= names[0] & names[1]:
        return None
    return tuple(map(_read_intervals, told))


def _choose_common(rows):
    """Return the numbers of all attacks that both audits ran, or None."""
    sides = list(map(_read_intervals, rows))
    common = [name for name in sides[0] if name in sides[1]]
    return tuple({name: side[name] for name in common} for side in sides) if common else None


def _list_rates(route):
    return {
        row["max_fpr"]
        for row in route.rows
        if row["metric"] == "tpr" and row["status"] == OK and row["scope"] == OVERALL
    }


def _list_rows(route, part, metric):
    """Return the results of a number in a part of the records."""
    return [
        row
        for row in route.rows
        if (row["scope"], row["group"], row["metric"]) == (*part, metric[0])
        and row["status"] == OK
        and (metric[1] is None or row["max_fpr"] == metric[1])
    ]


def _read_intervals(rows):
    """Return the intervals of a number, by attack."""
    return {row["attack"]: tuple(row[name] for name in INTERVAL) for row in rows}


def _compare_people_aucs(documents, shared):
    """Return the AUC of the strongest attack on people in each audit, if it is of shared ones."""
    people = [document["person_level"] for document in documents]
    if any(one is None or one["auc"] is None or one["attack"] not in shared for one in people):
        return None
    return tuple({one["attack"]: (one["auc"], one["low"], one["high"])} for one in people)


# --- what changed


def _find_changes(pairs, level):
    """Return the change of each number, with intervals that are corrected for all of them.

    A change is said wrongly with a probability of at most half of what an interval may err, so that
    more leakage, or less, is said as seldom as one end of a single interval errs. The numbers of
    all records have half of it, so that many groups do not hide them.
    """
    share = (1 - level) / 2
    whole = [pair for pair in pairs if pair.scope in (OVERALL, PEOPLE)]
    groups = [pair for pair in pairs if pair.scope not in (OVERALL, PEOPLE)]
    share = share / 2 if groups else share
    changes = [_make_change(pair, level, 1 - share / len(whole)) for pair in whole]
    return changes + _apply_holm(groups, level, share)


def _apply_holm(pairs, level, share):
    """Return the changes by Holm's procedure, each with the interval by which it was judged."""
    changes, left, again = [None] * len(pairs), list(range(len(pairs))), True
    while left and again:
        for k in left:
            changes[k] = _make_change(pairs[k], level, 1 - share / len(left))
        again = [k for k in left if changes[k].sign]
        left = [k for k in left if not changes[k].sign]
    return changes


def _make_change(pair, stated, level):
    limits = [_bound_strongest(side, stated, level, pair.n_attacks) for side in pair.sides]
    gap = difference_interval(limits[1], limits[0])
    gap = Interval(gap.estimate, max(gap.low, -1.0), min(gap.high, 1.0))  # of shares
    best = [max(side, key=lambda name, side=side: side[name][0]) for side in pair.sides]
    shown = [side[name] for side, name in zip(pair.sides, best)]
    sign = int(gap.low > 0) - int(gap.high < 0)
    part = pair.way, pair.scope, pair.group, pair.metric, pair.max_fpr
    return NumberChange(*part, tuple(best), *shown, tuple(gap), sign, pair.levels)


def _bound_strongest(side, stated, level, n_attacks):
    """Return the interval of the largest number of several attacks.

    As in a policy: any of the lower ends may be too high, so they share the error; the upper end of
    the attack that is truly the strongest is as often too low as that of any single one.
    """
    lower = scale_interval(1 - (1 - level) / n_attacks, stated)
    upper = scale_interval(level, stated)
    numbers = side.values()
    return Interval(
        max(estimate for estimate, _, _ in numbers),
        max(estimate - lower * (estimate - low) for estimate, low, _ in numbers),
        max(estimate + upper * (high - estimate) for estimate, _, high in numbers),
    )


_OUTCOMES = {(): SAME, (-1,): LESS, (1,): MORE, (-1, 1): BOTH}


def _make_route(way, pair, why, changes):
    levels = tuple(one and one.level for one in pair)
    if why is not None:
        return RouteChange(way, levels, UNSAID, why, ())
    # All records in the order of the numbers; then groups, the largest increase first.
    groups = [one for one in changes if not one.is_overall]
    groups.sort(key=lambda one: (-abs(one.sign), -one.difference[0]))
    changes = [one for one in changes if one.is_overall] + groups
    outcome = _OUTCOMES[tuple(sorted({one.sign for one in changes} - {0}))]
    return RouteChange(way, levels, outcome, "", tuple(changes))


# --- every number of every attack


def _list_attack_differences(way, first, second):
    """Yield the numbers of single attacks that two audits have in common."""
    before, after = (
        {_name_number(row): _read_interval(row) for row in route.rows if row["status"] == OK}
        for route in (first, second)
    )
    for names, numbers in before.items():
        if names in after:
            sides = numbers, after[names]
            yield AttackDifference(*names, *sides, difference_interval(*sides[::-1]), way)


def _name_number(row):
    # A missing rate would not match itself.
    names = (row[name] for name in ("scope", "group", "attack", "metric"))
    return *names, float(row["max_fpr"]) if row["metric"] == "tpr" else 0.0


def _read_interval(row):
    return tuple(float(row[name]) for name in INTERVAL)


def _compare_people(people):
    names = dict.fromkeys(name for side in people for name in side)
    ends = [next(iter(side.values())) for side in people]
    gap = difference_interval(*ends[::-1])
    return AttackDifference(PEOPLE, "", " / ".join(names), "auc", np.nan, *ends, gap)
