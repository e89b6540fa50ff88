"""Mean and covariance of the data-generating distribution, and distances under them."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn.utils import gen_batches

from .copies import copy_unfitted
from .numbers import as_numbers, check_numbers, show
from .sklearn import HasMethods, StrOptions

# Candidate shares of the diagonal. The smallest is above 0, so that the covariance is invertible.
_SHARES = np.array([0.01, 0.02, 0.05, *np.linspace(0.1, 0.9, 9), 0.95, 1.0])

_N_FOLDS = 5

# Number of held-out rows that suffices to compare shares, and number of rows below which the
# comparison is too noisy.
_ENOUGH = 200
_FEWEST = 10


class ShrinkageWeights(NamedTuple):
    """Weights of the diagonal and of the sample covariance: share and 1 - share, times scale."""

    share: float
    scale: float


UNCORRELATED = ShrinkageWeights(1.0, 1.0)


class ShrunkCovariance(NamedTuple):
    """``diag(diagonal) + rows.T @ rows``, for more columns than rows."""

    diagonal: np.ndarray  # (d,)
    rows: np.ndarray  # (n, d)

    def to_matrix(self):
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

    Shapes: X (n, d).
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
    return ShrinkageWeights(float(_SHARES[best]), float(distance[best] / distance[-1]))


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

    Take deviations of shape (n, d), variance of shape (d,); return covariance of shape (d, d).
    """
    n_rows, n_columns = deviations.shape
    diagonal = shrinkage.scale * shrinkage.share * variance
    weight = shrinkage.scale * (1 - shrinkage.share) / (n_rows - 1)
    if n_columns > n_rows:
        return ShrunkCovariance(diagonal, np.sqrt(weight) * deviations)
    return np.diag(diagonal) + weight * (deviations.T @ deviations)


COVARIANCE_CONSTRAINT = [StrOptions({"auto", "diagonal", "full"}), HasMethods(["fit"])]

# Numbers in the largest temporary array.
_BLOCK = 2**22

# Spreads of a column whose square is a normal float, with room for sums.
_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-150, 1e150


class _WhitenedMoments:
    """Base class of moments whose whitened rows are computed."""

    def inner(self, left, right):
        """Scalar product of each row of deviations with the same row of others, both whitened."""
        white = self.whiten(left)
        return np.einsum("ij,ij->i", white, white if left is right else self.whiten(right))


class DiagonalMoments(_WhitenedMoments):
    """Mean and variances; columns without spread take no part in distances."""

    def __init__(self, mean, variance):
        self.mean = mean
        self.variance = variance
        self.constant = variance == 0
        spread = ~self.constant
        self._scale = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(mean), where=spread)

    def whiten(self, deviations):
        """Turn rows of deviations from the mean into rows with unit covariance."""
        return deviations * self._scale

    def solve(self, deviation):
        """Apply the inverse of the covariance to one vector."""
        return deviation * self._scale**2

    def variance_along(self, direction):
        """Return the variance of the scalar product of a row with a vector."""
        return float(direction**2 @ self.variance)

    def trace_of(self, variances):
        """Trace of the inverse of the covariance times a diagonal matrix."""
        return float(variances @ self._scale**2)


class FullMoments(_WhitenedMoments):
    """Mean and covariance matrix, factored once; columns without spread take no part."""

    def __init__(self, mean, covariance):
        self.mean = mean
        self.covariance = covariance
        self.constant = np.diag(covariance) == 0
        self._kept = np.flatnonzero(~self.constant)
        self._factor = _factorize(covariance[np.ix_(self._kept, self._kept)])

    def whiten(self, deviations):
        kept = deviations[:, self._kept].T
        return solve_triangular(self._factor, kept, lower=True, check_finite=False).T

    def solve(self, deviation):
        half = self.whiten(deviation[np.newaxis])[0]
        solved = np.zeros_like(deviation)
        solved[self._kept] = solve_triangular(
            self._factor, half, lower=True, trans="T", check_finite=False
        )
        return solved

    def variance_along(self, direction):
        return float(direction @ self.covariance @ direction)

    def trace_of(self, variances):
        return float((self.whiten(np.diag(np.sqrt(variances))) ** 2).sum())


class ShrunkMoments:
    """Mean and the covariance ``diag(diagonal) + rows.T @ rows`` with few rows of many columns.

    The inverse is the inverse of the diagonal minus a matrix of low rank (Woodbury), so that no
    matrix of columns is ever made. Columns without spread take no part.
    """

    def __init__(self, mean, diagonal, rows):
        self.mean = mean
        self.constant = diagonal == 0
        self._diagonal, self._rows = diagonal, rows
        scale = np.zeros_like(mean)
        np.divide(1.0, np.sqrt(diagonal), out=scale, where=~self.constant)
        self._scale, self._low = scale, rows * scale
        inside = self._low @ self._low.T
        inside[np.diag_indices_from(inside)] += 1
        self._factor = cholesky(inside, lower=True, check_finite=False)

    def _project(self, scaled):
        return solve_triangular(self._factor, self._low @ scaled.T, lower=True, check_finite=False)

    def inner(self, left, right):
        scaled = left * self._scale
        projected = self._project(scaled)
        other, other_projected = scaled, projected
        if left is not right:
            other = right * self._scale
            other_projected = self._project(other)
        low = np.einsum("ji,ji->i", projected, other_projected)
        return np.einsum("ij,ij->i", scaled, other) - low

    def solve(self, deviation):
        scaled = deviation * self._scale
        half = self._project(scaled[np.newaxis])[:, 0]
        half = solve_triangular(self._factor, half, lower=True, trans="T", check_finite=False)
        return (scaled - half @ self._low) * self._scale

    def variance_along(self, direction):
        return float(direction**2 @ self._diagonal + ((self._rows @ direction) ** 2).sum())

    def trace_of(self, variances):
        white = solve_triangular(self._factor, self._low, lower=True, check_finite=False)
        return float(variances @ (self._scale**2 * (1 - (white**2).sum(axis=0))))


def _factorize(covariance):
    """Lower Cholesky factor of a covariance matrix that can be inverted."""
    n_features = len(covariance)
    try:
        factor = cholesky(covariance, lower=True, check_finite=False)
    except LinAlgError:
        factor = None
    # What of a column's variance the columns before it leave unexplained: rounding, or more?
    tolerance = 10 * n_features * np.finfo(np.float64).eps
    if factor is None or (np.diag(factor) ** 2 <= tolerance * np.diag(covariance)).any():
        raise ValueError(
            f"The covariance of {n_features} features is singular; use covariance='auto', or "
            "another estimator that shrinks such as sklearn.covariance.LedoitWolf()."
        )
    return factor


def make_moments(mean, covariance, noise_scale=0.0):
    """Build the moments of rows that each carry normal noise of the given standard deviation."""
    noise = np.broadcast_to(np.asarray(noise_scale, dtype=np.float64) ** 2, mean.shape)
    if isinstance(covariance, ShrunkCovariance):
        return ShrunkMoments(mean, covariance.diagonal + noise, covariance.rows)
    if covariance.ndim == 1:
        return DiagonalMoments(mean, covariance + noise)
    covariance = covariance + np.diag(noise)
    if not np.diag(covariance).any():  # there is nothing to factor
        return DiagonalMoments(mean, np.diag(covariance))
    return FullMoments(mean, covariance)


def get_shrinkage(X, covariance):
    """Return how ``covariance="auto"`` joins the diagonal and the sample covariance.

    None for others.
    """
    is_auto = isinstance(covariance, str) and covariance == "auto"
    return choose_shrinkage(X) if is_auto else None


def _estimate_from_rows(X, covariance, shrinkage):
    mean = X.mean(axis=0)
    constant = np.ptp(X, axis=0) == 0
    # The mean of equal numbers is rounded, and their variance then is not zero.
    mean[constant] = X[0, constant]
    if covariance != "full":
        variance = X.var(axis=0, ddof=1)
        variance[constant] = 0
        if covariance == "diagonal" or shrinkage.share == 1:
            return mean, variance
        return mean, shrink(X - mean, variance, shrinkage)
    matrix = np.atleast_2d(np.cov(X, rowvar=False))
    matrix[constant] = matrix[:, constant] = 0
    return mean, matrix


def check_column_variance(X):
    """Refuse columns whose variance a float cannot hold, though they are not constant."""
    with np.errstate(over="ignore"):
        spread = X.max(axis=0) - X.min(axis=0)
    bad = np.flatnonzero((spread > _LARGEST_SPREAD) | ((spread > 0) & (spread < _SMALLEST_SPREAD)))
    if len(bad):
        raise ValueError(
            f"Column {bad[0]} of X spreads over {spread[bad[0]]:.3g}; its variance needs a spread "
            f"from {_SMALLEST_SPREAD:g} to {_LARGEST_SPREAD:g}, so scale the columns."
        )


def estimate_moments(X, covariance, shrinkage=None):
    """Estimate mean and covariance from rows.

    Shapes: X (n, d).
    """
    if isinstance(covariance, str):
        return _estimate_from_rows(X, covariance, shrinkage)
    fitted = copy_unfitted(covariance).fit(X, None)
    if not (hasattr(fitted, "location_") and hasattr(fitted, "covariance_")):
        raise TypeError(
            "covariance must be an estimator with location_ and covariance_, like the estimators "
            f"of sklearn.covariance; got {show(covariance)}."
        )
    mean, matrix = np.asarray(fitted.location_), np.asarray(fitted.covariance_)
    if matrix.shape != (X.shape[1], X.shape[1]):
        raise ValueError(
            f"The covariance estimator describes {len(matrix)} features; X has {X.shape[1]}."
        )
    return mean.astype(np.float64), matrix.astype(np.float64)


def check_moments(mean, covariance):
    """Return a known mean with variances or a covariance matrix as float arrays."""
    mean = as_numbers(mean, "mean", "finite numbers").copy()
    covariance = as_numbers(covariance, "covariance", "finite numbers").copy()
    if mean.ndim != 1 or covariance.shape not in (mean.shape, 2 * mean.shape):
        raise ValueError(
            "mean must be a vector, and covariance a vector of variances or a square matrix of "
            f"the same size; got shapes {mean.shape} and {covariance.shape}."
        )
    variances = covariance if covariance.ndim == 1 else np.diag(covariance)
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise ValueError("mean and covariance must be finite.")
    if (variances < 0).any():
        raise ValueError(f"Variances must not be negative; got {variances.min()}.")
    return mean, covariance


def check_noise_scale(noise_scale, n_features):
    """Return standard deviations of noise, one number or one for each feature."""
    scale = check_numbers(
        noise_scale, "noise_scale", "one or more finite numbers of 0 and above", 0
    )
    if scale.shape not in ((), (n_features,)):
        raise ValueError(
            f"noise_scale must be one number or one for each of {n_features} features; "
            f"got shape {scale.shape}."
        )
    return scale


def scale_noise_of_mean(noise_scale, n_features, n_rows):
    """Return the standard deviations of the noise of a mean of so many rows with noise."""
    return check_noise_scale(noise_scale, n_features) / np.sqrt(n_rows)


def squared_distances(X, moments):
    """Return the squared Mahalanobis distance of each row from the mean.

    It is infinite for a row that differs from the mean in a column without spread.
    """
    return inner_products(X, X, moments)


def inner_products(X, Z, moments):
    """Scalar product of each row of X with the same row of Z, both whitened, in blocks of rows.

    It is infinite where either row differs from the mean in a column without spread.
    """
    products = np.empty(len(X))
    for rows in gen_batches(len(X), max(1, _BLOCK // max(1, X.shape[1]))):
        left, right = X[rows] - moments.mean, Z[rows] - moments.mean
        products[rows] = moments.inner(left, left if X is Z else right)
        outside = (left[:, moments.constant] != 0) | (right[:, moments.constant] != 0)
        products[rows][outside.any(axis=1)] = np.inf
    return products
