"""Models under attack: services, and white-box access."""

from ._callable import CallableVictim
from ._state import ModelState, StoredArray, StoredEstimator, read_state
from ._white_box import WhiteBox, open_white_box
from .boosters import read_booster_file

__all__ = [
    "CallableVictim",
    "ModelState",
    "StoredArray",
    "StoredEstimator",
    "WhiteBox",
    "open_white_box",
    "read_booster_file",
    "read_state",
]
