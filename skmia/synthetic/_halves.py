"""Adversarial accuracy for any choice of the training rows among the real rows."""

import numpy as np

from ._deals import take_first
from ._neighbors import find_nearest
from ._terms import Terms, count_farther

# Number of nearest real rows that are kept for each row. Half of the real rows are chosen, so the
# chance that none of 40 neighbors is chosen is 2^-40. The first few neighbors are enough for most
# rows.
_N_KEPT, _N_FIRST = 40, 6


class Halves:
    """Adversarial accuracy against any half of the real rows, from neighbors found once.

    Parameters
    ----------
    real : ndarray of shape (2 n, d)
        Training rows and test rows.
    synthetic : ndarray of shape (n, d)
        Rows that the generator returned.
    metric : str or callable
        Name of a metric of scikit-learn, or a function of two rows.
    version : str
        Version of the adversarial accuracy.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(self, real, synthetic, metric, version, n_jobs):
        n = len(synthetic)
        self._version = version
        self._of_real = find_nearest(real, None, min(_N_KEPT, 2 * n - 1), metric, n_jobs)
        self._of_synthetic = find_nearest(synthetic, real, min(_N_KEPT, 2 * n), metric, n_jobs)
        self._own = find_nearest(synthetic, None, 1, metric, n_jobs)
        self._cross = find_nearest(real, synthetic, 2, metric, n_jobs)

    def compare(self, chosen):
        """Compare the synthetic rows with a choice of the real rows.

        Parameters
        ----------
        chosen : ndarray of shape (2 n,), dtype bool
            Marks n of the real rows.

        Returns
        -------
        terms : Terms
            Numbers of the real rows come first, then numbers of the synthetic rows.
        """
        rows, made = np.flatnonzero(chosen), np.arange(len(self._own[0]))
        own, own_place = _find_first(*self._of_real, chosen, 1, rows)
        cross, cross_place = _find_first(*self._of_synthetic, chosen, 2, made)
        n_real = len(chosen)
        return Terms(
            count_farther(own[:, 0], self._cross[0][rows], self._version),
            count_farther(self._own[0][:, 0], cross, self._version),
            rows,
            n_real + made,
            [
                (rows, own_place[:, 0]),
                (rows, n_real + self._cross[1][rows, 0]),
                (n_real + made, n_real + self._own[1][:, 0]),
                (n_real + made, cross_place[:, 0]),
            ],
        )

    def compare_deals(self, first):
        """Privacy losses for many choices of the training rows.

        Parameters
        ----------
        first : ndarray of shape (n_deals, 2 n), dtype bool
            Marks n of the real rows as training rows, in each row.

        Returns
        -------
        losses : ndarray of shape (n_deals,)
        """
        n, made = len(self._own[0]), self._own[0][:, 0]
        distances, places = self._of_real
        own = take_first(distances, first[:, places] == first[:, :, None], 1)[..., 0]
        real = count_farther(own, self._cross[0], self._version, n)
        # Each real row is counted once, on the side that the deal gives it.
        losses = np.where(first, -real, real).sum(axis=1)
        distances, places = self._of_synthetic
        for sign, chosen in ((-1, first), (1, ~first)):
            cross = take_first(distances, chosen[:, places], 2)
            losses += sign * count_farther(made, cross, self._version, n).sum(axis=1)
        return losses / (2 * n)


def _find_first(distances, places, chosen, k, rows):
    """Distances to the first k chosen neighbors and their positions, each of shape (n, k)."""
    column = np.empty((len(rows), k), dtype=np.intp)
    left, n_kept = np.arange(len(rows)), distances.shape[1]
    for width in (min(_N_FIRST, n_kept), n_kept):
        rank = np.cumsum(chosen[places[rows[left], :width]], axis=1, dtype=np.int8)
        # With too few chosen neighbors, the farthest stored neighbor stands for one farther away.
        ready = (rank[:, -1] >= k) | (width == n_kept)
        for nearest in range(k):
            first = np.argmax(rank[ready] > nearest, axis=1)
            first[rank[ready, -1] <= nearest] = width - 1
            column[left[ready], nearest] = first
        left = left[~ready]
    return distances[rows[:, None], column], places[rows[:, None], column]
