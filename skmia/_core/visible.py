"""Text of others on its way to a terminal, a message or a page."""

import re

# Controls (C0, DEL, C1), ends of lines, marks that turn the direction of what follows, characters
# without a width, and halves of characters, which cannot be written. Joiners stay: they are part of
# Persian words and of emoji.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(value):
    r"""One line of text in which every character can be seen.

    Names of groups, columns, labels, classes, attacks and files come from tables, models and
    results of others. A line end among them would forge a line of a report, ``\x1b`` gives orders
    to a terminal, and a mark of direction turns a row around.

    Parameters
    ----------
    value : object
        Text, or what becomes text by ``str``.

    Returns
    -------
    text : str
        The same with ``\n``, ``\x1b``, ``\u202e`` and their like written out. What is visible
        stays, a backslash too, so that text which has been through here does not change again.

    Examples
    --------
    >>> from skmia._core.visible import visible
    >>> print(visible("a\nNo leakage detected.\x1b[2J"))
    a\nNo leakage detected.\x1b[2J
    """
    return _HIDDEN.sub(_write_out, str(value))


def visible_lines(text):
    """The same for text whose line ends are meant."""
    return "\n".join(map(visible, text.split("\n")))


def _write_out(match):
    return match.group().encode("unicode_escape").decode("ascii")
