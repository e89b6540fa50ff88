"""What a notebook and a terminal show of a route of a report: a line or a few, without arrays."""

from collections.abc import Callable
from textwrap import fill
from typing import TypeVar

from .._core.escaping import as_html, visible

_WIDTH = 79

_T = TypeVar("_T")


class ShortFindings:
    """Mixin of what is found of one route, which is shown as its level and its verdict."""

    def _remember(self, name: str, conclude: Callable[[], _T]) -> _T:
        """Draw a conclusion when it is first asked for; each document asks for it many times."""
        known = vars(self)
        if name not in known:
            known[name] = conclude()
        return known[name]

    def __repr__(self):
        return f"{type(self).__name__}(level={str(self.level)!r}, evidence={self.evidence!r})"

    def __str__(self):
        return f"{str(self.level).upper()}\n\n{fill(visible(self.verdict), _WIDTH)}"

    def _repr_html_(self):
        return as_html(str(self))
