"""Write doc/api_reference.md: every public name of skmia with its summary, grouped by module.

Run ``python doc/make_api_reference.py`` after a public name or the first line of a docstring has
changed.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import skmia

TARGET = Path(__file__).with_name("api_reference.md")

HEAD = """\
# API reference

Every public name, by the module it is imported from. What each takes and returns is in its
docstring, for instance `help(skmia.ShadowPool)`.

This page is written by `doc/make_api_reference.py`.
"""


def public_modules(package=skmia):
    """The package and all its public modules that name what they offer, in alphabetical order."""
    modules = [package]
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not found.name.rpartition(".")[2].startswith("_"):
            module = importlib.import_module(found.name)
            modules += public_modules(module) if found.ispkg else [module]
    return [module for module in modules if getattr(module, "__all__", None)]


def public_names(module):
    """Names of a module's ``__all__``, dunder names left out."""
    return [name for name in module.__all__ if not name.startswith("__")]


def first_paragraph(thing):
    """The first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def summary(thing):
    """What a name is, in one line; a scorer, which has no docstring of its own, as it was made."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return f"`{thing!r}`"
    # Readers see this page without Sphinx, so references become plain names.
    plain = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", first_paragraph(thing))
    return plain.replace("``", "`").replace("|", r"\|")


def kind(thing):
    """What sort of name it is."""
    if inspect.isclass(thing):
        return "class"
    return "function" if inspect.isroutine(thing) else "object"


def render():
    """The whole page."""
    parts = [HEAD]
    for module in public_modules():
        rows = [
            f"| `{name}` | {kind(thing)} | {summary(thing)} |\n"
            for name in public_names(module)
            for thing in [getattr(module, name)]
        ]
        parts.append(f"\n## {module.__name__}\n\n{first_paragraph(module)}\n\n")
        parts.append("| name | | what it is |\n|---|---|---|\n" + "".join(rows))
    return "".join(parts)


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
    print(f"wrote {TARGET}")
