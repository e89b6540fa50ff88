"""Defenses: classifiers that leak less.

Mechanisms that add noise to data are in :mod:`skmia.defenses.mechanisms`, and soft labels from your
models in :mod:`skmia.defenses.soft_targets`.
"""

from .._core import name_by_room
from . import mechanisms, soft_targets
from ._dp_sgd import DPSGDClassifier
from ._evaluation import DefenseEvaluation as DefenseEvaluation
from ._evaluation import evaluate_defense
from ._exact_noise import COIN_BITS, PrivateRandomness, choose_grids, round_to
from ._ledger import PrivacyLedger
from ._output import LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense
from ._pate import PATEDefense
from ._private_search import PrivateSearchCV
from ._released import ReleasedFileDefense, move_thresholds, strip_state
from ._repeated_fits import BudgetedFits
from ._selena import SELENADefense
from ._soft_labels import (
    LabelSmoothingDefense,
    SoftLabelDefense,
    SoftRegressionDefense,
)
from ._student import StudentDefense
from .mechanisms import (
    DELTA,
    FINITE_POSITIVE,
    choose_target_delta,
    column_values,
    refuse_crossed,
    validate_rows,
)

__all__ = [
    "DPSGDClassifier",
    "LabelOnlyDefense",
    "LabelSmoothingDefense",
    "PATEDefense",
    "PrivacyLedger",
    "PrivateSearchCV",
    "ReleasedFileDefense",
    "RoundingDefense",
    "SELENADefense",
    "SoftLabelDefense",
    "SoftRegressionDefense",
    "StudentDefense",
    "TemperatureDefense",
    "TopKDefense",
    "evaluate_defense",
    "move_thresholds",
    "strip_state",
]

name_by_room(__name__)
