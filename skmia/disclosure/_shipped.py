"""TOML files that come with the package, or that a user has written."""

import tomllib
from importlib.resources import files
from pathlib import Path

from .._core.numbers import show

# A policy has some kilobytes. The time to read a name grows with the square of its parts.
_MOST_BYTES, _MOST_DOTS = 10**6, 200


def load_toml(given, name, shipped, folder, make):
    """Make something of the text of a file, which is given by a path or by a name in `shipped`."""
    names = ", ".join(map(repr, shipped))
    if isinstance(given, str) and given in shipped:
        return make(files(__package__).joinpath(f"{folder}/{given}.toml").read_text("utf-8"))
    if not isinstance(given, str | Path) and not hasattr(given, "__fspath__"):
        raise TypeError(f"{name} must be one of {names} or a path; got {show(given)}.")
    path = Path(given)
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} must be one of {names} or a file; there is no file {show(str(path))}."
        )
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        return make(_check_size(content, show(path.name)).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{show(path.name)} is nested too deeply to be a {name}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{show(path.name)} is not valid TOML: {error}.") from None


def _check_size(content, name):
    """Refuse what no person has written, and what would take minutes to read."""
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{name} has more than {_MOST_BYTES} bytes.")
    for number, line in enumerate(content.splitlines(), 1):
        if line.count(b".") > _MOST_DOTS:
            raise ValueError(f"Line {number} of {name} has more than {_MOST_DOTS} periods.")
    return content.replace(b"\r\n", b"\n")
