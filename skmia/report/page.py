"""The page of an audit: one HTML file that needs no other file."""

import pandas as pd

from .._core.pages.templates import render_page
from ..metrics import precision_at_prior, resolvable_fpr
from ..metrics._membership import MIN_FALSE_POSITIVES
from ._html._advice import advise
from ._html._group_figure import draw_groups
from ._html._power_figure import draw_power
from ._html._roc_figure import draw_roc
from .evidence import LEAK
from .file_verdict import RELEASE_NOT, describe_candidates
from .groups import OVERALL
from .growth import describe_growth
from .measure import COLUMNS, NOT_RESOLVABLE, OK
from .person_level import describe_people
from .stand_in import CHOSEN
from .text import (
    column_name,
    describe_disparity,
    describe_performance,
    describe_reading,
    describe_sources,
    format_cell,
    name_way,
)
from .verdict import get_best_at_lowest_rate


def render(document, title="Membership-inference audit", values=None):
    """Render the page of an audit.

    Parameters
    ----------
    document : dict
        Document as written by :meth:`AuditReport.to_json`.
    title : str, default="Membership-inference audit"
        Title of the page.
    values : DataFrame of n rows, default=None
        Values to show with the most exposed records.

    Returns
    -------
    page : str
        HTML that contains its style, script and drawings.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    ValueError
        If `values` does not have one row for each record.
    """
    return render_page(
        "page.html.j2",
        f"{__package__}._html",
        title=title,
        audit=document,
        values=_read_values(document, values),
        **_describe(document),
    )


def _read_values(document, values):
    """Return the names of the columns and, for each exposed record, its values as text."""
    exposed, n_records = document["exposed"], document["data"]["n_records"]
    if values is None:
        return [], [[]] * len(exposed)
    if len(values) != n_records:
        raise ValueError(f"values needs a row for each of {n_records} records; got {len(values)}.")
    rows = pd.DataFrame(values).iloc[[row["position"] for row in exposed]]
    return list(map(str, rows.columns)), rows.astype(str).to_numpy().tolist()


def _describe(document):
    frame = pd.DataFrame(document["results"], columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(COLUMNS[4:11], float))  # also if all of them are None
    overall = frame[frame["scope"] == OVERALL]
    curves, power = document["curves"], document["power"]
    headline, _, verdict = document["verdict"].partition(". ")
    return {
        "headline": headline,
        "verdict": verdict,
        "overall": _make_table(overall, "attack"),
        "file": document["file"] and _describe_file(document["file"]),
        "groups": _describe_groups(document, frame),
        "advice": advise(document),
        "same_recipe": document["settings"]["shadow_estimator"] == document["victim"],
        "stand_in": _name_stand_in(document),
        "performance": describe_performance(document["performance"]),
        "roc": draw_roc(curves, resolvable_fpr(document["data"]["n_nonmembers"])),
        "power": power and draw_power(power["numbers"], _get_auc(overall, power["attack"])),
        "growth": document["growth"] and describe_growth(document["growth"]),
        "exposed": document["exposed"],
        "people": document["person_level"] and describe_people(document["person_level"], overall),
        "prior": _describe_prior(overall),
        "fewest_false": MIN_FALSE_POSITIVES,
        "level": f"{100 * document['settings']['confidence_level']:g}%",
    }


def _name_stand_in(document):
    """The estimator chosen for the shadow models, without its encoding; None if none was."""
    reference = document["reference"]
    if reference is None or reference["recipe"] != CHOSEN:
        return None
    return reference["estimator"]


# Share of members for which the page computes the precision.
_PRIOR = 0.01


def _describe_prior(overall):
    """The precision of the strongest attack if members are rare, at the lowest rate above zero."""
    row = get_best_at_lowest_rate(overall)
    if row is None:
        return None
    tpr, fpr = float(row["estimate"]), float(row["fpr"])
    wrong = 1 - float(precision_at_prior(tpr, fpr, _PRIOR))
    return (
        f"If 1 in {round(1 / _PRIOR)} records is a member, {100 * wrong:.0f}% of the records that "
        f"{row['attack']} flags at a TPR of {100 * tpr:.3g}% and an FPR of {100 * fpr:.3g}% are "
        "non-members."
    )


def _describe_file(file):
    """What the page shows of the file of the model."""
    frame = pd.DataFrame(file["results"], columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(COLUMNS[4:11], float))
    headline, _, verdict = file["verdict"].partition(". ")
    is_weak = file["evidence"] == LEAK and headline != RELEASE_NOT
    overall = frame[frame["scope"] == OVERALL]
    return {
        "other_way": name_way(file),
        "headline": headline,
        "verdict": verdict,
        "evidence": "weak" if is_weak else file["evidence"],
        "overall": None if overall.empty else _make_table(overall, "attack"),
        "candidates": describe_candidates(file),
        "sources": describe_sources(file),
        "lists": [
            ("What was read of it", describe_reading(file)),
            ("What it stores of its training rows", file["stores"]),
            ("What would change it", file["changes"]),
            ("Notes", file["notes"]),
        ],
    }


def _get_auc(overall, attack):
    rows = overall[(overall["attack"] == attack) & (overall["metric"] == "auc")]
    return float(rows["estimate"].iloc[0])  # NaN where there were too few records


def _describe_groups(document, frame):
    """Content of the tab of each field and of the classes."""
    if not document["curves"]:
        return []
    best = document["curves"][0]["attack"]
    disparity = document["disparity"] or {"scopes": []}
    tested = [test["scope"] for test in disparity["scopes"]]
    scopes = []
    for scope, rows in frame[frame["scope"] != OVERALL].groupby("scope", sort=False):
        own = rows[rows["attack"] == best]
        aucs = own[(own["metric"] == "auc") & (own["status"] == OK)]
        text = describe_disparity(disparity, tested.index(scope)) if scope in tested else None
        scopes.append(
            {
                "scope": scope,
                "attack": best,
                "disparity": text,
                "figure": draw_groups(aucs.to_dict("records")),
                "table": _make_table(own, "group"),
                "others": [
                    (attack, _make_table(part, "group"))
                    for attack, part in rows.groupby("attack", sort=False)
                    if attack != best
                ],
            }
        )
    return scopes


def _make_table(part, by):
    """One row per value of ``by``: its name, its counts, and cells with the keys to sort by."""
    columns = part[["metric", "max_fpr"]].drop_duplicates().itertuples(index=False)
    rows = []
    for name, cells in part.groupby(by, sort=False):
        counts = [int(cells.iloc[0][side]) for side in ("n_members", "n_nonmembers")]
        made = [_make_cell(cell) for cell in cells.to_dict("records")]
        rows.append({"name": name, "counts": counts, "cells": made})
    headings = [column_name(metric, max_fpr) for metric, max_fpr in columns]
    unresolved = bool((part["status"] == NOT_RESOLVABLE).any())
    return {"by": by, "headings": headings, "rows": rows, "has_unresolvable": unresolved}


def _make_cell(cell):
    return {
        "text": format_cell(cell),
        "key": cell["estimate"] if cell["status"] == OK else -2,
        "fpr": _describe_fpr(cell),
    }


def _describe_fpr(cell):
    if cell["metric"] != "tpr" or cell["status"] != OK:
        return None
    low, high = 100 * cell["fpr_low"], 100 * cell["fpr_high"]
    # Where the line is too long, it breaks in front of the interval.
    return f"realized FPR {100 * cell['fpr']:.3g}% [{low:.3g},\N{NO-BREAK SPACE}{high:.3g}]"
