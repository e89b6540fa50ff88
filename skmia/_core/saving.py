"""Files of a report, each written atomically."""

import html
import json
import warnings
from contextlib import suppress
from typing import NamedTuple

from .callers import level_of_user
from .escaping import visible
from .files import DOCUMENTS, SHEET, name_beside, split_place, write_bytes


class SavedFiles(NamedTuple):
    """The files of a report that were written, and those that could not be made."""

    paths: list  # of the files that were written
    failures: dict  # the error that prevented a file, by the name of the file

    @property
    def notes(self):
        """A sentence for each file that could not be made."""
        return [describe_failure(name, error) for name, error in self.failures.items()]


def save_documents(document, directory, numbers, others):
    """Write the document of a report, then its other files, each of them atomically.

    Notes in the file of the numbers say which file could not be made. The document is not changed.
    What another audit has left under a name of this one, and is not written again, is removed: it
    would be read as a part of this one. Signatures are not written over.
    """
    directory, page = split_place(directory)
    directory.mkdir(parents=True, exist_ok=True)
    numbers, *names = (name_beside(page, name) for name in (numbers, *others))
    others = dict(zip(names, others.values(), strict=True))
    place = directory / numbers
    for name in DOCUMENTS:
        _refuse_decided(directory / name_beside(page, name))
    write_json(document, place)
    saved = SavedFiles([place], {})
    noted = document  # a copy with a note on each failure so far
    for name, write in others.items():
        try:
            write(noted, directory / name)
            saved.paths.append(directory / name)
        except Exception as error:  # whatever fails, the numbers stay and say so
            saved.failures[name] = error
            noted = document | {"notes": [*document["notes"], *saved.notes]}
            _remove(directory / name)
    if SHEET not in others and f'<a href="{page}">full report</a>' in _read_page(directory / SHEET):
        _remove(directory / SHEET)
    if saved.failures:
        with suppress(OSError):  # the numbers are there already, without the notes
            write_json(noted, place)
    return saved


def _refuse_decided(place):
    """Refuse to write over numbers on which a decision is recorded, with its signatures."""
    decision = ""
    if not place.is_file():
        return
    with suppress(OSError, ValueError, LookupError, TypeError):
        decision = json.loads(place.read_bytes())["recommendation"]["decision"]["decision"]
    if decision:
        raise FileExistsError(
            f"{place} has the decision {visible(str(decision))!r} recorded; save into another "
            "folder, or move this one away."
        )


def _remove(path):
    with suppress(OSError):  # of a folder that cannot be written
        path.unlink(missing_ok=True)


def _read_page(path):
    with suppress(OSError):
        return html.unescape(path.read_text("utf-8", "replace")) if path.is_file() else ""
    return ""


def describe_failure(name, error):
    """Return a sentence on a file that could not be made, without the folder it was meant for."""
    if isinstance(error, OSError) and error.strerror:
        why = error.strerror
    else:
        why = visible(" ".join(str(error).split())).rstrip(".")
        why = why if isinstance(error, ImportError) else f"{type(error).__name__}: {why}"
    return f"The file {name} could not be made: {why}."


def write_text(text, path):
    """Write a text to a file, if there is a path, and return the text."""
    if path is not None:
        write_bytes(path, text.encode())
    return text


def write_json(document, path):
    """Return the same for the text of a JSON document."""
    return write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", path)


def warn_of_failures(saved):
    """Warn the caller's caller of files that could not be made though their package is there."""
    for name, error in saved.failures.items():
        if not isinstance(error, ImportError):
            warnings.warn(describe_failure(name, error), RuntimeWarning, stacklevel=level_of_user())
    return saved.paths
