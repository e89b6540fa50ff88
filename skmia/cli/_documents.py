"""The commands that read the results of audits."""

import reprlib
from datetime import date

from .._core.escaping import visible
from .._core.files import DOCUMENTS
from .._core.saving import write_json
from ..disclosure import record_decision, render_sheet, write_sheet
from ..report import (
    SCHEMA,
    check_document,
    check_table_document,
    compare_audits,
    format_comparison,
    render_audit,
    render_authority_sheet,
    render_comparison,
)
from ..synthetic import SCHEMA as TABLE_SCHEMA
from ..synthetic import render_table
from ._options import CommandError, tell
from ._output import named, shown_after
from ._stored_documents import find_document, read_json_document
from ._write_page import check_is_no_source, describe_page, is_same_file, write_page

READERS = {
    SCHEMA: check_document,
    TABLE_SCHEMA: check_table_document,
}


def _check_document(path, document, readers):
    """Return the document, checked by the reader of its schema."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or schema not in readers:
        writers = " or ".join(name.replace(".", " ") for name in readers)
        raise CommandError(f"{path} was not written by {writers} (schema {reprlib.repr(schema)})")
    try:
        return readers[schema](document)
    except ValueError as error:
        raise CommandError(
            f"{path} is damaged, or another version wrote it: {error}; audit again"
        ) from error


def run_report(arguments, show):
    """Write the page of an audit, of a model or a table, again."""
    path = find_document(arguments.result)
    beside = path.with_name("report.html") if arguments.result.is_dir() else None
    out = arguments.out or beside or path.with_suffix(".html")
    check_is_no_source(out, [path])
    document = _check_document(path, read_json_document(path), READERS)
    draw = render_table if document["schema"] == TABLE_SCHEMA else render_audit
    title = {} if arguments.title is None else {"title": arguments.title}
    write_page(out, draw(document, **title))
    if document["recommendation"] is None:
        return f"written: {visible(out)}"
    sheet = out.with_name("decision.html")
    write_page(sheet, render_sheet(document, out.name))
    return f"written: {visible(out)}\nwritten: {visible(sheet)}"


def run_decide(arguments, show):
    """Record a decision in the document of an audit, and write its sheet again."""
    path = find_document(arguments.result)
    document = read_json_document(path)
    _check_document(path, document, READERS)  # what is kept is the document as it was written
    if document.get("recommendation") is None:
        raise CommandError(f"{path} has no recommendation to decide on: audit with --policy")
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
                "provenance": dict(arguments.provenance),
                "replace": arguments.replace,
            },
        )
    except ValueError as error:
        raise CommandError(tell(error).rstrip(".")) from error
    sheet = path.with_name("decision.html")
    page = "report.html" if path.name in DOCUMENTS else path.with_suffix(".html").name
    with named("OUT", path.parent):
        write_json(decided, path)
        write_sheet(decided, sheet, page)
    return f"recorded: {visible(path)}\nwritten: {visible(sheet)}"


def run_evidence(arguments, show):
    """Write the sheet of evidence of several audits."""
    paths = [find_document(path) for path in arguments.results]
    check_is_no_source(arguments.out, paths)
    documents = [read_json_document(path) for path in paths]
    for path, document in zip(paths, documents, strict=True):
        _check_document(path, document, READERS)
    write_page(arguments.out, render_authority_sheet(documents, dict(arguments.provenance)))
    return f"written: {visible(arguments.out)}"


def run_compare(arguments, show):
    paths = [find_document(path) for path in (arguments.first, arguments.second)]
    if arguments.out is not None:
        check_is_no_source(arguments.out, paths)
    readers = {SCHEMA: READERS[SCHEMA]}
    documents = [_check_document(path, read_json_document(path), readers) for path in paths]
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
