"""Two audits side by side."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from .._core.pages import Level, choose_base, render_page
from ..metrics import difference_interval
from ._evidence import (
    FILE,
    SERVICE,
    choose_rate,
    count_of,
    get_highest,
    name_group,
    read_level,
    scale,
)
from ._measure import COLUMNS, INTERVAL, OK, OVERALL
from ._page import MEANS, cut_name, list_document_routes
from ._text import column_name, format_auc, format_rate, join_names

# Scope of the numbers about people, who count once for all their records.
PEOPLE = "people with all their records"
READ_SO = (
    "The intervals assume independent audits on disjoint records. If the audits share records, the "
    "intervals are usually too wide. Each interval is for one number: of twenty numbers without a "
    "difference, about one may exclude 0."
)


class Difference(NamedTuple):
    """A number that both audits have."""

    scope: str  # part of the records
    group: str
    attack: str
    metric: str
    max_fpr: float  # rate of a TPR; NaN for other metrics
    first: tuple  # estimate and ends of the interval in each audit
    second: tuple
    difference: tuple  # second minus first, with the ends of its interval
    way: str = SERVICE  # or FILE: what the attack reads

    @property
    def is_clear(self):
        """Whether the interval of the difference excludes 0."""
        return not self.difference[1] <= 0 <= self.difference[2]


def compare_audits(first, second):
    """List the numbers that two audits have in common."""
    pairs = {FILE: [document["file"] for document in (first, second)], SERVICE: [first, second]}
    found = [
        difference
        for way, parts in pairs.items()
        if None not in parts
        for difference in _compare_results(*(part["results"] for part in parts), way)
    ]
    found = _compare_people(first, second) + found
    return sorted(found, key=lambda difference: difference.scope != OVERALL)


def _compare_results(first, second, way):
    key = ["scope", "group", "attack", "metric", "max_fpr"]
    frames = []
    for results in (first, second):
        frame = pd.DataFrame(results, columns=list(COLUMNS))
        frame = frame[frame["status"] == OK]
        # A missing rate would not match itself in some versions of pandas.
        frame = frame.assign(max_fpr=frame["max_fpr"].astype(float).fillna(0.0))
        frames.append(frame.set_index(key)[INTERVAL].astype(float))
    both = frames[0].add_suffix("_a").join(frames[1].add_suffix("_b"), how="inner")
    for names, row in both.iterrows():
        sides = [tuple(row[[f"{name}_{side}" for name in INTERVAL]]) for side in "ab"]
        yield Difference(*names, *sides, difference_interval(*sides[::-1]), way)


def _compare_people(first, second):
    """The AUC of the strongest attack on people, if both audits have one."""
    people = [document["person_level"] for document in (first, second)]
    if any(found is None or found["auc"] is None for found in people):
        return []
    attacks = dict.fromkeys(found["attack"] for found in people)
    sides = [tuple(found[name] for name in ("auc", "low", "high")) for found in people]
    gap = difference_interval(*sides[::-1])
    return [Difference(PEOPLE, "", " / ".join(attacks), "auc", np.nan, *sides, gap)]


# What became of a route: the word of its row, and the heading of a page on which all agree.
_LESS, _MORE, _SAME, _BOTH, _UNSAID = "less", "more", "same", "mixed", "unsaid"
_WORDS = {
    _LESS: ("Better: less leakage", "Less leakage"),
    _MORE: ("Worse: more leakage", "More leakage"),
    _SAME: ("No difference that the records resolve", "No difference shown"),
    _BOTH: ("Better in one number, worse in another", "Better and worse"),
    _UNSAID: ("Cannot be said", "No verdict"),
}
_UNKNOWN = Level("unknown")


def render_comparison(first, second, names, title="Two audits of membership inference"):
    documents, groups = (first, second), {}
    differences = compare_audits(first, second)
    for found in differences:
        if found.scope not in (OVERALL, PEOPLE):
            groups.setdefault((found.scope, found.group), []).append(found)
    routes = _compare_routes(documents)
    heading = _write_heading(routes)
    last = get_highest(list_document_routes(second)).level
    return render_page(
        "page_compare.html.j2",
        __package__,
        title=f"{heading}: {title}",
        kind=title,
        heading=heading,
        level=_UNKNOWN if heading == _WORDS[_UNSAID][1] else last,
        sentence=" ".join(_write_route(route) for route in routes),
        audits=[_describe(*audit) for audit in zip(names, documents, strict=True)],
        routes=routes,
        words={outcome: words[0] for outcome, words in _WORDS.items()},
        rows=[_make_row(one) for one in differences if one.scope in (OVERALL, PEOPLE)],
        groups=[_describe_group(*part, rows, documents) for part, rows in groups.items()],
        interval=f"{100 * first['settings']['confidence_level']:g}%",
        read_so=READ_SO,
    )


def _compare_routes(documents):
    """What became of each route that was attacked in one of the audits, the file first."""
    listed = [{one.way: one for one in list_document_routes(document)} for document in documents]
    ways = [way for way in (FILE, SERVICE) if any(way in routes for routes in listed)]
    level = documents[0]["settings"]["confidence_level"]
    return [_compare_route(way, [routes.get(way) for routes in listed], level) for way in ways]


def _compare_route(way, sides, level):
    """How the strongest attacks of two audits differ, in AUC and at the rate that both measure."""
    found = {"way": MEANS[way], "levels": [side and side.level for side in sides]}
    if None in sides or any(side.level.name == "unknown" for side in sides):
        missing = " and ".join(name for name, one in zip("AB", sides) if one is None)
        why = f"not attacked in {missing}" if missing else "no verdict in one of the audits"
        return found | {"outcome": _UNSAID, "change": why, "numbers": [], "rate": None}
    shared = set.intersection(
        *({r["max_fpr"] for r in one.rows if one.find_best("tpr", r["max_fpr"])} for one in sides)
    )
    rate = choose_rate(
        [one._replace(rows=[r for r in one.rows if r["max_fpr"] in shared]) for one in sides]
    )
    metrics = [("auc", None)] + ([] if rate is None else [("tpr", rate)])
    # The strongest of many is chosen, so the interval is corrected for all numbers compared.
    n_attacks = max(len({row["attack"] for row in side.rows}) for side in sides)
    wider = scale(1 - (1 - level) / (n_attacks * len(metrics)), level)
    numbers, signs = [], set()
    for metric in metrics:
        best = [side.find_best(*metric) for side in sides]
        if None in best:
            continue
        ends = [tuple(row[name] for name in INTERVAL) for row in best]
        gap, low, high = difference_interval(*ends[::-1])
        low, high = gap - wider * (gap - low), gap + wider * (high - gap)
        signs.add(int(low > 0) - int(high < 0))
        write = format_auc if metric[0] == "auc" else format_rate
        numbers.append((*metric, [one[0] for one in ends], write(gap, low, high)))
    outcomes = {(-1,): _LESS, (1,): _MORE, (-1, 1): _BOTH, (): _SAME if numbers else _UNSAID}
    told = [f"{column_name(name, fpr)} {text}" for name, fpr, _, text in numbers]
    return found | {
        "outcome": outcomes[tuple(sorted(signs - {0}))],
        "change": "; ".join(told) or "no number in common",
        "numbers": numbers,
        "rate": rate,
    }


def _write_heading(routes):
    """What became of all routes, or of each where they differ."""
    said = [route for route in routes if route["outcome"] != _UNSAID]
    outcomes = {route["outcome"] for route in said}
    if len(outcomes) == 1 and (len(said) == len(routes) or outcomes == {_SAME}):
        return _WORDS[outcomes.pop()][1]
    changed = [route for route in said if route["outcome"] != _SAME]
    told = [f"{_WORDS[one['outcome']][1].lower()} {one['way']}" for one in changed]
    text = join_names(told) if told else _WORDS[_UNSAID][1]
    return text[0].upper() + text[1:]


def _write_route(route):
    way = route["way"].capitalize()
    if route["outcome"] == _UNSAID:
        return f"{way}, nothing can be said: {route['change']}."
    metric, rate, (first, second), _ = route["numbers"][-1]
    if metric == "tpr":
        base = choose_base(rate)
        a, b, m = (count_of(share, base) for share in (first, second, rate))
        told = f"**{a}** of {base:,} members are recognized in A and **{b}** in B"
        told += f", when {m} of {base:,} others {'is' if m == '1' else 'are'} mistaken for one"
    else:
        told = "a member ranks above a non-member "
        told += f"**{100 * first:.0f}** of 100 times in A and **{100 * second:.0f}** in B"
    ends = {_SAME: ": no difference that the records resolve"}
    return f"{way}, {told}{ends.get(route['outcome'], '')}."


def _describe(name, document):
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


def _describe_group(scope, group, rows, documents):
    """The numbers of a group, with its levels in both audits."""
    levels = []
    for found in zip(*(list_document_routes(document) for document in documents)):
        pair = [
            read_level(one)
            for route in found
            for one in route.level.groups
            if (one["scope"], one["group"]) == (scope, group)
        ]
        if len({route.way for route in found}) == 1 and len(pair) == 2:
            levels.append((MEANS[found[0].way], pair))
    name = name_group({"scope": scope, "group": group})
    return {"name": name, "levels": levels, "rows": [_make_row(one) for one in rows]}


def _make_row(found):
    write = format_auc if found.metric == "auc" else format_rate
    max_fpr = None if found.metric != "tpr" else found.max_fpr
    return {
        "attack": found.attack,
        "way": PEOPLE if found.scope == PEOPLE else MEANS[found.way],
        "metric": column_name(found.metric, max_fpr),
        "cells": [write(*numbers) for numbers in (found.first, found.second, found.difference)],
        "is_clear": found.is_clear,
    }
