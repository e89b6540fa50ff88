"""Pools that an attack, or a part of it, brings unfitted."""

from sklearn.frozen import FrozenEstimator

from ..shadow import ShadowPool
from .parts import parts_of


def get_own_pools(attack):
    """Unfitted pools in an attack, by the number of the part and the name of its parameter."""
    return {
        (number, name): value
        for number, part in enumerate(parts_of(attack) or [attack])
        for name, value in part.get_params(deep=False).items()
        if isinstance(value, ShadowPool)
    }


def set_pool(attack, place, pool):
    """Put a fitted pool in a place of an attack where there was an unfitted one."""
    number, name = place
    part = (parts_of(attack) or [attack])[number]
    part.set_params(**{name: FrozenEstimator(pool)})


def fit_own_pools(attack, records):
    """Fit the pools of an attack on records, before it is fitted on parts of them."""
    for place, pool in get_own_pools(attack).items():
        set_pool(attack, place, pool.fit(records))
