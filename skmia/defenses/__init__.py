"""Defenses: classifiers and mechanisms that leak less."""

from ._cross_fit import SELENADefense
from ._dp_sgd import DPSGDClassifier, PrivacyLedger
from ._evaluation import DefenseEvaluation, evaluate_defense, mislabel
from ._mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
    gaussian_sigma,
)
from ._output import LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense
from ._released import ReleasedFileDefense, move_thresholds, strip_state
from ._soft_labels import (
    LabelSmoothingDefense,
    SoftLabelDefense,
    SoftRegressionDefense,
    soften,
    soften_values,
)
from ._student import StudentDefense

__all__ = [
    "DPSGDClassifier",
    "DefenseEvaluation",
    "GaussianMechanism",
    "LabelOnlyDefense",
    "LabelSmoothingDefense",
    "LaplaceMechanism",
    "NonSphericalGaussianMechanism",
    "PrivacyLedger",
    "ReleasedFileDefense",
    "RoundingDefense",
    "SELENADefense",
    "SoftLabelDefense",
    "SoftRegressionDefense",
    "StudentDefense",
    "TemperatureDefense",
    "TopKDefense",
    "evaluate_defense",
    "gaussian_sigma",
    "mislabel",
    "move_thresholds",
    "soften",
    "soften_values",
    "strip_state",
]
