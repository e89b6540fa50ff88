"""The report of :func:`skmia.audit`, and its checks as functions."""

from ._conditions import measure_conditions
from ._file import FileFindings
from ._release import list_measurements, recommend_release
from ._report import AuditReport
from .checks._baseline import blind_baseline
from .checks._control import ControlResult, negative_control, positive_control
from .checks._drift import DriftResult, drift_test
from .checks._duplicates import Duplicates, find_duplicates
from .checks._formats import FormatComparison, compare_formats
from .checks._permutation import PermutationResult, permutation_test

__all__ = [
    "AuditReport",
    "ControlResult",
    "DriftResult",
    "Duplicates",
    "FileFindings",
    "FormatComparison",
    "PermutationResult",
    "blind_baseline",
    "compare_formats",
    "drift_test",
    "find_duplicates",
    "list_measurements",
    "measure_conditions",
    "negative_control",
    "permutation_test",
    "positive_control",
    "recommend_release",
]
