"""Captions of tables and pictures of an audit: page, text and Markdown print the same ones."""

from .._core.text import choose_base, count_of, tell_condition
from ._evidence import get_fpr
from ._measure import OVERALL

RECOGNIZED, MISTAKEN = "members recognized", "others mistaken for members"
RANKS = "How often a random member ranks above a random non-member"
RANKED = f"{RANKS} (AUC); guessing is 0.5"
WHOLE = (OVERALL, "all")


def caption_intervals(level):
    """Return what the intervals of a table hold for."""
    return f"{100 * level:g}% intervals of each number alone"


def caption_counts(routes, rate, parts=(WHOLE,)):
    """Return of how many members some are recognized, and how many others are then mistaken.

    As many as were measured, if they are as many in all rows of a table, or at most so many as were
    allowed.

    parts: scope and group of the rows.
    """
    base = choose_base(rate)
    found = [_find_mistaken(routes, rate, part) for part in parts]
    measured = {count_of(share, base): share for shares in found for share in shares.values()}
    text = f"{RECOGNIZED.capitalize()} of {base:,}, "
    if len(measured) == 1:
        return text + tell_condition(*measured.values(), base)
    text += tell_condition(rate, base).replace("when ", "when at most ")
    each = count_mistaken(routes, rate)
    if len(set(each.values())) < 2:
        return text
    return f"{text} ({' and '.join(f'{n} as a {way}' for way, n in each.items())})"


def count_mistaken(routes, rate):
    """Return how many others are mistaken for members over all records, by route, in words."""
    found = _find_mistaken(routes, rate, WHOLE)
    return {way: count_of(share, choose_base(rate)) for way, share in found.items()}


def _find_mistaken(routes, rate, part):
    rows = {route.way: route.find_best("tpr", rate, *part) for route in routes}
    return {way: get_fpr(row) for way, row in rows.items() if row is not None}
