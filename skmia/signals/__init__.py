"""Evidence of membership in a victim's answers."""

from ._base import Signal
from ._confidence import (
    ODIN,
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
from ._registry import get_signal, get_signal_names
from ._residual import AbsoluteError, SquaredError
from ._signals import Signals

__all__ = [
    "ODIN",
    "AbsoluteError",
    "Confidence",
    "Correctness",
    "Doctor",
    "Entropy",
    "Hinge",
    "Loss",
    "MaxSoftmax",
    "ModifiedEntropy",
    "ScaledLogit",
    "Signal",
    "Signals",
    "SquaredError",
    "get_signal",
    "get_signal_names",
]
