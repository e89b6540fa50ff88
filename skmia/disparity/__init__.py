"""Tests whether groups of people are exposed unequally."""

from .._core import name_by_room
from ._game import GroupGuesses, number_people, play_pool
from ._plot import DisparityDisplay
from ._test import DisparityTest

__all__ = ["DisparityDisplay", "DisparityTest", "GroupGuesses"]

name_by_room(__name__)
