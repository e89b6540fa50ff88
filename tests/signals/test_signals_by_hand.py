"""Small functions of signals at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array, inf

from skmia.signals import _base, _boundary, _confidence


def ascend_once(norm="l2", is_first=True, losses=(1.0, 2.0, 0.5), wrong=(True, True, False)):
    """Return a search of three records of two features after a step, each with another loss."""
    climbed = []

    def climb(points, rows):
        climbed.append(points)
        loss = array([1.0, 1.0, 1.0]) if len(climbed) == 1 else array(losses)
        return loss, array([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0]]) * len(climbed)

    boundary = NS(origin=np.zeros((5, 2)), bounds=None, is_wrong=lambda points, rows: array(wrong))
    search = _boundary._BoundaryAscent(
        boundary, climb, array([4, 2, 0]), array([1.0, 2.0, 3.0]), norm
    )
    search.step(is_first)
    return search


def ascend_on(**fields):
    search = ascend_once()
    search.step(False)
    for name, value in fields.items():
        setattr(search, name, array(value))
    search.reconsider(4)
    return search


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _base: [
        (lambda: _base._locate_rank([array([0, 2, 2]), array([5])], 0), (0, 0)),
        (lambda: _base._locate_rank([array([0, 2, 2]), array([5])], 2), (2, 1)),
        (lambda: _base._locate_rank([array([0, 2, 2]), array([5])], 3), (5, 0)),
        (
            lambda: _base._find_rank(
                lambda: [
                    array([3.0, -1.0], dtype=np.float32),
                    array([2.0, -5.0], dtype=np.float32),
                ],
                1,
            ),
            -1.0,
        ),
        (
            lambda: _base._find_rank(
                lambda: [
                    array([3.0, -1.0], dtype=np.float32),
                    array([2.0, -5.0], dtype=np.float32),
                ],
                2,
            ),
            2.0,
        ),
    ],
    _boundary: [
        (lambda: _boundary._unit(array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]]),
        (lambda: _boundary._diameter("linf", (2, 3, 4)), 1.0),
        (lambda: _boundary._diameter("l1", (2, 3, 4)), 12.0),
        (lambda: _boundary._diameter("l2", (2, 8)), 4.0),
        (lambda: _boundary.compute_norm(array([[3.0, -4.0], [0.0, 0.0]]), "l1"), [7.0, 0.0]),
        (lambda: _boundary.compute_norm(array([[3.0, -4.0], [0.0, 1.0]]), "l2"), [5.0, 1.0]),
        (lambda: _boundary.compute_norm(array([[3.0, -4.0], [0.0, 1.0]]), "linf"), [4.0, 1.0]),
        # Shares 0, .22, .41, .57, .7, .8, .87, .93, .99, 1.05, each .03 less after the one before.
        (lambda: _boundary._choose_checkpoints(100), [22, 41, 57, 70, 80, 87, 93, 99]),
        (lambda: _boundary._choose_checkpoints(10), [3, 5, 6, 7, 8, 9]),
        (lambda: _boundary._choose_checkpoints(1), []),
        (
            lambda: _boundary._project_l1(
                array([[3.0, -1.0], [0.5, 0.25], [-2.0, 2.0], [1.0, 0.0]]),
                array([1.0, 1.0, 2.0, 1.0]),
            ),
            [[1.0, 0.0], [0.5, 0.25], [-1.0, 1.0], [1.0, 0.0]],
        ),
        (
            lambda: _boundary._project_l1(array([[3.0, -2.0, 0.5]]), array([4.0])),
            [[2.5, -1.5, 0.0]],
        ),
        (
            lambda: _boundary._project(
                array([[4.0, -3.0]]), array([[1.0, 1.0]]), array([2.0]), "linf", None
            ),
            [[3.0, -1.0]],
        ),
        (
            lambda: _boundary._project(
                array([[4.0, -3.0], [1.0, 2.0]]), np.ones((2, 2)), array([2.5, 2.5]), "l2", None
            ),
            [[2.5, -1.0], [1.0, 2.0]],
        ),
        (
            lambda: _boundary._project(
                array([[4.0, -3.0]]), array([[1.0, 1.0]]), array([2.0]), "l1", (0.0, 1.25)
            ),
            [[1.25, 0.0]],
        ),
        (
            lambda: _boundary._compute_direction(array([[3.0, -4.0], [0.0, 0.0]]), "l2", None),
            [[0.6, -0.8], [0.0, 0.0]],
        ),
        (
            lambda: _boundary._compute_direction(array([[3.0, -4.0, 0.0]]), "linf", None),
            [[1.0, -1.0, 0.0]],
        ),
        (
            lambda: _boundary._compute_direction(
                array([[3.0, -4.0, 0.0], [3.0, -4.0, 1.0], [0.0, 0.0, 0.0]]), "l1", array([3, 1, 1])
            ),
            [[0.5, -0.5, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0]],
        ),
        # A first step of twice the radius along the gradient ends on the ball.
        (lambda: ascend_once().points, [[0.6, 0.8], [0.0, 2.0], [-3.0, 0.0]]),
        (lambda: ascend_once().n_raised, [0, 1, 0]),
        (lambda: ascend_once().best_loss, [1.0, 2.0, 1.0]),
        (lambda: ascend_once().best, [[0.0, 0.0], [0.0, 2.0], [0.0, 0.0]]),
        (lambda: ascend_once().best_gradient, [[3.0, 4.0], [0.0, 4.0], [-1.0, 0.0]]),
        (lambda: ascend_once().found, [True, True, False]),
        (lambda: ascend_once().adversarial, [[0.6, 0.8], [0.0, 2.0], [0.0, 0.0]]),
        (lambda: ascend_once().adversarial_loss, [1.0, 2.0, -inf]),
        # A later one goes three quarters of the way, and a quarter of the step before; none here.
        (lambda: ascend_once(is_first=False).points, [[0.45, 0.6], [0.0, 1.5], [-2.25, 0.0]]),
        (lambda: ascend_once("l1").n_changed, [1, 1, 1]),
        (
            lambda: ascend_on(n_raised=[3, 2, 4], eta_before=[9.0] * 3).eta,
            [2.0, 2.0, 6.0],
        ),
        # Without a better point since the steps were the same, they halve too.
        (
            lambda: ascend_on(n_raised=[3, 4, 4], best_loss=[1.0, 5.0, 1.0]).eta,
            [1.0, 4.0, 3.0],
        ),
        (
            lambda: ascend_on(n_raised=[0, 4, 4], eta_before=[9.0] * 3).points,
            [[0.0, 0.0], [0.0, 2.0], [-3.0, 0.0]],
        ),
        (
            lambda: ascend_on(n_raised=[0, 4, 4], eta_before=[9.0] * 3).last,
            [[0.0, 0.0], [0.0, 2.0], [-3.0, 0.0]],
        ),
        (
            lambda: ascend_on(n_raised=[0, 4, 4], eta_before=[9.0] * 3).gradient,
            [[3.0, 4.0], [0.0, 6.0], [-3.0, 0.0]],
        ),
        (lambda: ascend_on(n_raised=[0, 4, 0], eta_before=[9.0] * 3).loss, [1.0, 2.0, 1.0]),
        (lambda: ascend_on(n_raised=[0, 4, 0]).n_raised, [0, 0, 0]),
        (lambda: ascend_on().eta_before, [2.0, 4.0, 6.0]),
    ],
    _confidence: [
        (
            lambda: _confidence.SquaredError().log_likelihood(array([-8.0, -2.0]), 4.0),
            [-0.25, -0.0625],
        ),
        (
            lambda: _confidence._mean_square(array([1.0, 2.0]), NS(values=array([0.0, 4.0]))),
            [1.0, 4.0],
        ),
        (
            lambda: _confidence._mean_square(array([[1.0, 2.0]]), NS(values=array([[0.0, 4.0]]))),
            [2.5],
        ),
        (
            lambda: _confidence.log_sigmoid(array([0.0, 1000.0, -1000.0])),
            [-0.693147181, 0.0, -1000.0],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import signals
    from skmia.signals import sequences

    found, n_compared = compare_defaults_of(signals, sequences)
    assert not found
    assert n_compared >= 80
