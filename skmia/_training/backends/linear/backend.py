"""Joint training of linear models."""

from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from ...groups import describe_training_error
from ..backend import TrainingBackend, train_alone
from .design import LinearPlan, SolutionKeeper, split_estimator, why_not_features, why_not_steps
from .logistic import N_PILOTS, LogisticSolver, why_not_batched_logistic
from .ridge import (
    NormalSolver,
    make_ridge_solver,
    why_not_batched_least_squares,
    why_not_batched_ridge,
)

# Why the models of a Plan cannot be solved, or None; and what makes a solver, which prepares what
# all of them share.
_FAMILIES = {
    LinearRegression: (why_not_batched_least_squares, NormalSolver),
    LogisticRegression: (why_not_batched_logistic, LogisticSolver),
    Ridge: (why_not_batched_ridge, make_ridge_solver),
}
_LARGEST_CHUNK = 64
# A larger chunk is not faster where records are many, and would take more memory than the signals.
_BYTES_OF_CHUNK = 2**24
_LEFT_OVER = (
    "its optimum was not found together with the other models, so the estimator fitted it alone."
)


class LinearWay(TrainingBackend):
    """Solves the logistic or ridge regressions of a pool together.

    The models share the records, and so the products of large matrices, the curvature and a start
    near all optima. One scaler before the model is merged into the penalty. Logits agree with the
    optimum to 1e-3 nats or better (``_TOL`` of ``logistic.py``), whereas scikit-learn stops at tol
    or max_iter: a victim that stopped far from its optimum should get a larger max_iter. A model
    without a reachable one, or with fewer classes in its training set than the others, is fitted by
    the estimator itself.
    """

    name = "linear"
    exact = False

    def is_meant_for(self, estimator):
        return type(split_estimator(estimator)[1]) in _FAMILIES

    def why_not(self, job):
        kind = type(split_estimator(job.estimator)[1])
        if kind not in _FAMILIES:
            kinds = ", ".join(kind.__name__ for kind in _FAMILIES)
            return f"{kind.__name__} is none of {kinds}."
        for X in job.data.tables:
            reason = why_not_features(X)
            if reason:
                return reason[0].upper() + reason[1:] + "."
        why_not, _ = _FAMILIES[kind]
        reason = why_not_steps(job.estimator) or why_not(LinearPlan(job))
        return None if reason is None else reason[0].upper() + reason[1:] + "."

    def run(self, job, models, where):
        wanted = np.zeros(job.n_models, dtype=bool)
        wanted[list(models)] = True
        if not wanted.any():
            return
        asked = wanted.copy()
        if (first := wanted.argmax()) < N_PILOTS:
            # A pool with fewer models than pilots has grown: start and curvature are others now, so
            # its models are trained again as well.
            wanted[:first] = True
        plan = LinearPlan(job)
        _, make_solver = _FAMILIES[type(plan.model)]
        solver = make_solver(plan)
        workshop = SolutionKeeper(job, plan)
        # The same models are always solved together, so that an interrupted pool continues with the
        # numbers that it would have had. If a pool grows, its last chunk gets more models: all of
        # them are yielded again, with the numbers that they have in the larger chunk.
        most = min(_BYTES_OF_CHUNK // solver.memory(), job.most_together or _LARGEST_CHUNK)
        step = min(_LARGEST_CHUNK, max(2, most // 2 * 2))
        for begin in range(0, len(wanted), step):
            chunk = np.arange(begin, min(begin + step, len(wanted)))
            if wanted[chunk].any():
                start = perf_counter()
                try:
                    solution = solver.solve(chunk)
                except MemoryError as error:
                    reason = describe_training_error(error)
                    yield from ((int(k), train_alone(job, k, reason)) for k in chunk if asked[k])
                    continue
                seconds = (perf_counter() - start) / len(chunk)
                done = np.flatnonzero(solution.solved)
                yield from workshop.finish(chunk, done, solution, seconds)
                # A model that did not converge in this chunk may have converged in a smaller one.
                alone = (wanted[chunk] | solution.tried) & ~solution.solved
                for row in np.flatnonzero(alone):
                    yield _fit_alone(job, int(chunk[row]), solution.expected[row])


def _fit_alone(job, k, expected):
    kept = train_alone(job, k)
    if expected:
        kept = kept._replace(warnings=(*kept.warnings, (ConvergenceWarning, _LEFT_OVER)))
    return k, kept
