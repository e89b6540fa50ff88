"""Text as Markdown."""

import re

from ..visible import visible

# Characters that Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def escape(text):
    """Return a text as one line that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", visible(text))


def quote(text):
    """Return a text as one line of code, which can be copied as it is."""
    text = visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{text}{space}{fence}"


def make_table(head, rows):
    """Return the lines of a table; the cells of its rows are escaped, its headings are not."""
    rows = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in rows]
