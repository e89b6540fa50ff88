"""What users can import, as the API reference finds it."""

import importlib.util
from pathlib import Path

_PATH = Path(__file__).parents[2] / "doc" / "api_reference.py"
_SPEC = importlib.util.spec_from_file_location(_PATH.stem, _PATH)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

# Everything in the ``__all__`` of a public module, ``skmia.attacks.LiRA`` and so on, and the types
# of its results.
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in reference.public_modules()
    for name in reference.documented_names(module)
}


def find(name):
    """The public thing of a name without its module, which only one thing has."""
    return next(thing for full, thing in PUBLIC.items() if full.endswith(f".{name}"))
