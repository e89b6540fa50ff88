"""Sides that are made of the same rows are refused before anything is trained."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skmia import Records, audit
from skmia.report import find_shared_rows

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 3)), columns=list("abc"))
Y = pd.Series((X["a"] > 0).astype(int))
OTHER = pd.DataFrame(RNG.normal(size=(200, 3)), columns=list("abc"))
OTHER_Y = pd.Series((OTHER["a"] > 0).astype(int))
ORDER = RNG.permutation(200)


class Untrainable(LogisticRegression):
    """Counts how often it is trained."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


def mix(n):
    """Held-out rows of which so many are training rows."""
    rows = pd.concat([X[:n], OTHER[n:]]), pd.concat([Y[:n], OTHER_Y[n:]])
    return tuple(part.iloc[ORDER] for part in rows)


SIDES = {
    "equal": ((X, Y), "hold the same 200 rows, so none of them is held out"),
    "another order of rows": ((X.iloc[ORDER], Y.iloc[ORDER]), "hold the same 200 rows"),
    "another order of columns": ((X[["c", "a", "b"]], Y), "hold the same 200 rows"),
    "a part": ((X[:60], Y[:60]), "ll 60 rows of the held-out data are also among the 200 of"),
    "more": ((pd.concat([X, OTHER]), pd.concat([Y, OTHER_Y])), "ll 200 rows of the training data"),
    "much": (mix(120), "120 of the 200 rows of the held-out data are also among the 200 of the"),
}


@pytest.mark.parametrize("name", SIDES)
def test_sides_of_the_same_rows_are_refused_before_anything_is_trained(name):
    held_out, told = SIDES[name]
    model = Untrainable().fit(X, Y)
    before = Untrainable.n_fits
    with pytest.raises(ValueError, match=told):
        audit(model, train=(X, Y), held_out=held_out)
    records, membership = Records.from_sides((X, Y), held_out)
    with pytest.raises(ValueError, match="that the model was not trained on"):
        audit(model, records, membership)
    assert Untrainable.n_fits == before


@pytest.mark.parametrize("n", [0, 20, 90])
def test_few_copies_are_left_to_the_check_of_duplicates(n):
    records, membership = Records.from_sides((X, Y), mix(n))
    assert find_shared_rows(records.fingerprint, membership) is None


@pytest.mark.parametrize("n_values", [2, 3, 5])
@pytest.mark.parametrize("n", [40, 300, 2000])
def test_copies_of_a_coarse_table_are_chance(n_values, n):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = Records(rng.integers(n_values, size=(n, 3)).astype(float))
        assert find_shared_rows(table.fingerprint, rng.permutation(n) % 3 > 0) is None


def test_equal_sides_of_a_coarse_table_are_found():
    side = np.random.default_rng(0).integers(4, size=(300, 4)).astype(float)
    records, membership = Records(np.vstack([side, side[::-1]])), np.arange(600) < 300
    shared = find_shared_rows(records.fingerprint, membership)
    assert shared[2:] == (300, 300)


def test_equal_sides_of_which_each_row_stands_there_often_are_found():
    # Chance cannot tell where each of few rows is on both sides many times; equal numbers can.
    rows = np.array([(a, b, c) for a in range(3) for b in range(3) for c in range(3)], dtype=float)
    side = np.repeat(rows, np.arange(27) + 60, axis=0)
    records, membership = Records(np.vstack([side, side])), np.arange(2 * len(side)) < len(side)
    shared = find_shared_rows(records.fingerprint, membership)
    assert shared[2:] == (len(side), len(side))
    other = np.repeat(rows, np.arange(27)[::-1] + 60, axis=0)
    records = Records(np.vstack([side, other]))
    assert find_shared_rows(records.fingerprint, membership) is None


def test_rows_that_one_side_has_twice_are_no_shared_rows():
    twice = np.repeat(np.random.default_rng(0).normal(size=(100, 3)), 2, axis=0)
    assert find_shared_rows(Records(twice).fingerprint, np.arange(200) < 100) is None
