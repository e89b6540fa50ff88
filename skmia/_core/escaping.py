"""Foreign text in a terminal, a message or a page."""

import html
import math
import re

import numpy as np


def to_plain(value):
    """Convert to plain Python values; a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {to_plain(str(key)): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, int | float):
        return value
    # Surrogates (halves of characters) cannot be encoded in a file and are written as escapes.
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


# Control characters (C0, DEL, C1), line separators, marks that change the direction of the text,
# characters without a width, and surrogates, which cannot be encoded. Joiners are kept, because
# Persian words and emoji contain them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(value):
    """Return a value as one line of text, in which characters that are not visible are escapes.

    Names come from tables, models and results that may not be trusted: a line break could forge a
    line of a report. Backslashes are kept, so a second call changes nothing.
    """
    return _HIDDEN.sub(_write_out, str(value))


def visible_lines(text):
    """Apply :func:`visible` to each line of a text."""
    return "\n".join(map(visible, text.split("\n")))


def join_names(names, most=None):
    """Join names as in ``a, b and c`` or ``a, b and 3 more``."""
    names = list(names)
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def as_html(text):
    """Show a text in a notebook; every character is visible, and none is code of the page."""
    # Notebooks may set the output of a cell in another font, in which tables lose their columns. A
    # long text scrolls, as the page of a report does, so that the next cell stays in sight.
    style = "font-family: monospace; max-height: 40rem; overflow: auto"
    return f'<pre style="{style}">{html.escape(visible_lines(text))}</pre>'


class SummaryMixin:
    """Mixin of results with a summary, which prints and notebooks show."""

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self):
        return as_html(str(self))


def _write_out(match):
    return match.group().encode("unicode_escape").decode("ascii")
