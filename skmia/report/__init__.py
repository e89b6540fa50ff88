"""The report of :func:`skmia.audit`, and its checks as functions."""

from .._core import name_by_room
from .._core.levels import Level
from ._authority_sheet import render_authority_sheet, write_authority_sheet
from ._case import (
    AS_FILE,
    CHECKS,
    OPENING,
    SHADOWS,
    StoredAnswers,
    VictimRequest,
    describe_draw,
    draw_members,
    is_recipe,
    list_shares,
)
from ._case import Case as Case
from ._comparison import compare_audits
from ._comparison_words import format_comparison, render_comparison
from ._document import (
    SCHEMA,
    SCHEMA_VERSION,
    as_audit_document,
    check_document,
    check_table_document,
)
from ._evidence import list_leaks
from ._examine import Findings as Findings
from ._file import FileFindings as FileFindings
from ._measure import CLASS_NAME, OK, OVERALL, TOO_FEW, list_subsets
from ._pace import ModelPace as ModelPace
from ._pace import expect_audit, measure_pace, size_up
from ._page import render_audit
from ._release import list_measurements, measure_conditions, recommend_release
from ._report import AuditReport as AuditReport
from ._report import ServiceFindings as ServiceFindings
from ._report import save_report
from ._run import AttackRepetitions
from ._run import Run as Run
from ._screen import show_way
from ._shared_rows import find_shared_rows
from ._surrogate import RECIPE
from ._text import column_name
from ._unknown_labels import LARGEST_SHARE, explain_refusal
from ._verdict import name_part
from ._words import join_names
from .checks._baseline import blind_baseline
from .checks._control import ControlResult as ControlResult
from .checks._control import negative_control, positive_control
from .checks._drift import DriftResult as DriftResult
from .checks._drift import drift_test
from .checks._duplicates import Duplicates as Duplicates
from .checks._duplicates import find_duplicates
from .checks._formats import FormatComparison as FormatComparison
from .checks._formats import compare_formats
from .checks._permutation import PermutationResult as PermutationResult
from .checks._permutation import permutation_test

__all__ = [
    "blind_baseline",
    "compare_formats",
    "drift_test",
    "find_duplicates",
    "measure_conditions",
    "negative_control",
    "permutation_test",
    "positive_control",
    "recommend_release",
    "write_authority_sheet",
]

name_by_room(__name__)
