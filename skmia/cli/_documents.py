"""``skmia report`` and ``skmia compare``, which read the results of audits."""

import json
import reprlib

import pandas as pd

from .._core.files import write_bytes
from .._core.visible import visible
from ..metrics import difference_interval
from ..report.document import SCHEMA, SCHEMA_VERSION
from ..report.groups import OVERALL
from ..report.measure import COLUMNS, OK
from ..report.page import render
from ..report.schema import check_document
from ..report.text import column_name
from ._errors import CommandError

# A large audit has a tenth of it.
_MOST_BYTES = 64 * 10**6

_READ_SO = (
    "The intervals assume independent audits on disjoint records. If the audits share records, the",
    "intervals are usually too wide. Each interval is for one number: of twenty numbers without a",
    "difference, about one may exclude 0.",
)


def read_document(path):
    """Read the JSON document of an audit.

    Raises
    ------
    CommandError
        If the file does not exist or is not such a document.
    """
    document = _read_json(path)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise CommandError(f"{path} was not written by skmia audit (schema {reprlib.repr(schema)})")
    version = document.get("schema_version")
    if isinstance(version, bool) or version != SCHEMA_VERSION:
        raise CommandError(
            f"{path} has version {reprlib.repr(version)} of the schema; this skmia reads version "
            f"{SCHEMA_VERSION}"
        )
    try:
        return check_document(document)
    except ValueError as error:
        raise CommandError(
            f"{path} is damaged, or another version wrote it: {error}; audit again"
        ) from error


def _read_json(path):
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise CommandError(f"{path} has more than {_MOST_BYTES // 10**6} MB, as no audit has")
        return json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise CommandError(f"{path} is not valid JSON ({where})") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is not valid JSON") from error


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number of JSON.")


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
    if _is_same(out, arguments.result):
        raise CommandError(f"--out: the page would be written over its source {out}")
    document = read_document(arguments.result)
    page = render(document, arguments.title)
    try:
        write_bytes(out, page.encode())
    except OSError as error:
        raise CommandError(f"--out: cannot write {out}: {error.strerror or error}") from error
    return f"written: {visible(out)}"


def _is_same(first, other):
    """Whether two names are of one file, through links or in another spelling."""
    if first.resolve() == other.resolve():
        return True
    try:
        return first.samefile(other)
    except OSError:
        return False


def run_compare(arguments):
    """Compare two audits.

    Parameters
    ----------
    arguments : argparse.Namespace

    Returns
    -------
    text : str
        One line per number that both audits have.
    """
    paths = arguments.first, arguments.second
    documents = [read_document(path) for path in paths]
    tasks = [document["task"] for document in documents]
    if tasks[0] != tasks[1]:
        raise CommandError(f"one audit is of a {tasks[0]}, the other of a {tasks[1]}")
    level = _read_common_level(paths, documents)
    first, second = map(_read_numbers, documents)
    both = first.add_suffix("_a").join(second.add_suffix("_b"), how="inner")
    if both.empty:
        raise CommandError("the two audits have no number in common that could be measured")
    lines = [
        f"{name}: {visible(path)}\n   {document['verdict']}"
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
            f"{visible(attack)[:23]:24s}{column_name(metric, max_fpr):16s}{row['estimate_a']:9.3f}"
            f"{row['estimate_b']:9.3f}{gap:9.3f}  [{low:.3f}, {high:.3f}]"
        )
    lines += ["", *_READ_SO]
    return "\n".join(lines)


def _read_common_level(paths, documents):
    """The confidence level of all intervals: two levels cannot be joined into one."""
    levels = [document["settings"]["confidence_level"] for document in documents]
    if levels[0] != levels[1]:
        said = " and ".join(f"{100 * level:g}% in {path}" for level, path in zip(levels, paths))
        raise CommandError(
            f"the audits have intervals of different confidence levels, {said}: audit again with "
            "one confidence_level"
        )
    return levels[0]


def _read_numbers(document):
    frame = pd.DataFrame(document["results"], columns=list(COLUMNS))
    frame = frame[(frame["scope"] == OVERALL) & (frame["status"] == OK)]
    frame = frame.assign(max_fpr=frame["max_fpr"].astype(float).fillna(0.0))
    frame = frame.set_index(["attack", "metric", "max_fpr"])[["estimate", "low", "high"]]
    return frame.astype(float)
