"""The conclusion that the numbers and checks of an audit support, and how much is found."""

from typing import NamedTuple

import pandas as pd

from .._core.brief import show_briefly
from .._core.levels import LEAK, NONE, REVERSED, SHIFT, UNKNOWN, Level, read_level, scale, set_level
from .._core.text import choose_base
from .._core.visible import visible
from ._measure import OK, OVERALL, get_overall
from ._training_rows import ELSEWHERE, LOOKS_ALIKE
from .checks import find_outcome, get_check, list_checks
from .checks._base import (
    BEYOND,
    BEYOND_OF_FILE,
    BLIND,
    DIFFERENCE,
    GUARDS,
    GUARDS_OF_NOTHING,
    KNOWN,
    PERSONS,
    RECIPE,
    SIDES,
    SMALL,
    UNLISTED,
)
from .checks._beyond_shift import BeyondShiftCheck
from .checks._model_and_table import STOP
from .checks._sides import CAUSES, IN_PART, SWAPPED, name_cause

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
    return Grounds(results, null, n_permutations, checks, level, asked)


def list_leaks(grounds):
    """The numbers that are above chance, after correction for all that were tested."""
    # Each side gets half of the significance level, as in a two-sided interval.
    return grounds.null[grounds.null["pvalue_adjusted"] <= (1 - grounds.level) / 2]


def list_reversals(grounds):
    """The AUCs that are below chance, after correction for all AUCs."""
    return grounds.null[grounds.null["pvalue_below"] <= (1 - grounds.level) / 2]


def choose_evidence(grounds):
    checks = grounds.checks
    if is_stopped(checks) or get_overall(grounds.results, "auc").empty:
        return UNKNOWN
    cause = get_cause(grounds)
    if cause is not None:
        return REVERSED if cause == SWAPPED else UNKNOWN
    if get_difference(checks) is not None and get_excess(grounds) is None:
        return SHIFT
    if _get_error(checks, GUARDS) is not None:
        return UNKNOWN
    if len(list_leaks(grounds)):
        return LEAK
    if len(list_reversals(grounds)):
        return REVERSED
    return NONE if get_blindness(checks) is None else UNKNOWN


def is_stopped(checks):
    """Whether the audit ended because the model does not know the table."""
    found = find_outcome(checks, KNOWN)
    return found is not None and found.is_warning and found.finding == STOP


def get_cause(grounds):
    """Return what is wrong with the two sides themselves, if no leak stands in spite of it."""
    sides = find_outcome(grounds.checks, SIDES)
    if sides is None or not sides.is_warning:
        return None
    cause = name_cause(sides)
    return None if cause == IN_PART and len(list_leaks(grounds)) else cause


def get_excess(grounds):
    """The limits of what training adds to the AUC of a shift, if it is above 0; or None."""
    check = find_outcome(grounds.checks, BEYOND)
    if get_difference(grounds.checks) is None or check is None or check.finding is None:
        return None
    shown = list_leaks(grounds)
    is_shown = OVERALL in set(shown["scope"]) and check.finding[1] > 0
    return tuple(check.finding) if is_shown else None


def get_difference(checks):
    """Return the first check by which members and non-members differ without the model, or None."""
    return _get_warning(checks, DIFFERENCE)


def _get_warning(checks, *roles):
    """The name of the first check of these roles whose warning hinders, or None."""
    found = (one.name for one in list_checks(*roles) if one.name in checks)
    return next((name for name in found if get_check(name).hinders(checks[name])), None)


def _get_error(checks, roles):
    """The name of the first check of these roles that failed, or None."""
    found = (one.name for one in list_checks(*roles) if one.name in checks)
    return next((name for name in found if checks[name].is_error), None)


def get_blindness(checks):
    """Return the check that prevents a conclusion about this model, or None."""
    # If attacks succeed on shadow models in a group that is too small to be judged on one model,
    # nothing can be said about that group. If people are found though no record is, the numbers of
    # records do not tell. A check that failed could have been any of these.
    if is_stopped(checks):
        return find_outcome(checks, KNOWN).name
    return (
        _get_warning(checks, SIDES)
        or _get_error(checks, (*GUARDS, *GUARDS_OF_NOTHING))
        or _get_warning(checks, BLIND, RECIPE, SMALL, PERSONS)
    )


def why_unlisted(checks, provenance):
    """Why the members are not all training rows, with what would change it, or None."""
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


def measure_level(grounds, evidence):
    """The level of all records and of each group, by what is beyond doubt of the strongest."""
    excess = get_excess(grounds)
    if excess is not None and evidence == LEAK:
        # Only what training adds counts, and no number of a group is known without the shift.
        name, (estimate, low) = BeyondShiftCheck.name, (min(0.5 + one, 1.0) for one in excess[:2])
        number = {"low": low, "estimate": estimate, "attack": name, "max_fpr": None}
        return set_level(LEAK, {"auc": number})
    # The strongest of many is chosen, so lower ends are corrected: those of all records for the
    # number of attacks, those of groups for the number of attacks and groups.
    frame, parts = grounds.results, {}
    frame = frame[(frame["status"] == OK) & (frame["metric"] != "advantage")]
    for row in frame.to_dict("records"):
        parts.setdefault((row["scope"], row["group"]), []).append(row)
    leaks = list_leaks(grounds)
    found = set(zip(leaks["scope"], leaks["group"], strict=True))
    whole = parts.pop((OVERALL, "all"), [])
    groups = []
    for (scope, group), rows in parts.items():
        own = NONE if evidence == LEAK and (scope, group) not in found else evidence
        level = set_level(own, _find_largest(rows, grounds.level, len(parts))).as_dict()
        groups.append({"scope": scope, "group": group, **level})
        del groups[-1]["groups"], groups[-1]["overall"]
    level = set_level(evidence, _find_largest(whole, grounds.level, 1))
    is_overall = evidence != LEAK or OVERALL in set(leaks["scope"])
    return level.change(groups=tuple(groups), overall=is_overall)


def _find_largest(rows, level, n_parts):
    """The highest corrected lower end of an AUC and of a ratio, and the highest estimate."""
    n_compared = n_parts * len({row["attack"] for row in rows})
    numbers = {}
    for row in rows:
        wider = scale(1 - (1 - level) / n_compared, level)
        low = max(0.0, row["estimate"] - wider * (row["estimate"] - row["low"]))
        is_auc = row["metric"] == "auc"
        name, unit = ("auc", 1.0) if is_auc else ("ratio", row["max_fpr"])
        new = {
            "low": float(low / unit),
            "estimate": float(row["estimate"] / unit),
            "attack": row["attack"],
            "max_fpr": None if is_auc else float(row["max_fpr"]),
        }
        old = numbers.setdefault(name, new)
        highest = max(old["estimate"], new["estimate"])
        numbers[name] = max(old, new, key=lambda number: number["low"]) | {"estimate": highest}
    return numbers


class Route(NamedTuple):
    """A way of release with its level and its numbers."""

    way: str  # service or file
    level: Level
    rows: list  # results of all attacks as dicts, on all records and on groups

    def find_best(self, metric, max_fpr=None, scope=OVERALL, group="all", end="estimate"):
        """The row of the strongest attack in a part of the records, or None."""
        rows = [
            row
            for row in self.rows
            if (row["scope"], row["group"], row["metric"]) == (scope, group, metric)
            and row["status"] == OK
            and (max_fpr is None or row["max_fpr"] == max_fpr)
        ]
        return max(rows, key=lambda row: row[end], default=None)


def list_routes(report):
    """The routes of a report that were attacked, the file first, if nothing hinders a verdict."""
    ways = {FILE: report.file, SERVICE: report}
    return [
        Route(way, found.level, found.results.to_dict("records"))
        for way, found in ways.items()
        if found is not None
    ]


def tell_level(report):
    """The heading of each route with its way, and the sentence on them without emphasis."""
    routes = list_routes(report)
    baseline = report.baseline and {"auc": report.baseline.estimate}
    text = report.verdict.partition(". ")[2]
    sentence = write_sentence(routes, report.evidence, report.checks, baseline, text)
    return [(one.level.heading, f"as a {one.way}") for one in routes], sentence.replace("**", "")


def get_highest(routes):
    """The route that the headline is about: of equal ones the file, where they leak."""
    best = max(routes, key=lambda route: route.level.order)
    return best if best.level.rank >= 0 else routes[-1]


def choose_rate(routes):
    """The smallest measured false positive rate from 1% on, else the largest; None without any."""
    rates = {
        row["max_fpr"]
        for route in routes
        for row in route.rows
        if row["metric"] == "tpr" and row["status"] == OK and row["scope"] == OVERALL
    }
    usual = [rate for rate in rates if rate >= 0.01]
    return min(usual) if usual else max(rates, default=None)


def count_of(share, base):
    """A share of so many records, in whole ones."""
    return f"{base * share:.0f}" if base * share >= 0.5 else "fewer than 1"


_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


def count_words(n):
    return _WORDS[n] if n < len(_WORDS) else f"{n:,}"


def name_group(part):
    return visible(f"{part['scope']}: {part['group']}")


def find_worst_group(routes):
    """The group with the highest level, if it is above that of all records; its route, or None."""
    pairs = [(group, route) for route in routes for group in route.level.groups]
    pairs = [(g, route) for g, route in pairs if read_level(g).order > route.level.order]
    return max(pairs, key=lambda pair: read_level(pair[0]).order, default=None)


_NOT_BLAMED = (
    "so nothing that an attack finds can be blamed on it, and nothing that it misses excused."
)


def write_sentence(routes, evidence, checks, baseline, verdict):
    """What was found in whole people, with what is stressed between two asterisks."""
    # checks: by name; verdict: its text after the headline
    highest = get_highest(routes)
    if highest.level.name == "unknown":
        return _write_doubt(evidence, checks, baseline, verdict)
    if highest.level.name == "none":
        return _write_nothing(highest, routes)
    beyond = find_outcome(checks, BEYOND_OF_FILE if highest.way == FILE else BEYOND)
    if get_difference(checks) is not None and beyond is not None and beyond.finding is not None:
        return f"**The model leaks beyond the difference between the sides.** {beyond.text}"
    group = find_worst_group(routes)
    more = ""
    if group is not None:
        named = read_level(group[0]).word.lower()
        more = f" It is {named} for **{name_group(group[0])}**."
    return _write_leak(highest, routes) + more


def _write_of_group(highest):
    """What is found where only groups leak: in the one of the highest AUC."""
    leaking = [group for group in highest.level.groups if read_level(group).rank >= 0]
    rows = [highest.find_best("auc", None, one["scope"], one["group"]) for one in leaking]
    best = max((row for row in rows if row), key=lambda row: row["estimate"], default=None)
    text = "Over all records, attacks recognize no more than guessing does."
    if best is not None:
        text += f" In **{name_group(best)}**, a random member ranks above a random non-member "
        text += f"{100 * best['estimate']:.0f} of 100 times."
    return text


def _write_leak(highest, routes):
    if not highest.level.overall:
        return _write_of_group(highest)
    rate = choose_rate(routes)
    best = highest.find_best("tpr", rate) if rate is not None else None
    auc = highest.find_best("auc")
    with_file = "With the **model file**, a" if highest.way == FILE else "A"
    ranks = f"{with_file} random member ranks above a random non-member "
    ranks += "of 100 times".join(("" if auc is None else f"{100 * auc['estimate']:.0f} ", "."))
    others = [route for route in routes if route is not highest]
    if best is None:
        return f"{ranks} There are too few others to say how many can be recognized surely."
    base = choose_base(rate)
    n, m = count_of(best["estimate"], base), count_of(rate, base)
    if highest.level.name == "slight" and n == m:
        return f"{ranks} It is more than chance, and too little to be sure of anybody."
    if highest.level.name == "slight":
        verb = "is" if m == "1" else "are"
        return (
            f"An attacker recognizes **{n}** of {base:,} training records, when {m} of {base:,} "
            f"others {verb} mistaken for one. It is more than chance, and too little to be sure of "
            "anybody."
        )
    if best["estimate"] < 0.05:
        return f"{ranks} Few can be recognized surely: {n} of {base:,}."
    who = "has the **model file**" if highest.way == FILE else "gets the **answers** of the model"
    tail = "".join(_tell_other(route, rate, base) for route in others)
    return (
        f"Whoever {who} can recognize {n} of {base:,} training records, and mistakes {m} of "
        f"{base:,} others for one.{tail}"
    )


def _tell_other(route, rate, base):
    best = route.find_best("tpr", rate)
    what = "From the **model file**," if route.way == FILE else "From the **answers** alone,"
    if route.level.name == "unknown" or best is None:
        return f" {what} nothing can be said."
    if route.level.name == "none":
        return f" {what} it is no more than by guessing."
    return f" {what} it is {count_of(best['estimate'], base)} of {base:,}."


def _write_nothing(highest, routes):
    rate = choose_rate(routes)
    n_attacks = len({row["attack"] for row in highest.rows})
    attacks = f"{count_words(n_attacks).capitalize()} attack{'s' if n_attacks > 1 else ''}"
    verb = "recognizes" if n_attacks == 1 else "recognize"
    best = highest.find_best("tpr", rate, end="high") if rate is not None else None
    if best is None:
        auc = highest.find_best("auc", end="high")
        most = f"at most **{100 * auc['high']:.0f}** of 100 times above a non-member"
        found = f"{attacks} rank{'s' if n_attacks == 1 else ''} members no better than guessing: "
        return f"{found}{most}. A stronger attack may still succeed."
    base = choose_base(rate)
    m = count_of(rate, base)
    is_judged = all(route.level.name == "none" for route in routes)
    judged = "" if is_judged else " The **model file** could not be judged."
    return (
        f"{attacks} {verb} no more than guessing does: at most "
        f"**{base * best['high']:.2g}** of {base:,} training records, when {m} of {base:,} others "
        f"{'is' if m == '1' else 'are'} mistaken for one. A stronger attack may still succeed."
        f"{judged}"
    )


def _write_doubt(evidence, checks, baseline, verdict):
    """Why there is no verdict."""
    cause = find_outcome(checks, SIDES)
    if cause is not None and cause.is_warning and evidence in (REVERSED, UNKNOWN):
        clause = CAUSES[name_cause(cause)].clause
        return f"**{clause[0].upper()}{clause[1:]}.** {cause.text}"
    if evidence == SHIFT:
        check = get_check(get_difference(checks))
        if check.leads and baseline is not None:
            return (
                "**Members and non-members differ by themselves.** They can be told apart "
                f"{100 * baseline['auc']:.0f} of 100 times without the model, {_NOT_BLAMED}"
            )
        why = check.difference or "a check tells them apart without the model"
        return (
            f"**Members and non-members differ by themselves:** {why}, "
            f"{_NOT_BLAMED.replace('blamed on it', 'blamed on the model')}"
        )
    if evidence == REVERSED:
        return (
            "**The scores are the wrong way round.** Attacks rank members below non-members, far "
            "more than chance explains. Most often the membership column is coded the other way."
        )
    name = get_blindness(checks)
    if is_stopped(checks):
        return f"**Model and table do not agree.** {verdict}"
    blind = name is None or get_check(name).role == BLIND
    neither = "Leakage can be neither shown nor ruled out"
    return f"**{'Nothing could have been found' if blind else neither}.** {verdict}"
