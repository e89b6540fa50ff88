"""Tests whether groups of people are exposed unequally."""

from ._plot import DisparityDisplay
from ._test import DisparityTest
from .guesses import GroupGuesses

__all__ = ["DisparityDisplay", "DisparityTest", "GroupGuesses"]
