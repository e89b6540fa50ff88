"""Text as Markdown."""

import re

from ..visible import visible

# Characters that Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def escape(text):
    """Return a text as one line that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", visible(text))


def make_table(head, rows):
    """Return the lines of a table; the cells of its rows are escaped, its headings are not."""
    rows = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in rows]
