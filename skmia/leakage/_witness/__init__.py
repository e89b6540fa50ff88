"""Ways to estimate a total variation, each with the region of features that attains it."""

from ._base import Witness
from ._grouped import GroupedWitness
from ._make import choose_method, make_kernels, make_witness
from ._plugin import PluginWitness

__all__ = [
    "GroupedWitness",
    "PluginWitness",
    "Witness",
    "choose_method",
    "make_kernels",
    "make_witness",
]
