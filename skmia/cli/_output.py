"""Print an audit, write its files, evaluate the gate."""

import json
import sys
import tempfile
import warnings
from contextlib import contextmanager
from textwrap import fill
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .._core import __version__
from .._core.escaping import visible
from .._core.files import make_private_folder, split_place
from ._gate import BROKEN, EXCEEDED, INCONCLUSIVE, VERDICT, judge
from ._options import CommandError, GateClosed, tell
from ._policy import as_finding

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"severe": "error", "clear": "warning", "slight": "note"}
_RULES = {
    "verdict": "Whether the attacks are better than guessing",
    "limit": "A limit on the success of the attacks",
}


def format_result(kind, report, document, findings, source, command="audit", verbose=False):
    if kind == "text":
        return report.summary(verbose=True) if verbose else report.summary()
    if kind == "json":
        return _format_json(document)
    if kind == "markdown":
        return report.to_markdown()
    if kind == "junit":
        return _as_junit(report, findings, command)
    return _format_json(_as_sarif(findings, source))


def _format_json(document):
    # The one control character that JSON may hold as it is.
    return json.dumps(document, indent=2, allow_nan=False).replace("\x7f", "\\u007f")


def _as_junit(report, findings, command):
    failures = sum(finding.code == EXCEEDED for finding in findings)
    errors = sum(finding.code == INCONCLUSIVE for finding in findings)
    seconds = f"{report.seconds['total']:.3f}"
    counts = f'tests="{len(findings)}" failures="{failures}" errors="{errors}" time="{seconds}"'
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<testsuites name="skmia" {counts}>']
    lines.append(f'  <testsuite name="skmia {command}" {counts}>')
    for finding in findings:
        lines += _as_case(finding)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"])


def _as_case(finding):
    name = f'classname="skmia.{finding.way}" name={quoteattr(visible(finding.name))}'
    text = escape(visible(finding.text))
    if not finding.code:
        found = f"<system-out>{text}</system-out>" if text else ""
        return [f"    <testcase {name}>{found}</testcase>"]
    tag = "failure" if finding.code == EXCEEDED else "error"
    message = quoteattr(visible(finding.text))
    return [f"    <testcase {name}>", f"      <{tag} message={message}/>", "    </testcase>"]


def _as_sarif(findings, source):
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "skmia", "version": __version__, "rules": rules}
    results = [_as_sarif_result(finding, source) for finding in findings]
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _as_sarif_result(finding, source):
    text = finding.text or f"{finding.name} holds"
    rule = "verdict" if finding.name == VERDICT else "limit"
    holds = "informational" if rule == "verdict" else "pass"
    level = _SARIF_LEVELS.get(finding.level and finding.level.name, "none")
    kind = {0: holds, EXCEEDED: "fail", INCONCLUSIVE: "open"}[finding.code]
    result = {
        "ruleId": rule,
        "kind": "fail" if level != "none" else kind,  # what is no failure has no level
        "level": "error" if finding.code == EXCEEDED else level,
        "message": {"text": f"As a {finding.way}: {visible(text).rstrip('.')}."},
    }
    if source is not None:
        place = {"artifactLocation": {"uri": source}}
        result["locations"] = [{"physicalLocation": place}]
    return result


_WIDTH = 100  # of a line in a terminal, as in the summary


class AuditOutcome(NamedTuple):
    """A finished audit as plain values."""

    document: dict  # of its report
    text: str  # to be printed
    code: int  # of the command
    reasons: list  # for another code than 0


def conclude_audit(report, document, findings, arguments, source=None, broken=()):
    """Ask the gate about a report and its findings, and format it."""
    if report.recommendation is not None:
        findings = [*findings, as_finding(report.recommendation)]
    verbose = getattr(arguments, "verbose", False)
    given = report, document, findings, source, arguments.command, verbose
    text = format_result(arguments.format, *given)
    return _break(AuditOutcome(document, text, *judge(findings)), broken)


def _break(outcome, broken):
    """Return the outcome with further reasons, which are a fault of the program."""
    if not broken:
        return outcome
    reasons = [*outcome.reasons, *broken]
    return outcome._replace(code=outcome.code or BROKEN, reasons=reasons)


# The last line where nothing is written.
_WITHOUT_FILES = "A page of this, and its numbers: --out FOLDER, or FILE.html"


def finish(outcome, save, arguments, show):
    """Write the files of an audit and print it."""
    lines, unwritten = [], []
    with shown_after(show, outcome.text, arguments.out is not None):
        if arguments.out is not None:
            lines, unwritten = _save(save, outcome.document, arguments.out)
    lines = [_WITHOUT_FILES] if arguments.out is None else lines
    text = "\n".join(["", *lines]) if lines and arguments.format == "text" else ""
    outcome = _break(outcome, unwritten)
    if outcome.code:
        raise GateClosed("; ".join(outcome.reasons), text, outcome.code)
    return text


@contextmanager
def shown_after(show, text, is_kept):
    """Write files, then print, so that neither a full disk nor a full terminal costs the other."""
    try:
        yield
    except BaseException:
        show(text)
        raise
    try:
        show(text)
    except CommandError as error:
        if not is_kept:
            raise
        print(f"skmia: {visible(error)}", file=sys.stderr)


def _save(save, document, directory):
    """Return a line for each file that was written or not, and sentences on those that are a fault.

    A file that is missing because its package is not installed is not a fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with named("out", directory):
            saved = save(document, directory)
    lines = [f"written: {visible(path)}" for path in saved.paths]
    lines += [
        fill(note, _WIDTH, subsequent_indent="  ", break_long_words=False) for note in saved.notes
    ]
    errors = zip(saved.notes, saved.failures.values())
    return lines, [note.rstrip(".") for note, error in errors if not isinstance(error, ImportError)]


def check_folder(name, folder):
    """Make a folder and a file in it now rather than fail after the work is done."""
    if folder is None:
        return
    folder = split_place(folder)[0] if name == "out" else folder
    with named(name, folder):
        if name == "checkpoint":
            make_private_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass


@contextmanager
def named(name, folder):
    """Name the option and its folder where the operating system refuses something."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"--{name}: cannot write into {folder}: {reason}") from error


@contextmanager
def collect_warnings(caught):
    """Collect warnings in place of showing them: as keys of a dict, each as one line."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: caught.setdefault(tell(message))
        yield
