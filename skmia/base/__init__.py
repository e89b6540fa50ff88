"""Base classes of attacks, their declared needs, and how they are connected to a victim."""

from .._core.needs import Needs, Offer
from ._attack import BaseAttack, best_threshold, get_judged  # noqa: F401
from ._parts import connect, needs_of
from ._pool_attack import (  # noqa: F401  # noqa: F401
    PoolAttack,
    get_neutral,
    get_pool,
    list_repeatable,
    rate_threshold,
    treats_models_as_victims,
    warn_unlike,
)
from ._supervised import LearnedAttack, SupervisedAttack

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
