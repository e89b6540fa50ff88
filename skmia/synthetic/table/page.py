"""The page of an audit of a synthetic table."""

from ..._core.evidence import LEAK, NONE
from ..._core.pages.templates import render_page
from ..._core.pvalues import format_pvalue
from .evidence import HEADLINES, UNSEEN
from .text import (
    describe_models,
    describe_rows,
    describe_spread,
    explain,
    format_interval,
    format_number,
    format_rate,
    list_worst,
)

TITLE = "Audit of a synthetic table"


def render(document, title=TITLE):
    """Render the page of an audit of a synthetic table.

    Parameters
    ----------
    document : dict
        Document as written by :meth:`TableReport.to_json`.
    title : str
        Title of the page.

    Returns
    -------
    page : str
        HTML that contains its style and script.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    headline = HEADLINES[document["evidence"]]
    return render_page(
        "page_table.html.j2",
        __package__,
        title=title,
        audit=document,
        headline=headline,
        verdict=document["verdict"].removeprefix(f"{headline}. "),
        rows=describe_rows(document["data"]),
        privacy=[_describe_number(row) for row in document["results"]],
        copies=[_describe_copies(row) for row in document["copies"] or ()],
        utility=[_describe_utility(row) for row in document["utility"]],
        worst=[
            (heading, [_describe_utility(row) for row in list_worst(document[name])])
            for heading, name in (("column", "columns"), ("pair of columns", "pairs"))
        ],
        spread=describe_spread(document),
        models=describe_models(document["trained"]),
        unseen=UNSEEN,
        advice=_advise(document),
        level=f"{100 * document['settings']['confidence_level']:g}%",
    )


def _describe_number(row):
    return {
        "name": row["name"],
        "meaning": explain(row["name"]),
        "attack": format_rate(row["attack"]),
        "control": format_rate(row["control"]),
        "naive": format_rate(row["naive"]),
        "excess": format_interval(row),
        "pvalue": format_pvalue(row["pvalue_holm"], 0.0).removeprefix("p ").removeprefix("= "),
        "keys": [row[name] for name in ("attack", "control", "naive", "estimate", "pvalue_holm")],
        "leak": row["leak"],
    }


def _describe_copies(row):
    smallest = row["smallest_share_corrected"]
    return {
        "name": row["name"],
        "counts": [
            f"{row[k]:,.0f} of {row[n]:,.0f}" for k, n in (("train", "n_train"), ("test", "n_test"))
        ],
        "smallest": "none" if smallest is None else f"{100 * smallest:.2g}%",
        "keys": [row["train"], row["test"], smallest],
    }


def _describe_utility(row):
    return {
        "name": row["name"],
        "meaning": explain(row["name"]),
        "value": format_interval(row),
        "real": format_number(row["real"]),
        "keys": [row["estimate"], row["real"]],
    }


def _advise(document):
    """What to do next, in sentences."""
    if document["evidence"] == LEAK:
        return [
            "Do not treat the table as anonymous: for the people in the training rows, it is "
            "personal data.",
            "Remove copies and near copies of training rows only together with their cause. A "
            "filter that drops synthetic rows near training rows tells an attacker where these "
            "are.",
            "Train the generator with differential privacy, or with fewer steps and more rows, and "
            "audit again.",
        ]
    if document["evidence"] == NONE:
        return [
            "Say with the table what was tested, and which copies would not have been found.",
            "Audit each table that is released: another draw of the same generator can leak.",
            "If the worst case matters, rely on a generator with a guarantee of differential "
            "privacy; this page does not give one.",
        ]
    return [
        "Put rows aside before the generator is trained, at random and by person, as a holdout, "
        "and audit again.",
        "Do not publish the table because of this page: it says nothing about leaks.",
    ]
