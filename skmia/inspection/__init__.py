"""What a model file holds of its training records, for those who decide about its release."""

from .._core import name_by_room
from ._inspect import CandidateSearch as CandidateSearch
from ._inspect import Finding as Finding
from ._inspect import ModelInspection as ModelInspection
from ._inspect import StatedRows as StatedRows
from ._inspect import count_stated_rows, inspect_model, render_inspection
from ._reconstruct import Reconstruction as Reconstruction
from ._reconstruct import reconstruct_values

__all__ = ["inspect_model", "reconstruct_values"]

name_by_room(__name__)
