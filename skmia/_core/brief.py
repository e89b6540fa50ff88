"""Representations of results that fit a terminal."""

from functools import wraps
from reprlib import Repr

# Lines of a terminal of 80 columns that a representation may take.
_MOST_LINES, _WIDTH = 20, 80
_FIELDS = Repr()
_FIELDS.maxstring = _FIELDS.maxother = 60
_FIELDS.maxdict = _FIELDS.maxlist = _FIELDS.maxtuple = 3
_FIELDS.maxlevel = 2


def show_briefly(kind):
    """Let the representation of a type of results name its large fields by their sizes alone."""
    usual = kind.__repr__
    names = getattr(kind, "_fields", None) or tuple(getattr(kind, "__dataclass_fields__", ()))
    if not names or hasattr(usual, "is_brief"):
        return kind

    @wraps(usual)
    def show(self):
        text = usual(self)
        if sum(1 + len(line) // _WIDTH for line in text.split("\n")) <= _MOST_LINES:
            return text
        parts = (f"{name}={_show_field(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({', '.join(parts)})"

    show.is_brief = True
    kind.__repr__ = show
    return kind


def _show_field(value):
    if getattr(value, "shape", ()):
        return f"<{type(value).__name__} of shape {value.shape}>"
    if isinstance(value, list | tuple | dict | set | frozenset) and len(value) > _FIELDS.maxlist:
        return f"<{type(value).__name__} of {len(value)}>"
    if hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields"):
        return f"<{type(value).__name__}>"
    if isinstance(value, list | tuple | dict | set | frozenset):
        return (
            f"<{type(value).__name__} of {len(value)}>" if _is_large_value(value) else repr(value)
        )
    return " ".join(_FIELDS.repr(value).split())


def _is_large_value(values):
    parts = [*values, *(values.values() if isinstance(values, dict) else ())]
    return any(not isinstance(one, str | int | float | None) or len(str(one)) > 60 for one in parts)
