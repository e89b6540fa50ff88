"""The state of a fitted model: its stored arrays with their places."""

from .read import read_state
from .values import ModelState, StoredArray, StoredEstimator

__all__ = ["ModelState", "StoredArray", "StoredEstimator", "read_state"]
