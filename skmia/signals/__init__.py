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
from ._min_k import MinK, MinKPlusPlus
from ._neighborhood import Neighborhood
from ._perturbation import Merlin
from ._recall import ReCaLL
from ._reference import ReferenceRatio, WindowVotes
from ._residual import LogResidual, SquaredError
from ._signals import Signals
from ._surprising_tokens import SurprisingTokens
from ._trajectory import Trajectories, Trajectory
from ._zlib_ratio import ZlibRatio
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
    "MinK",
    "MinKPlusPlus",
    "ModifiedEntropy",
    "Neighborhood",
    "ReCaLL",
    "ReferenceRatio",
    "ScaledLogit",
    "Signal",
    "Signals",
    "SquaredError",
    "SurprisingTokens",
    "Trajectories",
    "Trajectory",
    "VictimSignal",
    "WindowVotes",
    "ZlibRatio",
    "get_signal_names",
]
