"""What follows a finished audit: it is printed, its files are written, and the gate is asked."""

import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill

from .._core.files import make_private_folder
from .._core.visible import visible
from ._errors import CommandError, GateClosed, tell
from ._formats import format_result
from ._gate import BROKEN, judge
from ._policy import as_finding

_WIDTH = 100  # of a line in a terminal, as in the summary


def finish(report, findings, save, arguments, show, source=None, broken=()):
    """Print a report, write its files and ask the gate.

    Parameters
    ----------
    report : AuditReport or TableReport
    findings : list of Finding
        Those on the verdict and the limits.
    save : callable
        Writes the files into a folder and returns which were written.
    arguments : argparse.Namespace
        ``command``, ``format`` and ``out``.
    show : callable
        Function that prints the result, after the files were written or could not be.
    source : str or None
        Name of the file that the audit is about.
    broken : sequence of str
        What could not be done after the audit.

    Returns
    -------
    text : str
        Text to print afterwards.

    Raises
    ------
    GateClosed
        If a limit is exceeded, nothing can be said, or a file could not be made.
    """
    if report.recommendation is not None:
        findings = [*findings, as_finding(report.recommendation)]
    text = format_result(arguments.format, report, findings, source, arguments.command)
    lines, unwritten = [], []
    with shown_after(show, text, arguments.out is not None):
        if arguments.out is not None:
            lines, unwritten = _save(save, arguments.out)
    text = "\n".join(["", *lines]) if lines and arguments.format == "text" else ""
    code, reasons = judge(findings)
    if broken or unwritten:
        code, reasons = code or BROKEN, [*reasons, *broken, *unwritten]
    if code:
        raise GateClosed("; ".join(reasons), text, code)
    return text


@contextmanager
def shown_after(show, text, is_kept):
    """Write files, then print, so that neither a full disk nor a full terminal costs the other.

    Parameters
    ----------
    show : callable
        Function that prints.
    text : str
    is_kept : bool
        Whether the files hold the result as well, so that a terminal that takes no text costs a
        line on the standard error, and no more.
    """
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


def _save(save, directory):
    """A line for each file that was written or not, and sentences on those that are a fault.

    A file that is missing because its package is not installed is not a fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with named("out", directory):
            saved = save(directory)
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
def collect_warnings():
    """Collect warnings in place of showing them: the keys of a dict, each as one line."""
    caught = {}
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: caught.setdefault(tell(message))
        yield caught


def as_settings(arguments):
    """The options of a command as values of JSON, with files without their folders."""
    return {
        name: _as_setting(value)
        for name, value in vars(arguments).items()
        if name not in ("command", "debug")
    }


def _as_setting(value):
    if isinstance(value, list):
        return [getattr(item, "text", item) for item in value]  # of a limit
    if isinstance(value, Path):
        return value.name  # folders are private
    return value if isinstance(value, int | float | None) else str(value)
