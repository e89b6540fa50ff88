"""Privacy of synthetic data."""

from ._adversarial_accuracy import (
    AdversarialAccuracy,
    NearestNeighborAdversarialAccuracy,
    nearest_neighbor_adversarial_accuracy,
)
from ._gan import DPWassersteinGAN, RareClassRate, rare_class_rate
from ._generator_attack import GeneratorAttack
from ._gower import GowerEncoder
from ._privacy_loss import PrivacyLoss
from ._synthetic_distance import SyntheticDistance

__all__ = [
    "AdversarialAccuracy",
    "DPWassersteinGAN",
    "GeneratorAttack",
    "GowerEncoder",
    "NearestNeighborAdversarialAccuracy",
    "PrivacyLoss",
    "RareClassRate",
    "SyntheticDistance",
    "nearest_neighbor_adversarial_accuracy",
    "rare_class_rate",
]
