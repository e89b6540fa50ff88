"""Checks of a model before its release, as research environments make them."""

from ._case import check_decimals, check_model, check_provenance
from ._judge import LOWER_ENDS as LOWER_ENDS
from ._judge import Condition, JudgedCheck, JudgedLimit, JudgedRequirement, Measurement
from ._parameters import ParameterCount, count_parameters
from ._policy import Policy, StructuralLimit, load_policy
from ._recommend import JudgedCondition, Recommendation, recommend
from ._result import THRESHOLDS, MembershipMeasure, StructuralCheck, StructuralReport, Threshold
from ._rules import Rule, RuleBook, load_rules
from ._structural_checks import structural_checks

__all__ = [
    "THRESHOLDS",
    "Condition",
    "JudgedCheck",
    "JudgedCondition",
    "JudgedLimit",
    "JudgedRequirement",
    "Measurement",
    "MembershipMeasure",
    "ParameterCount",
    "Policy",
    "Recommendation",
    "Rule",
    "RuleBook",
    "StructuralCheck",
    "StructuralLimit",
    "StructuralReport",
    "Threshold",
    "count_parameters",
    "load_policy",
    "load_rules",
    "recommend",
    "structural_checks",
]
