"""Measuring attacks: games that are played many times, and models in the victim's place."""

from ._density_attack import DensityAttack
from ._games import membership_game
from ._leakage_scorer import best_below_leakage, make_leakage_scorer
from ._leave_one_out import leave_one_model_out, power_curve
from ._leave_two_unlabeled import (
    PairPrivacy,
    bounded_loss_accuracy,
    leave_two_unlabeled,
    pair_privacy,
)
from ._per_datum import per_datum_game
from ._retraining_oracle import retraining_oracle

__all__ = [
    "DensityAttack",
    "PairPrivacy",
    "best_below_leakage",
    "bounded_loss_accuracy",
    "leave_one_model_out",
    "leave_two_unlabeled",
    "make_leakage_scorer",
    "membership_game",
    "pair_privacy",
    "per_datum_game",
    "power_curve",
    "retraining_oracle",
]
