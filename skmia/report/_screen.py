"""What is told of an audit first: one value, which page, text, Markdown and others print."""

import math
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from .._core.escaping import visible
from .._core.levels import REVERSED, SHIFT, UNKNOWN, read_level
from .._core.screens import Headline, NextStep, Screen
from .._core.text import choose_base, count_of, count_words, inflect_word, shorten, tell_condition
from ..disclosure import tell_what_decides
from ._evidence import (
    FILE,
    SERVICE,
    ReleaseRoute,
    choose_rate,
    find_unit,
    find_worst_group,
    get_blindness,
    get_difference,
    get_fpr,
    get_highest,
    has_noise,
    is_stopped,
    list_routes,
    list_shown_of_document,
    name_group,
)
from ._measure import CLASS, OK, OVERALL
from ._people import PeopleFound, find_people
from ._regularization import advise_by_kind
from ._words import join_names
from .checks import find_outcome, get_check
from .checks._base import (
    BEYOND,
    BEYOND_OF_FILE,
    BLIND,
    ERROR,
    NOT_RUN,
    PASSED,
    SIDES,
    STATED,
    UNLISTED,
    WARNING,
    read_checks,
)
from .checks._control import PositiveControlCheck
from .checks._model_and_table import AVERAGE
from .checks._sides import CAUSES, SWAPPED, name_cause, tell_cause

# What each route is called in a sentence.
MEANS = {FILE: "with the file", SERVICE: "as a service"}


@dataclass(frozen=True)
class AuditScreen(Screen):
    """The first screen of an audit."""

    routes: tuple  # each Route that was attacked, the file first
    way: str  # the route that the headline is about
    rate: float | None  # largest false positive rate at which members are counted
    trust: dict  # whether the numbers can be trusted, see `list_trust`
    caution: str  # on intervals above chance where nothing is shown, or empty
    warnings: list  # statements of checks that warn, but for what the sentence says
    people: PeopleFound | None  # what was found of people with several records


def make_screen(document, routes, checks):
    """Return what is told first of a document, or of the parts of one that a report has."""
    highest, verdict = get_highest(routes), document["verdict"].partition(". ")[2]
    evidence, baseline = document["evidence"], document["baseline"]
    files = _name_files(document)
    sentence = write_sentence(routes, evidence, checks, baseline, verdict, files)
    sentence += _tell_noise(routes, checks)
    trust = list_trust(checks, highest.level != UNKNOWN)
    return AuditScreen(
        level=highest.level,
        heading=_write_heading(highest, checks),
        headlines=tuple(_make_headline(one, highest, checks) for one in routes),
        sentence=sentence,
        steps=tuple(advise_on_audit(document, routes, checks)),
        routes=tuple(routes),
        way=highest.way,
        rate=choose_rate(routes),
        trust=trust,
        caution=_tell_intervals(routes),
        warnings=[] if highest.level == "unknown" else _list_untold(trust["bad"], sentence),
        people=find_people(document["person_level"], routes[-1].rows, evidence),
    )


# Characters of the name of a group in a headline.
_LONGEST_GROUP = 20


def _write_heading(route, checks):
    """Return heading of a page: whose leakage, and whether of answers that an attacker averages."""
    heading = route.level.heading
    heading += "" if route.level.overall or route.level.rank < 0 else " in a group"
    return f"{heading}{' in noisy answers' if _is_of_noise(route, checks) else ''}"


def _is_of_noise(route, checks):
    return route.way == SERVICE and route.level != "unknown" and has_noise(checks)


def _tell_noise(routes, checks):
    """Return a sentence on answers that differ when the model is queried again; or no text."""
    if not any(_is_of_noise(route, checks) for route in routes):
        return ""
    return (
        " **The model answers equal queries differently:** an attacker who queries it again and "
        "averages the answers may find more."
    )


def _list_untold(statements, sentence):
    """Return the statements of checks that a sentence does not hold."""
    return [text for text in statements if text not in sentence]


def _make_headline(route, highest, checks):
    """Return what was found of a route, with the group in which it is more."""
    where, group = f"as a {route.way}", find_worst_group([route])
    where += ", in noisy answers" if _is_of_noise(route, checks) else ""
    if group is not None:
        word = read_level(group[0]).word.lower() if route.level.overall else "only"
        where += f"; {word} for {shorten(name_group(group[0]), _LONGEST_GROUP)}"
    leads = route.level.order == highest.level.order
    return Headline(route.level.heading, where, (route.level,), leads)


def show_way(report, way):
    """Return the first screen of the answers alone, or of the file."""
    found = {FILE: report.file, SERVICE: report.service}[way]
    [route] = [one for one in list_routes(report) if one.way == way]
    checks, verdict = found.grounds.checks, found.verdict.partition(". ")[2]
    if way == FILE and found.evidence == UNKNOWN and get_blindness(checks) is None:
        sentence = f"**The file could not be judged.** {verdict}"
    else:
        given = _describe_report(report)
        files = _name_files(given)
        sentence = write_sentence(
            [route], found.evidence, checks, given["baseline"], verdict, files
        )
        sentence += _tell_noise([route], checks)
    headlines = (_make_headline(route, route, checks),)
    return Screen(route.level, _write_heading(route, checks), headlines, sentence, ())


def _name_files(document):
    """Return the names of the files of both sides, if the user gave two files; or None."""
    command = document["settings"].get("command")
    given = command if isinstance(command, dict) else {}
    files = [given.get(name) for name in ("train", "held_out", "heldout")]
    files = [visible(PurePath(one).name) for one in files if isinstance(one, str)]
    return files if len(files) == 2 else None


def _describe_report(report):
    """Return the fields of a document that its first screen needs."""
    found, file = report.recommendation, report.file
    return {
        "recommendation": found and found.to_dict(),
        "file": file and file.facts,
        "baseline": report.baseline and {"auc": report.baseline.estimate},
        **{
            name: getattr(report, name)
            for name in ("settings", "evidence", "verdict", "victim_name", "person_level")
        },
    }


def show_report(report):
    """Return the first screen of a report."""
    return make_screen(_describe_report(report), list_routes(report), report.checks)


def show_document(document):
    """Return the first screen of a document."""
    return make_screen(document, list_document_routes(document), read_checks(document["checks"]))


def list_document_routes(document):
    """Return the routes of a document, the file first."""
    ways = {FILE: document["file"], SERVICE: document}
    return [
        ReleaseRoute(
            way,
            read_level(found["level"]),
            found["results"],
            list_shown_of_document(found, document["settings"]["confidence_level"]),
        )
        for way, found in ways.items()
        if found is not None
    ]


_DIFFER = "Members and non-members differ even without the model"
_NOT_OF_MODEL = (
    "An attack may only see this difference, and not what the model learned: leakage can be "
    "neither shown nor ruled out."
)


def write_sentence(routes, evidence, checks, baseline, verdict, files=None):
    """Return what was found in whole people, with what is stressed between two asterisks.

    checks: by name; verdict: its text after the headline.
    """
    highest = get_highest(routes)
    if highest.level.name == "unknown":
        return _write_doubt(evidence, checks, baseline, verdict, files, find_lone_class(routes))
    if highest.level.name == "none":
        return _write_nothing(highest, routes)
    beyond = find_outcome(checks, BEYOND_OF_FILE if highest.way == FILE else BEYOND)
    if get_difference(checks) is not None and beyond is not None and beyond.finding is not None:
        return f"**The model leaks beyond the difference between the sides.** {beyond.text}"
    told = _write_leak(highest, routes)
    group = find_worst_group(routes)
    if group is None or (not highest.level.overall and group[1] is highest):
        return told
    word = read_level(group[0]).word.lower()
    # A group may leak in the other way alone.
    way = "It" if group[1] is highest else f"{MEANS[group[1].way].capitalize()}, it"
    return f"{told} {way} is {word} for **{name_group(group[0])}**."


def _write_of_group(highest):
    """Return what is found where only groups leak: in the one with the highest level."""
    text, found = "Over all records, attacks recognize no more than chance explains.", ""
    worst = find_worst_group([highest])
    if worst is None:
        return text
    part = worst[0]
    auc = highest.find_best("auc", None, part["scope"], part["group"])
    best = _find_shown_rate(highest, part)
    if best is not None and (auc is None or not highest.is_shown(auc)):
        base = choose_base(best["max_fpr"])
        found = (
            f" the attack {best['attack']} recognizes {count_of(best['estimate'], base)} of "
            f"{base:,} members, {tell_condition(get_fpr(best), base)}: the leakage is"
        )
    elif auc is not None:
        found = " a random member ranks above a random non-member "
        found += f"{count_of(auc['estimate'], 100)} of 100 times: the leakage is"
    else:
        found = " the leakage is"
    return f"{text} In **{name_group(part)}**,{found} {read_level(part).word.lower()}."


def _find_shown_rate(route, part):
    """Return the row of a group with the most members for each other, if it is beyond chance."""
    rows = [
        row
        for row in route.rows
        if (row["scope"], row["group"], row["metric"]) == (part["scope"], part["group"], "tpr")
        and row["status"] == OK
        and route.is_shown(row)
        and _exceeds(row, choose_base(row["max_fpr"]))
    ]
    return max(rows, key=lambda row: row["estimate"] / find_unit(row), default=None)


def _write_leak(highest, routes):
    if not highest.level.overall:
        return _write_of_group(highest)
    rate = choose_rate(routes)
    best = highest.find_best("tpr", rate) if rate is not None else None
    ranks = _write_ranks(highest, highest.find_best("auc"))
    if best is None and highest.level == "slight":
        return _write_slight_audit(highest, None, 100)
    if best is None:
        return f"{ranks} There are too few others to say how many can be recognized with certainty."
    base = choose_base(rate)
    if highest.level == "slight":
        return _write_slight_audit(highest, best, base)
    if best["estimate"] <= get_fpr(best):
        return f"{ranks} None can be recognized with certainty: {_count_both(best, base)}."
    if best["estimate"] < 0.05:
        return f"{ranks} Few can be recognized with certainty: {_count_both(best, base)}."
    means = "with the **model file**" if highest.way == FILE else "who gets the model's **answers**"
    tail = "".join(_tell_other(one, best, base) for one in routes if one is not highest)
    return f"An attacker {means} can recognize {_tell_recognized_members(best, base)}{tail}"


def _write_ranks(route, row):
    """Return how often a member ranks higher, by a row of the AUC or None."""
    with_file = "With the **model file**, a" if route.way == FILE else "A"
    times = "" if row is None else f"{count_of(row['estimate'], 100)} "
    return f"{with_file} random member ranks above a random non-member {times}of 100 times."


def _tell_recognized_members(row, base):
    """Return how many members are recognized, and how many others are mistaken for one."""
    n, mistaken = count_of(row["estimate"], base), get_fpr(row)
    if mistaken > 0:
        m = count_of(mistaken, base)
        return f"{n} of {base:,} training records, and mistakes {m} of {base:,} others for one."
    return (
        f"**{n} of {base:,}** training records **without mistaking anyone else for one** (0 of "
        f"{base:,} others{_tell_most(row, base)})."
    )


def _tell_most(row, base):
    """Return at most how many others may be mistaken where none was."""
    high = row.get("fpr_high")
    if high is None or np.isnan(high):
        return ""
    return f"; at most {np.ceil(base * high - 1e-9):.0f}"


def _count_both(row, base):
    """Return how many are recognized beside how many others are mistaken, in a few words."""
    n, m = (count_of(share, base) for share in (row["estimate"], get_fpr(row)))
    return f"{n} of {base:,} members, and {m} of {base:,} others are taken for one"


_LITTLE = "This is more than chance, but too little to identify anyone with certainty."


def _write_slight_audit(route, best, base):
    """Return the strongest number that is beyond chance, as members recognized or as ranks."""
    shown = [row for row in route.rows if row["scope"] == OVERALL and row["status"] == OK]
    shown = [row for row in shown if route.is_shown(row)]
    rates = [row for row in shown if row["metric"] == "tpr"]
    aucs = sorted(
        (row for row in shown if row["metric"] == "auc"), key=lambda one: -one["estimate"]
    )
    # The row of the picture, where it is beyond chance.
    if best in rates and _exceeds(best, base):
        n = count_of(best["estimate"], base)
        when = tell_condition(get_fpr(best), base)
        return f"An attacker recognizes **{n}** of {base:,} training records, {when}. {_LITTLE}"
    told = route.find_best("auc")
    if aucs and told is not None and told["attack"] != aucs[0]["attack"]:
        times = count_of(told["estimate"], 100)
        return (
            f"{_write_ranks(route, aucs[0])[:-1]} by the attack {aucs[0]['attack']}, and {times} "
            f"by {told['attack']}, the reported attack. The former is more than chance, but too "
            "little to identify anyone with certainty."
        )
    if aucs:
        return f"{_write_ranks(route, aucs[0])} {_LITTLE}"
    return (
        f"{_write_ranks(route, route.find_best('auc'))} One number of an attack is beyond chance, "
        "but too little to identify anyone with certainty."
    )


def _exceeds(row, base):
    """Return whether more members are recognized than others mistaken, in whole ones too."""
    return round(base * row["estimate"]) > round(base * get_fpr(row))


def _tell_other(route, first, base):
    """Return what the other route gives, beside the row of the first."""
    best = route.find_best("tpr", first["max_fpr"])
    what = "From the **model file**," if route.way == FILE else "From the **answers** alone,"
    if route.level == "unknown" or best is None:
        if route.way == FILE:  # whoever has it can ask it
            return " What the **model file** reveals beyond this cannot be said."
        return f" {what} nothing can be said."
    if route.level == "none":
        return f" {what} it is no more than by guessing."
    if not route.level.overall:
        group, _ = find_worst_group([route])
        return f" {what} only **{name_group(group)}** is beyond chance."
    told = f" {what} it is {count_of(best['estimate'], base)} of {base:,}"
    mistaken = [count_of(get_fpr(row), base) for row in (first, best)]
    if mistaken[0] == mistaken[1]:
        return f"{told}."
    return f"{told}, {tell_condition(get_fpr(best), base)}."


def _write_nothing(highest, routes):
    rate = choose_rate(routes)
    n_attacks = len({row["attack"] for row in highest.rows})
    attacks = f"{count_words(n_attacks).capitalize()} attack{'s' if n_attacks > 1 else ''}"
    s = "s" if n_attacks == 1 else ""
    is_judged = all(route.level == "none" for route in routes)
    judged = "" if is_judged else " The **model file** could not be judged."
    may = f"A stronger attack may still succeed.{judged}"
    best = highest.find_best("tpr", rate, end="high") if rate is not None else None
    if best is None:
        auc = highest.find_best("auc", end="high")
        most = f"at most **{count_of(auc['high'], 100)}** of 100 times above a non-member"
        return f"{attacks} rank{s} members no better than chance explains: {most}. {may}"
    base = choose_base(rate)
    return (
        f"{attacks} recognize{s} no more than chance explains: "
        f"**{count_of(best['estimate'], base)}** of {base:,} training records, and at most "
        f"{max(1, round(base * best['high'])):,}, {tell_condition(get_fpr(best), base)}. {may}"
    )


def find_lone_class(routes):
    """Return a sentence's clause on the one class of a side where the other has several.

    Or None.
    """
    counts = {
        row["group"]: (row["n_members"], row["n_nonmembers"])
        for row in routes[-1].rows
        if row["scope"] == CLASS
    }
    sides = [[group for group, n in counts.items() if n[side]] for side in (0, 1)]
    for own, other, name in ((*sides[::-1], "non-members"), (*sides, "members")):
        if len(own) == 1 and len(other) > 1:
            return f"all {name} are of the class {visible(own[0])}"
    return None


def _write_doubt(evidence, checks, baseline, verdict, files, lone):
    """Return why there is no verdict."""
    cause = find_outcome(checks, SIDES)
    if cause is not None and cause.is_warning and evidence in (REVERSED, UNKNOWN):
        return tell_cause(cause, files)
    if evidence == SHIFT:
        check = get_check(get_difference(checks))
        if lone is not None:
            return f"**{_DIFFER}:** {lone}. {_NOT_OF_MODEL}"
        if check.leads and baseline is not None:
            return (
                f"**{_DIFFER}.** They can be distinguished {count_of(baseline['auc'], 100)} of 100 "
                f"times without it. {_NOT_OF_MODEL}"
            )
        why = check.difference or "a check distinguishes them without the model"
        return f"**{_DIFFER}:** {why}. {_NOT_OF_MODEL}"
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


_MOST_PARTS = 3


def _tell_intervals(routes):
    """A sentence on intervals above chance in parts in which nothing is shown, or no text."""
    named = []
    for route in routes:
        parts = [(one, read_level(one)) for one in route.level.groups]
        whole = {"scope": OVERALL, "group": "all"}
        for part, level in [(whole, route.own_level), *parts]:
            if level.name != "none":
                continue
            auc = route.find_best("auc", None, part["scope"], part["group"], end="low")
            if auc is not None and auc["low"] > 0.5:
                name = "all records" if part is whole else name_group(part)
                named.append(f"{name} ({route.way})" if len(routes) > 1 else name)
    if not named:
        return ""
    return (
        f"Each interval holds for one number alone. In {join_names(named, _MOST_PARTS)}"
        f"{' parts' if len(named) > _MOST_PARTS else ''} one lies above chance, as one of many may "
        "by accident: after correction for all numbers that were tested, nothing is shown there."
    )


# What to do where there is no verdict, if the check that prevents it does not say.
_ALIKE = NextStep(
    "Take both sides from one population.", "Set a random part of the data aside before training."
)
_BOTH_CLASSES = NextStep(
    "Give rows of all classes on both sides.",
    "Set a random part of all rows aside before training, as --held-out.",
)
_FAILED = NextStep(
    "Remove what made a check fail.",
    "Its message is below. If memory did not suffice, audit fewer records of both sides, or with "
    "one worker.",
    "#trust",
    "Checks",
)
_AGAIN = NextStep("Then audit again.", "The numbers of all attacks are below, without a level.")
_ASK_AGAIN = NextStep("Then audit again.", "No shadow model was trained, and no attack was run.")

_MOST_STEPS = 3


def advise_on_audit(document, routes, checks):
    """Return at most three steps on what to do next."""
    steps, found = [], document["recommendation"]
    if found is not None:
        by = f"By the policy {found['policy']['name']}: {found['result']}."
        by += _tell_open(found, routes) if found["result"] == "cannot be said" else ""
        n_reviews = len(found["reviews"])
        if n_reviews and found["result"] in ("release", "release with conditions"):
            need = inflect_word(n_reviews, "check needs", "checks need")
            by += f" Before a release, {n_reviews} {need} a reason."
        verb = {FILE: "release", SERVICE: "offer"}[found["release"]]
        imperative = _RESULTS[found["result"]].format(verb=verb, way=found["release"])
        steps.append(NextStep(imperative.capitalize(), by, "#decision", "Recommendation"))
    unlisted, sides = (find_outcome(checks, role) for role in (UNLISTED, SIDES))
    # Rows of the model that are listed as members cannot be held out as well.
    in_doubt = sides is not None and sides.is_warning
    if unlisted is not None and unlisted.is_warning and not in_doubt:
        steps.append(get_check(unlisted.name).step)
    if has_noise(checks):
        steps.append(AVERAGE)
    if is_open_file(routes):
        steps.append(_OPEN_FILE if routes[-1].level.rank <= 0 else _OPEN_FILE_OF_LEAK)
    if get_highest(routes).level.name == "unknown":
        steps += _advise_in_doubt(document, checks, find_lone_class(routes))
    elif get_highest(routes).level.name == "none":
        steps += _advise_to_look(document, routes)
    else:
        # The exit code also tells that a route has no verdict, so a step ends that.
        if any(route.way == SERVICE and route.level.name == "unknown" for route in routes):
            steps += [*_advise_in_doubt(document, checks, find_lone_class(routes))][:1]
        steps += _advise_against_leaks(document, routes, has_policy=found is not None)
    return steps[:_MOST_STEPS]


_OPEN_FILE = NextStep(
    "Do not release the file yet.",
    "It is not known what it reveals about training records. Offer the model's predictions as a "
    "service instead, which `--release service` judges.",
    "#stores",
    "Why",
)


_OPEN_FILE_OF_LEAK = NextStep(
    "Do not release the file.",
    "Whoever has it can query it, and finds what the service reveals or more.",
    "#stores",
    "Why",
)


def is_open_file(routes):
    """Return whether the answers of a model were judged and its file could not be."""
    levels = {route.way: route.level for route in routes}
    return levels.get(FILE) == "unknown" and levels[SERVICE] != "unknown"


def _tell_open(found, routes):
    """Return what would end that a policy cannot say."""
    judged = [one for one in routes if one.way == SERVICE or found["release"] == FILE]
    if any(route.level == "unknown" for route in judged):
        return " The audit has no verdict."
    return f" {tell_what_decides(found)}"


_RESULTS = {
    "do not release": "do not {verb} the {way}.",
    "release": "the {way} may be released.",
    "release with conditions": "{verb} the {way} under conditions only.",
    "cannot be said": "do not {verb} the {way} yet.",
}
_ADVERBS = {"clear": "clearly", "severe": "severely"}


def _advise_against_leaks(document, routes, has_policy):
    """Yield what to do next if the file or the service leaks."""
    levels = {route.way: route.level for route in routes}
    file, service = levels.get(FILE), levels[SERVICE]
    if file is not None and file.rank >= 0:
        if file.rank > 0 and not has_policy:
            cure = "Offer its predictions as a service instead."
            if service.rank >= file.rank:  # which would be no cure
                cure = "Offer its predictions alone, and only with a defense."
            elif service == "unknown":
                cure = "What its predictions reveal is not known, so do not offer these yet either."
            yield NextStep("Do not release the file.", cure, "#stores", "Why")
        changes = document["file"]["changes"][:2]
        text = " ".join(changes) if sum(map(len, changes)) < 160 else changes[0]
        yield NextStep("Train a model that stores less.", text, "#stores", "Why")
    worst = find_worst_group(routes[-1:])
    if service.rank > 0:
        text = f"{advise_by_kind(document['victim_name'])}, or a defense."
        if file is not None and file.rank >= 0:
            text = f"It also leaks {_ADVERBS[service.name]}."
        text += f" Most in {name_group(worst[0])}." if worst else ""
        link = ("#groups", "Groups") if worst else ()
        yield NextStep("Defend the service, then compare.", text, *link)
    if service.rank == 0 and document["settings"].get("group") and worst:
        yield NextStep("Look at the worst group.", f"{name_group(worst[0])}.", "#groups", "Groups")
    if file is None:
        yield _UNASKED
    if service.rank == 0:
        text = f"{advise_by_kind(document['victim_name'])}, or a defense; then compare."
        yield NextStep("Train a model that memorizes less.", text)
    yield _look_harder(document)
    yield NextStep("Compare after each change.", "`skmia compare old new`")


_UNASKED = NextStep(
    "Audit the file before you release it.",
    "This audit used only predictions: the level does not cover the file.",
)


def _look_harder(document):
    n = document["settings"]["n_shadows"]
    told = f"{n} shadow models were trained; more of them may find more leakage."
    text = told if n else "Use shadow models."
    return NextStep("Run a stronger audit before a release.", text)


def _advise_to_look(document, routes):
    levels = {route.way: route.level for route in routes}
    if FILE not in levels:
        yield _UNASKED
    yield _look_harder(document)
    judged = [route for route in routes if route.way == SERVICE or _is_file_released(document)]
    yield NextStep("Keep the audit in your tests.", f"`--fail-above {_propose_limit(judged)}`")


def _is_file_released(document):
    """Return whether limits of the command hold for the file as well."""
    command = document["settings"].get("command")
    return isinstance(command, dict) and command.get("release") == FILE


def _propose_limit(routes):
    """Return a limit that all these routes keep."""
    rate = choose_rate(routes)
    rows = [] if rate is None else [one.find_best("tpr", rate, end="high") for one in routes]
    is_rate = bool(rows) and None not in rows
    name, usual = (f"tpr@{rate:g}", 2 * rate) if is_rate else ("auc", 0.6)
    rows = rows if is_rate else [one.find_best("auc", end="high") for one in routes]
    # Rounded up to hundredths, or to what is as much of a low rate.
    unit = 1 / choose_base(usual)
    most = max((math.ceil(row["high"] / unit - 1e-9) * unit for row in rows if row), default=usual)
    return f"{name}.high={min(max(usual, most), 1):.6g}"


def _advise_in_doubt(document, checks, lone):
    """Yield what to do next if the evidence is reversed, a shift or unknown."""
    sides = find_outcome(checks, SIDES)
    if sides is not None and sides.is_warning and document["evidence"] in (REVERSED, UNKNOWN):
        command = document["settings"].get("command")
        swapped = command.get("swapped") if isinstance(command, dict) else None
        step = CAUSES[name_cause(sides)].step
        if name_cause(sides) == SWAPPED and swapped:
            step = step._replace(why=f"`{visible(str(swapped))}`")
        yield step
        yield _AGAIN
        return
    if document["evidence"] == REVERSED:
        yield NextStep(
            "Check the membership column.", "1 or true is for records of the training set."
        )
        yield NextStep("Check the signs of your own attacks.", "Higher scores must mean members.")
        yield _AGAIN
        return
    has_failed = any(check.is_error for check in checks.values())
    if has_failed:
        yield _FAILED
    if document["evidence"] == SHIFT:
        if lone is not None:
            yield _BOTH_CLASSES
        yield get_check(get_difference(checks)).step or _ALIKE
        differ = "Such as in dates, ages, a filter or the source."
        yield NextStep("Find out how they differ.", differ, "#trust", "Checks")
        yield NextStep("Or let skmia choose.", "An unfitted model is trained on a random half.")
    elif not has_failed:  # what a check would have found is not known
        yield get_check(get_blindness(checks)).step or PositiveControlCheck.step
    yield _ASK_AGAIN if is_stopped(checks) else _AGAIN


# Outcomes of checks in the order of the page.
_ORDER = (ERROR, WARNING, PASSED, STATED)


def list_trust(checks, is_conclusive):
    """Return a line, the checks as statements, failed first, and what was not run."""
    rows, not_run = [], {}
    for check in checks.values():
        words = get_check(check.name).state(check)
        rows.append({"status": check.status, "words": words, "text": check.text})
        if check.status == NOT_RUN:
            not_run.setdefault(visible(check.text).rstrip("."), []).append(check.name)
    rows = [row for row in rows if row["status"] in _ORDER]
    rows.sort(key=lambda row: _ORDER.index(row["status"]))
    bad = [row["words"] for row in rows if row["status"] in (WARNING, ERROR)]
    n_passed = sum(row["status"] == PASSED for row in rows)
    failed = f"{count_words(len(bad))} failed or warned" if bad else "none failed"
    passed = f"{count_words(n_passed)} check{'' if n_passed == 1 else 's'} passed"
    answer = ("With care" if bad else "Yes") if is_conclusive else "No"
    line = f"{answer}: {passed} and {failed}."
    short = f"{passed}, {failed}"
    left_out = [f"{', '.join(names)} ({reason})" for reason, names in not_run.items()]
    return {"line": line, "short": short, "rows": rows, "bad": bad, "not_run": left_out}
