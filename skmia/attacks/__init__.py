"""Membership inference attacks."""

from ._calibrated import CalibratedAttack
from ._lira import LiRA
from ._rmia import RMIA
from ._shadow import ShadowAttack
from ._threshold import ThresholdAttack

__all__ = ["RMIA", "CalibratedAttack", "LiRA", "ShadowAttack", "ThresholdAttack"]
