"""Cross-entropies of many logistic regressions on subsets of the same records."""

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError, cho_factor
from scipy.linalg.lapack import dpotri

# Number of logits per block, so that values that are read again soon stay in the cache.
_BLOCK = 2**17
# Logits up to this size can be exponentiated without overflow.
_SAFE = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 80.0}
# Added to the unit diagonal of a scaled curvature until it is positive definite.
_JITTER = (1e-12, 1e-9, 1e-6, 1.0)
_FAR_RECORDS = 256
# Up to so many coefficients, the curvature between classes is also computed.
_FULL = 2500


class CrossEntropies:
    """Mean cross-entropy plus penalty of K logistic regressions, as functions of coefficients.

    A point holds the coefficients of one model, class by class; two classes share one vector.

    Parameters
    ----------
    columns : ndarray of shape (n, n_columns)
        Features of all records.
    codes : ndarray of shape (n,)
        Numbers of the classes from 0.
    weights : ndarray of shape (K, n)
        Weight of each record in each model; 0 if the model is not trained on it.
    penalty : ndarray of shape (K, n_columns)
        Penalty of each squared coefficient, times 1/2, if the weights of a model sum to 1.
    """

    def __init__(self, columns, codes, weights, penalty):
        n_classes = codes.max() + 1
        self.columns, self.penalty = columns, penalty
        self.n_vectors = 1 if n_classes == 2 else n_classes
        self.weights = weights / weights.sum(axis=1, keepdims=True)
        # The gradient is sum_i w_i (p_i - y_i) x_i. The part with the labels y_i does not depend on
        # the coefficients, so it is summed once, as the target. With two classes, the only vector
        # belongs to the second class.
        share = [self.weights[:, codes == c].sum(axis=1) for c in range(n_classes)]
        self.present = np.column_stack(share) > 0
        first = n_classes - self.n_vectors if n_classes == 2 else 0
        target = [
            self.weights[:, codes == c] @ columns[codes == c] for c in range(first, n_classes)
        ]
        self._target = np.stack(target, axis=1)
        self._single = None

    @property
    def n_models(self):
        return len(self.weights)

    @property
    def size(self):
        return self.n_vectors * self.columns.shape[1]

    def gradient(self, points, models, coarse=False):
        """Compute the gradients of some models, of shape (k, size)."""
        columns, weights = self._in_single() if coarse else (self.columns, self.weights)
        k = len(points)
        vectors = points.reshape(k * self.n_vectors, -1).astype(columns.dtype, copy=False)
        total = np.zeros(vectors.shape)
        for rows, proba in self._blocks(vectors, models, columns, weights[models]):
            total += proba.reshape(len(vectors), -1) @ columns[rows]
        points = points.reshape(k, self.n_vectors, -1)
        slope = total.reshape(points.shape) - self._target[models]
        slope += self.penalty[models][:, None] * points
        return slope.reshape(k, -1)

    def _in_single(self):
        if self._single is None:
            self._single = self.columns.astype(np.float32), self.weights.astype(np.float32)
        return self._single

    def _blocks(self, vectors, models, columns, weights, width=1):
        """Yield weighted probabilities of blocks of records, of shape (k, n_vectors, rows).

        ``width`` is the largest number of values per record that is computed from a block.
        """
        step = max(64, _BLOCK // max(len(vectors), width))
        absent = ~self.present[models]
        absent = absent if self.n_vectors > 1 and absent.any() else None
        for begin in range(0, len(columns), step):
            rows = slice(begin, begin + step)
            logits = (vectors @ columns[rows].T).reshape(len(models), self.n_vectors, -1)
            if self.n_vectors == 1:
                yield rows, _weigh_sigmoid(logits, weights[:, None, rows])
            else:
                yield rows, _weigh_softmax(logits, weights[:, rows], absent)

    def curvature(self, points, models):
        """Compute the mean of the Hessians of some models.

        Returns
        -------
        hessians : list of ndarray of shape (g, n_columns, g, n_columns)
            One block for all classes, with only the part below the diagonal filled; if there are
            too many coefficients, one block for each class.
        """
        groups = [range(self.n_vectors)]
        if self.size > _FULL:
            groups = [[c] for c in range(self.n_vectors)]
        d = self.columns.shape[1]
        hessians = [np.zeros((len(group), d, len(group), d)) for group in groups]
        vectors = points.reshape(len(models) * self.n_vectors, -1)
        weights, width = self.weights[models], d * max(map(len, groups)) // 8
        # Probabilities come weighted, w p; the Hessian also takes p alone. Where w is 0 both are 0.
        for rows, proba in self._blocks(vectors, models, self.columns, weights, width):
            mass = weights[:, rows]
            ratio = proba / np.where(mass > 0, mass, 1)[:, None]
            for group, hessian in zip(groups, hessians, strict=True):
                _add_curvature(hessian, self.columns[rows], proba[:, group], ratio[:, group])
        penalty = self.penalty[models].mean(axis=0)
        for hessian in hessians:
            hessian /= len(models)
            _add_to_diagonal(hessian, penalty)
            if len(hessian) > 1:
                hessian += self._level()[None, :, None]
        return hessians

    def bound(self, model):
        """Return an upper bound of the Hessian of one model at any point (Böhning, 1992)."""
        # p (1 - p) is at most 1/4; diag(p) - p p' is at most (I - 1 1' / C) / 2, and so at most I /
        # 2, which has no terms between classes: all classes share one block.
        factor = 0.25 if self.n_vectors == 1 else 0.5
        weighted = self.columns * self.weights[model][:, None]
        hessian = (factor * (weighted.T @ self.columns))[None, :, None]
        _add_to_diagonal(hessian, self.penalty[model])
        return [hessian] * self.n_vectors

    def project(self, vectors, models):
        """Make vectors sum to zero over the classes of a model, and zero for absent classes."""
        # Adding the same vector to all classes does not change any probability. Of all equivalent
        # coefficients, those that sum to zero have the smallest penalty. Absent classes have logits
        # of minus infinity, so their coefficients only add to the penalty.
        if self.n_vectors == 1:
            return vectors
        present = self.present[models][:, :, None]
        parts = vectors.reshape(len(vectors), self.n_vectors, -1)
        mean = np.sum(parts, axis=1, keepdims=True, where=present)
        return np.where(present, parts - mean / present.sum(axis=1)[:, None], 0).reshape(
            len(vectors), -1
        )

    def _level(self):
        # The curvature is zero in the directions in which all classes rise together. This term
        # makes it positive there, and does not affect vectors that sum to zero over the classes.
        return self.columns.T @ self.columns / (len(self.columns) * self.n_vectors**2)


def _weigh_sigmoid(logits, weights):
    # w / (1 + exp(-z)). The limit keeps exp finite; beyond it, the quotient is 0 up to rounding.
    np.negative(logits, out=logits)
    np.minimum(logits, _SAFE[logits.dtype], out=logits)
    np.exp(logits, out=logits)
    logits += 1
    return np.divide(weights, logits, out=logits)


def _weigh_softmax(logits, weights, absent):
    if absent is not None:
        logits[absent] = -np.inf
    safe = _SAFE[logits.dtype]
    # Subtracting the largest logit costs two passes. It is needed only if exp could overflow, or
    # underflow for all classes of a record; minus infinity of absent classes leads here as well.
    if not (logits.max() < safe and logits.min() > -safe):
        logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits *= (weights / logits.sum(axis=1))[:, None]
    return logits


def _add_curvature(hessian, columns, weighted, proba):
    """Add the curvature of a block of records between the classes of a group."""
    # Between the classes a and b: sum_i w_i p_ia ([a = b] - p_ib) x_i x_i', here summed over
    # models.
    between = -np.matmul(weighted.transpose(2, 1, 0), proba.transpose(2, 0, 1))
    own = np.arange(hessian.shape[0])
    between[:, own, own] += weighted.sum(axis=0).T
    for a in own:
        spread = between[:, a, : a + 1, None] * columns[:, None]
        product = columns.T @ spread.reshape(len(columns), -1)
        hessian[a, :, : a + 1] += product.reshape(hessian.shape[1], a + 1, -1)


def _add_to_diagonal(hessian, penalty):
    matrix = hessian.reshape(hessian.shape[0] * hessian.shape[1], -1)
    matrix[np.diag_indices(len(matrix))] += np.tile(penalty, hessian.shape[0])


class Preconditioner:
    """Approximate inverse Hessian, with one block for all classes or one block for each.

    Parameters
    ----------
    losses : CrossEntropies
        Functions to minimize.
    hessians : list of ndarray
        Blocks as returned by :meth:`CrossEntropies.curvature`.

    Attributes
    ----------
    reach : float
        Largest change of a logit of a record under a step of length 1 in the metric of the
        Hessian.
    """

    def __init__(self, losses, hessians):
        different = {id(hessian): hessian for hessian in hessians}
        inverse = {key: _invert(hessian) for key, hessian in different.items()}
        self._blocks = [inverse[id(hessian)] for hessian in hessians]
        self.reach = _compute_reach(losses.columns, inverse.values())

    def __call__(self, vectors, models, losses):
        vectors = losses.project(vectors, models)
        width = vectors.shape[1] // len(self._blocks)
        parts = [
            vectors[:, b * width : (b + 1) * width] @ block for b, block in enumerate(self._blocks)
        ]
        return losses.project(np.concatenate(parts, axis=1), models)


def _invert(hessian):
    """Invert a symmetric block with a filled lower half."""
    matrix = np.tril(hessian.reshape(hessian.shape[0] * hessian.shape[1], -1))
    # With ones on the diagonal, the same jitter suits columns of any unit. The inverse of S H S is
    # S^-1 H^-1 S^-1, so the scale is applied once more afterwards.
    scale = 1 / np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(float).tiny))
    matrix *= scale * scale[:, None]
    for jitter in _JITTER:
        matrix[np.diag_indices(len(matrix))] = 1 + jitter
        with suppress(LinAlgError):  # rounding can make a singular matrix indefinite
            factor, _ = cho_factor(matrix, lower=True, check_finite=False)
            break
    inverse = np.tril(dpotri(factor, lower=1)[0]) * scale * scale[:, None]
    return inverse + np.tril(inverse, -1).T


def _compute_reach(columns, blocks):
    # By the Cauchy-Schwarz inequality, a step v with v' H v = 1 changes the logit x' v_c by at most
    # sqrt(x' (H^-1)_cc x). Only the records with the largest norms are tried.
    norms = np.einsum("nd,nd->n", columns, columns)
    far = columns[np.argsort(norms)[-_FAR_RECORDS:]]
    d, largest = columns.shape[1], 0.0
    for block in blocks:
        for begin in range(0, len(block), d):
            part = block[begin : begin + d, begin : begin + d]
            largest = max(largest, float(((far @ part) * far).sum(axis=1).max()))
    return np.sqrt(largest)
