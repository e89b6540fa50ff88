"""What can be taken out of a fitted model before its file is released."""

from ._strip import strip_state

__all__ = ["strip_state"]
