"""Checks of a model before its release, as research environments make them."""

from ._membership import MembershipMeasure
from ._parameters import ParameterCount, count_parameters
from ._result import StructuralCheck, StructuralReport
from ._rules import Rule, RuleBook, load_rules
from ._structural_checks import structural_checks
from ._thresholds import THRESHOLDS, Threshold

__all__ = [
    "THRESHOLDS",
    "MembershipMeasure",
    "ParameterCount",
    "Rule",
    "RuleBook",
    "StructuralCheck",
    "StructuralReport",
    "Threshold",
    "count_parameters",
    "load_rules",
    "structural_checks",
]
