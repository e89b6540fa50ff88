"""Numbers as people write them."""

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from .._core.missing_marks import is_mark


class NumberFormat(NamedTuple):
    """The signs with which numbers are written."""

    decimal: str
    thousands: str  # empty if there is none


# The first one that reads a column is taken; those of one decimal sign read a value alike.
FORMATS = (
    *(NumberFormat(".", ""), NumberFormat(",", "")),
    *(NumberFormat(".", ","), NumberFormat(",", ".")),
    *(NumberFormat(".", "'"), NumberFormat(",", "'")),
    *(NumberFormat(".", " "), NumberFormat(",", " ")),
)
PLAIN = FORMATS[0]
_SIGNS = {"'": "['\u2019]", " ": "[ \u00a0\u2009\u202f]", ".": r"\.", ",": ",", "": ""}
_MINUS = str.maketrans({"\u2212": "-"})


def _compile(form):
    decimal, thousands = _SIGNS[form.decimal], _SIGNS[form.thousands]
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+)" if thousands else r"\d+"
    return re.compile(
        rf"[+-]?(?:{whole}(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?",
        re.ASCII | re.IGNORECASE,
    )


_PATTERNS = {form: _compile(form) for form in FORMATS}
_HAS_DIGIT = re.compile("[0-9]|inf", re.IGNORECASE)


@lru_cache(maxsize=1 << 14)  # the first rows are asked about several times
def list_formats(text):
    """Format in which a text is a number."""
    text = text.strip().translate(_MINUS)
    if text.isdecimal() and text.isascii():
        return FORMATS
    if not _HAS_DIGIT.search(text):
        return ()
    return tuple(form for form, pattern in _PATTERNS.items() if pattern.fullmatch(text))


def is_number_text(text):
    """Return whether a text is a number in some format."""
    return bool(list_formats(text))


def read_number(text, form):
    """Return the number that a text stands for, to the last bit."""
    text = text.strip().translate(_MINUS)
    if form.thousands:
        text = re.sub(_SIGNS[form.thousands], "", text)
    return float(text.replace(form.decimal, "."))


_AFFIXED = re.compile(
    r"(?P<open>\(?)\s*(?P<minus>[+-]?)\s*(?:[$\u20ac\u00a3\u00a5]|USD|EUR|CHF|GBP)?\s*"
    r"(?P<number>[+-]?[\d.,'\u2019 \u00a0\u202f]*\d)\s*"
    r"(?:[$\u20ac\u00a3\u00a5]|USD|EUR|CHF|GBP|(?P<percent>%))?\s*(?P<close>\)?)",
    re.ASCII,
)


class AffixedNumber(NamedTuple):
    """A number with a sign of money or of percent."""

    text: str  # the number alone
    is_percent: bool
    is_english: bool  # by its sign of money, which goes with points for decimals


def strip_affixes(text):
    """Return the number in ``$4,000``, ``12%`` or ``(1,234)``; None if it is another text."""
    found = _AFFIXED.fullmatch(text.strip().translate(_MINUS))
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    minus = "-" if found["open"] else found["minus"]
    is_english = bool({*"$\u00a3"} & {*text})
    return AffixedNumber(minus + found["number"], found["percent"] is not None, is_english)


def find_decimals(columns):
    """Return the decimal sign that is the only one in the columns of a file; None if none is."""
    seen = {find_decimal(texts) for texts in columns} - {None}
    return seen.pop() if len(seen) == 1 else None


def find_decimal(texts):
    """Return the decimal sign that the numbers of a column can only have; None if any or none."""
    counts = Counter(texts)
    found = {text: forms for text in counts if (forms := list_formats(text))}
    n_numbers = sum(map(counts.get, found))
    # No mark is a number, so that only the other texts are asked whether they are marks.
    n_others = sum(counts[text] for text in counts.keys() - found if not is_mark(text))
    if not found or n_numbers < 0.9 * (n_numbers + n_others):
        return None
    common = set.intersection(*map(set, {*found.values()}))
    signs = {form.decimal for form in common}
    return signs.pop() if len(signs) == 1 else None
