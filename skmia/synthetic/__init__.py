"""Privacy of synthetic data."""

from ._adversarial_accuracy import (
    AdversarialAccuracy,
    NearestNeighborAdversarialAccuracy,
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
    "rare_class_rate",
]
