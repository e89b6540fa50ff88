"""Defenses: classifiers and mechanisms that leak less."""

from ._cross_fit import SELENADefense
from ._dp_sgd import DPSGDClassifier, PrivacyLedger
from ._evaluation import DefenseEvaluation, evaluate_defense, mislabel
from ._exact_noise import COIN_BITS, PrivateRandomness, choose_grids, round_to
from ._mechanisms import (
    DELTA,
    FINITE_POSITIVE,
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
    choose_delta,
    column_values,
    gaussian_sigma,
    validate_rows,
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
