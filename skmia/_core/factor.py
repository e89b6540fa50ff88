"""Symmetric systems of equations, with their condition number."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpocon

# Solutions of systems closer than this to being singular are not exact.
SMALLEST_RCOND = 1e-9


class Factor:
    """Cholesky factor of a matrix after scaling its diagonal to ones.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric matrix without negative eigenvalues.

    Attributes
    ----------
    rcond : float
        Reciprocal of the condition number of the scaled matrix; 0 if it is singular.
    """

    def __init__(self, matrix):
        self._scale = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(float).tiny))
        matrix = matrix / self._scale / self._scale[:, None]
        norm = np.abs(matrix).sum(axis=0).max()
        self.rcond = 0.0
        try:
            self._factor = cho_factor(matrix, lower=True, overwrite_a=True)
        except LinAlgError:
            return
        self.rcond = dpocon(self._factor[0], norm, uplo="L")[0]

    def solve(self, right):
        """Solve matrix @ x = right."""
        return (cho_solve(self._factor, (right.T / self._scale).T).T / self._scale).T
