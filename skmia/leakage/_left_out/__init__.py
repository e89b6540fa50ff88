"""What a fitted model would answer to each training record if it had not been trained on it."""

from .families import leave_out

__all__ = ["leave_out"]
