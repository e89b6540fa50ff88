"""Limits of the numbers of a synthetic table, as named on the command line."""

from typing import NamedTuple

import numpy as np

from .._core.visible import visible
from ._errors import CommandError
from ._gate import Finding, compare_largest, judge_verdict, miss_number
from ._limits import as_float, split_end

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
    """Read ``NAME=LIMIT``.

    Raises
    ------
    ValueError
        If the text does not have this form.
    """
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
    """List whether the audit of a table is conclusive, and whether each limit holds.

    Parameters
    ----------
    report : TableReport
    limits : list of TableLimit

    Returns
    -------
    findings : list of Finding
    """
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
