"""Ways to estimate a total variation, each with the region of features that attains it."""

from ._base import Witness
from ._grouped import GroupedWitness
from ._kernel_grid import GridKernelWitness
from ._kernel_sampled import SampledKernelWitness
from ._make import choose_method, make_witness
from ._plugin import PluginWitness

__all__ = [
    "GridKernelWitness",
    "GroupedWitness",
    "PluginWitness",
    "SampledKernelWitness",
    "Witness",
    "choose_method",
    "make_witness",
]
