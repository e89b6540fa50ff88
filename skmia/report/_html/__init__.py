"""The audit as a page."""

from ._page import render

__all__ = ["render"]
