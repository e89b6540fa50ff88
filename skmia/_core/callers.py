"""Who called: the line of a user that a warning is about, and an import of names."""

from inspect import currentframe


def level_of_user():
    """Return ``stacklevel`` by which a warning of the caller names the first line outside skmia."""
    frame, level = currentframe().f_back, 1
    while frame.f_back is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_inside(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0] == "skmia"


def is_import_of_names(n_between):
    """Whether so many frames above the caller, ``from room import name`` looks for a name."""
    frame = currentframe().f_back
    for _ in range(n_between):
        frame = frame.f_back
    code = frame.f_code
    return code.co_name == "_handle_fromlist" and "importlib" in code.co_filename
