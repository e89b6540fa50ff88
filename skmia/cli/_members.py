"""Which rows of a table are members: a column, a file, or two tables."""

from pathlib import Path

import numpy as np
import pandas as pd

from .._core.visible import visible
from ..report._text import join_names
from ._errors import CommandError, tell
from ._table import check_column, read_table

_BITS = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
_MOST_SHOWN = 5


def read_halves(train, heldout):
    """Read the members and the others from a table each.

    Parameters
    ----------
    train, heldout : Path

    Returns
    -------
    frame : DataFrame
        The rows of both tables, members first.
    membership : ndarray of shape (n,), dtype bool

    Raises
    ------
    CommandError
        If a table cannot be read, or a column is in one of them only.
    """
    tables = [read_table(train, "--train"), read_table(heldout, "--heldout")]
    for path, table, other in zip((train, heldout), tables, tables[::-1], strict=True):
        lacking = [repr(name) for name in other.columns if name not in table.columns]
        if lacking:
            names = join_names(lacking, _MOST_SHOWN)
            raise CommandError(f"--train, --heldout: {path.name} lacks the other's columns {names}")
    frame = pd.concat(tables, ignore_index=True)
    return frame, np.arange(len(frame)) < len(tables[0])


def read_members(frame, source, value=None):
    """Read membership from a column, or from a file with one value per row.

    Parameters
    ----------
    frame : DataFrame of n rows
    source : str
        Name of a column, or else of a file.
    value : str, default=None
        Value of members, where there are two values other than bits.

    Returns
    -------
    membership : ndarray of shape (n,), dtype bool

    Raises
    ------
    CommandError
        If it is neither, a value is not one of two, or all are equal.
    """
    values = _read_values(frame, source, value)
    if len(values) != len(frame):
        raise CommandError(
            f"--members: {source} has {len(values)} values and the table {len(frame)} rows"
        )
    membership = _as_bits(values, source) if value is None else _are(value, values, source)
    if membership.all() or not membership.any():
        side = "member" if not membership.any() else "non-member"
        raise CommandError(f"--members: {source} names no {side}; the audit needs both")
    return membership


def _read_values(frame, source, value):
    if source in frame.columns:
        return frame[source]
    if Path(source).is_file():
        values = _read_file(Path(source))
        return values.iloc[1:] if _has_header(values, len(frame), value) else values
    try:
        check_column(frame, source, "--members")
    except CommandError as error:
        raise CommandError(f"{error} (nor is there a file of that name)") from None


def _read_file(path):
    try:
        table = pd.read_csv(path, header=None, dtype=str, skip_blank_lines=True)
    except (ValueError, OSError, EOFError) as error:
        raise CommandError(f"--members: {path.name} cannot be read: {tell(error)}") from error
    if table.shape[1] != 1:
        raise CommandError(
            f"--members: {path.name} has {table.shape[1]} columns; a single one of 0/1 is needed"
        )
    return table[0]


def _has_header(values, n_rows, value):
    if value is not None:  # any text can be a value
        return len(values) == n_rows + 1
    return str(values.iloc[0]).strip().lower() not in _BITS and len(values) > 1


def _as_bits(values, source):
    bits = values.astype(object).map(lambda value: _BITS.get(str(value).strip().lower()))
    unknown = bits.isna().to_numpy()
    if unknown.any():
        row = unknown.argmax()
        raise CommandError(
            f"--members: {source} must hold 0/1 or true/false; got '{visible(values.iloc[row])}' "
            f"in row {row + 1} (--member-value names the value of members, if there are two others)"
        )
    return bits.to_numpy(dtype=bool)


def _are(value, values, source):
    texts = values.astype(object).map(lambda found: "" if pd.isna(found) else str(found).strip())
    found = sorted(texts.unique())
    shown = join_names([f"'{visible(text)}'" for text in found], _MOST_SHOWN)
    if value not in found:
        raise CommandError(f"--member-value: {source} has no value '{value}'; it has {shown}")
    if len(found) > 2:
        raise CommandError(
            f"--member-value: {source} must hold two values, for members and for others; it has "
            f"{shown}"
        )
    return (texts == value).to_numpy()
