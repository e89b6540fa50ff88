"""Classifiers that leak less."""

from ._evaluation import DefenseEvaluation, evaluate_defense, mislabel
from ._label_smoothing import LabelSmoothingDefense
from ._output import LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense
from ._selena import SELENADefense
from ._soft_labels import SoftLabelDefense

__all__ = [
    "DefenseEvaluation",
    "LabelOnlyDefense",
    "LabelSmoothingDefense",
    "RoundingDefense",
    "SELENADefense",
    "SoftLabelDefense",
    "TemperatureDefense",
    "TopKDefense",
    "evaluate_defense",
    "mislabel",
]
