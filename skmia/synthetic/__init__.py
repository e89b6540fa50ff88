"""Privacy of synthetic data."""

from ._adversarial_accuracy import (
    AdversarialAccuracy,
    NearestNeighborAdversarialAccuracy,
    nearest_neighbor_adversarial_accuracy,
)
from ._gower import GowerEncoder
from ._privacy_loss import PrivacyLoss

__all__ = [
    "AdversarialAccuracy",
    "GowerEncoder",
    "NearestNeighborAdversarialAccuracy",
    "PrivacyLoss",
    "nearest_neighbor_adversarial_accuracy",
]
