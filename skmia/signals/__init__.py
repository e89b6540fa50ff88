"""Signals of membership, one number per record."""

from ._adversarial import AdversarialDistance
from ._base import AnswerSignal, Signal, VictimSignal
from ._boundary import BoundaryDistance
from ._confidence import (
    ODIN,
    BrierScore,
    Confidence,
    Correctness,
    Doctor,
    Entropy,
    Hinge,
    Loss,
    MaxSoftmax,
    ModifiedEntropy,
    ScaledLogit,
)
from ._gradient import GradientNorm, GradientStatistics
from ._label_robustness import LabelRobustness
from ._perturbation import Merlin
from ._residual import LogResidual, SquaredError
from ._signals import Signals
from .registry import get_signal_names

__all__ = [
    "ODIN",
    "AdversarialDistance",
    "AnswerSignal",
    "BoundaryDistance",
    "BrierScore",
    "Confidence",
    "Correctness",
    "Doctor",
    "Entropy",
    "GradientNorm",
    "GradientStatistics",
    "Hinge",
    "LabelRobustness",
    "LogResidual",
    "Loss",
    "MaxSoftmax",
    "Merlin",
    "ModifiedEntropy",
    "ScaledLogit",
    "Signal",
    "Signals",
    "SquaredError",
    "VictimSignal",
    "get_signal_names",
]
