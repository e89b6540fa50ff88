"""Readers of the printed values."""

from functools import cache
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent


@cache
def _read(name):
    return pd.read_csv(HERE / f"{name}.csv", dtype={"table": str, "row": str, "column": str})


def read_printed(document, table, *, of="value"):
    """One printed table, rows by columns in the printed order.

    Parameters
    ----------
    document : {"del_grosso", "odell", "slides", "pedersen"}
        Name of the file.
    table : str
        Name of the table in it.
    of : {"value", "spread", "printed"}, default="value"
        Numbers, their printed spread, or the strings.
    """
    facts = _read(document)
    facts = facts[facts["table"] == table]
    if facts.empty:
        raise ValueError(f"{document}.csv has no table {table!r}.")
    wide = facts.pivot(index="row", columns="column", values=of)
    return wide.loc[facts["row"].unique(), facts["column"].unique()]


def read_authors_files(figure):
    """Points of a figure from the authors' files, one row each."""
    facts = _read("authors_files")
    return facts[facts["figure"].str.startswith(figure)]
