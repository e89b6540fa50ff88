"""What is told of an audit first: one value, which page, text, Markdown and others print."""

from typing import NamedTuple

from .._core.levels import CONCLUSIVE, REVERSED, SHIFT, UNKNOWN, Level, read_level
from .._core.text import choose_base
from .._core.visible import visible
from ._evidence import (
    FILE,
    SERVICE,
    Route,
    choose_rate,
    count_of,
    count_words,
    find_worst_group,
    get_blindness,
    get_difference,
    get_highest,
    is_stopped,
    list_routes,
    name_group,
)
from ._regularization import advise_by_kind
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
    Step,
    read_checks,
)
from .checks._control import PositiveControlCheck
from .checks._sides import CAUSES, SWAPPED, name_cause

# What each route is called in a sentence.
MEANS = {FILE: "with the file", SERVICE: "as a service"}


class Screen(NamedTuple):
    """The first screen of an audit: nothing that prints it chooses another word or number."""

    routes: tuple  # each Route that was attacked, the file first
    level: Level  # of the page: the highest of the routes
    way: str  # the route that the headline is about
    rate: float | None  # largest false positive rate at which members are counted
    sentence: str  # with what is stressed between two asterisks
    steps: tuple  # what to do next, each a Step
    trust: dict  # whether the numbers can be trusted, see `describe_trust`

    @property
    def headings(self):
        """The heading of each route with its way."""
        return [(one.level.heading, f"as a {one.way}") for one in self.routes]


def make_screen(document, routes, checks):
    """What is told first of a document, or of the parts of one that a report has."""
    highest, verdict = get_highest(routes), document["verdict"].partition(". ")[2]
    evidence = document["evidence"]
    return Screen(
        routes=tuple(routes),
        level=highest.level,
        way=highest.way,
        rate=choose_rate(routes),
        sentence=write_sentence(routes, evidence, checks, document["baseline"], verdict),
        steps=tuple(advise(document, routes, checks)),
        trust=describe_trust(checks, evidence in CONCLUSIVE),
    )


def show_report(report):
    """The first screen of a report."""
    found, file = report.recommendation, report.file
    document = {"recommendation": found and found.to_dict(), "file": file and file.facts}
    document |= {"settings": report.settings, "evidence": report.evidence}
    document |= {"victim_name": report.victim_name}
    document |= {"baseline": report.baseline and {"auc": report.baseline.estimate}}
    document |= {"verdict": report.verdict}
    return make_screen(document, list_routes(report), report.checks)


def show_document(document):
    """The first screen of a document."""
    return make_screen(document, list_document_routes(document), read_checks(document["checks"]))


def list_document_routes(document):
    """The routes of a document, the file first."""
    ways = {FILE: document["file"], SERVICE: document}
    return [
        Route(way, read_level(found["level"]), found["results"])
        for way, found in ways.items()
        if found is not None
    ]


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


# What to do where there is no verdict, if the check that prevents it does not say.
_ALIKE = Step(
    "Take both sides from one population.", "Set a random part of the data aside before training."
)
_FAILED = Step(
    "Remove what made a check fail.",
    "Its message is below; the verdict depends on it.",
    "#trust",
    "Checks",
)
_AGAIN = Step("Then audit again.", "The numbers of all attacks are below, without a level.")
_ASK_AGAIN = Step("Then audit again.", "No shadow model was trained, and no attack was run.")

_MOST_STEPS = 3


def advise(document, routes, checks):
    """At most three steps on what to do next."""
    steps, found = [], document["recommendation"]
    if found is not None:
        by = f"By the policy {found['policy']['name']}: {found['result']}."
        by += f" {found['reasons'][0]}" if found["result"] == "cannot be said" else ""
        verb = {FILE: "hand out", SERVICE: "offer"}[found["release"]]
        imperative = _RESULTS[found["result"]].format(verb=verb, way=found["release"])
        steps.append(Step(imperative.capitalize(), by, "#decision", "Recommendation"))
    unlisted = find_outcome(checks, UNLISTED)
    if unlisted is not None and unlisted.is_warning:
        steps.append(get_check(unlisted.name).step)
    if get_highest(routes).level.name == "unknown":
        steps += _advise_in_doubt(document, checks)
    elif get_highest(routes).level.name == "none":
        steps += _advise_to_look(document, routes)
    else:
        # The exit code also tells that a route has no verdict, so a step ends that.
        if any(route.way == SERVICE and route.level.name == "unknown" for route in routes):
            steps += [*_advise_in_doubt(document, checks)][:1]
        steps += _advise_against_leaks(document, routes, has_policy=found is not None)
    return steps[:_MOST_STEPS]


_RESULTS = {
    "do not release": "do not {verb} the {way}.",
    "release": "the {way} may be released.",
    "release with conditions": "{verb} the {way} under conditions only.",
    "cannot be said": "do not {verb} the {way} yet.",
}
_ADVERBS = {"clear": "clearly", "severe": "severely"}


def _advise_against_leaks(document, routes, has_policy):
    levels = {route.way: route.level for route in routes}
    file, service = levels.get(FILE), levels[SERVICE]
    if file is not None and file.rank >= 0:
        if file.rank > 0 and not has_policy:
            yield Step("Do not hand out the file.", "Offer its answers instead.", "#stores", "Why")
        changes = document["file"]["changes"][:2]
        text = " ".join(changes) if sum(map(len, changes)) < 160 else changes[0]
        yield Step("Train a model that stores less.", text, "#stores", "Why")
    worst = find_worst_group(routes[-1:])
    if service.rank > 0:
        text = f"{advise_by_kind(document['victim_name'])}, or a defense."
        if file is not None and file.rank >= 0:
            text = f"It leaks {_ADVERBS[service.name]} too."
        text += f" Most in {name_group(worst[0])}." if worst else ""
        link = ("#groups", "Groups") if worst else ()
        yield Step("Defend the service, then compare.", text, *link)
    if service.rank == 0 and document["settings"].get("group") and worst:
        yield Step("Look at the worst group.", f"{name_group(worst[0])}.", "#groups", "Groups")
    if file is None:
        yield _UNASKED
    if service.rank == 0:
        text = f"{advise_by_kind(document['victim_name'])}, or a defense; then compare."
        yield Step("Let the model memorize less.", text)
    yield _look_harder(document)
    yield Step("Compare after each change.", "`skmia compare old new`")


_UNASKED = Step(
    "Attack the file before you hand it out.",
    "This audit read answers only: the level says nothing of the file.",
)


def _look_harder(document):
    n = document["settings"]["n_shadows"]
    text = f"{n} shadow models were trained; more may find more." if n else "With shadow models."
    return Step("Look harder before a release.", text)


def _advise_to_look(document, routes):
    levels = {route.way: route.level for route in routes}
    if FILE not in levels:
        yield _UNASKED
    elif levels[FILE].name == "unknown":
        why = "Nobody knows yet what it stores of training records."
        yield Step("Do not hand out the file yet.", why, "#stores", "Why")
    yield _look_harder(document)
    rate = choose_rate(routes)
    limit = "auc.high=0.6" if rate is None else f"tpr@{rate:g}.high={2 * rate:g}"
    yield Step("Keep the audit in your tests.", f"`--fail-above {limit}`")


def _advise_in_doubt(document, checks):
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
        yield Step("Check the membership column.", "1 or true is for records of the training set.")
        yield Step("Check the signs of your own attacks.", "Higher has to mean a member.")
        yield _AGAIN
        return
    if any(check.is_error for check in checks.values()):
        yield _FAILED
    if document["evidence"] == SHIFT:
        yield get_check(get_difference(checks)).step or _ALIKE
        differ = "A date, an age, a filter, another source."
        yield Step("See in what they differ.", differ, "#trust", "Checks")
        yield Step("Or let skmia choose.", "An unfitted model is trained on a random half.")
    else:
        yield get_check(get_blindness(checks)).step or PositiveControlCheck.step
    yield _ASK_AGAIN if is_stopped(checks) else _AGAIN


# Outcomes of checks in the order of the page.
_ORDER = (ERROR, WARNING, PASSED, STATED)


def describe_trust(checks, is_conclusive):
    """A line, the checks as statements, failed first, and what was not run."""
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
