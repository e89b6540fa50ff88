"""Games between an attacker and a training procedure, repeated over many rounds."""

from ._density_attack import DensityAttack
from ._leave_two_unlabeled import (
    PairPrivacy,
    bounded_loss_accuracy,
    leave_two_unlabeled,
)
from ._mechanism import average_datum_game, per_datum_game
from ._membership import membership_game
from ._retraining_oracle import retraining_oracle
from ._unlearning import unlearning_game
from ._unlearning_attacks import UnlearningResult
from ._ways_of_unlearning import (
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
    "DensityAttack",
    "FineTuning",
    "NegativeWeights",
    "NoUnlearning",
    "PairPrivacy",
    "Relabeling",
    "Retraining",
    "UnlearningResult",
    "WeightNoise",
    "average_datum_game",
    "bounded_loss_accuracy",
    "leave_two_unlabeled",
    "membership_game",
    "per_datum_game",
    "retraining_oracle",
    "unlearning_game",
]
