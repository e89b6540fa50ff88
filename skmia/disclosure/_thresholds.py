"""Thresholds of the structural checks, with their sources."""

from collections.abc import Mapping
from typing import NamedTuple

from .._core.numbers import check_number, show

_ACRO = "ACRO (acro 1.0.2)"
_RULE_OF_TEN = (
    f"{_ACRO} safe_threshold; rule of 10 of the statistical offices of the UK and Australia"
)


class Threshold(NamedTuple):
    """Smallest value with which a check is not flagged.

    Attributes
    ----------
    least : float
        A smaller value is flagged.
    source : str
        Where the number comes from.
    """

    least: float
    source: str


THRESHOLDS = {
    "k": Threshold(10, _RULE_OF_TEN),
    "small_cells": Threshold(10, _RULE_OF_TEN),
    "smallest_leaf": Threshold(5, "SafeModel rules of SACRO-ML 2.0.1 (min_samples_leaf)"),
    "residual_dof": Threshold(10, f"{_ACRO} safe_dof_threshold"),
}
# Sources of the checks without a number.
SOURCES = {
    "class_disclosure": f"{_ACRO} zeros_are_disclosive",
    "keeps_rows": "SACRO-ML 2.0 InstanceBasedAttack",
}
_GIVEN = "given by the caller"


def choose_thresholds(given):
    """Return the thresholds by name, with those that the caller gives instead of the defaults.

    Raises
    ------
    ValueError
        If a name is unknown or a threshold is not a number.
    TypeError
        If they are not given by name.
    """
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            "thresholds must map names of checks, such as 'k', to their smallest values; "
            f"got {show(given)}."
        )
    chosen = dict(THRESHOLDS)
    for name, value in (given or {}).items():
        if name not in chosen:
            raise ValueError(
                f"thresholds knows the names {', '.join(chosen)}; got {show(name)}. Other checks "
                "have no threshold."
            )
        least = check_number(value, f"thresholds[{name!r}]", "a number", -(2**53), 2**53)
        chosen[name] = Threshold(least, _GIVEN)
    return chosen
