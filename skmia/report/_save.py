"""The files of an audit: numbers first, then what is made of them."""

import io
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .._core.files import write_bytes
from .._core.optional import import_optional
from .._core.visible import visible


class Saved(NamedTuple):
    """What became of the files of an audit."""

    paths: list  # of those that were written
    failures: dict  # of str to Exception, by the name of a file that was not


def save_report(report, directory, values=None):
    """Write ``audit.json``, ``roc.png`` and ``report.html``, each of them atomically.

    Parameters
    ----------
    report : AuditReport
        Its ``notes`` get a sentence on each file that could not be made.
    directory : str or path
        Folder, made where it does not exist.
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
    page = partial(report.to_html, values=values)
    for name, write in (("roc.png", partial(_draw, report)), ("report.html", page)):
        try:
            write(directory / name)
            saved.paths.append(directory / name)
        except Exception as error:  # whatever fails, the numbers stay and say so
            saved.failures[name] = error
            report.notes.append(describe_failure(name, error))
    if saved.failures:
        with suppress(OSError):  # the numbers are there, without the note
            report.to_json(saved.paths[0])
    return saved


def describe_failure(name, error):
    """A sentence on a file that could not be made, without the folder that it was to be in."""
    if isinstance(error, OSError) and error.strerror:
        why = error.strerror
    else:
        why = visible(" ".join(str(error).split())).rstrip(".")
        why = why if isinstance(error, ImportError) else f"{type(error).__name__}: {why}"
    return f"The file {name} could not be made: {why}."


def _draw(report, path):
    # A figure of its own, without pyplot: no window, no backend and no state of the caller.
    module = import_optional("matplotlib.figure", extra="plot")
    figure = module.Figure(figsize=(7.5, 5.5), layout="constrained")
    report.plot(figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    write_bytes(path, content.getvalue())
