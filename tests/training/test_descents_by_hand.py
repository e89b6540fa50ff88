"""Descents of logistic regressions on functions whose minima are known."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import array, inf, nan

from skmia._training.backends.linear import logistic

CENTERS = array([[0.0], [10.0], [20.0]])


def start_descent(points, scale=1.0, models=None, coarse=False, limit=inf):
    """Start at points of (p - center)**2 / 2; beyond a limit, nothing is a number."""

    def compute(points, models, coarse):
        gradient = points - CENTERS[models] + (0.5 if coarse else 0.0)
        return np.where(np.abs(points) > limit, nan, gradient)

    models = range(len(points)) if models is None else models
    start = array(points)[:, None]
    return logistic._NewtonDescent(
        compute, lambda gradient, models: scale * gradient, start, models, coarse
    )


def look(descent):
    direction, slope = descent.look()
    return direction[:, 0], slope


def step(points, scale, **more):
    descent = start_descent(points, scale, **more)
    good = descent.step(*descent.look())
    settled = np.abs(descent.gradient - (descent.points - CENTERS[descent.models])).max()
    assert settled == (0.5 if descent.coarse else 0.0)
    assert np.abs(descent._solved - scale * descent.gradient).max() == 0
    return descent.points[:, 0], good


def refine(points):
    descent = start_descent(points, 2.0, coarse=True)
    before = look(descent)
    descent.refine()
    return before, look(descent), descent.coarse


def look_again(points, scale):
    descent = start_descent(points, scale)
    descent.step(*descent.look())
    return descent.points[:, 0], *look(descent)


def take(points, kept):
    descent = start_descent(points, 2.0, models=[2, 0, 1])
    descent.step(*descent.look())
    descent.take(array(kept))
    return (
        descent.rows,
        descent.models,
        descent.points[:, 0],
        descent.gradient[:, 0],
        descent._solved[:, 0],
        len(descent.history._steps),
        descent.step(*descent.look()),
        descent.points[:, 0],
    )


def minimize(points, scale=1.0, reach=1.0, tol=1e-9, coarse=0.0, max_iter=9, **more):
    descent = start_descent(points, scale, **more)
    found = logistic._minimize_all(descent, reach, tol, coarse, max_iter)
    return found.points[:, 0], found.done, found.n_iter, len(descent.points)


def watch(errors, good=(True,), tol=1.0, coarse=0.0, max_iter=40, is_coarse=False):
    """Minimize functions whose errors are given for each look; return what was done."""
    left, log = iter(errors), []
    n = len(errors[0])
    descent = NS(points=np.zeros((n, 1)), rows=np.arange(n), coarse=is_coarse)

    def look():
        error = array(next(left), dtype=float)
        return -error[:, None], -(error**2)

    def refine():
        log.append("refine")
        descent.coarse = False

    def take(kept):
        log.append(f"take {kept.sum()}")
        descent.points, descent.rows = descent.points[kept], descent.rows[kept]

    def step(direction, slope):
        log.append(f"step {len(direction)} {len(slope)}")
        return array(good)

    descent.look, descent.refine, descent.take, descent.step = look, refine, take, step
    found = logistic._minimize_all(descent, 1.0, tol, coarse, max_iter)
    return log, found.done, found.n_iter


ROWS = [
    (lambda: look(start_descent([3.0, 14.0], 2.0)), ([-6.0, -8.0], [-18.0, -32.0])),
    (lambda: start_descent([3.0, 14.0]).rows, [0, 1]),
    (
        lambda: refine([3.0, 14.0]),
        (([-7.0, -9.0], [-24.5, -40.5]), ([-6.0, -8.0], [-18.0, -32.0]), False),
    ),
    # One step: as it is, at the most that is allowed, and beyond it.
    (lambda: step([2.0, 14.0], 1.0), ([0.0, 10.0], [True, True])),
    (lambda: step([2.0], 1.5), ([-1.0], [True])),
    (lambda: step([2.0], 1.75), ([0.0], [True])),
    (lambda: step([2.0, 16.0], 4.0), ([0.0, 10.0], [True, True])),
    (lambda: step([2.0], 40.0), ([0.0], [True])),
    (lambda: step([2.0], 1e5), ([0.0], [True])),
    (lambda: step([2.0], 1e25), ([0.0], [True])),
    (lambda: step([2.0], 1e26), ([2.0], [False])),
    (lambda: step([2.0], 1e5, coarse=True), ([2.0], [False])),
    (lambda: step([2.0], 1e4, coarse=True), ([2.0], [False])),
    (lambda: step([2.0], 1e3, coarse=True), ([-0.5], [True])),
    (lambda: step([4.0], 8.0, limit=27.0), ([4.0 - 3.2], [True])),
    (
        lambda: take([3.0, 4.0, 5.0], [True, False, True]),
        ([0, 2], [2, 1], [20.0, 10.0], [0.0, 0.0], [0.0, 0.0], 2, [True, True], [20.0, 10.0]),
    ),
    # In one dimension, one step tells the curvature.
    (lambda: look_again([2.0, 14.0], 0.75), ([0.5, 11.0], [-0.5, -1.0], [-0.25, -1.0])),
    # All steps
    (lambda: minimize([2.0, 14.0]), ([0.0, 10.0], [True, True], [1, 1], 2)),
    (lambda: minimize([0.0, 14.0]), ([0.0, 10.0], [True, True], [0, 1], 1)),
    (lambda: minimize([3.0], tol=3.0)[2], [0]),
    (lambda: minimize([3.0], tol=2.99)[2], [1]),
    (lambda: minimize([3.0], tol=6.0, reach=2.0)[2], [0]),
    (lambda: minimize([3.0], tol=5.99, reach=2.0)[2], [1]),
    (lambda: minimize([3.0], max_iter=0), ([3.0], [False], [0], 1)),
    (lambda: minimize([3.0], max_iter=1), ([0.0], [True], [1], 1)),
    (lambda: minimize([nan], tol=inf)[1], [False]),
    (lambda: watch([[2.0]] * 27 + [[0.8]] * 9)[2], [27]),
    (lambda: watch([[2.0]] * 27 + [[0.86]] * 14)[1], [False]),
    (lambda: watch([[2.0]] * 25 + [[1.0]] * 14)[2], [25]),
    (lambda: watch([[2.0]] * 26 + [[1.0]] * 15)[1], [False]),
    (
        lambda: watch([[2.0] * 5, [2.0] * 4 + [0.5], [0.5] * 5], [True] * 5),
        (["step 5 5", "step 5 5"], [True] * 5, [2] * 5),
    ),
    (
        lambda: watch([[2.0] * 4, [2.0] * 3 + [0.5], [0.5] * 3], [True] * 4),
        (["step 4 4", "take 3", "step 3 3"], [True] * 4, [2, 2, 2, 1]),
    ),
    (lambda: watch([[2.0], [2.0]], [False]), (["step 1 1"], [False], [0])),
    (
        lambda: watch([[2.0, 3.0], [2.0, 0.5], [0.5]], [True, False], is_coarse=True),
        (["step 2 2", "refine", "take 1", "step 1 1"], [True, True], [2, 1]),
    ),
    (
        lambda: watch([[2.0], [0.5]], [False], is_coarse=True),
        (["step 1 1", "refine"], [True], [1]),
    ),
    (
        lambda: watch([[2.0], [0.5]], coarse=2.0, is_coarse=True),
        (["refine"], [True], [0]),
    ),
    (
        lambda: watch([[2.0], [0.5], [0.5]], coarse=1.9, is_coarse=True),
        (["step 1 1", "refine"], [True], [1]),
    ),
    (
        lambda: watch([[2.0, 3.0], [0.5] * 2, [0.5] * 2], [True] * 2, coarse=2.5, is_coarse=True)[
            0
        ],
        ["step 2 2", "refine"],
    ),
    (
        lambda: watch([[2.0], [2.0], [0.5]], coarse=2.0, is_coarse=True),
        (["refine", "step 1 1"], [True], [1]),
    ),
    (
        lambda: watch([[2.0], [0.5]], tol=0.6, coarse=2.0, is_coarse=True),
        (["refine"], [True], [0]),
    ),
    (lambda: watch([[2.0], [0.5]], coarse=2.0), (["step 1 1"], [True], [1])),
]


def test_answers_by_hand():
    expect_answers(ROWS)


def update_inverse(inverse, step, change):
    """Return the inverse Hessian after one more step of BFGS, written out."""
    scale = 1 / (step @ change)
    across = np.eye(len(step)) - scale * np.outer(step, change)
    return across @ inverse @ across.T + scale * np.outer(step, step)


@pytest.mark.parametrize("n_steps", [0, 1, 3, logistic._MEMORY, logistic._MEMORY + 2])
def test_history_multiplies_by_the_inverse_of_its_last_steps(n_steps):
    rng = np.random.default_rng(0)
    size, start = 5, array([1.0, 2.0, 3.0, 4.0, 5.0])
    history = logistic._LbfgsHistory((3, size))
    pushed = []
    for number in range(n_steps):
        step = rng.normal(size=(3, size))
        change = step * rng.uniform(0.5, 2.0, size=(3, size))
        if number == n_steps - 2:
            change[1] *= -1  # no positive curvature
        history.push(step, change, start * change)
        pushed.append((step, change))
    history.take(array([False, True, True]))
    gradient = rng.normal(size=(2, size))
    wanted = []
    for k in (1, 2):
        inverse = np.diag(start)
        for step, change in pushed[-logistic._MEMORY :]:
            if step[k] @ change[k] > 0:
                inverse = update_inverse(inverse, step[k], change[k])
        wanted.append(inverse @ gradient[k - 1])
    assert history.solve(gradient, start * gradient) == pytest.approx(array(wanted))
