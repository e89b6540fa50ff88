"""Two audits side by side."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from .._core.pages import render_page
from ..metrics import difference_interval
from ._measure import COLUMNS, OK, OVERALL
from ._text import column_name, format_auc, format_rate

# Scope of the numbers about people, who count once for all their records.
PEOPLE = "people with all their records"
READ_SO = (
    "The intervals assume independent audits on disjoint records. If the audits share records, the "
    "intervals are usually too wide. Each interval is for one number: of twenty numbers without a "
    "difference, about one may exclude 0."
)


class Difference(NamedTuple):
    """A number that both audits have.

    Attributes
    ----------
    scope, group : str
        Part of the records.
    attack, metric : str
    max_fpr : float
        Rate of a TPR; NaN for other metrics.
    first, second : tuple of float
        Estimate and ends of the interval in each audit.
    difference : tuple of float
        Second minus first, with the ends of its interval.
    """

    scope: str
    group: str
    attack: str
    metric: str
    max_fpr: float
    first: tuple
    second: tuple
    difference: tuple

    @property
    def is_clear(self):
        """Whether the interval of the difference excludes 0."""
        return not self.difference[1] <= 0 <= self.difference[2]


def compare_audits(first, second):
    """List the numbers that two audits have in common."""
    key = ["scope", "group", "attack", "metric", "max_fpr"]
    numbers = ["estimate", "low", "high"]
    frames = []
    for document in (first, second):
        frame = pd.DataFrame(document["results"], columns=list(COLUMNS))
        frame = frame[frame["status"] == OK]
        # A missing rate would not match itself in some versions of pandas.
        frame = frame.assign(max_fpr=frame["max_fpr"].astype(float).fillna(0.0))
        frames.append(frame.set_index(key)[numbers].astype(float))
    both = frames[0].add_suffix("_a").join(frames[1].add_suffix("_b"), how="inner")
    found = []
    for names, row in both.iterrows():
        sides = [tuple(row[[f"{name}_{side}" for name in numbers]]) for side in "ab"]
        found.append(Difference(*names, *sides, difference_interval(*sides[::-1])))
    found = _compare_people(first, second) + found
    return sorted(found, key=lambda difference: difference.scope != OVERALL)


def _compare_people(first, second):
    """The AUC of the strongest attack on people, if both audits have one."""
    people = [document["person_level"] for document in (first, second)]
    if any(found is None or found["auc"] is None for found in people):
        return []
    attacks = dict.fromkeys(found["attack"] for found in people)
    sides = [tuple(found[name] for name in ("auc", "low", "high")) for found in people]
    gap = difference_interval(*sides[::-1])
    return [Difference(PEOPLE, "", " / ".join(attacks), "auc", np.nan, *sides, gap)]


def render_comparison(first, second, names, title="Two membership-inference audits"):
    """Render the page of two audits side by side."""
    parts = {}
    for found in compare_audits(first, second):
        parts.setdefault((found.scope, found.group), []).append(_make_row(found))
    return render_page(
        "page_compare.html.j2",
        __package__,
        title=title,
        audits=[_describe(*audit) for audit in zip(names, (first, second), strict=True)],
        parts=[_make_part(*part, rows) for part, rows in parts.items()],
        level=f"{100 * first['settings']['confidence_level']:g}%",
        read_so=READ_SO,
    )


def _describe(name, document):
    data, file = document["data"], document["file"]
    return {
        "name": name,
        "victim": document["victim_name"],
        "created": document["created"],
        "evidence": document["evidence"],
        "headline": document["verdict"].partition(". ")[0],
        "file": file and file["verdict"].partition(". ")[0],
        "decision": document["recommendation"],
        "facts": {
            "records": f"{data['n_records']:,}, {data['n_members']:,} of them members",
            "shadow models": f"{document['settings']['n_shadows']}",
        },
    }


def _make_part(scope, group, rows):
    names = {OVERALL: "all records", PEOPLE: PEOPLE}
    return {"name": names.get(scope, f"{scope} = {group}"), "rows": rows}


def _make_row(found):
    write = format_auc if found.metric == "auc" else format_rate
    max_fpr = None if found.metric != "tpr" else found.max_fpr
    return {
        "attack": found.attack,
        "metric": column_name(found.metric, max_fpr),
        "cells": [write(*numbers) for numbers in (found.first, found.second, found.difference)],
        "is_clear": found.is_clear,
    }
