"""What :func:`skmia.audit` returns, and its checks as functions."""

from ._controls import ControlResult, negative_control, positive_control
from ._guards import (
    Duplicates,
    PermutationResult,
    blind_baseline,
    find_duplicates,
    permutation_test,
)
from ._report import AuditReport

__all__ = [
    "AuditReport",
    "ControlResult",
    "Duplicates",
    "PermutationResult",
    "blind_baseline",
    "find_duplicates",
    "negative_control",
    "permutation_test",
    "positive_control",
]
