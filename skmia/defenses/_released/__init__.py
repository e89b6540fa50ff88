"""What can be taken out of a fitted model before its file is released."""

from ._defense import ReleasedFileDefense
from ._strip import strip_state
from ._thresholds import move_thresholds

__all__ = ["ReleasedFileDefense", "move_thresholds", "strip_state"]
