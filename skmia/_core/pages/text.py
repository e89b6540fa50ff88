"""Text for a terminal."""

import textwrap

from ..visible import visible

WIDTH = 100


def wrap(text, indent=""):
    """A text in lines of at most 100 characters, which are indented further after the first."""
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def wrap_lines(paragraphs):
    """Lines of at most 100 characters, of paragraphs in which every character is visible."""
    lines = []
    for text in paragraphs:
        lines += textwrap.wrap(visible(text), WIDTH, subsequent_indent="  ")
    return lines
