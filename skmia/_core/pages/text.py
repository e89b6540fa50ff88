"""Text for a terminal."""

import textwrap

from ..visible import visible

WIDTH = 100


def wrap_lines(paragraphs):
    """Lines of at most 100 characters, of paragraphs in which every character is visible."""
    lines = []
    for text in paragraphs:
        lines += textwrap.wrap(visible(text), WIDTH, subsequent_indent="  ")
    return lines
