"""Features, target and membership of a table that was read."""

import shlex
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pandas as pd

from .._core.escaping import join_names, visible
from .._core.guesses import suggest_path
from .._core.label_maps import as_value
from ._options import CommandError, tell
from ._reading import AS_FOUND, read_alike, suggest_columns

_MOST_CLASSES = 20
_MISSING = "(missing)"


def check_values(frame, name, option):
    """Refuse a column of lists or dictionaries where values are compared, which these cannot be."""
    column = frame[name]
    if column.dtype != object:
        return
    kinds = {type(value) for value in column if not isinstance(value, Hashable)}
    if kinds:
        listed = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise CommandError(f"{option}: column {name!r} holds values of type {listed}")


def check_option_column(frame, name, option):
    """Refuse the name of a column that is not there, with the names that it may stand for."""
    if name in frame.columns:
        if option != "--drop":
            check_values(frame, name, option)
        return
    hint = suggest_columns(name, list(frame.columns))
    raise CommandError(f"{option}: column {name!r} not found; {hint}")


def _is_text_values(column):
    return not pd.api.types.is_numeric_dtype(column.dtype)


def infer_task(column):
    if _is_text_values(column) or pd.api.types.is_bool_dtype(column.dtype):
        return "classification"
    if pd.api.types.is_integer_dtype(column.dtype) and column.nunique() <= _MOST_CLASSES:
        return "classification"
    return "regression"


def check_complete(column):
    missing = column.isna()
    if missing.any():
        raise CommandError(
            f"--target: column {column.name!r} has no value in {missing.sum()} of {len(column)} "
            f"rows, first in row {missing.to_numpy().argmax() + 1}; leave these rows out, or, if a "
            "word such as NA is a class, read it with --read keep_default_na=false"
        )
    if pd.api.types.is_float_dtype(column.dtype) and (endless := column.abs() == np.inf).any():
        raise CommandError(
            f"--target: column {column.name!r} holds infinite numbers, first in row "
            f"{endless.to_numpy().argmax() + 1}; leave these rows out"
        )


def read_target(frame, name, task, fewest=2):
    """Return the target as an array, with classes as text, whole numbers or bools."""
    column = frame[name]
    check_complete(column)
    if column.nunique() < 2:
        raise CommandError(
            f"--target: column {name!r} holds one value only, '{visible(column.iloc[0])}'; "
            "a model needs at least two"
        )
    if task == "regression":
        if _is_text_values(column):
            raise CommandError(
                f"--target: column {name!r} holds text, but a regression needs numbers"
            )
        return column.to_numpy(dtype=float)
    return _as_classes(name, column, fewest)


def _as_classes(name, column, fewest):
    if pd.api.types.is_float_dtype(column.dtype):
        # Floats are as far apart as whole numbers from there on.
        are = "fractions" if (column != column.round()).any() else "numbers of 2**53 and above"
        if are == "fractions" or (column.abs() >= 2**53).any():
            raise CommandError(
                f"--target: column {name!r} holds {are}, which are not classes; "
                f"--read {shlex.quote(f'dtype.{name}=str')} reads them as texts"
            )
    counts = column.value_counts()
    if counts.min() < fewest:
        only = visible(counts.idxmin())
        raise CommandError(
            f"--target: column {name!r} has only one row of the class '{only}', which cannot "
            "be in both halves; merge it with another class"
        )
    if _is_text_values(column):
        return column.astype(str).to_numpy(dtype=object)
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.to_numpy(dtype=bool)
    if pd.api.types.is_integer_dtype(column.dtype):  # to the last digit
        is_wide = column.dtype == "uint64" or column.dtype == "UInt64"
        return column.to_numpy(dtype="uint64" if is_wide else int)
    return column.to_numpy(dtype=float).astype(int)


def as_features(frame):
    """Return the features as numbers and categories, which travel to worker processes quickly.

    A missing category is one of its own; missing numbers are left to the model's imputer.
    """
    if frame.shape[1] == 0:
        raise CommandError("no features left: all columns are dropped or used by other options")
    return pd.DataFrame({name: _as_feature(name, frame[name]) for name in frame.columns})


def _as_feature(name, column):
    if _is_text_values(column):
        if column.dtype.kind in "mM":
            raise CommandError(
                f"column {name!r} holds dates or times; leave it out: --drop {shlex.quote(name)}"
            )
        values = column.astype(object)
        return values.where(column.notna(), _MISSING).astype(str).astype(object).astype("category")
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise CommandError(
            f"column {name!r} holds infinite numbers; leave it out: --drop {shlex.quote(name)}"
        )
    return values


_MOST_SHOWN_MEMBERS = 5


def read_halves(train, held_out, reading=AS_FOUND, known=None):
    """The rows of two files, whether they are of the first one, and what is said of the files."""
    tables, notes = read_alike({"--train": train, "--held-out": held_out}, reading, known)
    for path, table, other in zip((train, held_out), tables, tables[::-1], strict=True):
        lacking = [repr(name) for name in other.columns if name not in table.columns]
        if lacking:
            names = join_names(lacking, _MOST_SHOWN_MEMBERS)
            raise CommandError(
                f"--train, --held-out: {path.name} lacks the other's columns {names}"
            )
    frame = pd.concat(tables, ignore_index=True)
    return frame, np.arange(len(frame)) < len(tables[0]), notes


def read_members(frame, source, value=None):
    """Read membership from a column, or from a file with one value per row."""
    values = _read_membership_values(frame, source, value)
    if len(values) != len(frame):
        raise CommandError(
            f"--members: {source} has {len(values)} values and the table {len(frame)} rows; one "
            "for each row is needed, 1 for members and 0 for others"
        )
    membership = _parse_bits(values, source) if value is None else _are(value, values, source)
    if membership.all() or not membership.any():
        side = "member" if not membership.any() else "non-member"
        raise CommandError(f"--members: {source} names no {side}; the audit needs both")
    return membership


def name_other_value(frame, source, value, membership):
    """Return the value of the records that are not members, as --member-value would name it."""
    values = _read_membership_values(frame, source, value)[~membership]
    return str(values.iloc[0]).strip()


def _read_membership_values(frame, source, value):
    if source in frame.columns:
        return frame[source]
    if Path(source).is_file():
        values = _read_headerless(Path(source))
        return values.iloc[1:] if _has_header(values, len(frame), value) else values
    try:
        check_option_column(frame, source, "--members")
    except CommandError as error:
        told = f"{error} (nor is there a file of that name{suggest_path(source)})"
        raise CommandError(told) from None


def _read_headerless(path):
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
    return _read_bit(values.iloc[0]) is None and len(values) > 1


def _read_bit(value):
    """Return 0 or 1 for a number or a truth value in any writing, and None for all else."""
    worth = as_value(str(value))
    return int(worth) if worth in (0.0, 1.0) else None


def _parse_bits(values, source):
    bits = values.astype(object).map(_read_bit)
    unknown = bits.isna().to_numpy()
    if unknown.any():
        row = unknown.argmax()
        raise CommandError(
            f"--members: {source} must hold 0/1 or true/false; got '{visible(values.iloc[row])}' "
            f"in row {row + 1}{_propose_member_value(values)}"
        )
    return bits.to_numpy(dtype=bool)


def _propose_member_value(values):
    """Return the options that name one of two values as that of the members."""
    found = sorted(values.dropna().astype(str).str.strip().unique())
    if len(found) != 2:
        return "; other values are allowed if there are two, of which --member-value names one"
    options = [f"--member-value {shlex.quote(text)}" for text in found]
    return f"; name the value of the members: {' or '.join(options)}"


def _are(value, values, source):
    texts = values.astype(object).map(lambda found: "" if pd.isna(found) else str(found).strip())
    found = sorted(texts.unique())
    shown = join_names([f"'{visible(text)}'" for text in found], _MOST_SHOWN_MEMBERS)
    if value not in found:
        raise CommandError(f"--member-value: {source} has no value '{value}'; it has {shown}")
    if len(found) > 2:
        raise CommandError(
            f"--member-value: {source} must hold two values, for members and for others; it has "
            f"{shown}"
        )
    return (texts == value).to_numpy()
