"""Games between an attacker and a training procedure, repeated over many rounds.

Ready ways of unlearning are in :mod:`skmia.games.unlearning`.
"""

from .._core import name_by_room
from . import unlearning
from ._density_attack import DensityAttack
from ._leave_two_unlabeled import PairPrivacy as PairPrivacy
from ._leave_two_unlabeled import leave_two_unlabeled
from ._mechanism import average_datum_game, per_datum_game
from ._membership import membership_game
from ._retraining_oracle import retraining_oracle
from ._unlearning_game import unlearning_game
from ._unlearning_result import UnlearningResult as UnlearningResult

__all__ = [
    "DensityAttack",
    "average_datum_game",
    "leave_two_unlabeled",
    "membership_game",
    "per_datum_game",
    "retraining_oracle",
    "unlearning_game",
]

name_by_room(__name__)
