"""Representations of results that fit a terminal."""

from functools import wraps
from reprlib import Repr
from textwrap import fill

from .escaping import as_html, visible

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


class _NamedParts(dict):
    """Parts of a result by name, which a notebook shows by a line or a few for each."""

    def __str__(self):
        return "\n".join(self._describe(name, part) for name, part in self.items())

    def _repr_html_(self):
        return as_html(str(self))


class NamedChecks(_NamedParts):
    """Checks by name, which are shown as a list of their outcomes."""

    def __repr__(self):
        outcomes = (f"{visible(name)}: {_read_outcome(one)[0]}" for name, one in self.items())
        return f"{{{', '.join(outcomes)}}}"

    def _describe(self, name, check):
        """Write the status, the name and the text of a check, indented below its first line."""
        status, text = _read_outcome(check)
        first = f"{status:8} {visible(name)}: "
        return fill(visible(text), _WIDTH - 1, initial_indent=first, subsequent_indent=9 * " ")


def _read_outcome(check):
    """Return the status and the text of a check, which is a type of results or a dict."""
    if isinstance(check, dict):
        return check["status"], check["text"]
    return check.status, check.text


class NamedScores(_NamedParts):
    """Scores of records by the name of the attack, which are shown by their number and range."""

    def __repr__(self):
        return f"{{{', '.join(self._describe(name, scores) for name, scores in self.items())}}}"

    def _describe(self, name, scores):
        """Write the name of an attack, the number of its scores and their smallest and largest."""
        return (
            f"{visible(name)}: {len(scores):,} scores from {min(scores):.3g} to {max(scores):.3g}"
        )
