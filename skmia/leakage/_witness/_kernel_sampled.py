"""Total variation between two kernel densities in several dimensions."""

import numpy as np
from scipy import special

from ._bandwidth import check_spread, spread
from ._base import Witness

# Kernels evaluated at once, 32 MiB of them.
_CHUNK = 2**22


def _log_sum_exp(exponents):
    """Of each row, in place: the array is large, and scipy's function makes several of it."""
    largest = exponents.max(axis=1, keepdims=True)
    exponents -= largest
    return np.log(np.exp(exponents, out=exponents).sum(axis=1)) + largest[:, 0]


class _ProductKernels:
    """A density with one Gaussian with independent axes around each row."""

    def __init__(self, rows, narrowest, factor):
        n_rows, n_features = rows.shape
        factor *= (4 / ((n_features + 2) * n_rows)) ** (1 / (n_features + 4))
        self.bandwidths = np.maximum(factor * spread(rows), narrowest)
        self._center = rows.mean(axis=0)
        self._points = self._scale(rows)
        self._half_squares = (self._points**2).sum(axis=1) / 2
        self._log_height = -np.log(self.bandwidths * np.sqrt(2 * np.pi)).sum() - np.log(n_rows)

    def _scale(self, rows):
        return (rows - self._center) / self.bandwidths

    def log_density(self, rows):
        scaled = self._scale(rows)
        size = max(1, _CHUNK // len(self._points))
        parts = [
            _log_sum_exp(part @ self._points.T - self._half_squares)
            for part in np.split(scaled, range(size, len(scaled), size))
        ]
        return np.concatenate(parts) - (scaled**2).sum(axis=1) / 2 + self._log_height

    def draw(self, n_draws, rng):
        points = self._points[rng.integers(len(self._points), size=n_draws)]
        return (points + rng.normal(size=points.shape)) * self.bandwidths + self._center


class SampledKernelWitness(Witness):
    """The same integral, by draws from the even mixture of the two kernel densities.

    Parameters
    ----------
    n_draws : int
        Draws from each density; the standard error is at most ``0.5 / sqrt(2 * n_draws)``.
    factor : float, default=1.0
        Factor of the bandwidths.
    """

    def __init__(self, n_draws, factor=1.0):
        self.n_draws = n_draws
        self.factor = factor

    def check(self, X, members):
        check_spread(X, members)

    def learn(self, X, members, rng):
        # Of use to shuffles and halves in which a class has equal values.
        narrowest = 1e-6 * np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
        self._inside = _ProductKernels(X[members], narrowest, self.factor)
        self._outside = _ProductKernels(X[~members], narrowest, self.factor)
        return self

    def _log_ratio(self, X):
        return self._inside.log_density(X) - self._outside.log_density(X)

    def posterior(self, X):
        return special.expit(self._log_ratio(X))

    def estimate(self, X, labelings, rng):
        estimates = np.empty(len(labelings))
        for position, labels in enumerate(labelings):
            self.learn(X, labels, rng)
            draws = [side.draw(self.n_draws, rng) for side in (self._inside, self._outside)]
            # |f - g| / (f + g), which no underflow of f and g spoils.
            ratios = self._log_ratio(np.concatenate(draws))
            estimates[position] = np.tanh(np.abs(ratios) / 2).mean()
        return estimates
