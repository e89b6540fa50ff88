"""Mean and variances of Gaussian beliefs about membership bits."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

# Least precision of the evidence of the equations about one bit.
LEAST_PRECISION = 1e-3

# Rounding error of single precision times the largest product of a bit's precision and variance.
# Relative errors of variances were measured to be at most 25 times this product.
_MOST_ROUNDING = 1e-3
_N_REFINEMENTS = 20
_REFINED = 1e-5  # root mean squared residual of means, in units of their precision

# Share of nonzero coefficients from which an equation is multiplied as a dense row.
_DENSE = 0.03


class Squared(NamedTuple):
    """The matrix ``root.T @ root`` of some bits, and zeros for all others."""

    root: np.ndarray
    bits: np.ndarray

    def __matmul__(self, right):
        product = np.zeros(right.shape)
        product[self.bits] = self.apply(right[self.bits])
        return product

    def apply(self, right):
        """Multiply by the matrix of these bits alone."""
        return self.root.T @ (self.root @ right.astype(self.root.dtype))


class LowRank(NamedTuple):
    """The matrix ``diag(spread) - part.T @ part``."""

    spread: np.ndarray
    part: np.ndarray

    def __matmul__(self, right):
        return (self.spread * right.T).T - self.part.T @ (self.part @ right)


class DenseInverter:
    """Gaussian of precision ``rows.T @ rows + diag(precision)``, in which sure bits are known.

    Bits whose values are nearly sure are taken for known, which leaves a smaller matrix to invert.
    It is inverted in single precision unless rounding errors matter; means are refined to double
    precision.

    Parameters
    ----------
    rows : csr_array of shape (n_equations, n)
        Coefficients of equations of unit noise.
    """

    leaves_out = True  # bits that are known save time

    def __init__(self, rows):
        self._rows, self._columns = rows, rows.T.tocsr()
        self._squares = np.asarray((rows**2).sum(axis=0)).ravel()
        self._gram = multiply_transposed(rows, np.float32)

    def __call__(self, precision, field, bits, unsure):
        """Return mean, precisions of the evidence about unsure bits, and covariance.

        Parameters
        ----------
        precision : ndarray of shape (n,)
            Precisions of the bits' own Gaussians.
        field : ndarray of shape (n,)
            Sum of the first natural parameters of all Gaussians.
        bits : ndarray of shape (n,)
            Values of the bits that are sure.
        unsure : ndarray of shape (n_unsure,)
            Numbers of the other bits.

        Returns
        -------
        mean : ndarray of shape (n,)
        evidence : ndarray of shape (n_unsure,)
            Precision of the evidence about each unsure bit, without its own Gaussian.
        inverse : Squared
            Covariance of the unsure bits.
        """
        mean = bits.copy()
        mean[unsure] = 0
        if not len(unsure):
            return mean, np.empty(0), Squared(np.empty((0, 0), dtype=np.float32), unsure)
        precision, field = precision[unsure], self._leave(field, mean)[unsure]
        inverse, variance = self._invert(precision, unsure)
        mean[unsure] = self._refine(inverse, precision, field)
        return mean, np.maximum(1 / variance - precision, LEAST_PRECISION), inverse

    def judge_sure(self, inverse, bits):
        """Return the precision of the evidence about bits that are taken for known."""
        if not len(inverse.bits):
            return np.maximum(self._squares[bits], LEAST_PRECISION)
        part = self._gram[np.ix_(bits, inverse.bits)].T
        (multiply,) = linalg.get_blas_funcs(("trmm",), (inverse.root,))  # by a triangle
        part = multiply(1.0, inverse.root, part, lower=True, overwrite_b=True)
        explained = np.einsum("ub,ub->b", part, part, dtype=np.float64)
        return np.maximum(self._squares[bits] - explained, LEAST_PRECISION)

    def _leave(self, field, mean):
        return field - self._columns @ (self._rows @ mean)

    def _invert(self, precision, unsure):
        try:
            inverse = self._factor(precision, unsure)
            variance = np.einsum("nm,nm->m", inverse.root, inverse.root, dtype=np.float64)
            size = np.max((self._squares[unsure] + precision) * variance)
            is_exact = np.finfo(self._gram.dtype).eps / 2 * size < _MOST_ROUNDING
        except linalg.LinAlgError:
            if self._gram.dtype == np.float64:
                raise
            is_exact = False
        if is_exact or self._gram.dtype == np.float64:
            return inverse, variance
        self._gram = multiply_transposed(self._rows, np.float64)
        return self._invert(precision, unsure)

    def _factor(self, precision, unsure):
        everything = len(unsure) == len(self._gram)
        total = self._gram.copy() if everything else self._gram[np.ix_(unsure, unsure)]
        total = total.T  # in the order of LAPACK
        total[np.diag_indices(len(total))] += precision.astype(total.dtype)
        root = linalg.cholesky(total, lower=True, overwrite_a=True, check_finite=False)
        # Variances are sums of squares of the inverse root, which takes a third of the time of the
        # whole inverse.
        (invert,) = linalg.get_lapack_funcs(("trtri",), (root,))
        root, _ = invert(root, lower=True, overwrite_c=True)
        return Squared(root, unsure)

    def _refine(self, inverse, precision, field):
        """Solve for the mean by conjugate gradients, with an inverse of lower precision."""
        rows = self._rows[:, inverse.bits] if len(inverse.bits) < len(self._squares) else self._rows
        columns = rows.T
        mean = inverse.apply(field).astype(np.float64)
        rest = field - columns @ (rows @ mean) - precision * mean
        away = inverse.apply(rest)
        direction, size = away, rest @ away
        for _ in range(_N_REFINEMENTS):
            if size <= _REFINED**2 * len(rest):
                break
            forward = columns @ (rows @ direction) + precision * direction
            step = size / (direction @ forward)
            mean, rest = mean + step * direction, rest - step * forward
            away, before = inverse.apply(rest), size
            size = rest @ away
            direction = away + size / before * direction
        return mean


class LowRankInverter:
    """The same where there are far fewer equations than bits, with no bit taken for known."""

    leaves_out = False

    def __init__(self, rows):
        self._rows = rows.toarray()

    def __call__(self, precision, field, bits, unsure):
        spread = 1 / precision
        scaled = self._rows * spread
        inner = scaled @ self._rows.T
        inner[np.diag_indices(len(inner))] += 1
        factor = linalg.cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
        part = linalg.solve_triangular(factor, scaled, lower=True, check_finite=False)
        inverse = LowRank(spread, part)
        variance = spread - np.einsum("en,en->n", part, part)
        evidence = np.maximum(1 / variance - precision, LEAST_PRECISION)
        return inverse @ field, evidence, inverse


def make_inverter(rows):
    """Return the inverter of the smaller of two systems."""
    return (LowRankInverter if rows.shape[0] < rows.shape[1] / 2 else DenseInverter)(rows)


def multiply_transposed(rows, dtype):
    """Return ``rows.T @ rows`` as an array; rows with many entries are multiplied as dense rows."""
    rows = rows.astype(dtype)
    n_entries = np.diff(rows.indptr)
    is_dense = n_entries > _DENSE * rows.shape[1]
    thin = rows[~is_dense]
    product = (thin.T @ thin).toarray()
    thick = rows[is_dense].toarray()
    product += thick.T @ thick
    return product
