"""Values of the options of the command line; each function reads one from its text."""

import argparse
from pathlib import Path

from ._labels import parse_pair
from ._limits import as_float, parse_limit
from ._table_limits import parse_table_limit

_MOST_JOBS = 10_000  # processes
_MOST_DECIMALS = 17


def _as_integer(text, wanted="a whole number"):
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {wanted}; got {text!r}") from None


def place(text):
    """Return the path of a folder or file that is written."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"must be a path; got {text!r}")
    return Path(text)


def shadow_count(text):
    """Return auto, or an even number of shadow models."""
    if text == "auto":
        return text
    number = _as_integer(text, "auto or a whole number")
    if number < 4 or number % 2:
        raise argparse.ArgumentTypeError(f"must be even and at least 4; got {number}")
    return number


def job_count(text):
    """Return a number of processes."""
    number = _as_integer(text)
    if not -1 <= number <= _MOST_JOBS or number == 0:
        allowed = f"must be at least 1 and at most {_MOST_JOBS}, or -1 for all cores"
        raise argparse.ArgumentTypeError(f"{allowed}; got {number}")
    return number


def decimal_count(text):
    """Return a number of decimals."""
    number = _as_integer(text)
    if not 0 <= number <= _MOST_DECIMALS:
        raise argparse.ArgumentTypeError(f"must lie between 0 and {_MOST_DECIMALS}; got {number}")
    return number


def seed(text):
    """Return a random seed."""
    number = _as_integer(text)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 2**32 - 1; got {number}")
    return number


def fraction(text):
    """Return a number between 0 and 1."""
    number = as_float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be a fraction between 0 and 1; got {text!r}")
    return number


def seconds(text):
    """Return a positive number of seconds."""
    number = as_float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds; got {text!r}")
    return number


def _shown(parse):
    """The same function with errors whose text argparse shows."""

    def read(text):
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


limit, table_limit, pair = map(_shown, (parse_limit, parse_table_limit, parse_pair))
