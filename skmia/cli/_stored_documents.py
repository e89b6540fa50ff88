"""Documents that audits wrote: their files are found and read before a package is imported."""

import errno
import json
import os
from contextlib import suppress

from .._core.escaping import visible
from .._core.files import DOCUMENTS, name_beside, split_place
from .._core.guesses import ask_whether, suggest_path
from ._options import CommandError

# A large audit has a tenth of it.
_MOST_BYTES = 64 * 10**6
# Arguments that name documents, by command.
_NAMING = {
    "report": ("result",),
    "decide": ("result",),
    "compare": ("first", "second"),
    "evidence": ("results",),
}


def require_documents(arguments):
    """Refuse what is not there, and a folder of no audit, as packages take seconds to import."""
    for name in _NAMING.get(arguments.command, ()):
        given = getattr(arguments, name)
        for path in map(find_document, given if isinstance(given, list) else [given]):
            with suppress(PermissionError):  # which reading tells
                if not path.exists():
                    told = f"{os.strerror(errno.ENOENT)}{suggest_path(path)}"
                    raise CommandError(f"{path}: {told}")


def keep_decision(arguments):
    """Refuse to write an audit over one on which a decision is recorded, with its signatures."""
    out = getattr(arguments, "out", None)
    if arguments.command not in ("audit", "table") or out is None or arguments.dry_run:
        return
    folder, page = split_place(out)
    for path in dict.fromkeys(folder / name_beside(page, name) for name in DOCUMENTS):
        if decision := _read_decision(path):
            raise CommandError(
                f"--out: {path} has the decision {visible(decision)!r} recorded; write into "
                "another folder, or move this one away"
            )


def _read_decision(path):
    """Return the recorded decision in a file, or None, also if it is no document of an audit."""
    with suppress(CommandError, LookupError, TypeError):
        return str(read_json_document(path)["recommendation"]["decision"]["decision"])
    return None


def find_document(path):
    """Return the file of numbers that a folder holds, or the file that is named."""
    if not path.is_dir():
        return _check_no_page(path)
    found = [path / name for name in DOCUMENTS if (path / name).is_file()]
    if len(found) != 1:
        told = "both audit.json and table.json" if found else "neither audit.json nor table.json"
        raise CommandError(f"{path} holds {told}; {_ask_for_inner(path)}")
    return found[0]


def _ask_for_inner(path):
    """Return whether a folder inside of one was meant, or what to name."""
    found = sorted(one.parent for name in DOCUMENTS for one in path.glob(f"*/{name}"))
    return ask_whether(map(str, found[:2])) if found else "name the file of the audit"


def _check_no_page(path):
    """Refuse a page or a picture of an audit with the file of its numbers, if there is one."""
    if path.suffix.lower() not in (".html", ".htm", ".png"):
        return path
    beside = [path.with_suffix(".json"), *(path.with_name(name) for name in DOCUMENTS)]
    numbers = next((name for name in beside if name.is_file()), None)
    if numbers is None:
        return path
    raise CommandError(f"{path} is a page, and the file of its numbers is needed: {numbers}")


def read_json_document(path):
    """Return what the file of an audit holds."""
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
