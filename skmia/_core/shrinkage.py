"""A covariance with correlations shrunk towards zero, by a share chosen on held-out rows."""

from typing import NamedTuple

import numpy as np

# Candidate shares of the diagonal. The smallest is above 0, so that the covariance is invertible.
_SHARES = np.array([0.01, 0.02, 0.05, *np.linspace(0.1, 0.9, 9), 0.95, 1.0])

_N_FOLDS = 5

# Number of held-out rows that suffices to compare shares, and number of rows below which the
# comparison is too noisy.
_ENOUGH = 200
_FEWEST = 10


class Shrinkage(NamedTuple):
    """Weights of the diagonal and of the sample covariance: share and 1 - share, times scale."""

    share: float
    scale: float


UNCORRELATED = Shrinkage(1.0, 1.0)


class ShrunkCovariance(NamedTuple):
    """``diag(diagonal) + rows.T @ rows``, for more columns than rows."""

    diagonal: np.ndarray  # (d,)
    rows: np.ndarray  # (n, d)

    def to_matrix(self):
        """Return the matrix of shape (d, d)."""
        return np.diag(self.diagonal) + self.rows.T @ self.rows


class CovarianceMixin:
    """Adds ``covariance_``; a large matrix is only computed on access."""

    @property
    def covariance_(self) -> np.ndarray:
        """Variances, or covariance matrix, of the rows, without noise."""
        hidden = self._covariance
        return hidden.to_matrix() if isinstance(hidden, ShrunkCovariance) else hidden


def choose_shrinkage(X):
    """Choose the share of the diagonal with the largest normal likelihood of held-out rows.

    With the inverse of a covariance that was estimated from few rows, distances of new rows are too
    large or too small on average. The scale makes the mean squared distance of held-out rows equal
    to the mean under the diagonal.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.

    Returns
    -------
    shrinkage : Shrinkage
        Chosen weights; the share is 1 if no smaller one is better or there are fewer than 10 rows.
    """
    n_rows = len(X)
    if n_rows < _FEWEST or (np.ptp(X, axis=0) > 0).sum() < 2:
        return UNCORRELATED
    folds = np.arange(n_rows) % _N_FOLDS
    n_compared = min(_N_FOLDS, -(-_ENOUGH * _N_FOLDS // n_rows))
    parts = [_compare_shares(X[folds != k], X[folds == k]) for k in range(n_compared)]
    likelihood, distance = np.sum(parts, axis=0)
    best = len(_SHARES) - 1 - likelihood[::-1].argmax()
    if _SHARES[best] == 1 or not distance[-1] > 0:
        return UNCORRELATED
    return Shrinkage(float(_SHARES[best]), float(distance[best] / distance[-1]))


def _compare_shares(X, held_out):
    """Return the log-likelihood and the sum of squared distances of held-out rows by share."""
    spread = X.std(axis=0, ddof=1)
    kept = (np.ptp(X, axis=0) > 0) & (spread > 0)
    mean, spread = X[:, kept].mean(axis=0), spread[kept]
    own, new = ((part[:, kept] - mean) / spread for part in (X, held_out))
    eigenvalues, squares = _decompose(own, new)
    rest = np.maximum((new**2).sum() - squares.sum(), 0)  # outside the span of the rows
    n_outside = own.shape[1] - len(eigenvalues)
    result = np.empty((2, len(_SHARES)))
    for i, share in enumerate(_SHARES):
        values = (1 - share) * eigenvalues + share
        distance = (squares / values).sum() + rest / share
        log_determinant = np.log(values).sum() + n_outside * np.log(share)
        result[:, i] = -(distance + len(new) * log_determinant) / 2, distance
    return result


def _decompose(own, new):
    """Return eigenvalues of the correlations, and squares of new rows along the eigenvectors."""
    n_rows, n_columns = own.shape
    if n_columns <= n_rows:
        eigenvalues, vectors = np.linalg.eigh(own.T @ own / (n_rows - 1))
        return np.maximum(eigenvalues, 0), ((new @ vectors) ** 2).sum(axis=0)
    eigenvalues, vectors = np.linalg.eigh(own @ own.T / (n_rows - 1))
    kept = eigenvalues > 1e-10 * eigenvalues[-1]
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    squares = ((new @ own.T @ vectors) ** 2).sum(axis=0)
    return eigenvalues, squares / (eigenvalues * (n_rows - 1))


def shrink(deviations, variance, shrinkage):
    """Compute the covariance from the deviations of rows from their mean.

    Parameters
    ----------
    deviations : ndarray of shape (n, d)
        Rows minus their mean.
    variance : ndarray of shape (d,)
        Variances of the columns.
    shrinkage : Shrinkage
        Weights with a share below 1.

    Returns
    -------
    covariance : ndarray of shape (d, d), or ShrunkCovariance if there are more columns than rows
    """
    n_rows, n_columns = deviations.shape
    diagonal = shrinkage.scale * shrinkage.share * variance
    weight = shrinkage.scale * (1 - shrinkage.share) / (n_rows - 1)
    if n_columns > n_rows:
        return ShrunkCovariance(diagonal, np.sqrt(weight) * deviations)
    return np.diag(diagonal) + weight * (deviations.T @ deviations)
