"""Values of the options of the command line; each function reads one from its text."""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.visible import visible
from ..report import join_names
from ._errors import CommandError
from ._gate import Finding, compare_largest, judge_verdict, miss_number

_MOST_SHOWN = 8


def parse_pair(text):
    """Read ``LABEL=CLASS``."""
    label, equals, name = text.rpartition("=")
    if not label or not equals or not name:
        raise ValueError(
            f"must be LABEL=CLASS, a label of the table and of the model; got {text!r}"
        )
    return label, name


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


def _show(names):
    return join_names([f"'{visible(name)}'" for name in names], _MOST_SHOWN)


_METRICS = ("auc", "advantage", "tpr")
_ENDS = ("low", "high")

FORM = "must be NAME=LIMIT, with a NAME such as auc, advantage.high, tpr@0.01 or group:race=A:auc"


class Limit(NamedTuple):
    """Limit that must not be exceeded, as named on the command line.

    Attributes
    ----------
    text : str
        Limit as given by the user.
    scope, group : str or None
        A field and its value. If None, all records.
    metric : {"auc", "advantage", "tpr"}
    max_fpr : float or None
        Rate of a TPR.
    column : {"estimate", "low", "high"}
        Estimate or end of its interval that is compared.
    value : float
    """

    text: str
    scope: str | None
    group: str | None
    metric: str
    max_fpr: float | None
    column: str
    value: float


def parse_limit(text):
    """Read ``NAME=LIMIT``."""
    name, _, value = text.rpartition("=")
    scope = group = None
    if name.startswith("group:"):
        part, _, name = name.removeprefix("group:").rpartition(":")
        scope, equals, group = part.partition("=")
        if not scope or not equals:
            raise ValueError(f"{FORM}; got {text!r}")
    name, column = split_end(name)
    metric, at, rate = name.partition("@")
    if metric not in _METRICS or (metric == "tpr") != bool(at):
        raise ValueError(f"{FORM}; got {text!r}")
    if at and not 0 < as_float(rate) < 1:
        raise ValueError(f"must name a rate between 0 and 1; got {text!r}")
    if not 0 <= as_float(value) <= 1:
        raise ValueError(f"must have a limit between 0 and 1; got {text!r}")
    max_fpr = float(rate) if at else None
    return Limit(text, scope, group, metric, max_fpr, column, float(value))


def split_end(name):
    """Split a name into the number and ``"low"``, ``"high"`` or ``"estimate"``."""
    column = next((end for end in _ENDS if name.endswith(f".{end}")), "estimate")
    return name.removesuffix(f".{column}"), column


def as_float(text):
    """Return the number that a text holds, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


TABLE = "table"
_NUMBERS = {
    "privacy_loss": ("privacy loss",),
    "rare_copies": ("rare copies",),
    "near_copies": ("near copies",),
    "singling_out": ("singling out", "singling out, one column"),
    "linkability": ("linkability",),
    "inference": (),
    "membership": (),
}
_FORM = "must be NAME=LIMIT, with a NAME such as linkability, privacy_loss.high or inference:income"


class TableLimit(NamedTuple):
    """Limit that must not be exceeded.

    Attributes
    ----------
    text : str
        Limit as given by the user.
    name : str
        Name of the number.
    secret : str or None
        Column that is inferred; None for all of them.
    column : {"estimate", "low", "high"}
        Estimate or end of its interval that is compared.
    value : float
    """

    text: str
    name: str
    secret: str | None
    column: str
    value: float


def parse_table_limit(text):
    """Read ``NAME=LIMIT``."""
    name, _, value = text.rpartition("=")
    name, column = split_end(name)
    name, colon, secret = name.partition(":")
    if name not in _NUMBERS or (colon and (name != "inference" or not secret)):
        known = ", ".join(_NUMBERS)
        raise ValueError(f"{_FORM}, of {known}; got {text!r}")
    if not -1 <= as_float(value) <= 1:
        raise ValueError(f"must have a limit between -1 and 1; got {text!r}")
    return TableLimit(text, name, secret or None, column, as_float(value))


def check_table_limits(limits, secrets):
    """Refuse limits of columns that are not inferred."""
    for limit in limits:
        if limit.secret is not None and limit.secret not in secrets:
            raise CommandError(f"--fail-above: {limit.secret!r} is not inferred; see --secrets")


def list_table_findings(report, limits):
    """List whether the audit of a table is conclusive, and whether each limit holds."""
    findings = [judge_verdict(TABLE, report)]
    for limit in limits:
        findings.append(Finding(TABLE, visible(limit.text), *_compare(report.results, limit)))
    return findings


def _compare(frame, limit):
    """Whether a limit holds, and a sentence if it does not."""
    wanted = _NUMBERS[limit.name]
    if limit.secret is not None:
        wanted = [f"inference of {limit.secret}"]
    elif not wanted:
        wanted = [name for name in frame.index if name.startswith(f"{limit.name} ")]
    rows = frame[frame.index.isin(wanted)]
    there = rows[np.isfinite(rows[limit.column].astype(float))]
    # A column that held-out rows reveal in any case has no number; the limit holds for the others.
    if there.empty:
        return miss_number(f"{limit.name.replace('_', ' ')} could not be measured", limit)
    return compare_largest(there, limit, lambda worst: visible(worst.name))


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
