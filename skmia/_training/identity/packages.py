"""Installed packages and their versions, as the origin of code."""

import sys
import sysconfig
from functools import cache
from hashlib import sha256
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_OWN = __name__.partition(".")[0]
_SITES = {"site-packages", "dist-packages"}


class Package(NamedTuple):
    """An installed package, or Python itself."""

    name: str
    version: str


PYTHON = Package("python", "{}.{}".format(*sys.version_info))


@cache
def package_of(module):
    """Return the installed package that a module belongs to.

    Parameters
    ----------
    module : str
        Full name of the module.

    Returns
    -------
    package : Package or None
        None for the user's own code: scripts, notebooks, packages installed in editable mode.
    """
    root = module.partition(".")[0]
    if root == _OWN:
        return Package(_OWN, _get_own_version())
    file = _get_file(module) or _get_file(root)
    if root in sys.stdlib_module_names and (file is None or _is_of_python(file)):
        return PYTHON
    for name in _distributions().get(root, ()) if file is not None else ():
        found = distribution(name)
        folder = Path(found.locate_file("")).resolve()
        # The source folder of an editable install has other metadata, and its code can change.
        is_installed = found.read_text("METADATA") is not None or _SITES & set(folder.parts)
        if is_installed and folder in file.parents:
            return Package(name, found.version)
    return None


@cache
def _get_own_version():
    """Version of this package, with a digest of its files if it is not installed."""
    folder = Path(sys.modules[_OWN].__file__).resolve().parent
    number = sys.modules[_OWN].__version__
    if _SITES & set(folder.parts):
        return number
    whole = sha256()
    for path in sorted(folder.rglob("*.py")):
        whole.update(path.read_bytes())
    return f"{number}+{whole.hexdigest()[:16]}"


@cache
def _distributions():
    return packages_distributions()


def _get_file(module):
    known = sys.modules.get(module)
    file = getattr(known, "__file__", None)
    if file is None and known is None and "." not in module:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            spec = None
        file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(file).resolve()


def _is_of_python(file):
    home = Path(sysconfig.get_path("stdlib")).resolve()
    return home in file.parents and not _SITES & set(file.parts)
