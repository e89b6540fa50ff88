"""Reading tables from files, with what is recognized said and what is uncertain refused."""

import zlib
from typing import NamedTuple

import pandas as pd

from .._core.visible import visible
from ._options import CommandError, check_file, tell

# Numbers are read to the last bit, as attacks on files compare them with those that a model stores.
_EXACT = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}
_MOST_COLUMNS = 20_000  # each is transformed on its own, in time that grows faster than they do


class Reading(NamedTuple):
    """How the tables of a command are to be read."""

    words: tuple = ()  # of ``--read``
    left_out: frozenset = frozenset()  # columns of ``--drop``, whose values do not matter


AS_FOUND = Reading()


def make_reading(arguments):
    """Return what a command says of how its tables are to be read."""
    return Reading(tuple(arguments.read), frozenset(arguments.drop))


class ReadTable(NamedTuple):
    """A table, and sentences on what was recognized in its file or changed."""

    frame: pd.DataFrame  # with the names of its columns as text
    notes: list


def read_table(path, option="--data", reading=AS_FOUND, known=None):
    """Read a table from a file, with the names of its columns as text."""
    # known has what a model knows of each of its columns by name, or None where it knows nothing.
    (frame,), notes = read_alike({option: path}, reading, known)
    return ReadTable(frame, notes)


def read_alike(paths, reading=AS_FOUND, known=None):
    """Read tables of the same columns, by the option of each, and decide on columns of all."""
    return [_read_frame(path, option) for option, path in paths.items()], []


def _read_frame(path, option):
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
