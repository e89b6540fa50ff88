"""TOML files that come with the package, or that a user has written."""

import tomllib
from importlib.resources import files
from pathlib import Path

from .._core.numbers import show


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
        return make(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{show(path.name)} is not valid TOML: {error}.") from None
