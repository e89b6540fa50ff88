"""Signals of membership, one number per record.

Those of texts are in :mod:`skmia.signals.sequences`.
"""

from .._core import name_by_room
from . import sequences
from ._base import AnswerSignal
from ._base import Signal as Signal
from ._base import VictimSignal as VictimSignal
from ._boundary import AdversarialDistance, BoundaryDistance, check_bounds, compute_margin
from ._confidence import ODIN, Doctor, ScaledLogit, log_of_residual
from ._confidence import BrierScore as BrierScore
from ._confidence import Confidence as Confidence
from ._confidence import Correctness as Correctness
from ._confidence import Entropy as Entropy
from ._confidence import Hinge as Hinge
from ._confidence import LogResidual as LogResidual
from ._confidence import Loss as Loss
from ._confidence import MaxSoftmax as MaxSoftmax
from ._confidence import ModifiedEntropy as ModifiedEntropy
from ._confidence import SquaredError as SquaredError
from ._gradient import GradientNorm
from ._gradient import GradientStatistics as GradientStatistics
from ._joint_residual import JointResidual as JointResidual
from ._oriented_prediction import OrientedPrediction as OrientedPrediction
from ._oriented_prediction import orient_predictions
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
    "Doctor",
    "GradientNorm",
    "LabelRobustness",
    "Merlin",
    "ScaledLogit",
    "Signals",
    "Trajectories",
    "Trajectory",
    "get_signal_names",
]

name_by_room(__name__)
