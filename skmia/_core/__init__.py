"""Shared foundations: records, outputs, checks and arithmetic, used by all packages."""

import re
import sys
from types import FunctionType

__version__ = "0.1.0"


def name_by_room(room):
    """Name what a room offers by the room, in help, tooltips and pickles, and not by its file."""
    module = sys.modules[room]
    for name, thing in vars(module).items():
        is_offered = isinstance(thing, type) or name in module.__all__
        if is_offered and isinstance(thing, type | FunctionType):
            if re.match(r"skmia\..*\b_", thing.__module__):
                thing.__module__ = room
