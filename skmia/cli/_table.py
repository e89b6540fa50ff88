"""Reading tables: features and target."""

import difflib
import zlib
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pandas as pd

from .._core.outputs import Outputs
from .._core.visible import visible
from ..report import join_names
from ._options import CommandError, check_file, tell

# Numbers are read to the last bit, as attacks on files compare them with those that a model stores.
_EXACT = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}

_MOST_CLASSES = 20
_MOST_COLUMNS = 20_000  # each is transformed on its own, in time that grows faster than they do
_MOST_SHOWN = 20
_MISSING = "(missing)"


def read_table(path, option="--data"):
    """Read a table from a file, with the names of its columns as text."""
    check_file(path, option, or_folder=True)
    try:
        if path.is_dir() or path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif path.suffix in (".arrow", ".feather"):
            frame = pd.read_feather(path)
        elif path.name.endswith((".csv", ".csv.gz")):
            _check_header(path, option)
            frame = pd.read_csv(path, low_memory=False, **_EXACT)
        else:
            raise CommandError(
                f"{option}: {path.name} is neither .csv, .csv.gz, .parquet, .arrow, .feather nor a "
                "folder of parquet"
            )
    except ImportError:
        raise CommandError(
            f"{option}: reading {path.name} needs a package: pip install pyarrow"
        ) from None
    except UnicodeDecodeError as error:
        message = f"{option}: {path.name} cannot be read: it is not text in UTF-8"
        raise CommandError(message) from error
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise CommandError(f"{option}: {path.name} cannot be read: {tell(error)}") from error
    _check_width(frame.shape[1], path, option)
    frame.columns = [str(column) for column in frame.columns]
    if any(name.endswith("\0") for name in frame.columns):  # which arrays of text lose
        raise CommandError(
            f"{option}: {path.name} has a column whose name ends in a null character"
        )
    if frame.empty:
        raise CommandError(f"{option}: {path.name} has no rows")
    return frame.reset_index(drop=True)


def _check_header(path, option):
    """Refuse names that stand there twice, which pandas would change, and other separators."""
    names = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0].dropna()
    _check_width(len(names), path, option)
    twice = names[names.duplicated()]
    if len(twice):
        raise CommandError(f"{option}: {path.name} has two columns {visible(twice.iloc[0])!r}")
    if len(names) == 1 and any(sign in names.iloc[0] for sign in ";\t"):
        raise CommandError(
            f"{option}: {path.name} has a single column, '{visible(names.iloc[0])}'; values have "
            "to be separated by commas"
        )


def _check_width(n_columns, path, option):
    if n_columns > _MOST_COLUMNS:
        raise CommandError(
            f"{option}: {path.name} has {n_columns:,} columns, and the command takes "
            f"{_MOST_COLUMNS:,} at most; audit from Python"
        )


def check_values(frame, name, option):
    """Refuse a column of lists or dictionaries where values are compared, which these cannot be."""
    column = frame[name]
    if column.dtype != object:
        return
    kinds = {type(value) for value in column if not isinstance(value, Hashable)}
    if kinds:
        listed = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise CommandError(f"{option}: column {name!r} holds values of type {listed}")


def check_column(frame, name, option):
    """Refuse the name of a column that is not there, with the names that it may stand for."""
    if name in frame.columns:
        if option != "--drop":
            check_values(frame, name, option)
        return
    close = difflib.get_close_matches(name, frame.columns, cutoff=0.5)
    if close:
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    else:
        shown = [repr(column) for column in frame.columns[:_MOST_SHOWN]]
        more = ", ..." if frame.shape[1] > _MOST_SHOWN else ""
        hint = f"the columns are {', '.join(shown)}{more}"
    raise CommandError(f"{option}: column {name!r} not found; {hint}")


def _is_text(column):
    return not pd.api.types.is_numeric_dtype(column.dtype)


def infer_task(column):
    if _is_text(column) or pd.api.types.is_bool_dtype(column.dtype):
        return "classification"
    if pd.api.types.is_integer_dtype(column.dtype) and column.nunique() <= _MOST_CLASSES:
        return "classification"
    return "regression"


def check_complete(column):
    missing = column.isna()
    if missing.any():
        raise CommandError(
            f"--target: column {column.name!r} has no value in {missing.sum()} of {len(column)} "
            f"rows, first in row {missing.to_numpy().argmax() + 1}"
        )


def read_target(frame, name, task, fewest=2):
    """The target as an array, with classes as text, whole numbers or bools."""
    column = frame[name]
    check_complete(column)
    if column.nunique() < 2:
        raise CommandError(
            f"--target: column {name!r} holds one value only, '{visible(column.iloc[0])}'; "
            "a model needs at least two"
        )
    if task == "regression":
        if _is_text(column):
            raise CommandError(
                f"--target: column {name!r} holds text, but a regression needs numbers"
            )
        return column.to_numpy(dtype=float)
    return _as_classes(name, column, fewest)


def _as_classes(name, column, fewest):
    if pd.api.types.is_float_dtype(column.dtype) and (column != column.round()).any():
        raise CommandError(f"--target: column {name!r} holds fractions, which are not classes")
    counts = column.value_counts()
    if counts.min() < fewest:
        only = visible(counts.idxmin())
        raise CommandError(
            f"--target: column {name!r} has only one row of the class '{only}', which cannot "
            "be in both halves; merge it with another class"
        )
    if _is_text(column):
        return column.astype(str).to_numpy(dtype=object)
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.to_numpy(dtype=bool)
    return column.to_numpy(dtype=float).astype(int)


def as_features(frame):
    """The features as numbers and categories, which travel to worker processes quickly."""
    # A missing category is one of its own; missing numbers are left to the model's imputer.
    if frame.shape[1] == 0:
        raise CommandError("no features left: all columns are dropped or used by other options")
    return pd.DataFrame({name: _as_feature(name, frame[name]) for name in frame.columns})


def _as_feature(name, column):
    if _is_text(column):
        if column.dtype.kind in "mM":
            raise CommandError(f"column {name!r} holds dates or times; leave it out with --drop")
        values = column.astype(object)
        return values.where(column.notna(), _MISSING).astype(str).astype(object).astype("category")
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise CommandError(f"column {name!r} holds infinite numbers; leave it out with --drop")
    return values


_BITS = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
_MOST_SHOWN_MEMBERS = 5


def read_halves(train, heldout):
    tables = [read_table(train, "--train"), read_table(heldout, "--heldout")]
    for path, table, other in zip((train, heldout), tables, tables[::-1], strict=True):
        lacking = [repr(name) for name in other.columns if name not in table.columns]
        if lacking:
            names = join_names(lacking, _MOST_SHOWN_MEMBERS)
            raise CommandError(f"--train, --heldout: {path.name} lacks the other's columns {names}")
    frame = pd.concat(tables, ignore_index=True)
    return frame, np.arange(len(frame)) < len(tables[0])


def read_members(frame, source, value=None):
    """Read membership from a column, or from a file with one value per row."""
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


def name_other_value(frame, source, value, membership):
    """The value of the records that are not members, as --member-value would name it."""
    values = _read_values(frame, source, value)[~membership]
    return str(values.iloc[0]).strip()


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
    shown = join_names([f"'{visible(text)}'" for text in found], _MOST_SHOWN_MEMBERS)
    if value not in found:
        raise CommandError(f"--member-value: {source} has no value '{value}'; it has {shown}")
    if len(found) > 2:
        raise CommandError(
            f"--member-value: {source} must hold two values, for members and for others; it has "
            f"{shown}"
        )
    return (texts == value).to_numpy()


_MOST_SHOWN_ANSWERS = 8

# Probabilities of two decimals are as far from what they were, or less.
_ROUNDED = 0.005


def read_answers(path, n_rows, labels):
    answers = read_table(path, "--answers")
    if len(answers) != n_rows:
        raise CommandError(
            f"--answers: {path.name} has {len(answers)} rows and the table {n_rows} rows"
        )
    missing = answers.isna().to_numpy().any(axis=1)
    if missing.any():
        raise CommandError(f"--answers: {path.name} lacks a value in row {missing.argmax() + 1}")
    try:
        return _as_outputs(path, answers, labels)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--answers: {path.name} is refused: {tell(error)}") from error


def _as_outputs(path, answers, labels):
    if not labels:
        if answers.shape[1] != 1:
            raise CommandError(
                f"--answers: {path.name} has {answers.shape[1]} columns; a regression needs one"
            )
        return Outputs(answers.iloc[:, 0].to_numpy(dtype=float), kind="value")
    classes = np.array(list(labels.values()))
    if answers.shape[1] == 1:
        return Outputs(_as_labels(path, answers.iloc[:, 0], labels), classes, kind="label")
    if sorted(answers.columns) != sorted(labels):
        raise CommandError(
            f"--answers: the columns of {path.name} must be the classes {_show(labels)}, or one "
            f"column of labels; got {_show(answers.columns)}"
        )
    values = answers[list(labels)].to_numpy(dtype=float)
    off = np.abs(values.sum(axis=1) - 1) > _ROUNDED * len(labels)
    if off.any():
        row = off.argmax()
        raise CommandError(
            f"--answers: the probabilities in row {row + 1} of {path.name} add to "
            f"{values[row].sum():.3g}"
        )
    return Outputs(values, classes)


def _as_labels(path, column, labels):
    texts = column.astype(str)
    unknown = [text for text in texts.unique() if text not in labels]
    if unknown:
        raise CommandError(
            f"--answers: '{visible(unknown[0])}' in {path.name} is not a label of the table, which "
            f"has {_show(labels)}"
        )
    return np.array([labels[text] for text in texts])


def _show(names):
    return join_names([f"'{visible(name)}'" for name in names], _MOST_SHOWN_ANSWERS)


def map_labels(column, pairs, classes):
    """Return the class of the model that each label of a table stands for."""
    if column.isna().any():
        raise CommandError(
            f"--target: column {column.name!r} has no value in {column.isna().sum()} of "
            f"{len(column)} rows"
        )
    texts = column.astype(str)
    unused = [label for label in pairs if not (texts == label).any()]
    if unused:
        raise CommandError(
            f"--label-map: column {column.name!r} has no label {unused[0]!r}; it has "
            f"{_show(sorted(texts.unique()))}"
        )
    names = {str(name): position for position, name in enumerate(classes)}
    positions = texts.map(lambda label: names.get(pairs.get(label, label)))
    unknown = positions.isna().to_numpy()
    if unknown.any():
        label = texts.iloc[unknown.argmax()]
        raise CommandError(
            f"--label-map: '{visible(pairs.get(label, label))}' is not a class of the model, which "
            f"has {_show(names)}"
        )
    return np.asarray(classes)[positions.to_numpy(dtype=int)]
