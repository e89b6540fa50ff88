"""Game between an attacker and a way of unlearning, in ready ways of forgetting."""

from .game import unlearning_game
from .result import UnlearningResult
from .ways import (
    SISA,
    FineTuning,
    NegativeWeights,
    NoUnlearning,
    Relabeling,
    Retraining,
    WeightNoise,
)

__all__ = [
    "SISA",
    "FineTuning",
    "NegativeWeights",
    "NoUnlearning",
    "Relabeling",
    "Retraining",
    "UnlearningResult",
    "WeightNoise",
    "unlearning_game",
]
