"""How much records move the outputs of a linear model."""

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpocon, dpotri
from sklearn.utils import gen_batches

from .budget import Cost

# Solutions of systems closer than this to being singular are not exact.
SMALLEST_RCOND = 1e-9

# Numbers of a block of rows, which several arrays of its size are made of.
_BLOCK = 4_000_000


class CholeskyFactor:
    """Cholesky factor of a matrix after scaling its diagonal to ones.

    matrix (d, d), overwritten if that is allowed.
    """

    def __init__(self, matrix, overwrite=False):
        self._scale = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(float).tiny))
        matrix = np.divide(matrix, self._scale, out=matrix if overwrite else None)
        matrix /= self._scale[:, None]
        norm = max(np.abs(row).sum() for row in matrix)  # it is symmetric
        self.rcond = 0.0  # one over the condition number of the scaled matrix; 0 if singular
        try:  # the transpose is the same matrix, in the order of LAPACK, which needs no copy
            self._factor = cho_factor(matrix.T, lower=True, overwrite_a=True)
        except LinAlgError:
            return
        self.rcond = dpocon(self._factor[0], norm, uplo="L")[0]

    def solve(self, right):
        return (cho_solve(self._factor, (right.T / self._scale).T).T / self._scale).T

    def invert(self):
        """Return the inverse of the matrix, in the place of the factor."""
        inverse, _ = dpotri(self._factor[0], lower=True, overwrite_c=True)
        for rows in gen_batches(len(inverse), 256):  # its other half was never written
            own = np.tril(inverse[rows, rows])
            inverse[rows, rows] = own + np.tril(own, -1).T
            inverse[rows, rows.stop :] = inverse[rows.stop :, rows].T
        inverse /= self._scale
        inverse /= self._scale[:, None]
        return inverse


# Multiplications and additions in a second, of dense tables and of sparse ones.
_PACE, _SPARSE_PACE = 5e10, 8e9


def is_dual(n_records, penalty, n_outputs):
    """Return whether a matrix of the records is solved in place of one of the coefficients."""
    return n_outputs == 1 and len(penalty) > n_records and np.count_nonzero(penalty == 0) <= 1


def expect_influence(n_records, n_stored, penalty, n_outputs, n_rounds, is_sparse=False):
    """Return what so many rounds of an influence, a scatter and two projections take.

    n_stored: numbers that the table stores, all of a dense one; penalty (n_features,).
    """
    n_features = len(penalty)
    if is_dual(n_records, penalty, n_outputs):
        products, size, n_arrays, of = n_stored * n_records, n_records, 4, "records"
    else:
        # Of each pair of outputs, once for the matrix and once for each projection.
        products = n_outputs * (n_outputs + 1) / 2 * n_stored * n_features
        size, n_arrays, of = n_features * n_outputs, 3, "coefficients"
    of_rows = 2 * (2 * n_rounds + 3) * products / (_SPARSE_PACE if is_sparse else _PACE)
    seconds = of_rows + 2 * (n_rounds + 2) * float(size) ** 3 / _PACE
    n_bytes = 8.0 * (n_arrays * size**2 + 3 * _BLOCK)
    return Cost(n_bytes, seconds, f"a matrix of {size:,} x {size:,} {of}")


def make_influence(X, curve, weights, penalty):
    """Influence of records by the coefficients, or by the records if there are fewer of them.

    X (n, n_features) array or sparse, weights a number or (n,), penalty (n_features,).
    """
    kind = DualInfluence if is_dual(X.shape[0], penalty, curve.n_outputs) else LinearInfluence
    return kind(X, curve, weights, penalty)


class LinearInfluence:
    """Influence of training records on the outputs of a linear model near its optimum.

    A step of Newton's method from the optimum of a weighted loss, exact for the squared error.

    X (n, n_features) array or sparse, weights a number or (n,), penalty (n_features,).
    """

    def __init__(self, X, curve, weights, penalty):
        self._n_outputs = n_outputs = curve.n_outputs
        weights = np.broadcast_to(weights, X.shape[0])
        hessian = _sum_outer(X, n_outputs, lambda a, b: weights * curve.bend(a, b))
        if n_outputs > 1:  # the same number added to all outputs changes no probability
            blocks = hessian.reshape(n_outputs, X.shape[1], n_outputs, X.shape[1])
            places = np.arange(X.shape[1])
            blocks[:, places, :, places] += (
                np.diagonal(hessian).reshape(n_outputs, -1).mean(axis=0)[:, None, None]
            )
        hessian[np.diag_indices_from(hessian)] += np.tile(penalty, n_outputs)
        refuse_infinite(hessian)
        factor = CholeskyFactor(hessian, overwrite=True)
        if factor.rcond < SMALLEST_RCOND:
            raise _make_not_unique()
        self.inverse = factor.invert()

    def scatter(self, X, pulls):
        """Return a matrix of the squared moves that records make, each by its own pulls.

        Shapes: X (n, n_features), pulls (n, n_outputs).
        """
        outer = _sum_outer(X, self._n_outputs, lambda a, b: pulls[:, a] * pulls[:, b])
        outer = self.inverse @ outer
        return outer @ self.inverse

    def leverage(self, X):
        """Move of each record's outputs for units of its own slopes, x' H^-1 x.

        Take X of shape (n, n_features); return leverage of shape (n, n_outputs, n_outputs).
        """
        forms = np.empty((X.shape[0], self._n_outputs, self._n_outputs))
        for rows, a, b, form in self._surround(self.inverse, X):
            forms[rows, a, b] = forms[rows, b, a] = form
        return forms

    def move_alone(self, X, curve, weights):
        """Change of each record's outputs when weight is added to, or taken from, it alone.

        Take X of shape (n, n_features), weights of shape (n,); return change of shape (n,
        n_outputs).
        """
        change = np.empty_like(curve.slopes)
        for rows in gen_batches(X.shape[0], _count_block_rows(self._n_outputs**2)):
            some = curve.take(rows)
            change[rows] = self.move(self.leverage(X[rows]), some, weights[rows])
        return change

    def move(self, leverage, curve, weight):
        """Change of the outputs of records by their leverage.

        Take leverage of shape (n, n_outputs, n_outputs), weight of shape (n,); return change of
        shape (n, n_outputs).
        """
        weight = weight[:, None, None]
        damping = np.eye(self._n_outputs) + weight * curve.bends @ leverage
        pull = np.linalg.solve(damping, weight * curve.slopes[..., None])
        return (leverage @ pull)[..., 0]

    def lever(self, X, directions):
        """Return the leverage of a combination of each record's outputs, g' H^-1 g.

        Take X of shape (n, n_features), directions of shape (n, n_outputs); return (n,).
        """
        return self.project(self.inverse, X, directions)

    def project(self, matrix, X, directions):
        """Return the quadratic form of a matrix for a combination of each record's outputs.

        Take X of shape (n, n_features), directions of shape (n, n_outputs); return (n,).
        """
        total = np.zeros(X.shape[0])
        for rows, a, b, form in self._surround(matrix, X):
            twice = 1.0 if a == b else 2.0
            total[rows] += twice * directions[rows, a] * directions[rows, b] * form
        return total

    def _surround(self, matrix, X):
        """Yield the quadratic forms of rows of X with each block of a symmetric matrix."""
        k, d = self._n_outputs, X.shape[1]
        blocks = matrix.reshape(k, d, k, d)
        for rows in gen_batches(X.shape[0], _count_block_rows(d)):
            some = X[rows]
            for a in range(k):
                for b in range(a + 1):
                    yield rows, a, b, _multiply_rows(some, some @ blocks[a, :, b])


class DualInfluence:
    """The same of a model of one output with more coefficients than records, by pairs of these.

    One coefficient, as that of a column of ones, may have no penalty.
    """

    def __init__(self, X, curve, weights, penalty):
        self._X, self._penalty = X, penalty
        self._bend = weights * curve.bend(0, 0)
        self._root = np.sqrt(self._bend)
        self._near = self._multiply(X)  # (n, n)
        inner = self._near * self._root
        inner *= self._root[:, None]
        inner[np.diag_indices_from(inner)] += 1
        refuse_infinite(inner)
        self._factor = CholeskyFactor(inner, overwrite=True)
        self._free = self._list_free(X)
        parts = gen_batches(X.shape[0], _count_block_rows(X.shape[0]))
        left = [self._leave_free(self._near[rows], self._free[rows])[2] for rows in parts]
        self._left = np.concatenate(left)  # of the column without a penalty, (n, 0 or 1)
        self._pivot = self._free.T @ (self._bend[:, None] * self._left)
        whole = self._free.T @ (self._bend[:, None] * self._free)
        if (np.diagonal(self._pivot) <= SMALLEST_RCOND * np.diagonal(whole)).any():
            raise _make_not_unique()

    def scatter(self, X, pulls):
        """Return the squared pulls of the records that the influence was made of."""
        return pulls[:, 0] ** 2

    def lever(self, X, directions):
        """Return the leverage of a combination of each record's outputs."""
        return directions[:, 0] ** 2 * np.concatenate([own for own, _ in self._reach(X)])

    def project(self, matrix, X, directions):
        """Sum of the squared moves that the records make, by their pulls, on each row of X."""
        moves = [reach**2 @ matrix for _, reach in self._reach(X)]
        return directions[:, 0] ** 2 * np.concatenate(moves)

    def _reach(self, X):
        """By blocks of rows x: x' H^-1 x, and x' H^-1 x_j for each of the records x_j."""
        for rows in gen_batches(X.shape[0], _count_block_rows(self._X.shape[0])):
            some = X[rows]
            near = self._multiply(some)
            taken, reach, left = self._leave_free(near, self._list_free(some))
            share = np.linalg.solve(self._pivot, left.T).T
            own = _multiply_rows(some, self._divide(some)) - taken + (share * left).sum(axis=1)
            yield own, reach + share @ self._left.T

    def _leave_free(self, near, free):
        """What the records take off the leverage, the reach, and what is left of a free column."""
        near_by_root = near * self._root
        solved = self._factor.solve(near_by_root.T).T
        taken = (near_by_root * solved).sum(axis=1)
        reach = near - (solved * self._root) @ self._near
        return taken, reach, free - reach @ (self._bend[:, None] * self._free)

    def _divide(self, X):
        """Return rows divided by the penalties, 0 in a column that has none."""
        share = np.zeros(len(self._penalty))
        np.divide(1, self._penalty, out=share, where=self._penalty > 0)
        return X.multiply(share).tocsr() if sparse.issparse(X) else X * share

    def _multiply(self, X):
        return _densify_features(self._divide(X) @ self._X.T)

    def _list_free(self, X):
        return _densify_features(X[:, np.flatnonzero(self._penalty == 0)])


def refuse_infinite(matrix):
    """Refuse sums of squares beyond double precision."""
    if not np.isfinite(matrix).all():
        raise ValueError("X holds numbers whose squares are too large for double precision.")


def _make_not_unique():
    return ValueError(
        "The coefficients are not unique: features are linearly dependent, or there are more of "
        "them than records, and no penalty chooses among the solutions."
    )


def _densify_features(X):
    return X.toarray() if sparse.issparse(X) else X


def _count_block_rows(n_numbers):
    """Return the rows of a block, of each of which so many numbers are held."""
    return max(1, _BLOCK // n_numbers)


def _multiply_rows(X, others):
    """Return sums over the columns of the products of two tables."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(others).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("nd,nd->n", X, others)


def _sum_outer(X, n_outputs, weigh):
    """Sum of x x' over the rows of X, with a weight for each pair of outputs, as one matrix."""
    k, d = n_outputs, X.shape[1]
    total = np.empty((k, d, k, d))
    for a in range(k):
        for b in range(a + 1):
            total[a, :, b] = total[b, :, a] = _sum_weighted(X, weigh(a, b))
    return total.reshape(k * d, k * d)


def _sum_weighted(X, weights):
    """Return X' W X for a diagonal matrix of weights."""
    if sparse.issparse(X):
        return _densify_features(X.multiply(weights[:, None]).tocsr().T @ X)
    rows = list(gen_batches(X.shape[0], _count_block_rows(X.shape[1])))
    return sum((X[some].T * weights[some]) @ X[some] for some in rows)
