"""Membership inference attacks."""

from ._calibrated import CalibratedAttack
from ._diversity import DiversityAttack
from ._lira import LiRA
from ._morgan import MorganAttack
from ._renyi import RenyiAttack
from ._rmia import RMIA
from ._shadow import ShadowAttack
from ._supervised import SupervisedAttack
from ._threshold import ThresholdAttack

__all__ = [
    "RMIA",
    "CalibratedAttack",
    "DiversityAttack",
    "LiRA",
    "MorganAttack",
    "RenyiAttack",
    "ShadowAttack",
    "SupervisedAttack",
    "ThresholdAttack",
]
