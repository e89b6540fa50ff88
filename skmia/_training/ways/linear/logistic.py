"""Logistic regressions on the training sets of one pool, solved together."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import type_of_target

from ...._core.linear_influence import SMALLEST_RCOND, Factor
from .design import Design
from .minimize import minimize_together
from .plan import Solution
from .softmax import CrossEntropies, Preconditioner

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


class LogisticFamily:
    """Logistic regressions with an L2 penalty or without a penalty."""

    estimator = LogisticRegression

    def why_not(self, plan):
        """Return the reason why a model cannot be solved, or None."""
        return _wrong_setting(plan.model) or _wrong_size(plan)

    def make_solver(self, plan):
        """Return a solver, which prepares what all models of a pool share."""
        return LogisticSolver(plan)


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
    """Solves logistic regressions with the curvature that the models of a pool share.

    Parameters
    ----------
    plan : Plan
        Plan of the pool.
    """

    def __init__(self, plan):
        self._plan, self._model = plan, plan.model
        self._classes, self._codes = np.unique(plan.y, return_inverse=True)
        self._design = Design(plan.X, self._model.fit_intercept, plan.scaler is None)
        self._prepare()

    def memory(self):
        """Return the memory per further model, in bytes."""
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
        bound = Preconditioner(pool, pool.bound(0))
        found = _minimize(pool, np.zeros((1, pool.size)), [0], bound, _ROUGH, _POOL_STEPS)
        self._start, base = found.points[0], pool.curvature(found.points, [0])
        self._curve = Preconditioner(pool, base)
        points = losses.project(np.repeat(found.points, len(pilots), axis=0), pilots)
        for _ in range(_ROUNDS):
            found = _minimize(losses, points, pilots, self._curve, _ROUGH, _PILOT_STEPS)
            points = found.points
            if found.done.all():
                break
            own = losses.curvature(points, pilots)
            mixed = [_SHARE * own_row + (1 - _SHARE) * all_ for own_row, all_ in zip(own, base)]
            self._curve = Preconditioner(pool, mixed)
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
        """Find the optima of some models.

        Parameters
        ----------
        models : ndarray of int
            Numbers of the models in the pool.

        Returns
        -------
        solution : Solution
        """
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
        return Solution(coef, intercept, n_iter, solved, fit, tried, losses.present, further)

    def _has_single_optimum(self, losses):
        """Return which models have at most one optimum."""
        single = np.full(losses.n_models, not self._hopeless)
        if self._is_free() and not self._hopeless:
            for row, weights in enumerate(losses.weights):
                part = losses.columns[weights > 0]
                single[row] = Factor(part.T @ part).rcond > SMALLEST_RCOND
        return single


def _minimize(losses, start, rows, curve, tol, max_iter, coarse=_COARSE):
    return minimize_together(
        losses.gradient,
        start,
        np.asarray(rows),
        lambda vectors, models: curve(vectors, models, losses),
        reach=curve.reach,
        tol=tol,
        coarse=coarse,
        max_iter=max_iter,
    )


def _solve_alone(losses, point, row):
    """Continue with the model's own curvature, which is updated every few steps."""
    n_iter = 0
    for _ in range(_ALONE_ROUNDS):
        curve = Preconditioner(losses, losses.curvature(point[None], [row]))
        found = _minimize(losses, point[None], [row], curve, _TOL, _ALONE_STEPS, np.inf)
        point, n_iter = found.points[0], n_iter + int(found.n_iter[0])
        if found.done[0] and found.n_iter[0] <= _NEAR:
            return point, n_iter, True
    return point, n_iter, False
