"""Leakage as a score of models, and the power of attacks on shadow models as the victim.

Attacks choose their own settings by :func:`choose_by_power`, which is therefore in the room of what
attacks share, ``base/_choose_by_power.py``.
"""

from .._core import name_by_room
from ..base import PowerChoice as PowerChoice
from ..base import choose_by_power
from ._leakage_scorer import best_below_leakage, make_leakage_scorer
from ._power_curve import leave_one_model_out, power_curve
from ._remember_training import RememberTraining

__all__ = [
    "RememberTraining",
    "best_below_leakage",
    "choose_by_power",
    "leave_one_model_out",
    "make_leakage_scorer",
    "power_curve",
]

name_by_room(__name__)
