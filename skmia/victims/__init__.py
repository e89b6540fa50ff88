"""Models under attack: services, and what is inside of a model."""

from ._callable import CallableVictim
from ._white_box import WhiteBox, open_white_box

__all__ = ["CallableVictim", "WhiteBox", "open_white_box"]
