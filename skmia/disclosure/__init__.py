"""Checks of a model before its release, as research environments make them."""

from .._core import name_by_room
from ._parameters import ParameterCount as ParameterCount
from ._parameters import count_parameters
from ._policy import Policy as Policy
from ._policy import StructuralLimit as StructuralLimit
from ._policy import load_policy
from ._recommend import (
    LOWER_ENDS,
    REFUSE,
    TO_MEASURE,
    UNKNOWN,
    Measurement,
    check_provenance,
    judge_limits,
    list_failures,
    recommend,
)
from ._recommend import Condition as Condition
from ._recommend import JudgedCheck as JudgedCheck
from ._recommend import JudgedCondition as JudgedCondition
from ._recommend import JudgedLimit as JudgedLimit
from ._recommend import JudgedRequirement as JudgedRequirement
from ._recommend import Recommendation as Recommendation
from ._result import THRESHOLDS
from ._result import MembershipMeasure as MembershipMeasure
from ._result import StructuralCheck as StructuralCheck
from ._result import StructuralReport as StructuralReport
from ._result import Threshold as Threshold
from ._rules import ParameterCondition, load_rules
from ._rules import Rule as Rule
from ._rules import RuleBook as RuleBook
from ._sheet import (
    DECISIONS,
    name_rate,
    name_subject,
    read_rate,
    record_decision,
    render_sheet,
    summarize_policy,
    tell_what_decides,
    write_day,
    write_sheet,
)
from ._structural_checks import check_decimals, check_predictor, structural_checks

__all__ = [
    "Measurement",
    "count_parameters",
    "load_policy",
    "load_rules",
    "recommend",
    "structural_checks",
]

name_by_room(__name__)
