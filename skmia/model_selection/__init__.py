"""Leakage as a scorer, and the power of attacks with shadow models treated as the victim."""

from ..base.power import PowerChoice, choose_by_power
from ._leakage_scorer import best_below_leakage, make_leakage_scorer
from ._leave_one_out import leave_one_model_out, power_curve

__all__ = [
    "PowerChoice",
    "best_below_leakage",
    "choose_by_power",
    "leave_one_model_out",
    "make_leakage_scorer",
    "power_curve",
]
