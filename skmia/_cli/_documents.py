"""``skmia report`` and ``skmia compare``: what is done with the results of audits."""

import json

import pandas as pd

from ..metrics import difference_interval
from ..report._document import SCHEMA, SCHEMA_VERSION, write_atomically
from ..report._groups import OVERALL
from ..report._html import render
from ..report._measure import COLUMNS, OK
from ..report._text import column_name
from ._errors import CommandError

# What a page shows and the first documents did not have.
_PAGE_KEYS = ("curves", "exposed", "evidence", "checks", "power", "disparity")

_READ_SO = (
    "The intervals assume that the audits are independent, on records of which none is in both.",
    "If the audits share records, the intervals are usually too wide. Each interval is for one",
    "number by itself: of twenty numbers without a difference, about one may exclude 0.",
)


def read_document(path):
    """The JSON document of an audit.

    Raises
    ------
    CommandError
        When the file is not there, or holds something else.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise CommandError(f"{path} is no JSON: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise CommandError(f"{path} is no result of skmia audit: its schema is {schema!r}")
    if document["schema_version"] != SCHEMA_VERSION:
        raise CommandError(
            f"{path} has version {document['schema_version']} of the schema; this skmia reads "
            f"version {SCHEMA_VERSION}"
        )
    return document


def run_report(arguments):
    """Write the page of an audit again.

    Parameters
    ----------
    arguments : argparse.Namespace

    Returns
    -------
    text : str
        What to print.
    """
    out = arguments.out or arguments.result.with_suffix(".html")
    document = read_document(arguments.result)
    missing = [key for key in _PAGE_KEYS if key not in document]
    if missing:
        raise CommandError(
            f"{arguments.result} lacks {', '.join(missing)}: an older skmia wrote it; audit again"
        )
    page = render(document, arguments.title)
    try:
        write_atomically(out, page.encode())
    except OSError as error:
        raise CommandError(f"--out: cannot write {out}: {error.strerror or error}") from error
    return f"written: {out}"


def run_compare(arguments):
    """Two audits side by side.

    Parameters
    ----------
    arguments : argparse.Namespace

    Returns
    -------
    text : str
        A line for each number that both have.
    """
    paths = arguments.first, arguments.second
    documents = [read_document(path) for path in paths]
    tasks = [document["task"] for document in documents]
    if tasks[0] != tasks[1]:
        raise CommandError(f"one audit is of a {tasks[0]}, the other of a {tasks[1]}")
    level = _find_common_level(paths, documents)
    one, two = map(_find_numbers, documents)
    both = one.add_suffix("_a").join(two.add_suffix("_b"), how="inner")
    if both.empty:
        raise CommandError("the two audits have no number in common that could be measured")
    lines = [
        f"{name}: {path}\n   {document['verdict']}"
        for name, path, document in zip("ab", paths, documents)
    ]
    lines.append("")
    heads = f"{'attack':24s}{'':16s}{'a':>9s}{'b':>9s}{'b - a':>9s}"
    lines.append(f"{heads}  {100 * level:g}% interval")
    for (attack, metric, max_fpr), row in both.iterrows():
        gap, low, high = difference_interval(
            row[["estimate_b", "low_b", "high_b"]], row[["estimate_a", "low_a", "high_a"]]
        )
        lines.append(
            f"{attack[:23]:24s}{column_name(metric, max_fpr):16s}{row['estimate_a']:9.3f}"
            f"{row['estimate_b']:9.3f}{gap:9.3f}  [{low:.3f}, {high:.3f}]"
        )
    lines += ["", *_READ_SO]
    return "\n".join(lines)


def _find_common_level(paths, documents):
    """The confidence level of all intervals: two levels cannot be joined into one."""
    levels = [document["settings"]["confidence_level"] for document in documents]
    if levels[0] != levels[1]:
        said = " and ".join(f"{100 * level:g}% in {path}" for level, path in zip(levels, paths))
        raise CommandError(
            f"the audits have intervals of different confidence levels, {said}: audit again with "
            "one confidence_level"
        )
    return levels[0]


def _find_numbers(document):
    frame = pd.DataFrame(document["results"], columns=list(COLUMNS))
    frame = frame[(frame["scope"] == OVERALL) & (frame["status"] == OK)]
    frame = frame.assign(max_fpr=frame["max_fpr"].astype(float).fillna(0.0))
    frame = frame.set_index(["attack", "metric", "max_fpr"])[["estimate", "low", "high"]]
    return frame.astype(float)


def find_failures(frame, limits):
    """Sentences on the overall numbers of an audit that are above a limit.

    Parameters
    ----------
    frame : DataFrame
        The numbers of the audit.
    limits : list of (metric, max_fpr, limit)
        As the command line names them; ``max_fpr`` is None but for a TPR.

    Returns
    -------
    failures : list of str

    Raises
    ------
    CommandError
        When a number with a limit could not be measured.
    """
    failures = []
    overall = frame[frame["scope"] == OVERALL]
    for metric, max_fpr, limit in limits:
        rows = overall[overall["metric"] == metric]
        if max_fpr is not None:
            rows = rows[(rows["max_fpr"] - max_fpr).abs() < 1e-12]
        rows = rows[rows["status"] == OK]
        name = column_name(metric, max_fpr)
        if rows.empty:
            raise CommandError(f"--fail-above: {name} could not be measured by any attack")
        worst = rows.loc[rows["estimate"].idxmax()]
        if worst["estimate"] > limit:
            failures.append(
                f"{name} of {worst['attack']} is {worst['estimate']:.3f} "
                f"[{worst['low']:.3f}, {worst['high']:.3f}], above {limit:g}"
            )
    return failures
