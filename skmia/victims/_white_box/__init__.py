"""Gradients and layers of fitted models."""

from ._base import WhiteBox
from ._open import open_white_box

__all__ = ["WhiteBox", "open_white_box"]
