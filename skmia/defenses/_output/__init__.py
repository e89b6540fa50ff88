"""Defenses that change the outputs of a classifier."""

from ._label_only import LabelOnlyDefense
from ._rounding import RoundingDefense
from ._temperature import TemperatureDefense
from ._top_k import TopKDefense

__all__ = ["LabelOnlyDefense", "RoundingDefense", "TemperatureDefense", "TopKDefense"]
