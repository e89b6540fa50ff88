"""One file that holds the whole audit and needs nothing else."""

from importlib.resources import files

import pandas as pd

from ...utils._optional import import_optional
from .._measure import COLUMNS, NOT_RESOLVABLE, OK, TOO_FEW
from .._text import (
    column_name,
    describe_baseline,
    describe_performance,
    find_evidence,
    format_cell,
)
from ._figure import draw_roc

_FEWEST_FALSE = 10


def render(document, title="Membership-inference audit"):
    """The audit as a page.

    Parameters
    ----------
    document : dict
        As :meth:`AuditResult.to_json` writes it.
    title : str, default="Membership-inference audit"
        Of the page.

    Returns
    -------
    page : str
        HTML, with style, script and drawings in it.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    jinja2 = import_optional("jinja2", extra="report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    folder = files(__package__)
    template = environment.from_string((folder / "page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        audit=document,
        style=jinja2.utils.markupsafe.Markup((folder / "page.css").read_text(encoding="utf-8")),
        script=jinja2.utils.markupsafe.Markup((folder / "page.js").read_text(encoding="utf-8")),
        **_describe(document),
    )


def _describe(document):
    frame = pd.DataFrame(document["results"], columns=list(COLUMNS))
    parts = [_describe_part(part) for _, part in frame.groupby(["scope", "group"], sort=False)]
    baseline = document["baseline"]
    interval = baseline and (baseline["auc"], baseline["low"], baseline["high"])
    return {
        "overall": parts[0],
        "groups": parts[1:],
        "evidence": find_evidence(frame, interval),
        "performance": describe_performance(document["performance"]),
        "baseline": describe_baseline(interval),
        "roc": draw_roc(document.get("curves", [])),
        "exposed": document.get("exposed", []),
        "has_unresolvable": bool((frame["status"] == NOT_RESOLVABLE).any()),
        "fewest_false": _FEWEST_FALSE,
        "level": f"{100 * document['settings']['confidence_level']:g}%",
    }


def _describe_part(part):
    """A table of one group: headings, and for each attack its cells with keys to sort by."""
    first = part.iloc[0]
    columns = part[["metric", "max_fpr"]].drop_duplicates().itertuples(index=False)
    headings = [column_name(metric, max_fpr) for metric, max_fpr in columns]
    rows = []
    for attack, cells in part.groupby("attack", sort=False):
        rows.append(
            {
                "attack": attack,
                "cells": [
                    {
                        "text": format_cell(cell),
                        "key": cell["estimate"] if cell["status"] == OK else -2,
                        "fpr": _describe_fpr(cell),
                    }
                    for _, cell in cells.iterrows()
                ],
            }
        )
    return {
        "scope": first["scope"],
        "group": first["group"],
        "n_members": first["n_members"],
        "n_nonmembers": first["n_nonmembers"],
        "too_few": first["status"] == TOO_FEW,
        "headings": headings,
        "rows": rows,
    }


def _describe_fpr(cell):
    if cell["metric"] != "tpr" or cell["status"] != OK:
        return None
    low, high = 100 * cell["fpr_low"], 100 * cell["fpr_high"]
    return f"realised FPR {100 * cell['fpr']:.3g}% [{low:.3g}, {high:.3g}]"
