"""Privacy of synthetic data."""

from ._adversarial_accuracy import (
    AdversarialAccuracy,
    NearestNeighborAdversarialAccuracy,
    nearest_neighbor_adversarial_accuracy,
)
from ._generator_attack import GeneratorAttack
from ._gower import GowerEncoder
from ._privacy_loss import PrivacyLoss
from ._synthetic_distance import SyntheticDistance

__all__ = [
    "AdversarialAccuracy",
    "GeneratorAttack",
    "GowerEncoder",
    "NearestNeighborAdversarialAccuracy",
    "PrivacyLoss",
    "SyntheticDistance",
    "nearest_neighbor_adversarial_accuracy",
]
