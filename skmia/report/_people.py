"""What is told of people who have several records."""

from typing import NamedTuple

from .._core.escaping import visible
from .._core.levels import LEAK
from .._core.pvalues import format_pvalue
from .._core.text import inflect_word, shorten
from ._measure import OK, OVERALL, count_unlisted

SUM, MEAN = "sum", "mean"

# People who are named in a line and in a sentence; the table lists all that were kept.
_MOST_PEOPLE = 5
_LONGEST_LINE = 68


class PeopleFound(NamedTuple):
    """The first screen of what was found of people: who prints it chooses no other word."""

    line: str  # in a few words
    text: str  # how well they are found
    named: str  # who are exposed most, as a sentence; empty where nothing leaks
    exposed: list  # their rows
    more: str  # how many others are exposed as much as the last of them; empty if nobody is


def find_people(found, rows, evidence):
    """Return what is told of people, beside the numbers of records; None if nobody was told of."""
    if found is None:
        return None
    exposed = found["exposed"] if evidence == LEAK else []
    names = [visible(row["person"]) for row in exposed[:_MOST_PEOPLE]]
    line = "too few to be measured" if found["auc"] is None else f"AUC {found['auc']:.3f}"
    line = f"{found['n_members']:,} who are members, {line}"
    line += f"; most exposed: {', '.join(names)}" if names else ""
    return PeopleFound(
        shorten(line, _LONGEST_LINE),
        _describe_people(found, rows),
        _name_exposed(exposed),
        exposed,
        tell_unlisted(exposed, _PERSONS),
    )


_RECORDS, _PERSONS = ("record has", "records have"), ("person has", "people have")


def tell_unlisted(exposed, words=_RECORDS):
    """Say how many members have the score of the last one that is listed, and are not listed."""
    n = count_unlisted(exposed)
    return f"{n:,} more {words[n > 1]} the score of the last one." if n else ""


def _describe_people(found, rows):
    sides = f"{found['n_members']:,} people who are members, {found['n_nonmembers']:,} who are not"
    if found["n_mixed"]:
        are = inflect_word(found["n_mixed"], "is", "are")
        sides += f", {found['n_mixed']:,} with records on both sides who {are} left out"
    if found["auc"] is None:
        return f"{sides}. These are too few to measure how well they are identified."
    p = format_pvalue(found["pvalue"], 1 / (1 + found["n_permutations"]))
    return (
        f"{sides}. The {found['combine']} of the {visible(found['attack'])} scores of "
        f"each person separates them with AUC {found['auc']:.3f} [{found['low']:.3f}, "
        f"{found['high']:.3f}] ({p} by permutation of people, corrected for all attacks)"
        f"{_compare_with_records(found, rows)}. The verdict rests on the numbers of records, and "
        "stays open if only people are found."
    )


def _compare_with_records(found, rows):
    """Return the AUC of the same attack on single records, as a clause."""
    wanted = (found["attack"], OVERALL, "auc", OK)
    for row in rows:
        if (row["attack"], row["scope"], row["metric"], row["status"]) == wanted:
            return f", single records with {row['estimate']:.3f}"
    return ""


def _name_exposed(exposed):
    """Name the people who are exposed most, in a sentence; no sentence if nothing leaks."""
    if not exposed:
        return ""
    names = ", ".join(
        f"{visible(row['person'])} ({row['n_records']:,} record"
        f"{'' if row['n_records'] == 1 else 's'}, p = {row['pvalue']:.2g})"
        for row in exposed[:_MOST_PEOPLE]
    )
    told = (
        f"Most exposed people: {names}; p is the share of non-members whose score is as high, for "
        "each person taken alone."
    )
    more = tell_unlisted(exposed[:_MOST_PEOPLE], _PERSONS)
    return f"{told} {more}" if more else told
