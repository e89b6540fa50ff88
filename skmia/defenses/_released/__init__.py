"""What can be taken out of a fitted model before its file is released."""

from ._defense import ReleasedFileDefense
from ._strip import strip_state

__all__ = ["ReleasedFileDefense", "strip_state"]
