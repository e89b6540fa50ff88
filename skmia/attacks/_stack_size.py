"""How many shadow models a stack needs."""

from numbers import Integral

from ..base._pool_attack import TooFewModelsError
from ..shadow import ShadowPool

# Minimum size of a pool, and of one whose models promise a rate. With fewer than 8, the models that
# remain beside one treated as the victim give scores of another kind than all of them.
_FEWEST_MODELS = 4
FEWEST_FOR_RATE = 8


def check_size(pool, rate):
    """Refuse a pool that is too small to learn a stack from, or to promise a rate.

    Parameters
    ----------
    pool : object
        Only the size of a ShadowPool is checked.
    rate : float or None
        False positive rate that is to be promised.

    Raises
    ------
    TooFewModelsError
    """
    n_models = pool.n_estimators if isinstance(pool, ShadowPool) else None
    if not isinstance(n_models, Integral):
        return  # which the pool refuses
    if n_models < _FEWEST_MODELS:
        raise TooFewModelsError(
            "StackedAttack learns from shadow models that are treated as the victim, and "
            f"requires a pool of at least {_FEWEST_MODELS} models; this pool has {n_models}."
        )
    if rate is not None and n_models < FEWEST_FOR_RATE:
        raise TooFewModelsError(
            f"target_fpr={rate:g} cannot be promised with {n_models} shadow models; "
            f"use a pool of at least {FEWEST_FOR_RATE} models, or target_fpr=None."
        )
