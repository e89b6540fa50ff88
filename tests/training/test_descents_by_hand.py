"""Descents of logistic regressions on functions whose minima are known."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import array, inf, nan
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from skmia._training.backends.linear import design, logistic

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


def make_losses(n_classes, n=150):
    """Make the losses of two models, of which the second lacks one of three classes."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    weights = rng.uniform(size=(2, n))
    weights[:, :9] = 0
    if n_classes > 2:
        weights[1, codes == 1] = 0
    columns, penalty = rng.normal(size=(n, 3)), rng.uniform(0.1, 1.0, size=(2, 3))
    losses = logistic.CrossEntropies(columns, codes, weights, penalty)

    def compute(point, model):
        """Return the mean loss of a model, written out."""
        vectors = point.reshape(losses.n_vectors, 3)
        logits = columns @ vectors.T
        if n_classes == 2:
            logits = np.column_stack([np.zeros(n), logits])
        logits[:, ~losses.present[model]] = -inf
        used = weights[model] > 0
        each = logsumexp(logits[used], axis=1) - logits[used, codes[used]]
        mean = np.average(each, weights=weights[model][used])
        return mean + 0.5 * np.sum(penalty[model] * vectors**2)

    return losses, compute, 0.5 * rng.normal(size=(2, losses.size))


def differentiate(function, point, step=1e-5):
    """Return the derivative along each coordinate, from both sides."""
    steps = step * np.eye(len(point))
    return array([(function(point + one) - function(point - one)) / (2 * step) for one in steps])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("block", [1, 2**17])
def test_derivatives_are_those_of_the_losses(n_classes, block, monkeypatch):
    monkeypatch.setattr(logistic, "_BLOCK", block)  # three blocks of records, or one
    losses, compute, points = make_losses(n_classes)
    wanted = array([differentiate(lambda p, k=k: compute(p, k), points[k]) for k in (0, 1)])
    np.testing.assert_allclose(losses.gradient(points, [0, 1], False), wanted, atol=1e-8)
    np.testing.assert_allclose(losses.gradient(points, [0, 1], True), wanted, atol=1e-5)
    np.testing.assert_allclose(losses.gradient(points[1:], [1], False), wanted[1:], atol=1e-8)
    own = [
        differentiate(lambda p, k=k: losses.gradient(p[None], [k], False)[0], points[k])
        for k in (0, 1)
    ]
    hessian = np.mean(own, axis=0)
    if n_classes > 2:  # and what makes it positive where all classes rise together
        level = losses.columns.T @ losses.columns / (150 * 9)
        hessian += np.kron(np.ones((3, 3)), level)
    (found,) = losses.curvature(points, [0, 1])
    lower = np.kron(np.tril(np.ones((losses.n_vectors,) * 2)), np.ones((3, 3)))
    np.testing.assert_allclose(found.reshape(losses.size, -1) * lower, hessian * lower, atol=1e-8)
    monkeypatch.setattr(logistic, "_FULL", losses.size - 1)
    blocks = losses.curvature(points, [0, 1])
    assert len(blocks) == losses.n_vectors
    for c, block in enumerate(blocks):
        place = slice(3 * c, 3 * c + 3)
        wanted = np.mean(own, axis=0)[place, place]
        np.testing.assert_allclose(block.reshape(3, 3), wanted, atol=1e-8)
    bounds = losses.bound(1)
    weighted = losses.columns.T * losses.weights[1] @ losses.columns
    wanted = weighted / (4 if n_classes == 2 else 2) + np.diag(losses.penalty[1])
    assert len(bounds) == losses.n_vectors
    np.testing.assert_allclose(bounds[-1].reshape(3, 3), wanted)
    excess = np.kron(np.eye(losses.n_vectors), wanted) - own[1]
    assert np.linalg.eigvalsh(excess).min() > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_preconditioner_solves_where_the_coefficients_sum_to_zero(n_classes):
    losses, _, points = make_losses(n_classes)
    projected = losses.project(points, [0, 1])
    if n_classes == 2:
        assert projected is points
    else:
        parts = projected.reshape(2, 3, 3)
        np.testing.assert_allclose(parts.sum(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(
            parts[0], points[0].reshape(3, 3) - points[0].reshape(3, 3).mean(0)
        )
        np.testing.assert_array_equal(parts[1, 1], 0)  # the class that it lacks
        difference = parts[1, 2] - parts[1, 0]
        np.testing.assert_allclose(difference, points[1, 6:] - points[1, :3])
    hessians = losses.curvature(points, [0, 1])
    curve = logistic.BlockPreconditioner(losses, hessians)
    matrix = np.tril(hessians[0].reshape(losses.size, -1))
    matrix += np.tril(matrix, -1).T
    wanted = np.linalg.solve(matrix, projected.T).T
    np.testing.assert_allclose(
        curve(points, [0, 1], losses), losses.project(wanted, [0, 1]), rtol=1e-6
    )


def weigh(class_weight, inside):
    solver = object.__new__(logistic.LogisticSolver)
    solver._model = LogisticRegression(class_weight=class_weight)
    solver._plan = NS(y=array(["a", "a", "b", "a", "b"]))
    return solver._weigh(array(inside, dtype=bool))


def test_records_have_the_weights_of_their_classes_in_each_training_set():
    inside = [[1, 1, 1, 1, 0], [0, 1, 1, 0, 1]]
    np.testing.assert_array_equal(weigh(None, inside), inside)
    np.testing.assert_array_equal(
        weigh({"a": 0.5, "b": 3.0}, inside), [[0.5, 0.5, 3.0, 0.5, 0.0], [0, 0.5, 3.0, 0, 3.0]]
    )
    np.testing.assert_allclose(
        weigh("balanced", inside), [[2 / 3, 2 / 3, 2, 2 / 3, 0], [0, 1.5, 0.75, 0, 0.75]]
    )


@pytest.mark.parametrize("shape", [(20, 3), (4, 7)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("uniform", [True, False])
def test_a_design_changes_coordinates_and_no_penalty(shape, fit_intercept, uniform):
    rng = np.random.default_rng(0)
    X = 5.0 + rng.normal(size=shape) * np.arange(1, shape[1] + 1)
    X[:, 1] = 3.0 if fit_intercept else 0.0  # a constant feature
    made = design.LinearDesign(X, fit_intercept, uniform)
    is_rotated = uniform and shape[1] > shape[0]
    assert (made.rotation is not None) == is_rotated
    points = rng.normal(size=(2, made.columns.shape[1]))
    coef, intercept = made.to_features(points)
    assert coef.shape == (2, shape[1])
    np.testing.assert_allclose(points @ made.columns.T, coef @ X.T + intercept[:, None])
    assert fit_intercept or not intercept.any()
    strength = array([0.5, 2.0])
    spread = None if is_rotated else rng.uniform(1, 2, size=(2, shape[1]))
    own = coef**2 if spread is None else (coef * spread) ** 2
    found = (made.penalty(strength, spread) * points**2).sum(axis=1)
    np.testing.assert_allclose(found, strength * own.sum(axis=1))
    if not is_rotated:  # so that all columns are alike, but for the constant one
        spreads = np.sqrt(np.mean(made.columns[:, : shape[1]] ** 2, axis=0))
        np.testing.assert_allclose(spreads, np.where(np.arange(shape[1]) == 1, 0.0, 1.0))
