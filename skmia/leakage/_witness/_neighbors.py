"""Total variation by the majority of the nearest neighbors."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ._base import Witness, advantage, balanced_posterior

# Number of neighbors that are searched at once.
_CHUNK = 2**22
# Trees are faster than comparing all pairs of rows up to here.
_MOST_FEATURES_OF_A_TREE = 6


class NeighborsWitness(Witness):
    """Advantage of the majority vote of the nearest neighbors.

    Each row is classified by its neighbors without itself. The rule cannot be better than the best
    one, so its advantage errs downwards on average. It converges to the total variation as the
    number of rows grows.

    Parameters
    ----------
    n_neighbors : int or None
        If None, the odd number next to the square root of the number of rows.
    n_jobs : int or None
        Number of jobs of the search.
    """

    def __init__(self, n_neighbors, n_jobs):
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def _build(self, X, n_spare):
        scale = X.std(axis=0)
        self._scale = np.where(scale > 0, scale, 1.0)
        wanted = 2 * int(np.sqrt(len(X)) / 2) + 1 if self.n_neighbors is None else self.n_neighbors
        self._n_neighbors = min(wanted, len(X) - n_spare)
        tree = X.shape[1] <= _MOST_FEATURES_OF_A_TREE
        algorithm = "kd_tree" if tree else "brute"
        self._search = NearestNeighbors(algorithm=algorithm, n_jobs=self.n_jobs)
        self._search.fit(X / self._scale)

    def _find(self, X, n_neighbors):
        """Positions of the nearest neighbors, some rows of X at a time."""
        size = max(1, _CHUNK // n_neighbors)
        for start in range(0, len(X), size):
            rows = X[start : start + size] / self._scale
            yield self._search.kneighbors(rows, n_neighbors, return_distance=False)

    def learn(self, X, members, rng):
        self._build(X, n_spare=0)
        self._members = members
        return self

    def posterior(self, X):
        inside = np.concatenate(
            [self._members[found].sum(axis=1) for found in self._find(X, self._n_neighbors)]
        )
        n_members = self._members.sum()
        outside = self._n_neighbors - inside
        return balanced_posterior(inside / n_members, outside / (len(self._members) - n_members))

    def _count_members(self, X, labelings):
        """Members among the neighbors of each row, which is not its own neighbor."""
        columns = labelings.T.astype(np.float32)
        counts, start = np.empty(columns.shape, dtype=np.float32), 0
        for found in self._find(X, self._n_neighbors + 1):
            itself = found == np.arange(start, start + len(found))[:, None]
            # A row with many copies may not be among the nearest of its own place.
            itself[~itself.any(axis=1), -1] = True
            others = found[~itself]
            starts = np.arange(0, len(others) + 1, self._n_neighbors)
            ones = np.ones(len(others), dtype=np.float32)
            chosen = sparse.csr_array((ones, others, starts), shape=(len(found), len(X)))
            counts[start : start + len(found)] = chosen @ columns
            start += len(found)
        return counts.T

    def estimate(self, X, labelings, rng):
        # Equal rows are found in the order in which they come; members must not all come first.
        order = rng.permutation(len(X))
        X, labelings = X[order], labelings[:, order]
        self._build(X, n_spare=1)
        inside = self._count_members(X, labelings)
        n_members = labelings[0].sum()
        n_nonmembers = len(X) - n_members
        # Without itself a row finds one fewer of its own kind.
        guesses = inside * (n_nonmembers - ~labelings) > (self._n_neighbors - inside) * (
            n_members - labelings
        )
        return np.array([advantage(*each) for each in zip(guesses, labelings, strict=True)])
