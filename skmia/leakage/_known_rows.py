"""Distances of rows from moments that were estimated from the same rows."""

import numpy as np

from .._core.gaussians import inner_products
from .._core.hashing import hash_records


class KnownRows:
    """Moments that leave out the row whose distance is measured.

    A row pulls the mean and the directions of a covariance towards itself; with more columns than
    rows its distance would be too small by a third or more. The variances of columns use all rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows that the moments were estimated from.
    moments : ShrunkMoments or FullMoments
        Moments, with the covariance of :func:`shrink`.
    shrinkage : Shrinkage
        How the covariance was shrunken.
    """

    def __init__(self, X, moments, shrinkage):
        n_rows = len(X)
        self._known = np.unique(hash_records(X, None))
        self._moments = moments
        self._n_rows = n_rows
        # The sample covariance without a row is, up to a factor near 1, the covariance of all rows
        # minus this multiple of the outer product of the row's deviation from the mean.
        self._weight = shrinkage.scale * (1 - shrinkage.share) * n_rows / (n_rows - 1) ** 2

    def inner_products(self, left, right, removed):
        """Inner products like :func:`inner_products`, each without a row of the third argument.

        Parameters
        ----------
        left, right, removed : ndarray of shape (k, d)
            Rows; of those removed, only rows that the moments were estimated from count.

        Returns
        -------
        products : ndarray of shape (k,)
        """
        known = np.isin(hash_records(removed, None), self._known)
        products = inner_products(left, right, self._moments)
        if known.any():
            rows = np.flatnonzero(known)
            parts = (part[rows] for part in (left, right, removed))
            products[rows] = self._without(*parts)
        return products

    def _without(self, left, right, removed):
        mean, n_rows = self._moments.mean, self._n_rows
        away = removed - mean
        shift = away / (n_rows - 1)  # of the mean, when the row leaves
        # Rows as deviations from the mean of the others, around the mean of all.
        left, right, away = left + shift, right + shift, mean + away
        products = inner_products(left, right, self._moments)
        own = inner_products(away, away, self._moments)
        sides = [inner_products(side, away, self._moments) for side in (left, right)]
        with np.errstate(invalid="ignore"):  # infinite where a column without spread differs
            correction = self._weight * sides[0] * sides[1] / (1 - self._weight * own)
        finite = np.isfinite(products)
        return np.where(finite, (products + correction) * (n_rows - 2) / (n_rows - 1), products)
