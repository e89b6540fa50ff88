"""Small functions of signals at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import array

from skmia.signals import _base, _boundary, _confidence

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
    ],
    _confidence: [
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
