"""The files of an audit: first the numbers, then the figure and the page."""

import io
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .._core.files import write_bytes
from .._core.optional import import_optional
from .._core.visible import visible


class Saved(NamedTuple):
    """The files of an audit that were written, and those that could not be made.

    Attributes
    ----------
    paths : list of Path
        The files that were written.
    failures : dict of str to Exception
        The error that prevented a file, by the name of the file.
    """

    paths: list
    failures: dict

    @property
    def notes(self):
        """A sentence for each file that could not be made."""
        return [describe_failure(name, error) for name, error in self.failures.items()]


def save_report(report, directory, values=None):
    """Write ``audit.json``, ``roc.png`` and ``report.html``, each of them atomically.

    The notes in ``audit.json`` say which file could not be made. The report is not changed.

    Parameters
    ----------
    report : AuditReport
    directory : str or path
        Folder, which is created if it does not exist.
    values : DataFrame of n rows, default=None
        As for :meth:`AuditReport.to_html`.

    Returns
    -------
    saved : Saved

    Raises
    ------
    OSError
        If the folder or ``audit.json`` cannot be written.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    saved = Saved([directory / "audit.json"], {})
    report.to_json(saved.paths[0])
    noted = report  # a copy of the report with a note on each failure so far
    for name, write in (("roc.png", _draw), ("report.html", partial(_render, values=values))):
        try:
            write(noted, directory / name)
            saved.paths.append(directory / name)
        except Exception as error:  # whatever fails, the numbers stay and say so
            saved.failures[name] = error
            noted = replace(report, notes=[*report.notes, *saved.notes])
    if saved.failures:
        with suppress(OSError):  # the numbers are there already, without the notes
            noted.to_json(saved.paths[0])
    return saved


def describe_failure(name, error):
    """A sentence on a file that could not be made, without the folder it was meant for."""
    if isinstance(error, OSError) and error.strerror:
        why = error.strerror
    else:
        why = visible(" ".join(str(error).split())).rstrip(".")
        why = why if isinstance(error, ImportError) else f"{type(error).__name__}: {why}"
    return f"The file {name} could not be made: {why}."


def _render(report, path, values):
    report.to_html(path, values=values)


def _draw(report, path):
    # A figure made without pyplot opens no window and leaves the caller's backend and state alone.
    module = import_optional("matplotlib.figure", extra="plot")
    figure = module.Figure(figsize=(7.5, 5.5), layout="constrained")
    report.plot(figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    write_bytes(path, content.getvalue())
