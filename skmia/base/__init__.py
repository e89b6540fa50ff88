"""Base classes of attacks, their declared needs, and how they are connected to a victim."""

from .._core.needs import Needs, Offer
from ._attack import BaseAttack, best_threshold, get_judged  # noqa: F401
from ._learned import LearnedAttack
from ._pool_attack import (  # noqa: F401
    PoolAttack,
    get_neutral,
    get_pool,
    list_repeatable,
    treats_models_as_victims,
)
from ._rates import rate_threshold, warn_unlike  # noqa: F401
from ._supervised import SupervisedAttack
from .parts import connect, needs_of

__all__ = [
    "BaseAttack",
    "LearnedAttack",
    "Needs",
    "Offer",
    "PoolAttack",
    "SupervisedAttack",
    "connect",
    "needs_of",
]
