"""Coefficients of linear equations: a sparse matrix, or the factors of gradients."""

from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

# Share of nonzero coefficients from which an equation is multiplied as a dense row.
_DENSE = 0.05

# How many times faster a coefficient of factors is multiplied than one of a sparse matrix.
_SPEED = 8

# Numbers of a dense matrix that are worked on at once.
BLOCK = 1 << 20


class GradientRows:
    """Gradients of a linear model, one column per record, as the factors that they consist of.

    The coefficient of record i in the equation of output k and feature j is
    ``weights[k, j] * slopes[i, k] * X[i, j]``. The last feature is 1 if there is an intercept. A
    product reads n (d + n_outputs) numbers where the matrix has n d n_outputs. It has the
    attributes that scipy asks of a linear operator.

    X (n, d): array or csr_array; slopes (n, n_outputs); weights (n_outputs, n_features); kept
    (n_equations,): which of the weights, read row by row, are equations; None if all are.
    """

    def __init__(self, X, slopes, *, has_intercept=True, weights=None, kept=None):
        n_features = X.shape[1] + has_intercept
        size = slopes.shape[1], n_features
        self.X, self.slopes, self._has_intercept = X, slopes, has_intercept
        self.weights = np.ones(size, dtype=slopes.dtype) if weights is None else weights
        self.kept = kept
        self.dtype = slopes.dtype
        self.shape = (self.weights.size if kept is None else len(kept)), X.shape[0]

    @property
    def T(self):
        return _TransposedGradients(self)

    @property
    def n_coefficients(self):
        """How many coefficients the matrix has that are not 0, about."""
        n_stored = self.X.nnz if sparse.issparse(self.X) else self.X.size
        return self.slopes.shape[1] * (n_stored + self._has_intercept * self.X.shape[0])

    def __matmul__(self, right):
        return self.matvec(right)

    def matvec(self, bits):
        """Return the left-hand sides of the equations for some bits."""
        return self._flatten(self._add_up(np.ravel(bits), 1) * self.weights)

    def rmatvec(self, values):
        """For each record, the sum of its coefficients times values of the equations."""
        return self._judge(self._unflatten(np.ravel(values)) * self.weights, 1)

    def square_rows(self):
        """Return the sum of the squared coefficients of each equation."""
        return self._flatten(self._add_up(None, 2) * self.weights**2)

    def square_columns(self):
        """Return the sum of the squared coefficients of each record."""
        used = self._unflatten(np.ones(self.shape[0], dtype=self.dtype))
        return self._judge(used * self.weights**2, 2)

    def keep(self, kept):
        """Return some of the equations, given their numbers, of a matrix that has all."""
        return self._replace(kept=None if len(kept) == self.shape[0] else kept)

    def take_first(self, n_equations):
        """Return the first of the equations."""
        kept = np.arange(self.weights.size) if self.kept is None else self.kept
        return self._replace(kept=kept[:n_equations])

    def multiply_rows(self, weights):
        """Multiply each equation by a weight."""
        by = self._unflatten(np.asarray(weights, dtype=self.dtype))
        return self._replace(weights=self.weights * by)

    def multiply_columns(self, weights):
        """Multiply the coefficients of each record by a weight."""
        return self._replace(slopes=self.slopes * np.reshape(weights, (-1, 1)))

    def take_columns(self, places):
        """Return the coefficients of some records."""
        return self._replace(X=self.X[places], slopes=self.slopes[places])

    def astype(self, dtype):
        names = "X", "slopes", "weights"
        return self._replace(**{name: getattr(self, name).astype(dtype) for name in names})

    def iter_equations(self, step=None):
        """Yield the matrix in blocks of equations, arrays or csr_arrays, of so many features."""
        weights = self._unflatten(np.ones(self.shape[0], dtype=self.dtype)) * self.weights
        used = self._unflatten(np.ones(self.shape[0], dtype=bool))
        d = self.X.shape[1]
        for k, slope in enumerate(self.slopes.T):
            for some in gen_batches(d, step or self.count_step()):
                part, own = self.X[:, some], weights[k, some]
                if sparse.issparse(part):
                    part = part.multiply(slope[:, None]).multiply(own).T
                    yield sparse.csr_array(part)[used[k, some]]
                else:
                    yield (part * own).T[used[k, some]] * slope
            if self._has_intercept and used[k, d]:
                yield (slope * weights[k, d])[None]

    def count_step(self):
        """Return the number of features in a block of equations."""
        n, d = self.X.shape
        return max(1, d if sparse.issparse(self.X) else BLOCK // max(n, 1))

    def toarray(self):
        parts = [one.toarray() if sparse.issparse(one) else one for one in self.iter_equations()]
        return np.concatenate(parts) if parts else np.empty(self.shape)

    def _replace(self, **changed):
        names = "X", "slopes", "weights", "kept"
        given = {name: getattr(self, name) for name in names} | changed
        return GradientRows(has_intercept=self._has_intercept, **given)

    def _flatten(self, values):
        return values.ravel() if self.kept is None else values.ravel()[self.kept]

    def _unflatten(self, values):
        if self.kept is None:
            return values.reshape(self.weights.shape)
        full = np.zeros(self.weights.size, dtype=values.dtype)
        full[self.kept] = values
        return full.reshape(self.weights.shape)

    def _iter_records(self, power):
        """Yield slices of the records, and their features and slopes to a power."""
        n = self.X.shape[0]
        width = self.slopes.shape[1]
        if power > 1 and not sparse.issparse(self.X):
            width = max(width, self.X.shape[1])  # the features are copied as well
        for some in gen_batches(n, max(1, BLOCK // max(width, 1))):
            whole = some.stop - some.start == n
            X, slopes = (self.X, self.slopes) if whole else (self.X[some], self.slopes[some])
            yield some, *((X, slopes) if power == 1 else (X * X, slopes * slopes))

    def _add_up(self, bits, power):
        """Sum over the records of products of their factors; bits None stands for ones."""
        total = np.zeros(self.weights.shape, dtype=self.dtype)
        d = self.X.shape[1]
        for some, X, slopes in self._iter_records(power):
            moved = slopes if bits is None else slopes * bits[some, None]
            total[:, :d] += (X.T @ moved).T
            if self._has_intercept:
                total[:, d] += moved.sum(axis=0)
        return total

    def _judge(self, values, power):
        found, d = np.empty(self.X.shape[0], dtype=self.dtype), self.X.shape[1]
        right = np.ascontiguousarray(values[:, :d].T)
        for some, X, slopes in self._iter_records(power):
            outputs = X @ right
            if self._has_intercept:
                outputs += values[:, d]
            found[some] = np.einsum("nk,nk->n", outputs, slopes)
        return found


class _TransposedGradients:
    """The transpose of gradients."""

    def __init__(self, rows):
        self.T, self.shape, self.dtype = rows, rows.shape[::-1], rows.dtype

    def __matmul__(self, right):
        return self.T.rmatvec(right)


def multiply_rows(rows, weights):
    """Multiply each equation by its weight."""
    if isinstance(rows, GradientRows):
        return rows.multiply_rows(weights)
    data = rows.data * np.repeat(weights, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def multiply_columns(rows, weights):
    """Multiply the coefficients of each record by its weight."""
    if isinstance(rows, GradientRows):
        return rows.multiply_columns(weights)
    data = rows.data * weights[rows.indices]
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def take_record_coefficients(rows, places):
    """Return the coefficients of some records."""
    return rows.take_columns(places) if isinstance(rows, GradientRows) else rows[:, places]


def take_first_equations(rows, n_equations):
    """Return the first of some equations."""
    return rows.take_first(n_equations) if isinstance(rows, GradientRows) else rows[:n_equations]


def square_rows(rows):
    """Return the sum of the squared coefficients of each equation."""
    if isinstance(rows, GradientRows):
        return rows.square_rows()
    ends = pairwise(rows.indptr.tolist())
    return np.array([part @ part for part in (rows.data[i:j] for i, j in ends)])


def square_columns(rows):
    """Return the sum of the squared coefficients of each record."""
    if isinstance(rows, GradientRows):
        return rows.square_columns()
    return np.bincount(rows.indices, rows.data**2, minlength=rows.shape[1])


def count_coefficients(rows):
    """Return how many numbers a product with the equations stands for."""
    return rows.n_coefficients if isinstance(rows, GradientRows) else rows.nnz


def count_work(rows):
    """Return numbers that a product reads, about, each of which takes the time of one of a matrix.

    Products of factors are those of dense matrices, several times as fast.
    """
    return count_coefficients(rows) / (_SPEED if isinstance(rows, GradientRows) else 1)


def multiply_transposed(rows, dtype):
    """Return ``rows.T @ rows`` as an array; rows with many entries are multiplied as dense rows."""
    product = np.zeros((rows.shape[1], rows.shape[1]), dtype=dtype)
    parts = rows.iter_equations() if isinstance(rows, GradientRows) else [rows]
    for part in parts:
        part = part.astype(dtype)
        if not sparse.issparse(part):
            product += part.T @ part
            continue
        is_dense = np.diff(part.indptr) > _DENSE * part.shape[1]
        thick = part[is_dense].toarray()
        _add_sparse_product(product, part[~is_dense])
        product += thick.T @ thick
    return product


# Blocks of columns of a symmetric product; each is multiplied with itself and those to its right.
_N_BLOCKS = 4


def _add_sparse_product(product, rows):
    """Add ``rows.T @ rows``, of which the lower half is copied from the upper."""
    columns, right = rows.T.tocsr(), rows
    edges = np.linspace(0, len(product), _N_BLOCKS + 1).astype(int)
    for start, end in pairwise(edges):
        block = (columns[start:end] @ right).toarray()
        right = right[:, end - start :]
        product[start:end, start:] += block
        product[end:, start:end] += block[:, end - start :].T


def multiply_pairs(rows, columns):
    """Return ``rows.T @ columns`` as an array, for columns of the same equations."""
    if not isinstance(rows, GradientRows):
        return (rows.T @ columns).toarray()
    product = np.zeros((rows.shape[1], columns.shape[1]))
    step = rows.count_step()
    for own, others in zip(rows.iter_equations(step), columns.iter_equations(step), strict=True):
        part = own.T @ others
        product += part.toarray() if sparse.issparse(part) else part
    return product


def as_dense(rows):
    """Return all coefficients as an array."""
    is_full = (
        not isinstance(rows, GradientRows)
        and rows.nnz == np.prod(rows.shape)
        and rows.has_canonical_format
    )
    return rows.data.reshape(rows.shape) if is_full else rows.toarray()
