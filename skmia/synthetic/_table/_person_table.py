"""Tables of persons and of what belongs to them, as one table with a row for each person."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ..._core.escaping import visible
from ..._core.numbers import show
from .._neighbors import as_frame
from ._columns import find_identifiers, spell_identifiers

# Names of what is computed of the rows of a person.
_NUMBERS = {"mean": "mean", "min": "smallest", "max": "largest"}
_TIMES = {"min": "first", "max": "last"}


class PersonTables(NamedTuple):
    """One table with a row for each person, for each data set."""

    tables: dict
    notes: list  # sentences
    n_shared: int = 0  # persons who are in training and held-out tables, and left out


def join_tables_of_persons(data, keys):
    """Join tables with a key of persons.

    data: by name of the data set, tables by name. Columns of tables with one row a person are
    taken as they are. Of others there are the number of rows of a person, mean, smallest and
    largest of numbers, first and last of times, and the most frequent of other values and how many
    different ones there are.
    """
    data = {name: _read_tables(name, tables) for name, tables in data.items()}
    keys = _read_keys(data, keys)
    spelled = _spell_keys(data, keys)
    spelled, n_shared = _leave_out_shared(spelled, keys)
    parents = [
        table
        for table, key in keys.items()
        if all(tables[table][key].is_unique for tables in spelled.values())
    ]
    children = [table for table in keys if table not in parents]
    left_out = {table: _drop_identifiers(spelled, table, keys[table]) for table in children}
    numeric = {table: _find_kinds(spelled, table, keys[table]) for table in children}
    joined = {
        name: _join(tables, keys, parents, children, numeric) for name, tables in spelled.items()
    }
    notes = _list_notes(keys, parents, spelled, left_out)
    if n_shared:
        notes.append(
            f"Persons in training and in held-out tables are left out of both: {n_shared:,}."
        )
    return PersonTables(joined, notes, n_shared)


def _read_tables(name, tables):
    if not isinstance(tables, Mapping) or not tables:
        raise ValueError(
            f"{name} must be a dict of tables by name, as the training data are; got "
            f"{show(tables)}."
        )
    return {str(table): as_frame(frame, f"{name}[{table!r}]") for table, frame in tables.items()}


def _read_keys(data, keys):
    """Return the column of the key, by table."""
    names = list(data["real"])
    for name, tables in data.items():
        if set(tables) != set(names):
            raise ValueError(
                f"{name} has the tables {', '.join(map(repr, tables))}, and the training data have "
                f"{', '.join(map(repr, names))}; all must have the same ones."
            )
    if isinstance(keys, str):
        keys = dict.fromkeys(names, keys)
    if not isinstance(keys, Mapping):
        raise ValueError(
            "keys must be the column that names the person in each table, or a dict of such "
            f"columns by table; got {show(keys)}."
        )
    for table in names:
        if table not in keys:
            raise ValueError(
                f"keys lack the column of persons in {table!r}; join a table that has none "
                "with the one that it belongs to."
            )
        for name, tables in data.items():
            if keys[table] not in tables[table].columns:
                raise ValueError(
                    f"keys: {show(keys[table])} is not a column of {table!r} of {name}; available "
                    f"columns: {', '.join(map(repr, tables[table].columns[:20]))}."
                )
    unknown = [table for table in keys if table not in names]
    if unknown:
        raise ValueError(
            f"keys name no table {unknown[0]!r}; the tables are {', '.join(map(repr, names))}."
        )
    return {table: keys[table] for table in names}


def _spell_keys(data, keys):
    """Return the tables with their keys as text, in which a person has one name in all of them.

    Synthetic persons are none of the others.
    """
    for tables in data.values():
        for table, frame in tables.items():
            n_nameless = int(frame[keys[table]].isna().sum())
            if n_nameless:
                raise ValueError(f"{n_nameless} rows have no person in the column {keys[table]!r}.")
    parts = {(n, t): frame[keys[t]] for n, tables in data.items() for t, frame in tables.items()}
    made = {place: part for place, part in parts.items() if place[0] == "synthetic"}
    others = {place: part for place, part in parts.items() if place not in made}
    spelled = spell_identifiers(others) | (spell_identifiers(made) if made else {})
    return {
        name: {
            table: frame.assign(**{keys[table]: spelled[name, table]}).reset_index(drop=True)
            for table, frame in tables.items()
        }
        for name, tables in data.items()
    }


def _leave_out_shared(data, keys):
    """Return the tables without persons who are in training and held-out tables, and how many."""
    if "held_out" not in data:
        return data, 0
    named = [
        set().union(*(data[name][table][key] for table, key in keys.items()))
        for name in ("real", "held_out")
    ]
    shared = named[0] & named[1]
    if shared and min(len(shared ^ one) for one in named) < 2:
        raise ValueError(
            f"{len(shared):,} of {len(named[1]):,} held-out persons are training persons, by the "
            "key; use other persons, or keys that name each person alone."
        )
    if shared:
        data = data | {
            name: {
                table: frame[~frame[keys[table]].isin(shared)].reset_index(drop=True)
                for table, frame in data[name].items()
            }
            for name in ("real", "held_out")
        }
    return data, len(shared)


def _drop_identifiers(data, table, key):
    """Leave out columns that number the rows of a table, in place; return their names."""
    found = find_identifiers(
        {name: tables[table].drop(columns=key) for name, tables in data.items()}
    )
    for tables in data.values():
        tables[table] = tables[table].drop(columns=list(found), errors="ignore")
    return list(found)


def _find_kinds(data, table, key):
    """Return how each column of a table is summed up, the same for all data sets."""
    kinds = {}
    for column in data["real"][table].columns.drop(key):
        parts = [tables[table].get(column) for tables in data.values()]
        dtypes = [part.dtype for part in parts if part is not None]
        types = pd.api.types
        if all(types.is_datetime64_any_dtype(one) for one in dtypes):
            kinds[column] = "times"
        elif all(types.is_numeric_dtype(one) and not types.is_bool_dtype(one) for one in dtypes):
            kinds[column] = "numbers"
        else:
            kinds[column] = "values"
    return kinds


def _join(tables, keys, parents, children, kinds):
    named = [tables[table][keys[table]] for table in keys]
    persons = pd.Index(pd.unique(pd.concat(named, ignore_index=True)))
    parts = []
    for table in parents:
        parts.append(tables[table].set_index(keys[table]).reindex(persons))
    for table in children:
        rows = tables[table].groupby(keys[table], sort=False)
        counts = rows.size().reindex(persons, fill_value=0).rename(f"{table}: rows")
        parts.append(counts.to_frame())
        for column, kind in kinds[table].items():
            if column in tables[table]:
                found = _sum_up(tables[table], keys[table], column, kind)
                parts.append(found.add_prefix(f"{table}: {column}, ").reindex(persons))
    joined = pd.concat(parts, axis=1)
    repeated = joined.columns[joined.columns.duplicated()]
    if len(repeated):
        raise ValueError(
            f"Two tables with one row per person have the column {repeated[0]!r}; rename one."
        )
    return joined.reset_index(drop=True)


def _sum_up(frame, key, column, kind):
    """Return what is compared of a column of a person's rows."""
    if kind != "values":
        words = _NUMBERS if kind == "numbers" else _TIMES
        # A sum depends on the order, which the rows of a person do not have.
        ordered = frame[[key, column]].sort_values(column).groupby(key, sort=False)[column]
        return ordered.agg(list(words)).rename(columns=words)
    values = frame[column].astype(object).where(frame[column].notna(), None)
    counted = pd.DataFrame({"person": frame[key], "value": values}).value_counts(sort=False)
    counted = counted.rename("n").reset_index()
    counted["text"] = counted["value"].astype(str)
    counted = counted.sort_values(["person", "n", "text"], ascending=[True, False, True])
    first = counted.drop_duplicates("person").set_index("person")["value"]
    different = counted.groupby("person", sort=False).size()
    return pd.DataFrame({"most frequent": first, "different": different})


def _list_notes(keys, parents, data, left_out):
    """Return what became of the tables, in sentences."""
    told = []
    for table, key in keys.items():
        kind = "one row per person" if table in parents else "several rows per person"
        told.append(
            f"{visible(table)} by {visible(key)} ({kind}, {len(data['real'][table]):,} rows in the "
            "training data)"
        )
    notes = [
        f"Each compared row is a person, joined from {len(keys)} tables: {'; '.join(told)}. "
        "Several rows of a person are summarized by their number, the mean, smallest and largest "
        "of numbers, and the most frequent of other values."
    ]
    for table, names in left_out.items():
        if names:
            listed = ", ".join(repr(visible(name)) for name in names)
            notes.append(
                f"Columns of {visible(table)} that number its rows are left out: {listed}."
            )
    return notes
