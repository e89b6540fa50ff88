"""Ready ways of forgetting, a small class each."""

from ._base import Forgetting
from .fine_tuning import FineTuning
from .negative_weights import NegativeWeights
from .no_unlearning import NoUnlearning
from .relabeling import Relabeling
from .retraining import Retraining
from .sisa import SISA
from .weight_noise import WeightNoise

WAYS = {
    "retrain": Retraining,
    "noop": NoUnlearning,
    "negative": NegativeWeights,
    "finetune": FineTuning,
    "relabel": Relabeling,
    "noise": WeightNoise,
    "sisa": SISA,
}

__all__ = [
    "SISA",
    "WAYS",
    "FineTuning",
    "Forgetting",
    "NegativeWeights",
    "NoUnlearning",
    "Relabeling",
    "Retraining",
    "WeightNoise",
]
