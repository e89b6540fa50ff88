"""Joint minimization of many smooth convex functions of the same shape."""

from typing import NamedTuple

import numpy as np

_MEMORY = 12
_MAX_TRIALS = 25
# A step is too long if the slope at its end exceeds this share of the slope at its start.
_OVERSHOOT = 0.5
# Share of finished functions at which they are dropped: smaller arrays are faster, but the removal
# costs a copy.
_DROP = 0.2
# A function that needs more steps differs from the preconditioner, so its error is underestimated.
_EASY = 25


class Minima(NamedTuple):
    """Points at which the minimization ended."""

    points: np.ndarray  # (K, D)
    done: np.ndarray  # (K,), bool: whether the estimated error is small enough
    n_iter: np.ndarray  # (K,)


def dot(a, b):
    """Return the inner products of corresponding rows."""
    return np.einsum("kd,kd->k", a, b)


class _History:
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

        ``solved`` holds the preconditioned gradients.
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


class _Descent:
    """Current points of the functions that are not finished."""

    def __init__(self, gradient, precondition, start, models, coarse):
        self._compute, self._precondition, self.coarse = gradient, precondition, coarse
        self.rows = np.arange(len(models))
        self.models, self.points = np.asarray(models), start.copy()
        self.history = _History(start.shape)
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


def minimize_together(gradient, start, models, precondition, *, reach, tol, coarse, max_iter):
    """Minimize convex functions by limited-memory BFGS with a common preconditioner.

    Parameters
    ----------
    gradient : callable
        ``gradient(points, models, coarse)`` returns the gradients of some functions, of shape
        (k, D); in single precision if ``coarse`` is true.
    start : ndarray of shape (K, D)
        Points to start from.
    models : array-like of shape (K,)
        Numbers of the functions, which are passed to ``gradient``.
    precondition : callable
        ``precondition(vectors, models)`` multiplies by an approximate inverse Hessian.
    reach : float
        Factor from the length of a step, in the metric of the Hessian, to the unit of ``tol``.
    tol : float
        Estimated error below which a function is finished; it becomes stricter after many steps.
    coarse : float
        Estimated error below which single precision is not enough; infinite to never use it.
    max_iter : int
        Maximum number of steps.

    Returns
    -------
    minima : Minima
    """
    descent = _Descent(gradient, precondition, start, models, np.isfinite(coarse))
    return _descend(descent, reach, tol, coarse, max_iter)


def _descend(descent, reach, tol, coarse, max_iter):
    n_functions = len(descent.points)
    found = Minima(descent.points.copy(), np.zeros(n_functions, bool), np.zeros(n_functions, int))
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
