"""Shared foundations: records, outputs, checks and arithmetic, used by all packages."""

import re
import sys
from types import FunctionType, ModuleType

from .brief import show_briefly
from .guesses import make_refusal, name_keywords, name_keywords_of_class

__version__ = "0.1.0"


def name_by_room(room):
    """Name what a room offers by the room, in help, tooltips and pickles, and not by its file.

    Who guesses a name of it, or a keyword of a thing, is told the right one.
    """
    module = sys.modules[room]
    for name, thing in list(vars(module).items()):
        is_offered = isinstance(thing, type) or name in module.__all__
        if is_offered and isinstance(thing, type | FunctionType):
            if isinstance(thing, FunctionType):
                thing = _offer(module, name, thing)
            elif name in module.__all__ or hasattr(thing, "get_params"):
                name_keywords_of_class(thing)
            if isinstance(thing, type) and name not in module.__all__:
                show_briefly(thing)
            if re.match(r"skmia\..*\b_", thing.__module__):
                thing.__module__ = room
    _close_room(module)


def _offer(module, name, function):
    """Put a function that answers wrong keywords in the place of one of a private module."""
    answering = name_keywords(function)
    setattr(module, name, answering)
    return answering


def _close_room(module):
    """Show the public names of a room alone, and answer wrong ones."""
    modules = [
        name
        for name, thing in vars(module).items()
        if isinstance(thing, ModuleType) and thing.__name__ == f"{module.__name__}.{name}"
    ]
    shown = sorted({*module.__all__, *(name for name in modules if not name.startswith("_"))})
    refuse = make_refusal(module.__name__, shown)

    def get_missing(name):
        raise refuse(name)

    module.__dir__ = lambda: list(shown)
    module.__getattr__ = get_missing
