"""The page of an audit: one HTML file that needs no other file."""

import pandas as pd

from .._core.escaping import visible
from .._core.levels import LEAK, LIMITS, REVERSED, SHIFT, UNKNOWN, read_level
from .._core.pages import render_page
from .._core.pages.curves import draw_roc
from .._core.pvalues import format_pvalue
from .._core.text import (
    choose_base,
    count_briefly,
    count_lower_end,
    count_of,
    count_words,
    shorten_count,
    show_share,
    write_date,
)
from ..metrics import MIN_FALSE_POSITIVES, precision_at_prior
from ._captions import MISTAKEN, RANKED, RANKS, RECOGNIZED, caption_counts, caption_intervals
from ._evidence import (
    FILE,
    SERVICE,
    choose_rate,
    get_difference,
    get_fpr,
    get_highest,
    is_told,
    name_group,
    name_told_auc,
)
from ._left_out import count_left_out
from ._measure import INTERVAL, OK, OVERALL, TOO_FEW
from ._people import tell_unlisted
from ._pool_size import describe_growth
from ._screen import MEANS, show_document
from ._screen import list_document_routes as list_document_routes
from ._surrogate import CHOSEN
from ._text import (
    column_name,
    describe_disparity,
    describe_performance,
    describe_reading,
    describe_sources,
    format_cell,
)
from ._verdict import describe_candidates
from ._words import join_names
from .checks import CHECKS, get_check
from .checks._base import NextStep as NextStep
from .checks._base import (
    read_checks,
)

_LONGEST_SUBJECT = 60
# Shares of members among the candidates, for which it is told how many of those recognized are.
_PRIORS = 0.5, 0.1


def render_audit(document, title=None, values=None):
    screen = show_document(document)
    named, level = cut_name(document["victim_name"]), screen.level
    return render_page(
        "page.html.j2",
        __package__,
        title=f"{screen.heading}: {title or f'privacy audit of {named}'}",
        kind=title or "privacy audit of a model",
        date=write_date(document["created"]),
        subject=named,
        level=level,
        heading=screen.heading,
        way="" if level == "unknown" else MEANS[screen.way],
        same_recipe=document["settings"]["shadow_estimator"] == document["victim"],
        audit=document,
        **_describe_page(document, screen),
        **_list_exposed_records(document, values),
    )


def cut_name(name, longest=_LONGEST_SUBJECT):
    """Return a name of one line, cut between words."""
    name = visible(name)
    if len(name) <= longest:
        return name
    whole, _, _ = name[:longest].rpartition(" ")
    return f"{whole if len(whole) > longest // 2 else name[:longest]}…"


def _describe_page(document, screen):
    routes, checks = screen.routes, read_checks(document["checks"])
    settings, growth = document["settings"], document["growth"]
    return {
        "sentence": screen.sentence,
        "steps": screen.steps,
        "panel": _describe_panel(document, screen, checks),
        "groups": _describe_groups(document, routes),
        "persons": screen.people,
        "person_level": document["person_level"],
        "trust": screen.trust,
        "warnings": screen.warnings,
        "attacks": [*_list_attack_rows(routes)],
        "n_attacks": count_words(sum(len({r["attack"] for r in route.rows}) for route in routes)),
        "others": _list_other_groups(document, routes),
        "levels": _list_levels(routes),
        "file": document["file"] and _describe_file_box(document["file"]),
        "knows": _describe_knowledge(document),
        "growth": growth and describe_growth(growth),
        "performance": describe_performance(document["performance"]),
        "intervals": caption_intervals(settings["confidence_level"]),
        "ranked": RANKED,
        "command": _write_repeating_call(settings, document["seeds"]),
        "fewest_false": MIN_FALSE_POSITIVES,
    }


# --- the panel


def _describe_panel(document, screen, checks):
    routes = screen.routes
    if get_highest(routes).level.name == "unknown":
        note = f"{RANKS}; the lines are intervals."
        warned = [name for name, check in checks.items() if check.is_warning or check.is_error]
        note += f" Checks that warn: {join_names(warned)}." if warned else ""
        return {"rows": _list_opposing_numbers(document, routes), "note": note}
    grids, curves, rate = describe_picture(document, routes)
    mark = choose_mark(curves, rate)
    shown = [route for route in routes if route.level.name != "unknown"]
    drawing, aucs = draw_roc(curves, mark), ((one.way, one.find_best("auc")) for one in shown)
    told = "; ".join(f"{way}: AUC {row['estimate']:.3f}" for way, row in aucs if row)
    return {
        "grids": grids,
        "roc": drawing | {"up": RECOGNIZED, "across": MISTAKEN} if drawing["lines"] else None,
        "alt": f"ROC curves on logarithmic axes. {told}.",
        "notes": [*_note_numbers(document, routes, shown, rate), screen.caution],
    }


def describe_picture(document, routes):
    """Return the counts of a hundred, curves, and the rate at which members are counted, or None.

    Without a verdict there are no counts, and the curves are those of what was measured.
    """
    rate, shown = choose_rate(routes), [one for one in routes if one.level != "unknown"]
    grids = [_describe_grid(route, rate) for route in shown]
    if rate is not None:
        grids += _describe_others(shown, rate)
    curves = [_find_curve(document, route, rate) for route in shown or routes]
    return grids, [curve for curve in curves if curve], rate


def choose_mark(curves, rate):
    """Return the rate at which all curves have their point, or None."""
    if rate is None:
        return None
    measured = {round(choose_base(rate) * one["at"][0]) for one in curves if one["at"]}
    return rate if measured <= {round(choose_base(rate) * rate)} else None


def _describe_others(routes, rate):
    """Return how many others are mistaken for members: once if they are as many in all routes."""
    rows = [(route, route.find_best("tpr", rate)) for route in routes]
    shares = [(route, get_fpr(row)) for route, row in rows if row is not None]
    base, text = choose_base(rate), MISTAKEN
    if len({count_of(share, base) for _, share in shares}) == 1:
        words = [f"{text}{', in both' if len(shares) > 1 else ''}"]
    else:
        words = [f"{text} {MEANS[route.way]}" for route, _ in shares]
    return [
        _make_grid(_count_dots(share, base), round(100 * share), base, told, None)
        for (_, share), told in zip(shares, words, strict=False)
    ]


def _count_dots(share, base):
    """Return a share as the number above its dots."""
    words = {"fewer than ": "< ", "more than ": "> "}
    number = count_of(share, base)
    for long, short in words.items():
        number = number.replace(long, short)
    return number


def _make_grid(*parts):
    return dict(zip(("number", "filled", "base", "text", "level"), parts, strict=True))


def _describe_grid(route, rate):
    best = None if rate is None else route.find_best("tpr", rate)
    text, way = RECOGNIZED, MEANS[route.way]
    if best is None:  # an AUC is no number of people, so that nothing is counted
        return _make_grid("-", 0, None, f"{text} {way}: too few others", route.own_level)
    share, base = best["estimate"], choose_base(rate)
    filled = round(100 * share) if base * share >= 0.5 else 0
    return _make_grid(_count_dots(share, base), filled, base, f"{text} {way}", route.own_level)


def _find_curve(document, route, rate):
    """Return the curve of the reported attack of a route, with the point that is reported."""
    best = None if rate is None else route.find_best("tpr", rate)
    listed = (document if route.way == SERVICE else document["file"])["curves"]
    attack = best and best["attack"]
    curve = next((one for one in listed if one["attack"] == attack), listed[0] if listed else None)
    return curve and curve | {
        "name": route.way,
        "level": route.level.name,
        "dashed": route.way == SERVICE and document["file"] is not None,
        "from": min(1.0, MIN_FALSE_POSITIVES / document["data"]["n_nonmembers"]),
        "at": best and (get_fpr(best), best["estimate"]),
    }


def _note_numbers(document, routes, shown, rate):
    """Return notes on the attacker, intervals, identified records, and what was not attacked."""
    level = f"{100 * document['settings']['confidence_level']:g}%"
    notes = [
        "The attacker holds candidate records and asks which of them the model was trained on: "
        "the members."
    ]
    ends, precise = [], {}
    for route in shown:
        best = None if rate is None else route.find_best("tpr", rate)
        if best is None:
            ends.append(f"{route.way} AUC {format_cell(route.find_best('auc'))}")
        else:
            base = choose_base(rate)
            digits = 0 if base * best["high"] >= 5 else 1
            low, high = (f"{base * best[end]:,.{digits}f}" for end in ("low", "high"))
            if not digits:  # all only if it is 1
                low, high = count_lower_end(best["low"], base), count_of(best["high"], base)
            ends.append(f"{route.way} {low} to {high} of {base:,}")
        if best and best["fpr"] and route.own_level.rank >= 0:
            for prior in _PRIORS:
                share = float(precision_at_prior(best["estimate"], best["fpr"], prior))
                told = f"{count_of(share, 100)}{f' {MEANS[route.way]}' if len(shown) > 1 else ''}"
                precise.setdefault(prior, []).append(told)
    if ends:
        notes.append(f"{level} intervals: {', '.join(ends)}.")
    if precise:
        half, tenth = (" and ".join(shares) for shares in precise.values())
        notes.append(
            f"Of 100 recognized records, {half} are members if half of all candidates are; if one "
            f"in ten is, {tenth}."
        )
    if get_highest(routes).level.name == "none":
        auc = get_highest(routes).find_best("auc", end="high")
        n_tested = len((document["permutation"] or {"numbers": []})["numbers"])
        told = f"No result of {n_tested} is significant after correction."
        told = told if n_tested != 1 else "It is not significant."
        notes.append(
            f"The {name_told_auc(get_highest(routes).rows, auc)} is {format_cell(auc)}; 0.5 is "
            f"guessing. {told}"
        )
    if document["file"] is None:
        notes.append("The model was not attacked as a file.")
    elif len(shown) < len(routes):
        way = next(route.way for route in routes if route not in shown)
        found = (document["file"] if way == FILE else document)["verdict"].partition(". ")[2]
        # What is not read is named where the file is told of, by names that programs have.
        found = "no attack reads all of it." if found.startswith("Not read: ") else found
        notes.append(f"No verdict {MEANS[way]}: {found}")
    return notes


def _list_opposing_numbers(document, routes):
    """Return the number that forbids a verdict, and those beside it: words, AUC and ends."""
    best, rows = routes[-1].find_best("auc"), {}
    if best:
        rows["attack"] = ("best attack on the model", *(best[k] for k in INTERVAL))
    measured = [check.interval for check in CHECKS if check.interval is not None]
    for name, words in measured:
        if document[name]:
            rows[name] = (words, *document[name].values())
    if document["power"]:
        last = document["power"]["numbers"][-1]
        spread = 2 * (last["sd"] or 0)
        ends = max(0, last["auc"] - spread), min(1, last["auc"] + spread)
        rows["power"] = ("same attack on shadow models", last["auc"], *ends)
    first = {SHIFT: ("baseline",), UNKNOWN: ("attack", "power"), REVERSED: ("attack", "power")}
    order = [*first[document["evidence"]], "attack", *(name for name, _ in measured)]
    difference = get_check(get_difference(read_checks(document["checks"])))
    if document["evidence"] == SHIFT and difference.interval is not None:
        order.insert(0, difference.interval[0])
    return [rows[name] for name in dict.fromkeys(order) if name in rows]


# --- sections


def _describe_groups(document, routes):
    """Return rows of all records and of each group, and sentences on where the most is found."""
    parts, small = {(OVERALL, "all"): None}, []
    for row in routes[-1].rows:
        if row["metric"] == "auc" and row["status"] == TOO_FEW:
            small.append(name_group(row))
        elif row["metric"] == "auc":
            parts.setdefault((row["scope"], row["group"]), row)
    if len(parts) < 2:
        return None
    shown = [route for route in routes if route.find_best("auc") is not None]
    rate = choose_rate(routes)
    metric, base = ("auc", None), None
    what = RANKED
    groups = [part for part, row in parts.items() if row is not None]
    # One unit for all groups: where too few others are, a dash.
    if rate and any(route.find_best("tpr", rate, *part) for route in shown for part in groups):
        metric, base = ("tpr", rate), choose_base(rate)
        what = caption_counts(shown, rate, parts)
    rows = [_describe_part(document, part, row, shown, metric, base) for part, row in parts.items()]
    worst = _name_worst_groups(rows, base)
    return {
        "caption": what,
        "ways": [MEANS[route.way].capitalize() for route in shown],
        "rows": rows,
        "leveled": any(route.level.name != "unknown" for route in shown),
        "small": join_names(dict.fromkeys(small), 10) if small else None,
        "lead": " ".join(
            f"Members of {name} are exposed most: {' and '.join(numbers)}."
            for name, numbers in worst.items()
        ),
        "worst": next(iter(worst), None),
        "tests": [*map(_describe_group_test, (document["disparity"] or {"scopes": []})["scopes"])],
        "disparity": describe_disparity(document["disparity"]),
    }


def _describe_part(document, part, row, routes, metric, base):
    cells = []
    for route in routes:
        best, auc = route.find_best(*metric, *part), route.find_best("auc", None, *part)
        listed = {(one["scope"], one["group"]): one for one in route.level.groups}
        level = read_level(listed[part]) if part in listed else route.own_level
        if part not in listed and row is not None:
            cells.append(None)
            continue
        cell = {"level": level, "way": MEANS[route.way], "auc": auc and auc["estimate"]}
        cells.append(cell | (_write_cell(best, base) if best else {"number": None}))
    counts = row or document["data"]
    name = "All records" if row is None else name_group(row)
    n_members, n_others = counts["n_members"], counts["n_nonmembers"]
    return {"name": name, "counts": f"{n_members:,} members, {n_others:,} others", "cells": cells}


def _write_cell(row, base):
    """Return a number with its ends: members of so many, or an AUC."""
    share, low, high = (row[name] for name in INTERVAL)
    cell, digits = {"share": share, "low": low, "high": high}, 3
    if base is not None:
        digits = 0 if base * high >= 5 else 1
    number, *ends = (f"{(base or 1) * one:,.{digits}f}" for one in (share, low, high))
    if not digits:  # as in the sentence: all of them only if it is 1
        number, high = count_briefly(share, base), count_briefly(high, base)
        ends = shorten_count(count_lower_end(low, base)), high
    return cell | {"number": number, "ends": " to ".join(ends)}


def _name_worst_groups(rows, base):
    """Of each group that is exposed most by a route, what is found in it."""
    told = {}
    for place, cell in enumerate(rows[0]["cells"]):
        # Nothing is said of a group in which nothing is shown, however high its number is.
        found = [(row["name"], row["cells"][place]) for row in rows[1:]]
        found = [pair for pair in found if pair[1] is not None and pair[1]["level"].rank >= 0]
        # The level is the first that is told of a group; numbers tell those of one level apart.
        most = max((cell["level"].order for _, cell in found), default=None)
        found = [pair for pair in found if pair[1]["level"].order == most]
        name = "auc" if any(cell["number"] is None for _, cell in found) else "share"
        worst = max(found, key=lambda pair: pair[1][name], default=None)
        if worst is None or cell is None or cell[name] is None or worst[1][name] <= cell[name]:
            continue
        is_auc = base is None or name == "auc"
        number = f"AUC {worst[1]['auc']:.3f}" if is_auc else f"{worst[1]['number']} of {base:,}"
        told.setdefault(worst[0], []).append(f"{number} {worst[1]['way']}")
    return told


def _describe_group_test(test):
    """Return whether the groups of a scope differ more than by chance."""
    p = format_pvalue(test["pvalue"], 1 / (1 + test["n_permutations"]))
    differ = "differ more than" if test["reject"] else "do not differ more than"
    return f"As a service, the groups of {test['scope']} {differ} chance explains ({p})."


def _list_other_groups(document, routes):
    """Return the AUC of each attack in each group, as a table."""
    names, rows = [], {}
    for route in routes:
        for row in route.rows:
            if row["metric"] == "auc" and row["scope"] != OVERALL and row["status"] == OK:
                names.append(row["attack"])
                rows.setdefault(name_group(row), {})[row["attack"]] = f"{row['estimate']:.3f}"
    names = list(dict.fromkeys(names))
    cells = [(group, [found.get(name, "-") for name in names]) for group, found in rows.items()]
    return {"names": names, "rows": cells} if cells else None


def _list_exposed_records(document, values):
    """The most exposed records of each route that leaks, with their values if these are given."""
    ways, data = {FILE: document["file"], SERVICE: document}, document["data"]
    n_records = data["n_records"] + count_left_out(data)
    if values is not None and len(values) != n_records:
        raise ValueError(f"values needs a row for each of {n_records} records; got {len(values)}.")
    table = pd.DataFrame(values, index=range(n_records) if values is None else None).astype(str)
    exposed = [
        {
            "way": MEANS[way].capitalize(),
            "rows": found["exposed"],
            "n_others": data["n_nonmembers"],
            "more": tell_unlisted(found["exposed"]),
            "sure": sum(row["n_above"] == 0 for row in found["exposed"]),
            "cells": table.iloc[[row["position"] for row in found["exposed"]]].to_numpy().tolist(),
        }
        for way, found in ways.items()
        if found is not None and found["evidence"] == LEAK and found["exposed"]
    ]
    lists = [{row["position"] for row in one["rows"]} for one in exposed]
    n_both = len(set.intersection(*lists)) if len(lists) > 1 else 0
    counts = list(dict.fromkeys(len(one["rows"]) for one in exposed))
    told = f"{counts[0]} for each route" if len(counts) == 1 else " and ".join(map(str, counts))
    return {
        "exposed": exposed,
        "n_exposed": told if len(exposed) > 1 else "",
        "n_both": n_both,
        "columns": list(map(str, table.columns)),
    }


def _list_attack_rows(routes):
    """Yield a row for each attack on all records: its route, and its numbers by their heading."""
    for route in routes:
        rows = {}
        for row in route.rows:
            if row["scope"] == OVERALL:
                rows.setdefault(row["attack"], []).append(row)
        for attack, numbers in rows.items():
            names = [column_name(row["metric"], row["max_fpr"]) for row in numbers]
            cells = [*zip(names, map(format_cell, numbers), strict=True)]
            yield {"attack": attack, "way": MEANS[route.way], "cells": cells}


def _list_levels(routes):
    """Return the limits of the levels, and the numbers that the levels of the routes rest on."""
    told = []
    for route in routes:
        listed = route.level.numbers.items()
        numbers = [
            f"{name.replace('auc', 'AUC')} {_write_low(row['low'])} by {visible(row['attack'])}"
            for name, row in listed
        ]
        if numbers and route.level.name != "unknown":
            told.append(f"{route.way.capitalize()}: {', '.join(numbers)}.")
    rows = [row for route in routes for row in route.rows if row["scope"] == OVERALL]
    parts = "groups" if any(map(is_told, rows)) else "attacks and groups"
    corrected = f"Lower ends are corrected for the number of {parts} compared."
    return {"limits": LIMITS, "found": " ".join(told), "corrected": corrected}


def _write_low(low):
    """Return the lower end of an AUC or of a ratio in three digits, or as a whole number."""
    return show_share(low) if low < 100 else f"{low:,.0f}"


def _describe_file_box(file):
    """Return what the page shows of the file of the model."""
    return {
        "text": describe_candidates(file) if file["evidence"] == LEAK else file["verdict"],
        "sources": describe_sources(file),
        "n_equations": sum(one["n_equations"] or 0 for one in file["sources"]),
        "lists": {
            "What was read of it": describe_reading(file),
            "What it stores of its training rows": file["stores"],
            "What would change it": file["changes"],
            "Notes": file["notes"],
        },
    }


def _describe_knowledge(document):
    """Return what the attacker knows, what was trained, and how well the model fits both sides."""
    settings, reference = document["settings"], document["reference"]
    is_chosen = reference is not None and reference["recipe"] == CHOSEN
    n, like = settings["n_shadows"], f": {settings['shadow_estimator']}"
    if is_chosen:
        like = f", of a stand-in: {reference['estimator']}"
    elif settings["shadow_estimator"] == document["victim"]:
        like = ", like the model"
    recipe = "" if is_chosen or not n else ", and how the model was trained"
    trained = f"; trains {n} shadow models on random halves of the records{like}" if n else ""
    data = document["data"]
    times = f" {data['n_queries']:,} times" if "n_queries" in data else ""
    facts = {
        "knows": f"every candidate record with its label{recipe}",
        "does not know": "which candidates are members",
        "as a service": f"queries the model{times}{trained}",
    }
    if document["file"]:
        facts["with the file"] = "reads the file; makes no query"
    power = document["power"]
    if power:
        grown = [f"{row['n_shadows']}: AUC {row['auc']:.3f}" for row in power["numbers"]]
        which = f"{power['attack']} on shadow models treated as the victim"
        facts["number of models"] = f"{'; '.join(grown)} ({which})"
    return facts


def _write_repeating_call(settings, seeds):
    """Return the command, or the call, that repeats the audit."""
    command = settings.get("command")
    if isinstance(command, dict) and "repeat" in command:
        return str(command["repeat"])
    own = {"shadows": settings["n_shadows"] or None}  # none were trained, which is no number
    own |= {name: settings[name] for name in ("group", "fprs", "confidence_level")}
    own["random_state"] = seeds.get("random_state")
    told = ", ".join(f"{name}={value!r}" for name, value in own.items() if value is not None)
    return f"audit(model, records, membership, {told})"
