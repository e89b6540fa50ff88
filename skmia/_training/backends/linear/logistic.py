"""Logistic regressions on the training sets of one pool, solved together."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor
from scipy.linalg.lapack import dpotri
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import type_of_target

from ...._core.linear_influence import SMALLEST_RCOND, CholeskyFactor
from .design import LinearDesign, LinearSolution

_MEMORY = 12
_MAX_TRIALS = 25
# A step is too long if the slope at its end exceeds this share of the slope at its start.
_OVERSHOOT = 0.5
# Share of finished functions at which they are dropped: smaller arrays are faster, but the removal
# costs a copy.
_DROP = 0.2
# A function that needs more steps differs from the preconditioner, so its error is underestimated.
_EASY = 25


class FoundMinima(NamedTuple):
    """Points at which the minimization ended."""

    points: np.ndarray  # (K, D)
    done: np.ndarray  # (K,), bool: whether the estimated error is small enough
    n_iter: np.ndarray  # (K,)


def dot(a, b):
    return np.einsum("kd,kd->k", a, b)


class _LbfgsHistory:
    """Limited-memory BFGS for K functions: the last steps and the changes of the gradients.

    The compact form of Byrd, Nocedal and Schnabel (1994) needs few passes over the arrays, and only
    the preconditioned changes of the gradients.
    """

    def __init__(self, shape):
        n_functions, size = shape
        self._steps = np.zeros((n_functions, _MEMORY, size))
        self._solved = np.zeros((n_functions, _MEMORY, size))
        self._curvature = np.zeros((n_functions, _MEMORY, _MEMORY))  # steps x changes
        self._metric = np.zeros((n_functions, _MEMORY, _MEMORY))  # changes x solved changes
        self._order = []

    def push(self, step, change, solved):
        slot = len(self._order) if len(self._order) < _MEMORY else self._order[0]
        self._order = [other for other in self._order if other != slot] + [slot]
        # After a tiny step, rounding can leave no positive curvature; such a step is ignored.
        usable = (dot(step, change) > 0)[:, None]
        self._steps[:, slot], self._solved[:, slot] = step * usable, solved * usable
        change = (change * usable)[:, :, None]
        self._curvature[:, :, slot] = (self._steps @ change)[:, :, 0]
        metric = (self._solved @ change)[:, :, 0]
        self._metric[:, :, slot] = self._metric[:, slot] = metric
        self._curvature[:, slot, slot] += ~usable[:, 0]

    def take(self, kept):
        for name in ("_steps", "_solved", "_curvature", "_metric"):
            setattr(self, name, getattr(self, name)[kept])

    def solve(self, gradient, solved):
        """Multiply the gradients by the approximate inverse Hessians.

        solved holds the preconditioned gradients.
        """
        if not self._order:
            return solved
        order = np.array(self._order)
        inner = np.ix_(range(len(gradient)), order, order)
        upper = np.triu(self._curvature[inner])
        along = (self._steps @ gradient[:, :, None])[:, order]
        across = (self._solved @ gradient[:, :, None])[:, order]
        share = np.linalg.solve(upper, along)
        # With steps S, changes Y of the gradients, the preconditioner P, the upper triangle R and
        # the diagonal D of S'Y, the compact form is
        # H g = P g + S R^-T ((D + Y'P Y) R^-1 S'g - Y'P g) - P Y R^-1 S'g.
        middle = self._metric[inner] @ share - across
        middle += np.diagonal(upper, axis1=1, axis2=2)[:, :, None] * share
        steps, changes = np.zeros((2, len(gradient), 1, _MEMORY))
        steps[:, 0, order] = np.linalg.solve(upper.transpose(0, 2, 1), middle)[:, :, 0]
        changes[:, 0, order] = share[:, :, 0]
        return solved + (steps @ self._steps - changes @ self._solved)[:, 0]


class _NewtonDescent:
    """Current points of the functions that are not finished."""

    def __init__(self, gradient, precondition, start, models, coarse):
        self._compute, self._precondition, self.coarse = gradient, precondition, coarse
        self.rows = np.arange(len(models))
        self.models, self.points = np.asarray(models), start.copy()
        self.history = _LbfgsHistory(start.shape)
        self._measure()

    def _gradient_at(self, points, rows):
        return self._compute(points, self.models[rows], self.coarse)

    def _measure(self):
        self.gradient = self._gradient_at(self.points, slice(None))
        self._solved = self._precondition(self.gradient, self.models)

    def refine(self):
        """Continue with gradients in double precision."""
        self.coarse = False
        self._measure()

    def take(self, kept):
        self.rows, self.models = self.rows[kept], self.models[kept]
        self.points, self.gradient = self.points[kept], self.gradient[kept]
        self._solved = self._solved[kept]
        self.history.take(kept)

    def look(self):
        """Return directions of descent and the slopes along them."""
        direction = -self.history.solve(self.gradient, self._solved)
        return direction, dot(direction, self.gradient)

    def step(self, direction, slope):
        """Go along each direction until its slope has fallen; return for which it has.

        Only slopes decide. The slope of a convex function is monotone along a line, and near the
        minimum it is accurate, unlike differences of values.
        """
        points = self.points + direction
        gradient = self._gradient_at(points, slice(None))
        length, end = np.ones(len(points)), dot(direction, gradient)
        for _ in range(3 if self.coarse else _MAX_TRIALS):
            far = np.flatnonzero(~(end <= -_OVERSHOOT * slope))
            if not len(far):
                break
            # The length at which the slope would vanish if it were linear along the step.
            share = np.nan_to_num(slope[far] / (slope[far] - end[far]), nan=0.1)
            length[far] *= np.clip(share, 0.1, 0.7)
            points[far] = self.points[far] + length[far, None] * direction[far]
            gradient[far] = self._gradient_at(points[far], far)
            end[far] = dot(direction[far], gradient[far])
        good = end <= -_OVERSHOOT * slope
        points[~good], gradient[~good] = self.points[~good], self.gradient[~good]
        self._move(points, gradient)
        return good

    def _move(self, points, gradient):
        solved = self._precondition(gradient, self.models)
        self.history.push(points - self.points, gradient - self.gradient, solved - self._solved)
        self.points, self.gradient, self._solved = points, gradient, solved


def _minimize_all(descent, reach, tol, coarse, max_iter):
    """Minimize all functions up to ``tol``, in at most ``max_iter`` steps."""
    n_functions = len(descent.points)
    found = FoundMinima(
        descent.points.copy(), np.zeros(n_functions, bool), np.zeros(n_functions, int)
    )
    for n_iter in range(max_iter + 1):
        direction, slope = descent.look()
        error = reach * np.sqrt(np.maximum(-slope, 0))
        if descent.coarse and not error.max() > coarse:
            descent.refine()
            direction, slope = descent.look()
            error = reach * np.sqrt(np.maximum(-slope, 0))
        going = ~(error <= tol * min(1.0, _EASY / max(1, n_iter)) ** 2)
        found.points[descent.rows], found.done[descent.rows] = descent.points, ~going
        found.n_iter[descent.rows] = n_iter
        if not going.any():
            break
        if going.mean() < 1 - _DROP:
            descent.take(going)
            direction, slope = direction[going], slope[going]
        good = descent.step(direction, slope)
        if descent.coarse and not good.all():
            descent.refine()
        elif not good.any():
            break  # in double precision, only rounding keeps steps from going down
    return found


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

    Shapes: columns (n, n_columns), codes (n,), weights (K, n), penalty (K, n_columns).
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

    def gradient(self, points, models, coarse):
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

        width is the largest number of values per record that is computed from a block.
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

        Return hessians of shape (g, n_columns, g, n_columns).
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
        """Return an upper bound of the Hessian of one model at any point (Böhning, 1992).

        p (1 - p) is at most 1/4; diag(p) - p p' is at most (I - 1 1' / C) / 2, and so at most I /
        2, which has no terms between classes: all classes share one block.
        """
        factor = 0.25 if self.n_vectors == 1 else 0.5
        weighted = self.columns * self.weights[model][:, None]
        hessian = (factor * (weighted.T @ self.columns))[None, :, None]
        _add_to_diagonal(hessian, self.penalty[model])
        return [hessian] * self.n_vectors

    def project(self, vectors, models):
        """Make vectors sum to zero over the classes of a model, and zero for absent classes.

        Adding the same vector to all classes does not change any probability. Of all equivalent
        coefficients, those that sum to zero have the smallest penalty. Absent classes have logits
        of minus infinity, so their coefficients only add to the penalty.
        """
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
    """Add the curvature of a block of records between the classes of a group.

    Between the classes a and b: sum_i w_i p_ia ([a = b] - p_ib) x_i x_i', here summed over models.
    """
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


class BlockPreconditioner:
    """Approximate inverse Hessian, with one block for all classes or one block for each."""

    def __init__(self, losses, hessians):
        different = {id(hessian): hessian for hessian in hessians}
        inverse = {key: _invert_block(hessian) for key, hessian in different.items()}
        self._blocks = [inverse[id(hessian)] for hessian in hessians]
        # Largest change of a record's logit by a step of length 1 in the metric of the Hessian.
        self.reach = _compute_reach(losses.columns, inverse.values())

    def __call__(self, vectors, models, losses):
        vectors = losses.project(vectors, models)
        width = vectors.shape[1] // len(self._blocks)
        parts = [
            vectors[:, b * width : (b + 1) * width] @ block for b, block in enumerate(self._blocks)
        ]
        return losses.project(np.concatenate(parts, axis=1), models)


def _invert_block(hessian):
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


# Estimated error of the logits, in nats, at which a model is finished, and at which computations
# switch from single to double precision. The first is below the promised error, because the
# estimate is not a bound.
_TOL = 3e-4
_COARSE = 0.02
_ROUGH = 0.5
N_PILOTS = 8
_SHARE = 0.9
_POOL_STEPS, _STEPS = 100, 300
# Steps after which it pays to compute the curvature again, and how often: for the first models, and
# for a model that did not converge with the others, if it has few coefficients.
_PILOT_STEPS, _ROUNDS = 12, 4
_SMALL, _SMALL_STEPS = 400, 80
_ALONE_STEPS, _ALONE_ROUNDS = 4, 40
# Within so many steps, the curvature at the start still tells how far the optimum is.
_NEAR = 3
# A model with a smaller max_iter or a larger tol is assumed to stop early on purpose.
_FEWEST_STEPS, _LARGEST_TOL = 100, 1e-3
# With more features, or directions that the records span, the curvature costs more than it saves.
_MOST_COLUMNS = 3000
_LARGEST_BYTES = 2**29


def why_not_batched_logistic(plan):
    return _wrong_setting(plan.model) or _wrong_size(plan)


def _wrong_setting(model):
    smooth = ("lbfgs", "newton-cg", "newton-cholesky")
    if model.solver not in smooth:
        return f"solver={model.solver!r} is none of {', '.join(smooth)}"
    mixed = model.penalty == "deprecated" and model.l1_ratio not in (0, None)
    if mixed or model.penalty not in ("deprecated", "l2", None):
        return "its penalty is not the plain L2"
    if getattr(model, "multi_class", "auto") not in ("auto", "deprecated"):
        return f"multi_class={model.multi_class!r} is set"
    if isinstance(model.class_weight, dict) and not min(model.class_weight.values()) > 0:
        return "class_weight leaves out a class"
    if model.warm_start:
        return "warm_start=True is set"
    if model.max_iter < _FEWEST_STEPS or model.tol > _LARGEST_TOL:
        return (
            f"max_iter={model.max_iter} and tol={model.tol:g} stop it before the optimum, which "
            f"would be found here (max_iter from {_FEWEST_STEPS}, tol up to {_LARGEST_TOL:g})"
        )
    return None


def _wrong_size(plan):
    if type_of_target(plan.y) not in ("binary", "multiclass"):
        return "y does not hold classes"
    n_classes = len(np.unique(plan.y))
    if n_classes < 2:
        return "the records have a single class"
    n_columns = (min(plan.X.shape) if plan.scaler is None else plan.X.shape[1]) + 1
    n_blocks = 1 if n_classes == 2 else n_classes
    if n_columns > _MOST_COLUMNS or 8 * n_blocks * n_columns**2 > _LARGEST_BYTES:
        return f"{n_blocks} x {n_columns} coefficients are too many to keep their curvature"
    return None


def inverse_strength(model):
    """Return C of the objective; infinite without a penalty."""
    return np.inf if model.penalty is None else float(model.C)


class LogisticSolver:
    """Solves logistic regressions with the curvature that the models of a pool share."""

    def __init__(self, plan):
        self._plan, self._model = plan, plan.model
        self._classes, self._codes = np.unique(plan.y, return_inverse=True)
        self._design = LinearDesign(plan.X, self._model.fit_intercept, plan.scaler is None)
        self._prepare()

    def memory(self):
        n_vectors = 1 if len(self._classes) == 2 else len(self._classes)
        numbers = 30 * self._design.columns.shape[1] + 3 * self._plan.X.shape[1]
        return 8 * n_vectors * numbers + 24 * len(self._codes)

    def _weigh(self, inside):
        """Return the weight of each record in each model."""
        weights = inside.astype(float)
        if self._model.class_weight is not None:
            for row, members in zip(weights, inside, strict=True):
                labels, codes = np.unique(self._plan.y[members], return_inverse=True)
                rule = self._model.class_weight
                row[members] = compute_class_weight(rule, classes=labels, y=labels[codes])[codes]
        return weights

    def _losses(self, inside, spread):
        weights = self._weigh(inside)
        strength = 1 / (inverse_strength(self._model) * weights.sum(axis=1))
        penalty = self._design.penalty(strength, spread)
        penalty = np.broadcast_to(penalty, (len(weights), penalty.shape[1]))
        return CrossEntropies(self._design.columns, self._codes, weights, penalty)

    def _prepare(self):
        """Compute a start and a curvature that suit all models of the pool.

        The start is the optimum on all records. If a model is determined by few records, its
        curvature differs from the curvature there. Then the curvature of the first models at their
        own optima is used, mixed with a share of the former, because some records may be in none of
        their training sets. The same first models are always used, so that a result does not depend
        on which models are solved with it.
        """
        pilots = np.arange(min(N_PILOTS, len(self._plan.membership)))
        losses = self._losses(self._plan.membership[pilots], self._plan.spread(pilots))
        pool = self._pool(losses.penalty.mean(axis=0, keepdims=True))
        bound = BlockPreconditioner(pool, pool.bound(0))
        found = _minimize(pool, np.zeros((1, pool.size)), [0], bound, _ROUGH, _POOL_STEPS)
        self._start, base = found.points[0], pool.curvature(found.points, [0])
        self._curve = BlockPreconditioner(pool, base)
        points = losses.project(np.repeat(found.points, len(pilots), axis=0), pilots)
        for _ in range(_ROUNDS):
            found = _minimize(losses, points, pilots, self._curve, _ROUGH, _PILOT_STEPS)
            points = found.points
            if found.done.all():
                break
            own = losses.curvature(points, pilots)
            mixed = [_SHARE * own_row + (1 - _SHARE) * all_ for own_row, all_ in zip(own, base)]
            self._curve = BlockPreconditioner(pool, mixed)
        # Without a penalty, separable records have no optimum, and some optima are so far away that
        # the estimator itself is faster. If the first models fail, the others are not tried.
        far = self._is_free() or losses.size > _SMALL
        self._hopeless = far and not found.done.all()

    def _is_free(self):
        return np.isinf(inverse_strength(self._model))

    def _pool(self, penalty):
        everything = np.ones((1, len(self._codes)), dtype=bool)
        weights = self._weigh(everything)
        return CrossEntropies(self._design.columns, self._codes, weights, penalty)

    def solve(self, models):
        losses = self._losses(self._plan.membership[models], self._plan.spread(models))
        rows = np.arange(len(models))
        n_classes = losses.present.sum(axis=1)
        # Two classes with one vector have another penalty than two classes with two vectors.
        fit = n_classes == 2 if losses.n_vectors == 1 else n_classes > 2
        start = losses.project(np.repeat(self._start[None], len(models), axis=0), rows)
        points, solved, n_iter = start, np.zeros(len(models), bool), np.zeros(len(models), int)
        tried = fit & self._has_single_optimum(losses)
        rows = rows[tried]
        if len(rows):
            steps = _SMALL_STEPS if losses.size <= _SMALL else _STEPS
            found = _minimize(losses, start[rows], rows, self._curve, _TOL, steps)
            points[rows], n_iter[rows], solved[rows] = found.points, found.n_iter, found.done
        for row in rows[~solved[rows]] if losses.size <= _SMALL else []:
            points[row], steps, solved[row] = _solve_alone(losses, points[row], row)
            n_iter[row] += steps
        vectors = points.reshape(len(models), losses.n_vectors, -1)
        coef, intercept = self._design.to_features(vectors)
        further = [{}] * len(models)
        return LinearSolution(coef, intercept, n_iter, solved, fit, tried, losses.present, further)

    def _has_single_optimum(self, losses):
        """Return which models have at most one optimum."""
        single = np.full(losses.n_models, not self._hopeless)
        if self._is_free() and not self._hopeless:
            for row, weights in enumerate(losses.weights):
                part = losses.columns[weights > 0]
                single[row] = CholeskyFactor(part.T @ part).rcond > SMALLEST_RCOND
        return single


def _minimize(losses, start, rows, curve, tol, max_iter, coarse=_COARSE):
    """Minimize by limited-memory BFGS with a common preconditioner."""

    def precondition(vectors, models):
        return curve(vectors, models, losses)

    args = losses.gradient, precondition, start, np.asarray(rows), np.isfinite(coarse)
    return _minimize_all(_NewtonDescent(*args), curve.reach, tol, coarse, max_iter)


def _solve_alone(losses, point, row):
    """Continue with the model's own curvature, which is updated every few steps."""
    n_iter = 0
    for _ in range(_ALONE_ROUNDS):
        curve = BlockPreconditioner(losses, losses.curvature(point[None], [row]))
        found = _minimize(losses, point[None], [row], curve, _TOL, _ALONE_STEPS, np.inf)
        point, n_iter = found.points[0], n_iter + int(found.n_iter[0])
        if found.done[0] and found.n_iter[0] <= _NEAR:
            return point, n_iter, True
    return point, n_iter, False
