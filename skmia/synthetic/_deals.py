"""Spread of the adversarial accuracy over random deals of rows into two tables."""

import numpy as np

from ._neighbors import find_nearest
from ._terms import count_farther

# Tables with fewer rows have a standard error that is at least the spread over the deals.
FEW_ROWS = 100
# With 199 deals, the standard deviation has a relative error of 5%.
_N_DEALS = 199
# The chance that no row of a table is among so many neighbors is 2^-40.
_N_KEPT = 40


def deal_rows(n):
    """Deal 2 n rows into two tables of n rows.

    The deals are the same in each call, so that a standard error does not depend on a seed.

    Parameters
    ----------
    n : int
        Number of rows of each table.

    Returns
    -------
    first : ndarray of shape (199, 2 n), dtype bool
        Marks the rows of the first table.
    """
    rng = np.random.default_rng(0)
    return rng.permuted(np.tile(np.arange(2 * n) < n, (_N_DEALS, 1)), axis=1)


def spread_of_deals(real, synthetic, metric, version, n_jobs=None):
    """Standard deviation of the adversarial accuracy if the kinds of the rows are exchanged.

    Nearly all rows of small tables are neighbors of each other, so that the sum over neighbors has
    nothing left to estimate a variance from. The deals keep ties and distances as they are.

    Parameters
    ----------
    real, synthetic : ndarray of shape (n, d)
        Points of the two tables.
    metric : str or callable
        Name of a metric of scikit-learn, or a function of two rows.
    version : str
        Version of the adversarial accuracy.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    spread : float
    """
    n = len(real)
    kept = min(_N_KEPT, 2 * n - 1)
    distances, places = find_nearest(np.concatenate([real, synthetic]), None, kept, metric, n_jobs)
    first = deal_rows(n)
    same = first[:, places] == first[:, :, None]
    own = take_first(distances, same, 1)[..., 0]
    cross = take_first(distances, ~same, 2)
    return float(count_farther(own, cross, version, n).mean(axis=1).std(ddof=1))


def take_first(distances, wanted, k):
    """Distances of the first k wanted neighbors, of shape (n_deals, n_rows, k).

    The nearest neighbor stands for one that is not among the neighbors that were kept.
    """
    rank = np.cumsum(wanted, axis=2, dtype=np.int8)
    rows = np.arange(len(distances))
    return np.stack([distances[rows, np.argmax(rank == j, axis=2)] for j in range(1, k + 1)], 2)
