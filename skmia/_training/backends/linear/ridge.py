"""Ridge regression and least squares on the training sets of one pool, in closed form."""

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.linear_model import LinearRegression

from ...._core.linear_influence import SMALLEST_RCOND, CholeskyFactor
from .design import LinearDesign, LinearSolution, are_too_large

_EXACT_SOLVERS = ("auto", "cholesky", "svd")
# Ratio to the largest singular value above which one is clearly not 0. Squaring, as the normal
# equations do, loses smaller ones to rounding.
_SMALLEST_RATIO = 1e-5
_LARGEST_BYTES = 2**29


def why_not_batched_ridge(plan):
    model = plan.model
    if model.solver not in _EXACT_SOLVERS:
        return f"solver={model.solver!r} is none of {', '.join(_EXACT_SOLVERS)}"
    if model.positive:
        return "positive=True is set"
    if np.ndim(model.alpha) or not model.alpha > 0:
        return f"alpha={model.alpha!r} is not a positive number"
    n, d = plan.X.shape
    if _has_few_records(plan):
        if plan.scaler is not None:
            return "a training set has fewer records than there are features, which are scaled"
        d = n
    return _wrong_target(plan) or _too_large(d)


def make_ridge_solver(plan):
    return KernelSolver(plan) if _has_few_records(plan) else NormalSolver(plan)


def why_not_batched_least_squares(plan):
    if plan.model.positive:
        return "positive=True is set"
    if _has_few_records(plan):
        return "a training set has fewer records than there are features"
    return _wrong_target(plan) or _too_large(plan.X.shape[1])


def _has_few_records(plan):
    return plan.membership.sum(axis=1).min() <= plan.X.shape[1]


def _wrong_target(plan):
    if plan.y.ndim > 1:
        return "there are several targets"
    if plan.y.dtype.kind not in "biuf" or not np.isfinite(plan.y).all():
        return "y holds values that are not finite numbers"
    if are_too_large(plan.y):
        return "y holds values whose squares overflow"
    return None


def _too_large(size):
    if 8 * size**2 > _LARGEST_BYTES:
        return f"a matrix of {size} x {size} needs more than {_LARGEST_BYTES >> 20} MB"
    return None


class NormalSolver:
    """Solves the normal equations of each training set."""

    def __init__(self, plan):
        self._plan = plan
        self._design = LinearDesign(plan.X, plan.model.fit_intercept, uniform=False)
        self._offset = plan.y.mean() if plan.model.fit_intercept else 0.0
        self._target = plan.y - self._offset
        columns = self._design.columns
        self._gram = columns.T @ columns

    def memory(self):
        """Return bytes that each further model takes."""
        return 24 * len(self._target) + 32 * self._design.columns.shape[1]

    def solve(self, models):
        """Return the optima of some models, as a Solution."""
        inside, columns = self._plan.membership[models], self._design.columns
        penalty = self._design.penalty(
            np.full(len(models), float(getattr(self._plan.model, "alpha", 0.0))),
            self._plan.spread(models),
        )
        penalty = np.broadcast_to(penalty, (len(models), columns.shape[1]))
        points, factors = np.zeros(penalty.shape), []
        solved, further = np.zeros(len(models), dtype=bool), []
        right = (inside * self._target) @ columns
        for row, gram in enumerate(self._grams(inside)):
            more, well = self._compute_rank(gram)
            factor = CholeskyFactor(gram + np.diag(penalty[row]))
            solved[row] = well and factor.rcond > SMALLEST_RCOND
            further.append(more)
            factors.append(factor if solved[row] else None)
            if solved[row]:
                points[row] = factor.solve(right[row])
        # One step of iterative refinement recovers the accuracy lost by the normal equations.
        residual = inside * (self._target - points @ columns.T)
        right = residual @ columns - penalty * points
        for row in np.flatnonzero(solved):
            points[row] += factors[row].solve(right[row])
        coef, intercept = self._design.to_features(points)
        return _as_solution(coef, intercept + self._offset, solved, further)

    def _grams(self, inside):
        """Yield the Gram matrix of each training set; complements come from the total."""
        columns, previous = self._design.columns, None
        for row, members in enumerate(inside):
            if row % 2 and np.array_equal(members, ~inside[row - 1]):
                yield self._gram - previous
                continue
            part = columns[members]
            previous = part.T @ part
            yield previous

    def _compute_rank(self, gram):
        """Return attributes of a LinearRegression, and whether its features are independent."""
        model = self._plan.model
        if not isinstance(model, LinearRegression):
            return {}, True
        scale = self._design.scale
        squares = gram
        if model.fit_intercept:
            sums, size = gram[-1, :-1], gram[-1, -1]
            squares = gram[:-1, :-1] - np.outer(sums, sums) / size
        squares = eigvalsh(squares * scale * scale[:, None])[::-1]
        singular = np.sqrt(np.maximum(squares, 0))
        # scikit-learn treats smaller singular values as 0 and then returns another solution.
        least = max(_SMALLEST_RATIO, 10 * getattr(model, "tol", 0.0))
        return {"rank_": len(scale), "singular_": singular}, singular[-1] > least * singular[0]


class KernelSolver:
    """Solves ridge regressions in the space of the records, for more features than records."""

    def __init__(self, plan):
        self._plan = plan
        self._mean = plan.X.mean(axis=0, dtype=float) * plan.model.fit_intercept
        self._centered = plan.X - self._mean
        self._kernel = self._centered @ self._centered.T

    def memory(self):
        return 24 * len(self._centered) + 16 * self._centered.shape[1]

    def solve(self, models):
        inside, y = self._plan.membership[models], self._plan.y.astype(float)
        duals, solved = np.zeros(inside.shape), np.zeros(len(models), dtype=bool)
        offset = np.zeros(len(models))
        for row, members in enumerate(inside):
            rows = np.flatnonzero(members)
            kernel, target = self._kernel[np.ix_(rows, rows)], y[rows]
            if self._plan.model.fit_intercept:
                offset[row] = target.mean()
                target = target - offset[row]
                kernel -= kernel.mean(axis=0)
                kernel -= kernel.mean(axis=1, keepdims=True)
            kernel[np.diag_indices(len(rows))] += self._plan.model.alpha
            factor = CholeskyFactor(kernel)
            solved[row] = factor.rcond > SMALLEST_RCOND
            if solved[row]:
                duals[row, rows] = factor.solve(target)
        coef = duals @ self._centered
        if self._plan.model.fit_intercept:
            means = (inside / inside.sum(axis=1, keepdims=True)) @ self._centered
            offset -= np.einsum("kd,kd->k", coef, means + self._mean)
        return _as_solution(coef, offset, solved, [{}] * len(models))


def _as_solution(coef, intercept, solved, further):
    ones = np.ones(len(solved), dtype=bool)
    return LinearSolution(
        coef=coef[:, None],
        intercept=intercept[:, None],
        n_iter=np.zeros(len(solved), dtype=int),
        solved=solved,
        expected=ones,
        tried=~ones,
        present=ones[:, None],
        further=further,
    )
