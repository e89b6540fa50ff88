"""Odd types of arrays and tables give the numbers of ordinary ones, or one sentence."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool, disparity, model_selection, report, synthetic
from skmia.attacks import LiRA

X = np.random.default_rng(0).normal(size=(24, 3))
BITS = np.arange(24) % 2
MEMBERS = np.tile([[1, 0], [0, 1]], (2, 12))
MODEL = LogisticRegression().fit(X, BITS)


def test_a_pool_says_what_is_wrong_with_two_columns_of_one_name():
    table = pd.DataFrame(X, columns=["a"] * 3)
    with pytest.raises(RuntimeError, match="could not be trained on its 12 of 24 .*'a' 3 times"):
        ShadowPool(MODEL, 4, random_state=0).fit(Records(table, BITS))


@pytest.mark.parametrize("dtype", (np.float16, np.longdouble))
def test_groups_in_any_type_of_numbers_are_read(dtype):
    pool = ShadowPool(MODEL, 4, random_state=0).fit(Records(X, BITS))
    attack = LiRA(shadows=FrozenEstimator(pool))
    groups = (np.arange(24) // 2 % 2).astype(dtype)
    curve = model_selection.leave_one_model_out(
        attack, Records(X, BITS, group=groups), group="group"
    )
    assert curve is not None
    guesses = disparity.GroupGuesses(MEMBERS, MEMBERS, groups)
    test = disparity.DisparityTest(n_permutations=9, random_state=0).fit(guesses)
    assert test.group_vulnerability_.index.tolist() == [0.0, 1.0]


def test_distances_of_short_integers_do_not_wrap():
    rows = np.random.default_rng(0).integers(0, 256, (24, 3))
    losses = [
        synthetic.PrivacyLoss(n_permutations=9, random_state=0).fit(*tables).statistic_
        for tables in (
            [rows, rows[::-1] // 2, rows // 3],
            [one.astype(np.uint8) for one in (rows, rows[::-1] // 2, rows // 3)],
        )
    ]
    assert losses[0] == losses[1]


def test_cells_that_are_lists_are_refused():
    cells = X.astype(object)
    cells[12, 0] = [1]
    with pytest.raises(ValueError, match="Cells must hold one value each"):
        report.blind_baseline(Records(cells, BITS), BITS, random_state=0)


def test_labels_without_an_order_are_refused():
    with pytest.raises(ValueError, match="y must hold labels of one type, .*; got dict"):
        Records(X, [{}] * 24)
