"""Scores from kernel densities, on the scale of logarithms throughout."""

import numpy as np
from scipy.special import logsumexp


class DensityRatio:
    """Logarithm of the ratio of the densities of synthetic and of reference rows.

    One bandwidth for both. The published form, a ratio of densities, is 0 / 0 for records far from
    all rows.
    """

    def __init__(self, space):
        self._space = space

    def __call__(self, points):
        space = self._space
        made, known = (
            _log_sums(space, points, rows) - np.log(len(rows))
            for rows in (space.synthetic, space.reference)
        )
        return made - known


class LikelihoodRatio:
    """Likelihood of the nearest synthetic rows with the record among the reference rows, or not.

    A kernel density of n rows and the record is n / (n + 1) of the density of the n rows, plus the
    kernel of the record: nothing is refitted.
    """

    def __init__(self, space):
        self._space = space
        self._k = min(space.n_neighbors, len(space.synthetic))
        self._known = _log_sums(space, space.synthetic, space.reference)

    def __call__(self, points):
        space, n = self._space, len(self._space.reference)
        scores = []
        for block in space.iter_from(points, space.synthetic):
            nearest = np.argpartition(block, self._k - 1, axis=1)[:, : self._k]
            own = space.log_kernel(np.take_along_axis(block, nearest, axis=1))
            scores.append(np.logaddexp(0, own - self._known[nearest]).sum(axis=1))
        return np.concatenate(scores) + self._k * np.log(n / (n + 1))


def _log_sums(space, points, rows):
    """Logarithm of the sum of the kernels of rows at each point."""
    blocks = space.iter_from(points, rows)
    return np.concatenate([logsumexp(space.log_kernel(block), axis=1) for block in blocks])
