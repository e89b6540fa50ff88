"""The probability that a value of a candidate is stored by chance."""

import numpy as np

# Largest number of decimal places of a column that counts as decimal.
_MOST_DECIMALS = 6
# Count of numbers between two powers of two, in float32 and float64.
_POINTS_32, _POINTS_64 = 2.0**24, 2.0**53


class ColumnStats:
    """Values of a column among the candidates, and the grid on which they lie.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers or text of all candidates.
    """

    def __init__(self, values):
        self.n = len(values)
        self.is_text = values.dtype.kind != "f"
        self.n_missing = 0
        if not self.is_text:
            self.n_missing = int(np.isnan(values).sum())
            values = values[np.isfinite(values)]
        self.values, self.counts = np.unique(values, return_counts=True)
        self.decimals, self.n_points = None, np.inf
        if not self.is_text and len(self.values):
            self.decimals = count_decimals(self.values)
            self.n_points = self._count_points()

    def _count_points(self):
        """Count the numbers of this precision between the smallest and the largest value."""
        if self.decimals is not None:
            width = self.values[-1] - self.values[0]
            return min(np.rint(width * 10.0**self.decimals) + 1, _POINTS_64)
        return _POINTS_32 if are_single(self.values) else _POINTS_64

    def count(self, values):
        """Count the candidates with each of some values, at least 1."""
        counts = np.ones(len(values), dtype=int)
        if len(self.values):
            place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
            counts = np.where(self.values[place] == values, self.counts[place], 1)
        if self.n_missing:
            counts = np.where(np.isnan(values), self.n_missing, counts)
        return counts

    def share(self, stored, *, single=False):
        """Return the share of all possible numbers of the column that are stored.

        Parameters
        ----------
        stored : ndarray of shape (n_stored,)
            Distinct stored numbers.
        single : bool, default=False
            Whether numbers are compared in float32.

        Returns
        -------
        share : float
            Share in [0, 1]; 0 for text.
        """
        if self.is_text or not len(self.values):
            return 0.0
        inside = stored[(stored >= self.values[0]) & (stored <= self.values[-1])]
        if self.decimals is not None:
            inside = inside[np.round(inside, self.decimals) == inside]
        n_points = min(self.n_points, _POINTS_32) if single else self.n_points
        return min(1.0, len(inside) / n_points)


def count_decimals(values):
    """Return the number of decimal places that suffices for all numbers, or None."""
    for digits in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def are_single(values):
    """Whether float32 represents all numbers exactly."""
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float32).astype(np.float64), values, equal_nan=True)


def compute_chance(share, counts, n):
    """Compute the probability that a value is stored although its record was not used.

    Either the value equals a stored number by accident, or another candidate with the same value
    was used; half of the candidates are members. The probability is at least 1 / (n + 1), because a
    value may occur although it was not seen among n others.
    """
    return np.maximum(1 - (1 - share) * 0.5 ** (np.asarray(counts) - 1.0), 1 / (n + 1))
