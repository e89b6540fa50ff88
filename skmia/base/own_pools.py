"""Unfitted pools among the parameters of an attack or of its parts."""

from sklearn.frozen import FrozenEstimator

from ..shadow import ShadowPool
from .parts import parts_of


def get_own_pools(attack):
    """Return the unfitted pools of an attack by number of the part and name of the parameter."""
    return {
        (number, name): value
        for number, part in enumerate(parts_of(attack) or [attack])
        for name, value in part.get_params(deep=False).items()
        if isinstance(value, ShadowPool)
    }


def set_pool(attack, place, pool):
    """Replace an unfitted pool of an attack by a fitted one."""
    number, name = place
    part = (parts_of(attack) or [attack])[number]
    part.set_params(**{name: FrozenEstimator(pool)})


def fit_own_pools(attack, records):
    """Fit the pools of an attack on all records, before the attack is fitted on subsets."""
    for place, pool in get_own_pools(attack).items():
        set_pool(attack, place, pool.fit(records))
