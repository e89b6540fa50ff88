"""Small functions of disparity at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers
from numpy import array, inf, nan

from skmia.disparity import _permutation, _test

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _permutation: [
        (
            lambda: _permutation._divide_variances(
                array([0.0, 1.0, 2.0]), array([0.0, 0.0, 4.0]), 3
            ),
            [0.0, inf, 0.5],
        ),
    ],
    _test: [
        (
            lambda: _test._sums_of_squares(array([[1.0, 2.0, 6.0], [2.0, 3.0, 1.0]])),
            [4.0, 1.5, 12.0],
        ),
        (lambda: _test._sums_of_squares(array([[0.1, 0.1], [0.1, 0.1]])), [0.0, 0.0, 0.0]),
        (lambda: _test.compute_eta_squared(NS(sums=(1.0, 2.0, 3.0))), (0.25, 0.166666667)),
        (lambda: _test.compute_eta_squared(NS(sums=(0.0, 0.0, 0.0))), (nan, nan)),
        (lambda: _test.is_sequence_of_groups(["a", "b"]), True),
        (lambda: _test.is_sequence_of_groups(np.zeros((2, 2))), False),
        (lambda: _test.is_sequence_of_groups(pd.DataFrame({"a": [1]})), False),
        (
            lambda: _test.look_up_means(
                pd.Series([0.1, 0.2], index=["a", "b"]), array(["b", "a", "b"])
            ),
            [0.2, 0.1, 0.2],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
