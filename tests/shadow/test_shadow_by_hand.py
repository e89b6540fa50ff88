"""Small functions of shadow pools at the limits of their branches, with answers by hand."""

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers
from numpy import array, nan

from skmia.shadow import _job, _record_columns, _stored, _synthesis

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _job: [
        (lambda: _job._limit_batched(4), 4),
        (lambda: _job._limit_batched(1), None),
        (lambda: _job._limit_batched(True), None),
        (lambda: _job._limit_batched("auto"), None),
    ],
    _record_columns: [
        (
            lambda: _record_columns.find_smallest_hashes(
                array([5, 1, 5, 2, 1], dtype=np.uint64), 2
            ),
            [1, 3],
        ),
        (
            lambda: _record_columns.find_smallest_hashes(
                array([5, 1, 5, 2, 1], dtype=np.uint64), 9
            ),
            [1, 3, 0],
        ),
    ],
    _stored: [
        (
            lambda: _stored._estimate_scale(
                -np.log(array([[1.0, 2.0], [3.0, 4.0]])),
                array([[True, False], [False, False]]),
                None,
            ),
            3.10912635,
        ),
    ],
    _synthesis: [
        (lambda: _synthesis._compute_range(array([1.0, 3.0, nan])), (1.0, 3.0, 2.0)),
        (lambda: _synthesis._compute_range(array([2.0, 2.0])), (2.0, 2.0, 1.0)),
        (lambda: _synthesis._compute_range(array([1.0, 2.0, 5.0])), (1.0, 5.0, 1.0)),
        (lambda: _synthesis._compute_range(array([1.0, 2.5, 5.0])), (1.0, 5.0, 0.0)),
        (lambda: _synthesis._encode_column(pd.Series([1, 2])), ([1.0, 2.0], None)),
        (lambda: _synthesis._encode_column(pd.Series([True, False]))[0], [0, 1]),
        (lambda: _synthesis._decode_column(array([1.0, 0.0]), None, np.dtype("int64")), [1, 0]),
        (
            lambda: _synthesis._decode_column(array([1.0, 0.0]), pd.Index(["a", "b"]), object),
            ["b", "a"],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
