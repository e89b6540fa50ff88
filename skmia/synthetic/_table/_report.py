"""The report of an audit of a synthetic table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..._core.pages import (
    LEAK,
    NONE,
    escape,
    format_decision,
    frame_page,
    make_table,
    render_page,
    save_documents,
    warn_of_failures,
    wrap_lines,
    write_json,
    write_text,
)
from ..._core.pvalues import format_pvalue
from ..._core.types import PathLike
from ..._core.visible import as_plain, visible
from ...disclosure import write_sheet
from ._evidence import (
    FIRST,
    HEADLINES,
    UNSEEN,
    Grounds,
    choose_evidence,
    list_reversals,
    write_verdict,
)

SCHEMA = "skmia.table"

# Raised if a field changes its meaning or is removed; fields may be added without a new version.
SCHEMA_VERSION = 1


def as_document(report):
    """The document of an audit of a table."""
    grounds = report.grounds
    names = ("created", "versions", "data", "settings", "seeds", "seconds", "notes")
    return as_plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(report, name) for name in names},
            "evidence": report.evidence,
            "verdict": report.verdict,
            "recommendation": report.recommendation and report.recommendation.to_dict(),
            "checks": [{"name": name, **check} for name, check in report.checks.items()],
            "results": _list_rows(grounds.results),
            "reversed": list_reversals(grounds.results),
            "copies": None if report.copies is None else _list_rows(report.copies),
            "utility": _list_rows(report.utility),
            "trained": report.trained,
            "spread": None if report.spread is None else _list_rows(report.spread),
            "columns": _list_rows(report.columns),
            "pairs": _list_rows(report.pairs),
        }
    )


def _list_rows(frame):
    return [{"name": name, **row} for name, row in zip(frame.index, frame.to_dict("records"))]


# Columns that are named as least similar, and characters of a cell for a terminal.
_MOST_SHOWN, _WIDEST = 5, 30

_MEANINGS = {
    "rare copies": "rows with rare values that are in the synthetic table",
    "near copies": "rows to which a synthetic row is much nearer than any other real row",
    "privacy loss": "how much nearer synthetic rows are to training rows",
    "membership by distances": "training rows have smaller distances, compared with real rows",
    "membership by DOMIAS": "synthetic rows lie more densely around training rows",
    "membership by Gen-LRA": "training rows make the synthetic rows more likely",
    "membership by a classifier": "training rows look more like synthetic rows",
    "singling out": "a combination of values of a synthetic row isolates one real row",
    "singling out, one column": "a single value of the synthetic table isolates one real row",
    "linkability": "the synthetic table joins two halves of a row",
}
_OF_UTILITY = {
    "columns": "distribution of each column, mean",
    "pairs": "pairs of columns, mean",
    "quality": "mean of both",
    "resemblance loss": "0: synthetic rows lie like other real rows; 0.5: all are told apart",
}


def explain(name):
    """What a number is, in a few words."""
    if name in _MEANINGS:
        return _MEANINGS[name]
    if name.startswith("inference of "):
        column = name.removeprefix("inference of ")
        return f"the value of {column} is guessed from the nearest synthetic row"
    if name.startswith("model of "):
        return "gain over guessing of a model of synthetic rows, as a share of one of real rows"
    return _OF_UTILITY.get(name, "")


def describe_rows(data):
    """The numbers of rows, in a line."""
    parts = [f"{data['n_synthetic']:,} synthetic rows", f"{data['n_real']:,} training rows"]
    held = data.get("n_holdout")
    parts.append(f"{held:,} held-out rows" if held else "no holdout")
    return f"{', '.join(parts)}; {data['n_columns']:,} columns."


def format_interval(row):
    """A number and its interval, ``0.021 [0.010, 0.033]``."""
    if row["estimate"] is None:
        return "cannot be said"
    text = format_number(row["estimate"])
    if row["low"] is None:
        return text
    return f"{text} [{format_number(row['low'])}, {format_number(row['high'])}]"


def format_number(value):
    """A number with three decimals, or a dash where there is none."""
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def format_rate(rate):
    """A share as ``12.3%``, or a dash where there is none."""
    return "-" if rate is None else f"{100 * rate:.1f}%"


def tabulate_results(document):
    """Cells of the table of privacy numbers, with its headings first."""
    level = f"{100 * document['settings']['confidence_level']:g}%"
    rows = [["number", "training rows", "held-out rows", f"excess [{level}]", "p, corrected"]]
    for row in document["results"]:
        p = format_pvalue(row["pvalue_holm"], 0.0).removeprefix("p ").removeprefix("= ")
        mark = " *" if row["leak"] else ""
        rates = [format_rate(row[side]) for side in ("attack", "control")]
        rows.append([row["name"], *rates, format_interval(row), p + mark])
    return rows


def tabulate_utility(document):
    """Cells of the table of utility, with its headings first."""
    rows = [["utility", "synthetic rows", "training rows"]]
    for row in document["utility"]:
        rows.append([row["name"], format_interval(row), format_number(row["real"])])
    return rows


def list_worst(rows):
    """The columns, or pairs, that are least similar to real rows."""
    known = [row for row in rows if row["estimate"] is not None]
    return sorted(known, key=lambda row: row["estimate"])[:_MOST_SHOWN]


def describe_worst(document):
    """A line on the columns that are least similar."""
    worst = [f"{row['name']} {row['estimate']:.2f}" for row in list_worst(document["columns"])]
    return f"Least similar columns: {', '.join(worst)}."


def describe_models(trained):
    """A line on the models of the target, or None."""
    if trained is None:
        return None
    made, own = (f"{trained[name]:.3f}" for name in ("synthetic", "real"))
    return (
        f"A model of {trained['target']} that was fitted on synthetic rows reaches an "
        f"{trained['metric']} of {made} on held-out rows; one of training rows {own} (chance: "
        f"{trained['chance']:.3f})."
    )


def describe_spread(document):
    """A line on each number of the further tables of the generator."""
    return [
        f"{row['n_tables']} further tables of the generator: {row['name']} "
        f"{format_number(row['mean'])} on average, from {format_number(row['smallest'])} to "
        f"{format_number(row['largest'])}."
        for row in document["spread"] or ()
    ]


def format_summary(document):
    """Format the audit as lines of at most 100 characters."""
    lines = [*wrap_lines(["Audit of a synthetic table", describe_rows(document["data"])])]
    if document["results"]:
        lines += ["", *_align(tabulate_results(document))]
        lines += wrap_lines(["*: beyond chance after correction for all numbers."])
    lines += ["", *_align(tabulate_utility(document))]
    foot = [describe_worst(document), describe_models(document["trained"])]
    foot += describe_spread(document)
    foot += [
        f"{'Warning' if check['status'] == 'warning' else check['name'].capitalize()}"
        f"{' (' + check['name'] + ')' if check['status'] == 'warning' else ''}: {check['text']}"
        for check in document["checks"]
        if check["status"] != "not run"
    ]
    foot += [f"Note: {note}" for note in document["notes"]]
    lines += wrap_lines(text for text in foot if text)
    lines += ["", *wrap_lines([document["verdict"]])]
    if document["recommendation"] is not None:
        lines += ["", *wrap_lines(_list_decision(document["recommendation"]))]
    return "\n".join(lines)


def _list_decision(found):
    head = f"As a {found['release']}, by the policy {found['policy']['name']}: {found['result']}"
    return [
        head,
        *(f"  {reason}" for reason in found["reasons"]),
        *(f"  Condition: {name}" for name in found["conditions"]),
    ]


def _align(rows):
    rows = [[_shorten(visible(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _shorten(text):
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def format_markdown(document, title):
    """Format the audit as Markdown, in tables of the extended syntax of GitHub and GitLab."""
    lines = [f"# {escape(title)}", ""]
    if document["recommendation"] is not None:
        lines += format_decision(document["recommendation"])
    lines += [f"**{document['evidence']}**: {escape(document['verdict'])}", ""]
    lines += [f"* {describe_rows(document['data'])}"]
    lines += [f"* Made by skmia {document['versions']['skmia']}, {document['created']}"]
    if document["results"]:
        lines += ["", "## Privacy", "", *_as_table(tabulate_results(document))]
    lines += ["", "## Utility", "", *_as_table(tabulate_utility(document)), ""]
    found = [describe_worst(document), describe_models(document["trained"])]
    found += describe_spread(document)
    lines += [f"* {escape(text)}" for text in found if text]
    checks = [
        f"* {check['name']} ({check['status']}): {escape(check['text'])}"
        for check in document["checks"]
    ]
    lines += ["", "## Checks", "", *checks]
    if document["notes"]:
        lines += ["", "## Notes", "", *(f"* {escape(note)}" for note in document["notes"])]
    return "\n".join(lines) + "\n"


def _as_table(rows):
    head, *body = rows
    return make_table(list(map(escape, head)), body)


TITLE = "Audit of a synthetic table"


def render(document, title=TITLE):
    """Render the page of an audit of a synthetic table."""
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
    }


def _describe_utility(row):
    return {
        "name": row["name"],
        "meaning": explain(row["name"]),
        "value": format_interval(row),
        "real": format_number(row["real"]),
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


if TYPE_CHECKING:
    from ...disclosure import Recommendation


@dataclass(frozen=True, eq=False, repr=False)
class TableReport:
    """What :func:`audit_table` found.

    In a notebook, it is displayed as the page.

    Attributes
    ----------
    results : DataFrame of shape (n_numbers, 11)
        For each number the ``estimate`` of the excess of training rows over held-out rows and its
        single limits ``low`` and ``high``; the success on training rows (``attack``), on held-out
        rows (``control``) and of guesses (``naive``), with the numbers of rows ``n_attacks`` and
        ``n_controls``; ``pvalue``, ``pvalue_below`` for the other direction, and ``pvalue_holm``,
        which decides. Empty without a holdout.
    copies : DataFrame or None
        Result of the :class:`CopyTest`, and the smallest share of copies that would have been found
        after the correction, ``smallest_share_corrected``.
    utility : DataFrame
        ``estimate``, ``low`` and ``high`` of the similarity of ``"columns"``, of ``"pairs"`` of
        columns, and of their mean, ``"quality"``; of the ``"resemblance loss"``; and of the share
        of a model's gain over guessing that a model of synthetic rows reaches. ``real`` is what the
        training rows reach.
    columns, pairs : DataFrame
        Similarity of each column and of each pair, with the same columns.
    trained : dict or None
        The models of ``target``: ``metric``, ``chance``, ``synthetic``, ``real``.
    spread : DataFrame or None
        Quality, privacy loss and share of rare copies of five further tables of the generator, if
        it was given: ``mean``, ``sd``, ``smallest``, ``largest``, ``n_tables``.
    checks : dict of str to dict
        ``status`` and ``text`` of each check.
    data : dict
        ``n_real``, ``n_synthetic``, ``n_holdout``, ``n_columns``.
    settings, seeds : dict
        Parameters, and the integer that all draws begin with.
    seconds, versions : dict
        Time spent on each part, in seconds; versions of Python and of the packages.
    created : str
        Time at which the audit ended, ISO 8601 in UTC.
    notes : list of str
        What a reader should know.
    recommendation : Recommendation or None
        What a policy recommends, see :func:`skmia.report.recommend_release`, if one was asked.
    grounds : Grounds
        The part of the findings on which evidence and verdict rest.
    evidence : {"leak", "none", "shift", "reversed", "unknown"}
        Conclusion of the audit:

        - "leak": some number is beyond chance after correction for all of them;
        - "none": no number is;
        - "shift": training rows and holdout come from different populations;
        - "reversed": the synthetic rows are significantly nearer to the holdout;
        - "unknown": there is no holdout, a table has fewer than 20 rows, or copies of all training
          rows would not have been found.
    verdict : str
        The conclusion in words, after a headline.

    See Also
    --------
    audit_table : Audits a synthetic table and returns this report.
    """

    results: pd.DataFrame
    copies: pd.DataFrame | None
    utility: pd.DataFrame
    columns: pd.DataFrame
    pairs: pd.DataFrame
    trained: dict[str, Any] | None
    spread: pd.DataFrame | None
    checks: dict[str, dict[str, str]]
    data: dict[str, int]
    settings: dict[str, Any]
    seeds: dict[str, Any]
    seconds: dict[str, float]
    versions: dict[str, str]
    created: str
    notes: list[str]
    recommendation: "Recommendation | None" = None

    @property
    def grounds(self) -> "Grounds":
        level, shift = self.settings["confidence_level"], self.checks["one population"]
        rows = {name: self.data.get(f"n_{name}", 0) for name in ("real", "synthetic", "holdout")}
        share = np.inf
        if self.copies is not None:
            share = float(self.copies.loc[FIRST, "smallest_share_corrected"])
        results = self.results.assign(leak=self.results["pvalue_holm"] <= 1 - level)
        text = shift["text"] if shift["status"] == "warning" else None
        return Grounds(results, rows, level, share, text)

    @property
    def evidence(self) -> Literal["leak", "none", "shift", "reversed", "unknown"]:
        return choose_evidence(self.grounds)

    @property
    def verdict(self) -> str:
        return write_verdict(self.grounds, self.evidence)

    def to_frame(self) -> pd.DataFrame:
        """The numbers as a DataFrame.

        Returns
        -------
        frame : DataFrame
            A copy of ``results``.
        """
        return self.results.copy()

    def to_json(self, path: PathLike | None = None) -> str:
        """The report as a JSON document.

        Its ``schema`` is "skmia.table" and its ``schema_version`` 1. Missing numbers are null.
        Fields may be added without a new version; if a field is removed or changes its meaning, the
        version is raised.

        Parameters
        ----------
        path : str or path, default=None
            File to which the document is also written, atomically and readable by its owner only.

        Returns
        -------
        text : str
            The report as JSON.
        """
        return write_json(as_document(self), path)

    def to_html(self, path: PathLike | None = None, *, title: str = TITLE) -> str:
        """The report as a page that needs no other file and no network.

        Parameters
        ----------
        path : str or path, default=None
            File to which the page is also written, atomically and readable by its owner only.
        title : str, default="Audit of a synthetic table"
            Title of the page.

        Returns
        -------
        page : str
            HTML.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        """
        return write_text(render(as_document(self), title), path)

    def summary(self) -> str:
        """The report as text, in lines of at most 100 characters.

        Returns
        -------
        text : str
        """
        return format_summary(as_document(self))

    def to_markdown(self, title: str = TITLE) -> str:
        """The report as Markdown, for a merge request or a data sheet.

        Parameters
        ----------
        title : str, default="Audit of a synthetic table"
            Heading.

        Returns
        -------
        text : str
            Verdict, tables of the numbers, checks and notes; names are escaped.
        """
        return format_markdown(as_document(self), title)

    def save(self, directory: PathLike) -> list[Path]:
        """Write ``table.json`` and ``report.html``, each of them atomically.

        Only the user can read the files (mode 600).

        Parameters
        ----------
        directory : str or path
            Folder, which is created if it does not exist.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Warns
        -----
        RuntimeWarning
            If the page could not be made though its package is installed.
        """
        return warn_of_failures(save_table(as_document(self), directory))

    def _repr_html_(self):
        """The page for a notebook."""
        return frame_page(self, TITLE)

    def __repr__(self):
        return f"TableReport({self.data['n_synthetic']} rows, evidence={self.evidence!r})"


def save_table(document, directory):
    """Write ``table.json``, the page and the decision sheet, see :func:`save_documents`."""

    def write_page(noted, path):
        write_text(render(noted), path)

    others = {"report.html": write_page}
    if document["recommendation"] is not None:
        others["decision.html"] = write_sheet
    return save_documents(document, directory, "table.json", others)
