"""Defaults that docstrings tell of, beside those of the signatures."""

import ast
import inspect
import re
import sys


def sections(thing):
    """The sections of a numpydoc docstring by name."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    return {name: body for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def public_methods(thing):
    """Methods that a class of skmia has from skmia, without those of Python and of scikit-learn."""
    for name in dir(thing):
        method = inspect.getattr_static(thing, name)
        function = getattr(method, "fn", None) or getattr(method, "__func__", method)
        if not name.startswith("_") and inspect.isfunction(function):
            if function.__module__.startswith("skmia"):
                yield name, function


def documented_defaults(thing):
    """Defaults in the heads of parameters of a docstring: the text for each name.

    Several parameters in one head have one default, or one each: ``default=0.4, 0.4 and 0.2``.
    """
    heads = re.findall(
        r"^(\w[\w, ]*) : .*\bdefault=(.+)$",
        sections(thing).get("Parameters", ""),
        flags=re.MULTILINE,
    )
    found = {}
    for names, text in heads:
        names, texts = names.split(", "), re.split(r",? and |, (?![^(]*\))", text)
        texts = texts if len(texts) == len(names) else [text] * len(names)
        found.update(zip(names, texts, strict=True))
    return found


def says_default(text, actual, module):
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):  # the name of a constant
        value = getattr(sys.modules[module], text, None)
    return type(value) is type(actual) and value == actual


def compare_defaults(name, function):
    """Defaults that differ from the docstring, and how many were compared."""
    taken = inspect.signature(function).parameters
    documented = documented_defaults(function).items()
    documented = {parameter: text for parameter, text in documented if parameter in taken}
    found = [
        f"{name}: {parameter} is {taken[parameter].default!r} by default, documented is {text}"
        for parameter, text in documented.items()
        if not says_default(text, taken[parameter].default, function.__module__)
    ]
    return found, len(documented)


def compare_defaults_of(*modules):
    """Defaults in the public names of modules that differ from the docstrings, and how many."""
    found, n_compared = [], 0
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            methods = public_methods(thing) if inspect.isclass(thing) else ()
            for full, function in [(name, thing), *((f"{name}.{one}", f) for one, f in methods)]:
                differ, n = compare_defaults(full, function) if callable(function) else ([], 0)
                found, n_compared = found + differ, n_compared + n
    return found, n_compared
