"""Defenses: classifiers and mechanisms that leak less."""

from ._dp_sgd import DPSGDClassifier
from ._evaluation import DefenseEvaluation, evaluate_defense, mislabel
from ._gaussian import GaussianMechanism, gaussian_sigma
from ._label_smoothing import LabelSmoothingDefense
from ._laplace import LaplaceMechanism
from ._ledger import PrivacyLedger
from ._non_spherical import NonSphericalGaussianMechanism
from ._output import LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense
from ._released import ReleasedFileDefense, move_thresholds, strip_state
from ._selena import SELENADefense
from ._soft_labels import SoftLabelDefense
from ._soft_regression import SoftRegressionDefense
from ._soften import soften, soften_values
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
