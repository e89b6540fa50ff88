"""The commands that read the results of audits."""

import json
import os
import reprlib
from datetime import date

from .._core.escaping import visible
from .._core.guesses import ask_whether, suggest_path
from .._core.saving import write_json
from ..disclosure import record_decision, render_sheet, write_sheet
from ..report import (
    SCHEMA,
    SCHEMA_VERSION,
    check_document,
    check_table_document,
    compare_audits,
    format_comparison,
    render_audit,
    render_authority_sheet,
    render_comparison,
)
from ..synthetic import SCHEMA as TABLE_SCHEMA
from ..synthetic import SCHEMA_VERSION as TABLE_VERSION
from ..synthetic import render_table
from ._options import CommandError, tell
from ._output import named, shown_after
from ._write_page import check_is_no_source, describe_page, is_same_file, write_page

# A large audit has a tenth of it.
_MOST_BYTES = 64 * 10**6
READERS = {
    SCHEMA: (SCHEMA_VERSION, check_document),
    TABLE_SCHEMA: (TABLE_VERSION, check_table_document),
}


def _check_document(path, document, readers):
    """Return the document, checked by the reader of its schema."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or schema not in readers:
        writers = " or ".join(name.replace(".", " ") for name in readers)
        raise CommandError(f"{path} was not written by {writers} (schema {reprlib.repr(schema)})")
    wanted, check = readers[schema]
    version = document.get("schema_version")
    if isinstance(version, bool) or version != wanted:
        raise CommandError(
            f"{path} has version {reprlib.repr(version)} of the schema; this skmia reads version "
            f"{wanted}"
        )
    try:
        return check(document)
    except ValueError as error:
        raise CommandError(
            f"{path} is damaged, or another version wrote it: {error}; audit again"
        ) from error


def _read_json_document(path):
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise CommandError(f"{path} has more than {_MOST_BYTES // 10**6} MB, as no audit has")
        return json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError as error:
        raise CommandError(f"{path}: {error.strerror}{suggest_path(path)}") from error
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise CommandError(f"{path} is not valid JSON ({where})") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is not valid JSON") from error


def _open_at_once(path, flags):
    """Open a file; a pipe that nobody writes to is empty, where opening it would wait for ever."""
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(number, True)
    return number


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number of JSON.")


def run_report(arguments, show):
    """Write the page of an audit, of a model or a table, again."""
    path = find_document(arguments.result)
    beside = path.with_name("report.html") if arguments.result.is_dir() else None
    out = arguments.out or beside or path.with_suffix(".html")
    check_is_no_source(out, [path])
    document = _check_document(path, _read_json_document(path), READERS)
    draw = render_table if document["schema"] == TABLE_SCHEMA else render_audit
    title = {} if arguments.title is None else {"title": arguments.title}
    write_page(out, draw(document, **title))
    if document["recommendation"] is None:
        return f"written: {visible(out)}"
    sheet = out.with_name("decision.html")
    write_page(sheet, render_sheet(document, out.name))
    return f"written: {visible(out)}\nwritten: {visible(sheet)}"


_DOCUMENTS = ("audit.json", "table.json")


def find_document(path):
    """Return the file of numbers that a folder holds, or the file that is named."""
    if not path.is_dir():
        return _check_no_page(path)
    found = [path / name for name in _DOCUMENTS if (path / name).is_file()]
    if len(found) != 1:
        told = "both audit.json and table.json" if found else "neither audit.json nor table.json"
        raise CommandError(f"{path} holds {told}; {_ask_for_inner(path)}")
    return found[0]


def _ask_for_inner(path):
    """Return whether a folder inside of one was meant, or what to name."""
    found = sorted(one.parent for name in _DOCUMENTS for one in path.glob(f"*/{name}"))
    return ask_whether(map(str, found[:2])) if found else "name the file of the audit"


def _check_no_page(path):
    """Refuse a page or a picture of an audit with the file of its numbers, if there is one."""
    if path.suffix.lower() not in (".html", ".htm", ".png"):
        return path
    beside = [path.with_suffix(".json"), *(path.with_name(name) for name in _DOCUMENTS)]
    numbers = next((name for name in beside if name.is_file()), None)
    if numbers is None:
        return path
    raise CommandError(f"{path} is a page, and the file of its numbers is needed: {numbers}")


def run_decide(arguments, show):
    """Record a decision in the document of an audit, and write its sheet again."""
    path = find_document(arguments.result)
    document = _read_json_document(path)
    _check_document(path, document, READERS)  # what is kept is the document as it was written
    found = document.get("recommendation")
    if found is None:
        raise CommandError(f"{path} has no recommendation to decide on: audit with --policy")
    found["provenance"] |= dict(arguments.provenance)
    words = {"conditions": "release with conditions"}
    try:
        decided = record_decision(
            document,
            decision=words.get(arguments.decision, arguments.decision),
            name=arguments.by,
            role=arguments.role,
            day=arguments.date or date.today().isoformat(),
            given={
                "conditions": arguments.conditions,
                "because": arguments.because,
                "reasons": dict(arguments.reason),
                "replace": arguments.replace,
            },
        )
    except ValueError as error:
        raise CommandError(tell(error).rstrip(".")) from error
    sheet = path.with_name("decision.html")
    page = "report.html" if path.name in _DOCUMENTS else path.with_suffix(".html").name
    with named("OUT", path.parent):
        write_json(decided, path)
        write_sheet(decided, sheet, page)
    return f"recorded: {visible(path)}\nwritten: {visible(sheet)}"


def run_evidence(arguments, show):
    """Write the sheet of evidence of several audits."""
    paths = [find_document(path) for path in arguments.results]
    check_is_no_source(arguments.out, paths)
    documents = [_read_json_document(path) for path in paths]
    for path, document in zip(paths, documents, strict=True):
        _check_document(path, document, READERS)
    write_page(arguments.out, render_authority_sheet(documents, dict(arguments.provenance)))
    return f"written: {visible(arguments.out)}"


def run_compare(arguments, show):
    paths = [find_document(path) for path in (arguments.first, arguments.second)]
    if arguments.out is not None:
        check_is_no_source(arguments.out, paths)
    readers = {SCHEMA: READERS[SCHEMA]}
    documents = [_check_document(path, _read_json_document(path), readers) for path in paths]
    tasks = [document["task"] for document in documents]
    if tasks[0] != tasks[1]:
        raise CommandError(f"one audit is of a {tasks[0]}, the other of a {tasks[1]}")
    _check_levels(paths, documents)
    found = compare_audits(*documents)
    if not found.numbers:
        why = "; ".join(f"{visible(name)} ({why})" for name, why in found.left_out)
        why = f": {why}" if why else ""
        raise CommandError(f"the two audits have no number in common that could be measured{why}")
    names = _name_apart(paths)
    text = format_comparison(found, documents, names)
    with shown_after(show, text, arguments.out is not None):
        if arguments.out is not None:
            write_page(arguments.out, render_comparison(*documents, names))
    same = "A and B are the same file, so nothing differs.\n" if is_same_file(*paths) else ""
    return f"\n{same}{describe_page(arguments.out)}"


def _name_apart(paths):
    """Return the names of two files without their folders, unless they are the same."""
    names = [path.name for path in paths]
    if names[0] == names[1]:
        names = [f"{path.parent.name}/{path.name}" for path in paths]
    return names if names[0] != names[1] else ["a", "b"]


def _check_levels(paths, documents):
    """Refuse intervals of two confidence levels, which cannot be joined into one."""
    levels = [document["settings"]["confidence_level"] for document in documents]
    if levels[0] != levels[1]:
        said = " and ".join(f"{100 * level:g}% in {path}" for level, path in zip(levels, paths))
        raise CommandError(
            f"the audits have intervals of different confidence levels, {said}: audit again with "
            "one confidence_level"
        )
