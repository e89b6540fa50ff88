"""Limits of a gate, as named on the command line."""

import math
from typing import NamedTuple

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
    """Read ``NAME=LIMIT``.

    Raises
    ------
    ValueError
        If the text does not have this form.
    """
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
