"""What is said of two audits: the first line, the sentence, and the page."""

from dataclasses import dataclass

from .._core.escaping import visible
from .._core.levels import Level
from .._core.pages import render_page
from .._core.screens import Headline, NextStep, Screen, write_headlines, write_steps
from .._core.text import (
    choose_base,
    count_briefly,
    count_more,
    count_nouns,
    count_of,
    shorten,
    wrap_short,
)
from ._captions import caption_intervals
from ._comparison import (
    BOTH,
    COUNTED,
    LESS,
    MORE,
    NOT_ATTACKED,
    PEOPLE,
    READ_SO,
    SAME,
    UNSAID,
    compare_audits,
)
from ._evidence import FILE, SERVICE, name_group
from ._measure import OVERALL
from ._page import cut_name
from ._screen import MEANS, list_document_routes
from ._text import column_name
from ._words import format_auc, format_rate, join_names

HEADINGS = {
    LESS: "Less leakage",
    MORE: "More leakage",
    SAME: "No change shown",
    BOTH: "Better and worse",
    UNSAID: "No verdict",
}
_WORDS = {
    LESS: "Better: less leakage",
    MORE: "Worse: more leakage",
    SAME: "No change that the records show",
    BOTH: "Better in one number, worse in another",
    UNSAID: "Cannot be said",
}
# Groups in the terminal; the page lists all.
_MOST_GROUPS = 8


def _write_comparison_heading(found):
    """What became of all routes that were compared, with the way if another route differs."""
    changed = [route for route in found.routes if route.outcome not in (SAME, UNSAID)]
    if not changed or len(changed) == len(found.routes):
        outcomes = {route.outcome for route in changed}
        if len(outcomes) < 2:
            return HEADINGS[found.outcome]
    text = join_names(f"{HEADINGS[one.outcome].lower()} {MEANS[one.way]}" for one in changed)
    return f"{text[0].upper()}{text[1:]}"


def _write_route(route):
    """What became of a route, by the number that decides, with what is stressed in asterisks."""
    way = MEANS[route.way].capitalize()
    if route.outcome == UNSAID:
        return f"{way}, nothing can be said: {route.why}."
    told = []
    for sign in (1, -1):
        changed = [one for one in route.changes if one.sign == sign]
        whole = [one for one in changed if one.is_overall]
        # Recognized people say more than ranks do, where both changed in the same way.
        whole.sort(key=lambda one: (one.metric == "tpr", one.scope == OVERALL), reverse=True)
        # A group that improves with all others needs no sentence.
        groups = [one for one in changed if not one.is_overall and (sign > 0 or not whole)]
        told += whole[:1] + groups[:1]
    if not told:
        return f"{way}, {_tell_same(route.changes[0])}."
    first, *others = map(_tell_change, told)
    return (
        ". ".join([f"{way}, {first}", *(f"{text[0].upper()}{text[1:]}" for text in others)]) + "."
    )


def _tell_change(one):
    what, a, b = _tell_shares(one)
    where = "" if one.is_overall else f"in **{name_group(one._asdict())}**, "
    return f"{where}{what.format(f'**{b}**')}; it was {a}"


def _tell_same(one):
    what, a, b = _tell_shares(one)
    if a == b:
        return f"{what.format(a)} in both audits"
    return f"{what.format(b)}, and it was {a}: a difference that may be chance"


def _tell_shares(one):
    """Words for a number, and the number in each audit, with digits in which a change is seen."""
    shares = one.first[0], one.second[0]
    if one.metric == "tpr":
        base = choose_base(one.max_fpr)
        m = one.max_fpr * base
        others = f"{m:.0f} of {base:,} others {'is' if round(m) == 1 else 'are'} mistaken for one"
        what = f"{{}} of {base:,} members are recognized when at most {others}"
    else:
        base = 100
        who = "member with all records" if one.scope == PEOPLE else "member"
        what = f"a random {who} ranks above a random non-member {{}} of 100 times"
    a, b = (count_of(share, base) for share in shares)
    if a == b and one.sign:
        a, b = (f"{base * share:.1f}" for share in shares)
    return what, a, b


# --- the first screen


@dataclass(frozen=True)
class ComparisonScreen(Screen):
    """The first screen of a comparison of two audits."""

    sentences: list  # one on each route, or one on all
    audits: list  # of each audit: a line on its model, and the level of each route
    compared: str  # which attacks were compared, and which were not
    unchanged: str  # how many groups are shown to have changed


def show_comparison(found, documents):
    """Return the first screen of a comparison."""
    said = [route.levels[1] for route in found.routes if route.outcome != UNSAID]
    level, heading = max(said, default=Level("unknown")), _write_comparison_heading(found)
    if found.outcome == LESS and level.rank >= 0:
        heading += f", still {level.word.lower()}"
    sentences = [_write_route(route) for route in _list_told(found.routes)]
    return ComparisonScreen(
        level=level,
        heading=heading,
        headlines=tuple(
            _make_route_headline(route, place) for place, route in enumerate(found.routes)
        ),
        sentence=" ".join(sentences),
        steps=tuple(_list_steps(found)),
        sentences=sentences,
        audits=[[_describe_model(one), *_tell_verdicts(one)] for one in documents],
        compared=_tell_scope(found),
        unchanged=_tell_unchanged([one for route in found.routes for one in route.changes]),
    )


def _list_told(routes):
    """Return the routes of which a sentence is told.

    Where nothing changed, the first says it for all.
    """
    return routes[:1] if {route.outcome for route in routes} == {SAME} else routes


def _make_route_headline(route, place):
    """Return what became of the route, and its level in both audits."""
    levels = tuple(level for level in route.levels if level is not None)
    where = MEANS[route.way]
    decisive = [one for one in route.changes if one.sign]
    if decisive and decisive[0].levels:  # a group's, which comes after all records
        levels = decisive[0].levels
        where += f", {shorten(name_group(decisive[0]._asdict()), 20)}"
    if route.outcome == UNSAID:
        told = route.why
    else:
        words = [level.word.lower() for level in levels]
        still = "" if route.outcome == SAME else "still "
        told = f"{still}{words[0]}" if words[0] == words[1] else " -> ".join(words)
    return Headline(HEADINGS[route.outcome], f"{where}: {told}", levels, leads=not place)


# --- the terminal


def format_comparison(found, documents, names):
    """Format a comparison in lines of at most 80 characters, what became of it first."""
    screen = show_comparison(found, documents)
    lines = write_headlines(screen)
    for sentence in screen.sentences:
        lines += ["", *wrap_short(sentence.replace("**", ""), "  ", 2)]
    brackets = f"{caption_changes(found)}. {READ_SO}"
    lines += ["", *_tabulate_changes(found), ""]
    lines += wrap_short(screen.compared, "  Compared  ", 12)
    lines += wrap_short(brackets, "  Brackets  ", 12)
    for side, name, told in zip("AB", names, screen.audits, strict=True):
        text = f"{visible(name)}: {'. '.join(told)}."
        lines += wrap_short(text, f"  {side:9s} ", 12)
    return "\n".join([*lines, *write_steps(screen, 12)])


def caption_changes(found):
    """Return what the intervals of the numbers that decide hold for."""
    return (
        f"{100 * found.level:g}% intervals of the attack that counts in each audit; those of a "
        f"change are wider, because they hold for {_count_numbers(found)} and the choice of the "
        "attack"
    )


_CELLS = (20, 19, 19)
_NOT_SHOWN = "not shown to change"


def _tabulate_changes(found):
    """Return the numbers that decide, of all records and of the groups that changed."""
    lines = [_lay_comparison_row("", "A", "B", "change")]
    routes = [route for route in found.routes if route.changes]
    for route in routes:
        if len(routes) > 1:
            lines.append(f"  {MEANS[route.way]}")
        groups = [one for one in route.changes if one.sign and not one.is_overall]
        rows = [one for one in route.changes if one.is_overall] + groups[:_MOST_GROUPS]
        lines += [_write_row(one) for one in rows]
        if len(groups) > _MOST_GROUPS:
            lines.append(f"  {count_more(len(groups) - _MOST_GROUPS, 'group')} changed: --out")
        n_groups = len({one.group for one in route.changes if not one.is_overall})
        if n_groups and not groups:
            lines.append(_lay_comparison_row("each of the groups", "", "", _NOT_SHOWN))
    return lines


def _lay_comparison_row(*cells):
    padded = "".join(f"{cell:{width}s}" for cell, width in zip(cells, _CELLS))
    return f"  {padded}{cells[-1]}".rstrip()


def _write_row(one):
    if one.metric == "auc":
        unit, name = "AUC", "ranks higher (AUC)"
        cells = [_short(*one.first), _short(*one.second)]
        change = _short(*one.difference, sign="+")
    else:
        base = choose_base(one.max_fpr)
        unit, name = f"of {base:,}", f"recognized of {base:,}"
        cells = [_format_count(base, *ends) for ends in (one.first, one.second)]
        change = _format_change(base, *one.difference)
    if one.scope == PEOPLE:
        name = "people (AUC)"
    elif not one.is_overall:
        name = f"{shorten(name_group(one._asdict()), 16 - len(unit))} ({unit})"
    return _lay_comparison_row(name, *cells, change if one.sign else _NOT_SHOWN)


def _short(estimate, low, high, sign=""):
    """Return an interval of shares without zeros before the point."""
    texts = [f"{value:{sign}.3f}".replace("0.", ".") for value in (estimate, low, high)]
    texts = [text.replace("1.000", "1.00") for text in texts]
    return "{} [{}, {}]".format(*texts)


def _format_count(base, estimate, low, high):
    """Return how many of so many are recognized, in the words of the first screen of an audit."""
    most = count_briefly(high, base)
    return f"{count_briefly(estimate, base):>3} [{base * low:,.0f}, {most}]"


def _format_change(base, *ends):
    """Return a change of a count, with so many digits that only 0 is written as 0."""
    ends = [round(base * end, 8) + 0.0 for end in ends]  # without the sign of a zero
    digits = next(d for d in range(9) if all(round(end, d) or not end for end in ends))
    estimate, low, high = (f"{end:+,.{digits}f}" for end in ends)
    return f"{estimate:>3} [{low}, {high}]"


def _count_numbers(found):
    return f"all {found.n_compared} numbers" if found.n_compared > 1 else "this number"


def _tell_scope(found):
    """Return which attacks are compared, and what is not."""
    listed = join_names(map(visible, found.attacks), 6) or "none"
    left = "; ".join(_tell_not_compared(found))
    left = f" Not compared: {left}." if left else ""
    return f"Attacks that both audits ran alike: {listed}.{left}"


def _describe_model(document):
    data, n = document["data"], document["settings"]["n_shadows"]
    sides = f"{data['n_members']:,} members, {data['n_nonmembers']:,} others"
    pool = f"{n} shadow models" if n else "no shadow models"
    return f"{cut_name(document['victim_name'])}; {sides}; {pool}"


def _tell_verdicts(document):
    """Return the level of each route of an audit, by all of its attacks."""
    routes = list_document_routes(document)
    return [f"{one.level.heading} {MEANS[one.way]}" for one in routes]


def _list_steps(found):
    """Return what would let more be compared."""
    steps, counts = [], [name for name, why in found.left_out if COUNTED in why]
    if counts:
        why = f"`--shadows`, for {join_names(map(visible, counts))}."
        steps.append(NextStep("Audit both with one number of shadow models.", why))
    # What the file of one audit alone was attacked with has its own step.
    n_missing = sum(route.why.startswith(NOT_ATTACKED) for route in found.routes)
    if len(counts) + n_missing < len(found.left_out):
        steps.append(NextStep("Audit both with the same attacks.", "Only these can be compared."))
    for route in found.routes:
        if route.why.startswith(NOT_ATTACKED):
            side = route.why[-1]
            steps.append(NextStep(f"Audit {side} again.", _MISSING[route.way]))
        elif route.outcome == UNSAID:
            steps.append(NextStep("Ask for a verdict first.", f"{route.why.capitalize()}."))
    return steps


def _tell_not_compared(found):
    """Return the attacks, groups and rates that are not compared, by the reason."""
    reasons = {}
    for name, why in (*found.left_out, *found.unshared):
        reasons.setdefault(why, []).append(visible(name))
    return [f"{join_names(names, _MOST_GROUPS)} ({why})" for why, names in reasons.items()]


_MISSING = {
    FILE: "Its file was not attacked (leave out `--quick`).",
    SERVICE: "Its answers were not attacked.",
}


# --- the page


def render_comparison(first, second, names, title="Two audits of membership inference"):
    documents, groups = (first, second), {}
    found = compare_audits(first, second)
    screen = show_comparison(found, documents)
    for one in found.numbers:
        if one.scope not in (OVERALL, PEOPLE):
            groups.setdefault((one.scope, one.group), []).append(one)
    changes = [one for route in found.routes for one in route.changes]
    return render_page(
        "page_compare.html.j2",
        __package__,
        title=f"{screen.heading}: {title}",
        kind=title,
        screen=screen,
        audits=[_describe_audit(*audit) for audit in zip(names, documents, strict=True)],
        routes=[_describe_route(route) for route in found.routes],
        changes=[_make_change_row(one) for one in changes if one.is_overall or one.sign],
        rows=[_make_row(one) for one in found.numbers if one.scope in (OVERALL, PEOPLE)],
        groups=[_describe_group_change(*part, rows, changes) for part, rows in groups.items()],
        caption=caption_changes(found),
        intervals=caption_intervals(found.level),
        read_so=READ_SO,
    )


def _describe_route(route):
    return {
        "way": MEANS[route.way],
        "levels": route.levels,
        "outcome": _WORDS[route.outcome],
        "why": route.why,
    }


def _make_change_row(one):
    write = format_auc if one.metric == "auc" else format_rate
    where = {OVERALL: "all records", PEOPLE: PEOPLE}.get(one.scope) or name_group(one._asdict())
    told = {-1: "less", 0: _NOT_SHOWN, 1: "more"}
    return {
        "where": where,
        "way": MEANS[one.way],
        "metric": column_name(one.metric, one.max_fpr),
        "attacks": join_names(dict.fromkeys(map(visible, one.attacks))),
        "cells": [write(*numbers) for numbers in (one.first, one.second, one.difference)],
        "sign": one.sign,
        "told": told[one.sign],
    }


def _tell_unchanged(changes):
    """Return how many groups are shown to have changed, in a sentence."""
    groups = {}
    for one in changes:
        if not one.is_overall:
            groups.setdefault((one.scope, one.group), []).append(one.sign)
    if not groups:
        return ""
    n_changed, n = sum(map(any, groups.values())), count_nouns(len(groups), "group")
    told = f"{n_changed:,} of {n} changed" if n_changed else f"None of {n} is shown to change"
    return f"{told}, after Holm's correction for all of them."


def _describe_audit(name, document):
    data, found = document["data"], document["recommendation"]
    return {
        "name": name,
        "model": cut_name(document["victim_name"]),
        "counts": f"{data['n_members']:,} members, {data['n_nonmembers']:,} others",
        "facts": {
            "Shadow models": f"{document['settings']['n_shadows']}",
            "Policy": f"{found['policy']['name']}: {found['result']}" if found else "none",
            "Audited": document["created"],
        },
        "verdict": document["verdict"],
        "file": document["file"] and document["file"]["verdict"],
    }


def _describe_group_change(scope, group, rows, changes):
    """Return the numbers of a group, with its levels in both audits."""
    levels = {
        MEANS[one.way]: one.levels
        for one in changes
        if (one.scope, one.group) == (scope, group) and one.levels
    }
    name = name_group({"scope": scope, "group": group})
    return {"name": name, "levels": [*levels.items()], "rows": [_make_row(one) for one in rows]}


def _make_row(found):
    write = format_auc if found.metric == "auc" else format_rate
    max_fpr = None if found.metric != "tpr" else found.max_fpr
    return {
        "attack": found.attack,
        "way": PEOPLE if found.scope == PEOPLE else MEANS[found.way],
        "metric": column_name(found.metric, max_fpr),
        "cells": [write(*numbers) for numbers in (found.first, found.second, found.difference)],
    }
