"""Signals of membership, one number per record."""

from ._base import AnswerSignal, Signal, VictimSignal
from ._boundary import AdversarialDistance, BoundaryDistance
from ._confidence import (
    ODIN,
    BrierScore,
    Confidence,
    Correctness,
    Doctor,
    Entropy,
    Hinge,
    LogResidual,
    Loss,
    MaxSoftmax,
    ModifiedEntropy,
    ScaledLogit,
    SquaredError,
)
from ._gradient import GradientNorm, GradientStatistics
from ._perturbation import (
    LabelRobustness,
    Merlin,
    as_rows_of_numbers,
    as_scale,
    check_scale,
    is_right,
    loss_rounding,
)
from ._registry import (
    COMPARED,
    POOLED,
    auto_of,
    get_signal,
    get_signal_names,
    kinds_of,
    what_to_keep,
    what_to_read,
)
from ._signals import Signals, Trajectories, Trajectory
from ._tokens import (
    MinK,
    MinKPlusPlus,
    Neighborhood,
    ReCaLL,
    ReferenceRatio,
    SurprisingTokens,
    WindowVotes,
    ZlibRatio,
)

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
