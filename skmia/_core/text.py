"""Texts: wrapped for a terminal, escaped for Markdown, counts, dates and tables."""

import re
import textwrap
import unicodedata
from datetime import datetime

from .escaping import visible

WIDTH = 100

# What stands for bars and dots where the encoding has no others.
ASCII = str.maketrans("\u2582\u2585\u2588\u00b7\u2026", "###..")


def compose_accents(text):
    """Return a text with accents as parts of their letters; some systems store them apart."""
    return unicodedata.normalize("NFC", text)


def fold_text(text):
    """Return a text without case, further blanks and the ways in which accents are stored."""
    return compose_accents(compose_accents(" ".join(text.split())).casefold())


def wrap(text, indent=""):
    """A text in lines of at most 100 characters, which are indented further after the first."""
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def wrap_lines(paragraphs):
    """Return lines of at most 100 characters, of paragraphs in which every character is visible."""
    lines = []
    for text in paragraphs:
        lines += textwrap.wrap(visible(text), WIDTH, subsequent_indent="  ")
    return lines


def wrap_short(text, first="", later=0):
    """Return the lines of a summary, which have at most 80 characters."""
    indents = {"initial_indent": first, "subsequent_indent": " " * later}
    return textwrap.wrap(visible(text), 78, break_on_hyphens=False, **indents)


def shorten(text, most, mark="..."):
    """Return a text of so many characters at most."""
    return text if len(text) <= most else f"{text[: most - len(mark)]}{mark}"


def choose_base(rate):
    """Of how many records a rate is told: a hundred, or more if it would be below one."""
    base = 100
    while rate * base < 1 - 1e-9:
        base *= 10
    return base


def count_of(share, base):
    """Return a share of so many records, in whole ones."""
    if share == 0:
        return "0"
    if share < 1 and round(base * share) == base:
        return f"more than {base - 1:,}"
    return f"{base * share:,.0f}" if base * share > 0.5 else "fewer than 1"


_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


def count_words(n):
    return _WORDS[n] if n < len(_WORDS) else f"{n:,}"


def count_nouns(n, noun):
    """Return how many of something there are: ``1 group``, ``2,000 groups``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def count_more(n, noun):
    """Return how many more of something there are: ``1 more group``, ``2 more groups``."""
    return count_nouns(n, f"more {noun}")


def inflect_word(n, one, several):
    """Return the form of a word that goes with a number of things."""
    return one if n == 1 else several


def tell_percent(share, digits=0):
    """Return a share in percent, which is 0% or 100% only where it is none or all."""
    text, least = f"{100 * share:.{digits}f}", 10.0**-digits
    if float(text) == 0 and share > 0:
        return f"less than {least:.{digits}f}%"
    if float(text) == 100 and share < 1:
        return f"more than {100 - least:.{digits}f}%"
    return f"{text}%"


def tell_condition(share, base):
    """When so many are recognized: how many others are mistaken for one."""
    if share == 0:
        return f"when none of {base:,} others is mistaken for one"
    m = count_of(share, base)
    return f"when {m} of {base:,} others {'is' if m == '1' else 'are'} mistaken for one"


def count_briefly(share, base):
    """Return a share of so many records where there is no room for words: ``<1``, ``>99``."""
    return shorten_count(count_of(share, base))


def count_lower_end(share, base):
    """Return the lower end of an interval as :func:`count_of`; half a record and less is 0."""
    return "0" if base * share <= 0.5 else count_of(share, base)


def shorten_count(text):
    return text.replace("fewer than ", "<").replace("more than ", ">")


def show_share(value, more=0):
    """Return a share in three digits and some more, without an exponent."""
    is_usual = value == 0 or abs(value) >= 1e-4
    return drop_sign(f"{value:.{3 + more}g}" if is_usual else f"{value:.{4 + more}f}")


def drop_sign(text):
    """Return a number without the sign of a zero, which a small number below zero leaves."""
    return text if float(text) else text.lstrip("+-")


# More digits than any number of an audit means.
_MOST_DIGITS = 9


def write_apart(write, values, limit, base=1):
    """Return numbers as they are usually written, each on the side of a limit on which it is.

    A rounded number can read as a limit that it exceeds, or does not reach; further digits tell
    them apart.

    write: of a number and how many further digits; base: what a number is multiplied by in it.
    """
    return [_write_on_side(write, value, limit, base) for value in values]


def _write_on_side(write, value, limit, base):
    border = round(base * limit, _MOST_DIGITS)
    for digits in range(_MOST_DIGITS):
        text = write(value, digits)
        shown = float(text)
        if (shown > border, shown < border) == (value > limit, value < limit):
            return text
    return write(value, 0)  # apart by no more than numbers are computed


def write_date(created):
    """Return a time in ISO 8601 as one reads it."""
    return f"{datetime.fromisoformat(created):%-d %B %Y, %H:%M} UTC"


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


def format_rows_of_table(head, rows):
    """Return the lines of a table; the cells of its rows are escaped, its headings are not."""
    rows = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in rows]
