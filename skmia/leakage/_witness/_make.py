"""Choice of the witness from the parameters of an estimator."""

import numpy as np

from ._bandwidth import has_spread
from ._classifier import ClassifierWitness
from ._kernel_grid import GridKernelWitness
from ._kernel_sampled import SampledKernelWitness
from ._neighbors import NeighborsWitness
from ._plugin import PluginWitness, number_rows

# The standard error of an integral over so many draws from each density is at most 0.011.
_N_DRAWS = 1000


def choose_method(X, members, groups):
    """Return the name of the method that suits the features."""
    if number_rows(X).max() + 1 <= max(2, np.sqrt(len(X))):
        return "plugin"
    if X.shape[1] > 1:
        return "neighbors"
    # The sides of each group need a spread, where a group has both.
    parts = (groups == group for group in np.unique(groups))
    both = (part for part in parts if 0 < members[part].sum() < part.sum())
    return "kde" if all(has_spread(X[part], members[part]) for part in both) else "neighbors"


def make_witness(method, n_features, *, bandwidth_factor, estimator, n_neighbors, cv, n_jobs):
    """Return a new witness."""
    if method == "plugin":
        return PluginWitness()
    if method == "kde":
        return make_kernels(n_features, _N_DRAWS, bandwidth_factor)
    if method == "neighbors":
        return NeighborsWitness(n_neighbors, n_jobs)
    return ClassifierWitness(estimator, cv, n_jobs)


def make_kernels(n_features, n_draws, factor=1.0):
    """Return a new witness by kernel densities."""
    return GridKernelWitness(factor) if n_features == 1 else SampledKernelWitness(n_draws, factor)
