"""Imports of packages that only an extra of skmia installs."""

from importlib import import_module


def is_of_package(value, package):
    """Return whether the class of an object, or one that it is derived from, is of a package."""
    start = f"{package}."
    return any(f"{kind.__module__}.".startswith(start) for kind in type(value).__mro__)


def import_optional(module, extra):
    """Import a module of an optional dependency when it is first needed."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ImportError(
            f'{package} is not installed; pip install "skmia[{extra}]" brings it.'
        ) from error
