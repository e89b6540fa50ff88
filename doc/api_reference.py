"""Pages of the API reference: one for each public name of skmia, one for each module, an index.

``doc/conf.py`` calls :func:`write_pages` before a build. The names come from the ``__all__`` of
every public module, so that nothing has to be listed twice. Types of results are in no ``__all__``:
a room imports them as themselves, ``from ._intervals import Interval as Interval``, which type
checkers read as public, and its page lists them below its names.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from functools import cache, lru_cache

import skmia

INDEX_HEAD = """\
API reference
=============

Every public name, by the module it is imported from. Attacks, metrics, defenses and the rest are
imported from their modules: ``from skmia.attacks import LiRA``. What is asked for rarely is in a
module of its own, such as ``skmia.leakage.bounds``. The page of a module also has the types of the
results that its functions return.
"""

HOLDERS = ("fget", "fn", "__func__")


@cache
def public_modules(package=skmia):
    """The package and all its public modules that name what they offer, in alphabetical order."""
    modules = [package]
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not found.name.rpartition(".")[2].startswith("_"):
            module = importlib.import_module(found.name)
            modules += public_modules(module) if found.ispkg else [module]
    return [module for module in modules if getattr(module, "__all__", None)]


def public_names(module):
    """Names of a module's ``__all__``, dunder names left out, in alphabetical order."""
    return sorted((name for name in module.__all__ if not name.startswith("__")), key=str.lower)


def result_names(module):
    """Classes that a module imports as themselves, ``X as X``, in alphabetical order."""
    nodes = ast.parse(inspect.getsource(module)).body
    aliases = [one for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names]
    names = {one.name for one in aliases if one.name == one.asname} - set(module.__all__)
    return sorted((one for one in names if inspect.isclass(getattr(module, one))), key=str.lower)


def documented_names(module):
    """Names that have a page: those of ``__all__``, then the types of results."""
    return [*public_names(module), *result_names(module)]


@lru_cache(1)
def own_modules(n_loaded):
    """The modules of the package, among as many as are loaded."""
    return [module for full, module in sys.modules.items() if full.startswith("skmia.")]


def file_of(room, name):
    """The module in which a name of a room is written; classes and functions are named by rooms."""
    thing = getattr(room, name)
    if inspect.isfunction(thing):
        return inspect.unwrap(thing).__globals__["__name__"]
    able = (one for one in own_modules(len(sys.modules)) if vars(one).get(name) is thing)
    start = re.compile(rf"^class {name}\b", re.MULTILINE)
    return next((one.__name__ for one in able if start.search(inspect.getsource(one))), None)


def first_paragraph(thing):
    """The first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def is_documented(thing):
    """Whether a name has a docstring of its own; a scorer has its class's."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def summary(thing):
    """What a name is, in one line; a scorer as it was made."""
    return first_paragraph(thing) if is_documented(thing) else f"``{thing!r}``"


def members(cls):
    """Public methods of a class, and properties that its docstring leaves out; then scikit-learn's.

    The methods of scikit-learn are only named, as they have a documentation of their own.
    """
    own, inherited = [], []
    for name in dir(cls):
        found = inspect.getattr_static(cls, name)
        # A property keeps its function in `fget`, scikit-learn's available_if in `fn`.
        function = next(filter(None, (getattr(found, at, None) for at in HOLDERS)), found)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if isinstance(found, property) and (
            not function.__doc__ or re.search(rf"^{name}\b", inspect.getdoc(cls), re.MULTILINE)
        ):
            continue
        package = function.__module__.partition(".")[0]
        own += [name] if package == "skmia" else []
        inherited += [name] if package == "sklearn" else []
    return own, inherited


def class_body(full_name, cls):
    """The directive of a class with its methods."""
    own, inherited = members(cls)
    # A class without parameters would show those that ``object`` seems to take.
    takes_none = cls.__init__ is object.__init__ and not issubclass(cls, tuple)
    shown = "()" if takes_none and "*args" in str(inspect.signature(cls)) else ""
    lines = [f".. autoclass:: {full_name}{shown}"]
    if own:
        lines += [f"   :members: {', '.join(own)}"]
    if inherited:
        listed = ", ".join(f"``{name}``" for name in inherited)
        lines += ["", f"Inherited from scikit-learn: {listed}."]
    return lines


def name_page(module, name):
    """The page of one name."""
    full_name, thing = f"{module.__name__}.{name}", getattr(module, name)
    if inspect.isclass(thing):
        body = class_body(full_name, thing)
    elif inspect.isroutine(thing):
        body = [f".. autofunction:: {full_name}"]
    else:
        body = [f".. py:data:: {name}", "", f"   {summary(thing)}"]
    head = [name, "=" * len(name), "", f".. currentmodule:: {module.__name__}", ""]
    tail = ["", f".. minigallery:: {full_name}", "   :add-heading: In the examples"]
    return "\n".join([*head, *body, *tail, "   :heading-level: -"]) + "\n"


def summary_table(module, names):
    """Names of a module, each with its summary."""
    lines = [".. list-table::", "   :class: api-summary", "   :widths: auto", ""]
    for name in names:
        lines += [
            f"   * - :py:obj:`~{module.__name__}.{name}`",
            f"     - {summary(getattr(module, name))}",
        ]
    return "\n".join(lines) + "\n"


def toctree(entries):
    """A table of contents that shows in the sidebar only."""
    lines = [".. toctree::", "   :hidden:", "", *(f"   {entry}" for entry in entries)]
    return "\n".join(lines) + "\n"


def module_page(module):
    """A module's docstring, the table of its names, and that of its types of results."""
    name, results = module.__name__, result_names(module)
    parts = [
        f"{name}\n{'=' * len(name)}\n",
        f".. automodule:: {name}\n",
        summary_table(module, public_names(module)),
        f"Results\n-------\n\n{summary_table(module, results)}" if results else "",
        toctree(f"{name}.{one}" for one in documented_names(module)),
    ]
    return "\n".join(parts)


def index_page():
    """All modules, each with what it is for and its names."""
    parts = [INDEX_HEAD]
    for module in public_modules():
        parts += [
            f"{module.__name__}\n{'-' * len(module.__name__)}\n",
            f".. currentmodule:: {module.__name__}\n",
            f"{first_paragraph(module)} :doc:`More <{module.__name__}>`\n",
            summary_table(module, public_names(module)),
        ]
    parts.append(toctree(module.__name__ for module in public_modules()))
    return "\n".join(parts)


@cache
def pages():
    """Text of every page by name: ``index``, modules, and full names such as ``skmia.Records``."""
    found = {"index": index_page()}
    for module in public_modules():
        found[module.__name__] = module_page(module)
        for name in documented_names(module):
            found[f"{module.__name__}.{name}"] = name_page(module, name)
    return found


def write_pages(folder):
    """Bring a folder of pages up to date; what has not changed keeps its time, so Sphinx skips it.

    Parameters
    ----------
    folder : Path
        Where the pages go. Other pages in it are removed.
    """
    folder.mkdir(exist_ok=True)
    wanted = {folder / f"{name}.rst": text for name, text in pages().items()}
    for path in set(folder.glob("*.rst")) - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
