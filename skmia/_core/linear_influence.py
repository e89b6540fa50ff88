"""How much records move the outputs of a linear model."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpocon

# Solutions of systems closer than this to being singular are not exact.
SMALLEST_RCOND = 1e-9


class Factor:
    """Cholesky factor of a matrix after scaling its diagonal to ones."""

    # matrix (d, d)

    def __init__(self, matrix):
        self._scale = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(float).tiny))
        matrix = matrix / self._scale / self._scale[:, None]
        norm = np.abs(matrix).sum(axis=0).max()
        self.rcond = 0.0  # one over the condition number of the scaled matrix; 0 if singular
        try:
            self._factor = cho_factor(matrix, lower=True, overwrite_a=True)
        except LinAlgError:
            return
        self.rcond = dpocon(self._factor[0], norm, uplo="L")[0]

    def solve(self, right):
        return (cho_solve(self._factor, (right.T / self._scale).T).T / self._scale).T


class LinearInfluence:
    """Influence of training records on the outputs of a linear model near its optimum."""

    # A step of Newton's method from the optimum of a weighted loss, exact for the squared error.
    # X (n, n_features), weight a number or (n, 1, 1), penalty (n_features,)

    def __init__(self, X, curve, weight, penalty):
        self._n_outputs = n_outputs = curve.slopes.shape[1]
        hessian = _sum_outer(X, weight * curve.bends)
        if n_outputs > 1:  # the same number added to all outputs changes no probability
            free = np.diagonal(hessian).reshape(n_outputs, -1).mean(axis=0)
            hessian += np.kron(np.ones((n_outputs, n_outputs)), np.diag(free))
        hessian[np.diag_indices_from(hessian)] += np.tile(penalty, n_outputs)
        if not np.isfinite(hessian).all():
            raise ValueError("X holds numbers whose squares are too large for double precision.")
        factor = Factor(hessian)
        if factor.rcond < SMALLEST_RCOND:
            raise ValueError(
                "The coefficients are not unique: features are linearly dependent, or there are "
                "more of them than records, and no penalty chooses among the solutions."
            )
        self.inverse = factor.solve(np.eye(len(hessian)))

    def scatter(self, X, pulls):
        """Matrix of the squared moves that records make, each by its own pulls."""
        # X (n, n_features), pulls (n, n_outputs)
        return self.inverse @ _sum_outer(X, pulls[:, :, None] * pulls[:, None, :]) @ self.inverse

    def leverage(self, X):
        """Moves of each record's outputs for units of its own slopes, x' H^-1 x."""
        # X (n, n_features) -> leverage (n, n_outputs, n_outputs)
        return self._surround(self.inverse, X)

    def move(self, leverage, curve, weight):
        """Change of each record's outputs when weight is added to, or taken from, it alone."""
        # leverage (n, n_outputs, n_outputs), weight (n,) -> change (n, n_outputs)
        weight = weight[:, None, None]
        damping = np.eye(self._n_outputs) + weight * curve.bends @ leverage
        pull = np.linalg.solve(damping, weight * curve.slopes[..., None])
        return (leverage @ pull)[..., 0]

    def project(self, matrix, X, directions):
        """Quadratic form of a matrix for a combination of each record's outputs."""
        # X (n, n_features), directions (n, n_outputs)
        return np.einsum("na,nab,nb->n", directions, self._surround(matrix, X), directions)

    def _surround(self, matrix, X):
        """Quadratic forms of each row of X with each block of a matrix."""
        k, d = self._n_outputs, X.shape[1]
        blocks = matrix.reshape(k, d, k, d)
        forms = np.empty((len(X), k, k))
        for a in range(k):
            for b in range(a + 1):
                forms[:, a, b] = forms[:, b, a] = np.einsum("nd,nd->n", X @ blocks[a, :, b], X)
        return forms


def _sum_outer(X, weights):
    """Sum of x x' over the rows of X, with a weight for each pair of outputs, as one matrix."""
    k, d = weights.shape[1], X.shape[1]
    total = np.empty((k, d, k, d))
    for a in range(k):
        for b in range(a + 1):
            total[a, :, b] = total[b, :, a] = (X.T * weights[:, a, b]) @ X
    return total.reshape(k * d, k * d)
