"""What a notebook and a terminal show of parts of a report: a line or a few, without arrays."""

from textwrap import fill

from .._core.escaping import as_html, visible

_WIDTH = 79


class ShortFindings:
    """Mixin of what is found of one route, which is shown as its level and its verdict."""

    def __repr__(self):
        return f"{type(self).__name__}(level={str(self.level)!r}, evidence={self.evidence!r})"

    def __str__(self):
        return f"{str(self.level).upper()}\n\n{fill(visible(self.verdict), _WIDTH)}"

    def _repr_html_(self):
        return as_html(str(self))


class NamedChecks(dict):
    """Checks by name, which are shown as a list of their outcomes."""

    def __repr__(self):
        return (
            f"{{{', '.join(f'{visible(name)}: {check.status}' for name, check in self.items())}}}"
        )

    def __str__(self):
        return "\n".join(map(self._describe, self.values()))

    def _describe(self, check):
        """Write the status, the name and the text of a check, indented below its first line."""
        first = f"{check.status:8} {visible(check.name)}: "
        return fill(visible(check.text), _WIDTH, initial_indent=first, subsequent_indent=9 * " ")

    def _repr_html_(self):
        return as_html(str(self))
