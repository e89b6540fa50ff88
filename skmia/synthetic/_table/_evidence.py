"""The conclusion that the numbers and checks of a synthetic table support."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._core.levels import (
    LEAK,
    NONE,
    REVERSED,
    SHIFT,
    UNKNOWN,
    reaches,
    scale_interval,
    set_level,
    write_conclusion,
)
from ..._core.pvalues import format_pvalue
from ..._core.text import inflect_word

# With fewer rows, a leak cannot be distinguished from chance.
FEW_ROWS = 20
# Shares of the significance level; the other numbers share the rest. With 0.63, five copies of rows
# of which no held-out one is there are significant, if the holdout has as many rows: 2^-5 < 0.63 *
# 0.05; with 0.16 seven copies with another cell are. Where identifiers are copied, these and rare
# copies have half of the 0.63 each, and six of either are significant: 2^-6 < 0.315 * 0.05.
FIRST, ONE_CELL, IDENTIFIERS = "rare copies", "copies but one cell", "copied identifiers"
_WEIGHTS = {FIRST: 0.63, ONE_CELL: 0.16}
COPIES = (FIRST, ONE_CELL, "near copies")
# Singling out by one column: by any value, and by texts that only one real row, or person, has.
ONE_COLUMN, RARE_TEXTS = "singling out, one column", "singling out, rare texts"
# Level of the tests of whether the holdout is nearer to the synthetic rows than the training rows.
REVERSAL_LEVEL = 0.01
# Chance with which copies of the smallest share are found.
POWER = 0.8

HEADLINES = {
    LEAK: "Leakage found",
    NONE: "No leakage detected",
    SHIFT: "Inconclusive: the training data and the holdout differ",
    REVERSED: "Inconclusive: the scores are the wrong way round",
    UNKNOWN: "It cannot be said whether the table leaks",
}


class TableUnits(NamedTuple):
    """What the compared rows of a table are, in the words of its report."""

    one: str = "row"
    many: str = "rows"


ROWS, PERSONS = TableUnits(), TableUnits("person", "persons")


def read_units(data):
    """Return what each compared row is, by the data of a document."""
    return PERSONS if data.get("unit") == PERSONS.one else ROWS


UNSEEN = (
    "A table whose rows were changed in a way that an attacker can undo, such as a mirrored one, "
    "passes all of these tests."
)
_MOST_NAMES = 3


class TableGrounds(NamedTuple):
    """What a verdict rests on."""

    results: pd.DataFrame  # the numbers with their p-values; empty without a holdout
    n_rows: dict  # rows of each table; ``"holdout"`` is 0 if there is none
    level: float  # confidence level: one minus the probability of a finding without a leak
    # Smallest share of the training rows of which rare copies would have been found, after the
    # correction for all numbers; infinite if none would have been.
    smallest_share: float
    shift: str | None  # how training rows and holdout differ, or None
    unchanged: dict | None = None  # numbers of rows that are in the table as they are
    units: TableUnits = ROWS  # what each row is


def count_units(data):
    """Return the rows of each table, or persons if they are known, and persons who are in both."""
    rows = {name: data.get(f"n_{name}", 0) for name in ("real", "synthetic", "holdout")}
    rows = {name: data.get(f"n_persons_{name}", n) for name, n in rows.items()}
    return rows | {"shared": data.get("n_persons_shared", 0)}


def tell_unchanged(counts, units):
    """Return how many rows are in the table as they are."""
    are = inflect_word(counts["train"], "is", "are")
    told = (
        f"{counts['train']:,} of {counts['n_train']:,} training {units.many} {are} in the "
        "synthetic table unchanged"
    )
    if counts["test"] is not None:
        test = f"{counts['test']:,} of {counts['n_test']:,}"
        test += f" {inflect_word(counts['test'], 'is', 'are')}"
        return f"{told}; of {units.many} never seen, {test}."
    if not counts["train"]:
        return f"{told}."
    return (
        f"{told}, {counts['alone']:,} of them with values that no other training {units.one} has. "
        "Only a holdout shows how many would be there by chance."
    )


def correct(names, pvalues):
    """Correct p-values for their number, by Holm's procedure with weights."""
    pvalues = np.nan_to_num(np.asarray(pvalues, dtype=float), nan=1.0)
    weights = share_significance(names)
    order = np.argsort(pvalues / weights, kind="stable")
    left = np.cumsum(weights[order][::-1])[::-1]
    steps = np.maximum.accumulate(pvalues[order] / weights[order] * left)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def share_significance(names):
    """Return the share of the significance level of each number."""
    given = dict(_WEIGHTS)
    if IDENTIFIERS in names:
        given[FIRST] = given[IDENTIFIERS] = _WEIGHTS[FIRST] / 2
    weights = np.array([given.get(name, np.nan) for name in names])
    others = np.isnan(weights)
    if others.all() or not others.any():
        return np.full(len(names), 1 / len(names))
    weights[others] = (1 - weights[~others].sum()) / others.sum()
    return weights


def list_table_reversals(results):
    """Return the names of the numbers by which the holdout is nearer to the synthetic rows."""
    if results.empty:
        return []
    below = results["pvalue_below"].dropna()
    return list(below.index[below <= REVERSAL_LEVEL / max(len(below), 1)])


def choose_table_evidence(grounds):
    """Return what the numbers support; the first of these that holds, whatever the others say.

    The shift is of ``measure_shift`` in ``_measure.py`` and warned of by ``check_shift`` beside it;
    leaks are p-values that stay significant after ``correct``.
    """
    if find_obstacle(grounds.n_rows) is not None:
        return UNKNOWN
    if grounds.shift is not None:
        return SHIFT
    if grounds.results["leak"].any():
        return LEAK
    if list_table_reversals(grounds.results):
        return REVERSED
    return NONE if np.isfinite(grounds.smallest_share) else UNKNOWN


# Why nothing can be measured.
NO_HOLDOUT, SHARED, TOO_SMALL = "no holdout", "persons in both", "too small"


def find_obstacle(n_rows):
    """Return what keeps anything from being concluded, by the numbers of rows; or None."""
    n_shared = n_rows.get("shared", 0)
    if not (n_rows["holdout"] or n_shared):
        return NO_HOLDOUT
    if _count_smallest(n_rows) >= FEW_ROWS:
        return None
    return SHARED if n_shared else TOO_SMALL


def has_numbers(n_rows):
    """Return whether training rows are compared with held-out ones, by the numbers of rows.

    They are not without a holdout, or if almost all persons have rows in both tables. The numbers
    of tables that are too small are there, without a conclusion.
    """
    return find_obstacle(n_rows) in (None, TOO_SMALL)


def _count_smallest(n_rows):
    return min(n_rows[name] for name in ("real", "synthetic", "holdout"))


# Synthetic rows can be near training rows in a way that is no share of attacks.
LOSS = "privacy loss"
# Whole rows and names of people, whose level is clear whatever their share.
_EXPOSING = FIRST, IDENTIFIERS


def measure_table_level(grounds, evidence):
    """Return the level of each number, and the highest of those that are beyond chance.

    The strongest of many is chosen, so lower ends are corrected for all numbers: that of a number
    by its share of the level. Holm's procedure for the p-values also begins with these shares, but
    gives those of numbers that are beyond chance to the others.
    """
    frame, found = grounds.results, []
    for (name, row), weight in zip(
        frame.iterrows(), share_significance(frame.index) if len(frame) else ()
    ):
        if name == LOSS or np.isnan([row["estimate"], row["low"]]).any():
            continue
        wider = scale_interval(1 - (1 - grounds.level) * weight, grounds.level)
        low = float(row["estimate"] - wider * (row["estimate"] - row["low"]))
        excess = {"low": low, "estimate": float(row["estimate"]), "attack": name}
        own = NONE if evidence == LEAK and not row["leak"] else evidence
        level = set_level(own, {"excess": excess}).change(numbers={"excess": excess})
        if name in _EXPOSING and level.name == "slight":
            # Of few people everything, or who they are, is revealed.
            is_severe = reaches("severe", "excess", excess["estimate"])
            level = level.change(name="clear", at_least=is_severe)
        found.append(level)
    leaking = [level for level in found if level.rank >= 0]
    highest = max(
        leaking,
        key=lambda level: (level.order, level.numbers["excess"]["low"]),
        default=set_level(evidence, {}),
    )
    groups = tuple(
        {"number": level.numbers["excess"]["attack"]}
        | {name: getattr(level, name) for name in ("name", "at_least", "numbers")}
        for level in found
    )
    return highest.change(groups=groups)


def write_table_verdict(grounds, evidence):
    describe = {
        LEAK: _tell_table_leak,
        NONE: _tell_no_table_leak,
        SHIFT: _tell_table_shift,
        REVERSED: _tell_table_reversal,
        UNKNOWN: _describe_blindness,
    }
    return write_conclusion(grounds, evidence, HEADLINES, describe)


def _tell_table_leak(grounds):
    leaks = grounds.results[grounds.results["leak"]].sort_values("pvalue_holm", kind="stable")
    many = grounds.units.many
    names = [_tell_table_number(name, row, many) for name, row in leaks.iterrows()]
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    is_told = FIRST in leaks.index and grounds.unchanged is not None
    told = f"{tell_unchanged(grounds.unchanged, grounds.units)} " if is_told else ""
    return (
        f"{told}The synthetic table reveals more about its training {many} than about held-out "
        f"{many}: {'; '.join(names[:_MOST_NAMES])}{more}. The p-values are corrected for all "
        f"{len(grounds.results)} numbers."
    )


def _tell_table_number(name, row, many):
    p = format_pvalue(row["pvalue_holm"], 0.0)
    if np.isnan(row["attack"]):
        return f"{name} {row['estimate']:.3f} ({p})"
    right = "" if "copies" in name else "right for "
    attack, control = (f"{100 * row[side]:.3g}%" for side in ("attack", "control"))
    return f"{name}, {right}{attack} of the training and {control} of the held-out {many} ({p})"


def _tell_no_table_leak(grounds):
    level = f"{100 * (1 - grounds.level):g}%"
    n_shared = grounds.n_rows.get("shared", 0)
    told = f" {n_shared:,} persons have rows in both real tables and were not compared."
    return (
        f"None of {len(grounds.results)} numbers is significant at the {level} level after "
        "correction for all of them. Exact copies of "
        f"{format_share(grounds.smallest_share)} of the training {grounds.units.many} would have "
        f"been found with a probability of {100 * POWER:g}%. {UNSEEN} Another attack may also "
        f"succeed.{told if n_shared else ''}"
    )


def format_share(share):
    """Format the smallest share of copies that would have been found."""
    return f"{float(f'{100 * share:.2g}'):g}%" if np.isfinite(share) else "no share"


def _tell_table_shift(grounds):
    return (
        f"They come from different populations: {grounds.shift} What the attacks find may be that "
        f"difference. Use {grounds.units.many} of one population, assigned at random to training "
        "and holdout."
    )


def _tell_table_reversal(grounds):
    names = " and ".join(list_table_reversals(grounds.results)[:_MOST_NAMES])
    return (
        "The synthetic rows are significantly nearer to the holdout than to the training "
        f"{grounds.units.many} ({names}). Were the two tables swapped?"
    )


_OBSTACLES = {
    NO_HOLDOUT: "There is no holdout: {many} of the same population that the generator has not "
    "seen. Without them, it is not known what the table reveals about its training {many} beyond "
    "what it reveals about everyone in the population.",
    SHARED: "{shared:,} persons have rows in both real tables. Without them, a table has "
    "{smallest} persons, and at least {fewest} are needed. Assign all rows of a person to one "
    "table before the generator is trained.",
    TOO_SMALL: "A table has {smallest} rows or persons, and at least {fewest} are needed.",
    None: "Even a table of copies of all training {many} would not have been found: too many of "
    "the real {many} are equal to or near each other, as in tables with few columns or with "
    "training {many} in the holdout.",
}


def _describe_blindness(grounds):
    n_rows = grounds.n_rows
    return _OBSTACLES[find_obstacle(n_rows)].format(
        shared=n_rows.get("shared", 0),
        smallest=_count_smallest(n_rows),
        fewest=FEW_ROWS,
        many=grounds.units.many,
    )
