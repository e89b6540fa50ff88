"""Signals of membership, one number per record.

Those of texts are in :mod:`skmia.signals.sequences`.
"""

from .._core import name_by_room
from . import sequences
from ._base import AnswerSignal, Signal, VictimSignal
from ._boundary import AdversarialDistance, BoundaryDistance, check_bounds, compute_margin
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
from ._joint_residual import JointResidual as JointResidual
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
    COMPARED_JOINTLY,
    POOLED,
    auto_of,
    get_signal,
    get_signal_names,
    kinds_of,
    threshold_signal_of,
    what_to_keep,
    what_to_read,
)
from ._signals import Signals, Trajectories, Trajectory

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
    "Trajectories",
    "Trajectory",
    "VictimSignal",
    "get_signal_names",
]

name_by_room(__name__)
