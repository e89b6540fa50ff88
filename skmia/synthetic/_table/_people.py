"""Which rows are of one person."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._core.groups import number_groups
from ..._core.numbers import show
from ..._core.randomness import derive_random_state
from .._neighbors import draw_places
from ._columns import is_named, spell_identifiers
from ._evidence import has_numbers

# Rows of each table in which repeated combinations are looked for.
_MOST_ROWS = 5000
# Repeats of a combination that must be there, in at least so many different ones.
_FEWEST_GROUPS, _FEWEST_PAIRS = 20, 50
# Rows per combination, at most, and share of all rows that repeat, at least.
_MOST_PER_GROUP, _LEAST_SHARE = 50, 0.3
# Share of the repeats over both tables, of what rows assigned at random have, at most.
_ACROSS = 0.2
# How much more often than by chance columns repeat together.
_LIFT = 5.0
# Of columns that repeat in both tables: share of rows, and how much more often than by chance.
_FEWEST_REPEATED, _FAR_MORE, _MOST_COLUMNS = 0.5, 30.0, 30
# Factor by which another column makes it rarer by chance, at least.
_GROWS = 1.5
# Values of columns together, as a multiple of those of each, by which neither follows from another.
_CROSSED = 1.2
# Of a column that both tables share, the least share of the repeats over both, as of _ACROSS.
_COMMON = 0.05
# Columns that a search for those of persons begins with.
_MOST_STARTS = 5
# Share of the repeated values of columns for which another column is constant; two persons can have
# one value by chance.
_CONSTANT = 0.95


class TablePersons(NamedTuple):
    """Persons of the rows of both real tables."""

    groups: dict | None  # number of the person of each row, by table; None if rows are persons
    columns: tuple = ()  # columns by whose values rows are taken for one person's
    n_shared: int = 0  # persons with rows in both tables
    n_left_out: tuple = (0, 0)  # their rows in each table
    kept: dict | None = None  # which rows of each table are not theirs
    repeated: tuple = ()  # columns that repeat together as those of a person, in both tables
    share_repeated: float = 0.0  # share of the rows that do
    n_left: dict | None = None  # persons of each table who are in one alone


def read_people(tables, group_by):
    """Return the tables without the column of persons, and the persons."""
    if group_by is None:
        return tables, TablePersons(None)
    held = [name for name in ("real", "holdout") if name in tables]
    if isinstance(group_by, str):
        for name in held:
            if group_by not in tables[name]:
                raise ValueError(
                    f"group_by={group_by!r} is not a column of {name}; available columns: "
                    f"{', '.join(map(repr, tables[name].columns[:20]))}."
                )
        given = [tables[name][group_by] for name in held]
        tables = {
            name: table.drop(columns=group_by, errors="ignore") for name, table in tables.items()
        }
        if not tables["real"].shape[1]:
            raise ValueError(f"group_by={group_by!r} must not be the only column.")
    else:
        if not isinstance(group_by, tuple | list) or len(group_by) != len(held):
            raise ValueError(
                "group_by must be the name of a column, or one array of persons for each of "
                f"{' and '.join(held)}; got {show(group_by)}."
            )
        given = list(group_by)
    given = [p if isinstance(p, pd.Series) else pd.Series(np.asarray(p).tolist()) for p in given]
    named = spell_identifiers(dict(zip(held, given)))
    for name, part in named.items():
        number_groups(part, len(tables[name]), f"group_by of {name}")
    codes = pd.factorize(np.concatenate(list(named.values())))[0]
    parts = np.split(codes, [len(named["real"])])
    return tables, TablePersons(dict(zip(held, parts)))


def leave_out_shared(tables, people):
    """Return real tables without the persons who are in both, and the persons with their number.

    If too few others are left (``find_obstacle`` in ``_evidence.py``), nothing is compared with
    the holdout: it is left out, and the training table keeps its rows.
    """
    if people.groups is None or "holdout" not in tables:
        return tables, people
    shared = np.intersect1d(people.groups["real"], people.groups["holdout"])
    if not len(shared):
        return tables, people
    kept = {name: ~np.isin(codes, shared) for name, codes in people.groups.items()}
    groups = {name: people.groups[name][kept[name]] for name in kept}
    people = people._replace(
        n_shared=len(shared),
        n_left_out=tuple(int((~kept[name]).sum()) for name in ("real", "holdout")),
        n_left={name: len(np.unique(codes)) for name, codes in groups.items()},
    )
    counts = people.n_left | {"synthetic": len(tables["synthetic"]), "shared": len(shared)}
    if not has_numbers(counts):
        tables = {name: table for name, table in tables.items() if name != "holdout"}
        return tables, people._replace(groups={"real": people.groups["real"]})
    tables = tables | {
        name: tables[name][kept[name]].reset_index(drop=True) for name in ("real", "holdout")
    }
    return tables, people._replace(groups=groups, kept=kept)


def find_repeated_persons(tables, seed):
    """Return persons by combinations of columns that repeat in a table, and never across both.

    Of rows that were assigned to the tables at random, about half of the pairs that agree are in
    different tables. Pairs of rows of persons who were assigned at random are in one.
    """
    rng = derive_random_state(seed, "rows of one person")
    frames = [tables[name] for name in ("real", "holdout")]
    drawn = [frame.iloc[draw_places(len(frame), _MOST_ROWS, rng)] for frame in frames]
    is_real = np.repeat([True, False], [len(frame) for frame in drawn])
    rows = pd.concat(drawn, ignore_index=True)
    codes = {name: pd.factorize(rows[name], use_na_sentinel=False)[0] for name in rows}
    columns = _find_split_columns(codes, is_real)
    if columns is None:
        found, share = _find_repeated_columns(codes)
        return TablePersons(None, repeated=found, share_repeated=share)
    keys = [pd.MultiIndex.from_frame(frame[list(columns)].astype(str)) for frame in frames]
    # A combination that is in both tables by chance is of two persons.
    parts = [pd.factorize(key)[0] for key in keys]
    parts[1] = parts[1] + parts[0].max() + 1
    return TablePersons(dict(zip(("real", "holdout"), parts)), columns)


def _find_split_columns(codes, is_real):
    """Return columns that are constant within units that are in one table, or None."""
    scores = {name: _score_key(codes[name], is_real) for name in codes}
    starts = sorted(codes, key=scores.get, reverse=True)[:_MOST_STARTS]
    for k, start in enumerate(starts):
        if scores[start] <= 0:
            break
        found = _judge_split(codes, is_real, _grow_split(codes, is_real, start))
        # Of few persons, a column that several of them share, as a year of birth, can split the
        # rows more clearly than what names them. Behind it are also columns of a place within a
        # larger one, so two are needed of which neither follows from the other.
        if found is not None and (k == 0 or _has_crossed(codes, is_real, found)):
            return found
    return None


def _has_crossed(codes, is_real, names):
    """Whether two columns of both tables have clearly more values together than each of them.

    A column that is of other values in each table is a difference of the tables.
    """
    pairs = {name: _count_pairs(codes[name], is_real) for name in names}
    least = _COMMON * _share_across(is_real)
    names = [name for name, (within, across) in pairs.items() if across > least * (within + across)]
    sizes = {name: len(np.unique(codes[name])) for name in names}
    return any(
        len(np.unique(_join_codes([codes[first], codes[second]])))
        >= _CROSSED * max(sizes[first], sizes[second])
        for first, second in combinations(names, 2)
    )


def _grow_split(codes, is_real, start):
    """Return columns that split the rows more clearly together, beginning with one."""
    chosen, best = [start], _score_key(codes[start], is_real)
    while len(chosen) < len(codes):
        rest = [name for name in codes if name not in chosen]
        scores = {
            name: _score_key(_join_codes([codes[c] for c in (*chosen, name)]), is_real)
            for name in rest
        }
        name = max(scores, key=scores.get)
        if scores[name] <= best * 1.01:
            break
        best = scores[name]
        chosen.append(name)
    return chosen


def _judge_split(codes, is_real, chosen):
    """Return the columns of persons, if rows that agree in some columns are of one; else None."""
    key = _join_codes([codes[name] for name in chosen])
    within, across = _count_pairs(key, is_real)
    if not _is_split(key, is_real, within, across):
        return None
    found = [
        name for name in codes if name in chosen or _share_constant(key, codes[name]) >= _CONSTANT
    ]
    varied = [name for name in found if len(np.unique(codes[name])) > 1]
    chance = np.prod([_share_equal_pairs(codes[name]) for name in varied])
    n = len(is_real)
    is_more = within + across >= _LIFT * chance * n * (n - 1) / 2
    if (len(varied) > 1 and is_more) or (len(varied) == 1 and is_named(str(varied[0]))):
        return tuple(varied)
    return None


def _find_repeated_columns(codes):
    """Columns that repeat together far more than by chance in few rows, and the share of rows."""
    rest = _drop_determined(codes)[:_MOST_COLUMNS]
    steps = [list(pair) for pair in combinations(rest, 2)]
    chosen, best = [], 0.0
    while steps:
        lifts = [_lift([codes[name] for name in step]) for step in steps]
        place = int(np.argmax(lifts))
        if lifts[place] <= _GROWS * best:
            break
        best, chosen = lifts[place], steps[place]
        steps = [[*chosen, name] for name in rest if name not in chosen]
    if len(chosen) < 2 or best < _FAR_MORE:
        return (), 0.0
    key = _join_codes([codes[name] for name in chosen])
    n_values = len(np.unique(key))
    is_joint = n_values >= _CROSSED * max(len(np.unique(codes[name])) for name in chosen)
    counts = np.bincount(key)
    is_small = counts[counts > 1].mean() <= _MOST_PER_GROUP / 2
    is_person = is_small and (is_joint or any(is_named(str(name)) for name in chosen))
    return (tuple(chosen), _share_repeated(key)) if is_person else ((), 0.0)


def _lift(parts):
    """Return how much more often columns agree together than apart.

    0 if few rows agree with others.
    """
    key = _join_codes(parts)
    n = len(key)
    if _share_repeated(key) < _FEWEST_REPEATED:
        return 0.0
    counts = np.bincount(key).astype(float)
    chance = n * (n - 1) * np.prod([_share_equal_pairs(part) for part in parts])
    return float((counts * (counts - 1)).sum() / chance)


def _drop_determined(codes):
    """Return columns without those that another one of many rows a value determines."""
    sizes = {name: len(np.unique(part)) for name, part in codes.items()}
    n = len(next(iter(codes.values())))
    kept = []
    for name in sorted(codes, key=sizes.get, reverse=True):
        broad = [other for other in kept if n >= 20 * sizes[other]]
        if 1 < sizes[name] < n and not any(
            len(np.unique(_join_codes([codes[other], codes[name]]))) <= 1.05 * sizes[other]
            for other in broad
        ):
            kept.append(name)
    return kept


def _share_constant(key, part):
    """Return the share of the repeated keys whose rows agree in a column."""
    frame = pd.DataFrame({"key": key, "part": part}).groupby("key")["part"].agg(["size", "nunique"])
    return float((frame["nunique"] == 1)[frame["size"] > 1].mean())


def _share_repeated(key):
    """Return the share of the rows whose key another row has."""
    counts = np.bincount(key)
    return float(counts[counts > 1].sum() / len(key))


def _is_split(key, is_real, within, across):
    """Return whether rows with equal keys are few, many of them, and in one table."""
    counts = np.bincount(key)
    repeated = counts[counts > 1]
    if len(repeated) < _FEWEST_GROUPS or within < _FEWEST_PAIRS:
        return False
    if repeated.sum() < _LEAST_SHARE * len(key) or repeated.mean() > _MOST_PER_GROUP:
        return False
    return across <= _ACROSS * (within + across) * _share_across(is_real)


def _share_across(is_real):
    """Return the share of all pairs of rows that are in different tables."""
    n, n_real = len(is_real), int(is_real.sum())
    return n_real * (n - n_real) / (n * (n - 1) / 2)


def _score_key(key, is_real):
    """Pairs within tables beyond those that the pairs across let expect, in standard errors."""
    within, across = _count_pairs(key, is_real)
    share = _share_across(is_real)
    excess = within - across * (1 - share) / share
    return excess / np.sqrt(within + across) if within + across else 0.0


def _count_pairs(key, is_real):
    """Return the pairs of equal rows within a table, and across both."""
    real = np.bincount(key[is_real], minlength=key.max() + 1).astype(float)
    held = np.bincount(key[~is_real], minlength=key.max() + 1).astype(float)
    return float((real * (real - 1) + held * (held - 1)).sum() / 2), float(real @ held)


def _join_codes(parts):
    """Return one number for each combination of codes."""
    joined = parts[0]
    for part in parts[1:]:
        joined = pd.factorize(joined.astype(np.int64) * (int(part.max()) + 1) + part)[0]
    return joined


def _share_equal_pairs(codes):
    """Return the share of the pairs of rows that agree in a column."""
    counts, n = np.bincount(codes), len(codes)
    return float((counts * (counts - 1.0)).sum() / (n * (n - 1)))


def group_of(people, table, name):
    """Persons of the rows of a table that keeps the places of the rows that it was drawn from."""
    return None if people is None else people[name][table.index.to_numpy()]
