"""What a model file holds of its training records, for those who decide about its release."""

from .._core import name_by_room
from ._inspect import inspect_model
from ._reconstruct import Reconstruction as Reconstruction
from ._reconstruct import reconstruct_values
from ._result import CandidateSearch as CandidateSearch
from ._result import Finding as Finding
from ._result import ModelInspection as ModelInspection
from ._result import render_inspection

__all__ = [
    "inspect_model",
    "reconstruct_values",
]

name_by_room(__name__)
