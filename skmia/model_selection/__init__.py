"""Leakage as a scorer, and the power of attacks with shadow models treated as the victim."""

from ._leakage_scorer import best_below_leakage, make_leakage_scorer
from ._leave_one_out import leave_one_model_out, power_curve

__all__ = [
    "best_below_leakage",
    "leave_one_model_out",
    "make_leakage_scorer",
    "power_curve",
]
