"""What a model file holds of its training records, for those who decide about its release."""

from ._inspect import inspect_model
from ._reconstruct import Reconstruction, reconstruct_values
from ._result import CandidateSearch, Finding, ModelInspection

__all__ = [
    "CandidateSearch",
    "Finding",
    "ModelInspection",
    "Reconstruction",
    "inspect_model",
    "reconstruct_values",
]
