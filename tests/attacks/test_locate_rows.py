"""Which row of the training table each candidate was, from the seeds of a forest."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia.attacks import SplitThresholdAttack
from skmia.attacks._split_threshold import _match, locate
from skmia.defenses import strip_state
from skmia.victims._split_thresholds import read_split_thresholds, replay_samples

pytestmark = pytest.mark.contract

X = load_breast_cancer().data[:300]
Y = np.random.default_rng(1).normal(size=len(X))  # noise, so that trees are large
RECORDS = Records(X, Y)
ORDER = np.random.default_rng(0).permutation(len(Y))
TRAIN = ORDER[: len(Y) // 2]
ROWS = np.full(len(Y), -1)
ROWS[TRAIN] = np.arange(len(TRAIN))


def attack(model, records=RECORDS, **settings):
    return SplitThresholdAttack(FrozenEstimator(model), **settings).fit(records)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(RandomForestRegressor(30, random_state=0), marks=pytest.mark.slow),
        make_pipeline(StandardScaler(), RandomForestRegressor(30, max_samples=0.7, random_state=0)),
        pytest.param(BaggingRegressor(n_estimators=30, random_state=0), marks=pytest.mark.slow),
        BaggingRegressor(n_estimators=30, bootstrap=False, max_samples=0.5, random_state=0),
    ],
    ids=["forest", "pipeline", "bootstrap", "subsamples"],
)
def test_rows_are_those_of_the_training_table(model):
    found = attack(model.fit(X[TRAIN], Y[TRAIN]))
    rows, proba = found.locate_rows(RECORDS)
    member = ROWS >= 0
    assert np.mean(rows == ROWS) > 0.99
    assert np.mean(proba[member] > 0.9) > 0.99 and proba[~member].max() < 0.9
    turned, again = found.locate_rows(RECORDS[::-1])
    np.testing.assert_array_equal(turned[::-1], rows)
    np.testing.assert_array_equal(again[::-1], proba)


def test_the_only_table_that_can_have_given_all_thresholds_is_found():
    rng = np.random.default_rng(0)
    values, train = rng.normal(size=(7, 2)).astype(np.float32).astype(float), [5, 0, 3, 6]
    forest = RandomForestRegressor(100, max_depth=1, random_state=0)
    forest.fit(values[train], rng.normal(size=4))
    drawn = replay_samples(forest)

    def explains(table):
        for tree, sample in zip(forest.estimators_, drawn, strict=True):
            if tree.tree_.node_count > 1:
                column = np.sort(table[sample, tree.tree_.feature[0]])
                if tree.tree_.threshold[0] not in column[1:] / 2 + column[:-1] / 2:
                    return False
        return True

    tables = [table for table in permutations(range(7), 4) if explains(values[list(table)])]
    assert tables == [tuple(train)]
    records = Records(values, np.zeros(7))
    rows, proba = attack(forest, records).locate_rows(records)
    np.testing.assert_array_equal(rows, [1, -1, -1, 2, -1, 0, 3])
    assert (proba[train] > 0.9).all()


def test_each_row_is_used_once():
    # Two equal candidates share the row that fits them; another row has a candidate of its own.
    drawn = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    parts = np.where(drawn[:, [0, 0, 1, 1]].T == 1, 1.0, -4.0)
    parts[3] = -4.0
    proba, _ = _match(parts, drawn, 0.5, 0.0)
    np.testing.assert_allclose(proba, [[0.5, 0], [0.5, 0], [0, 1], [0, 0]], atol=0.01)


def test_without_evidence_all_rows_are_equally_probable():
    drawn = np.random.default_rng(0).integers(2, size=(9, 10)).astype(np.float32)
    proba, untold = _match(np.zeros((16, 9)), drawn, 0.5, 0.0)
    np.testing.assert_allclose(proba, proba[0, 0], rtol=1e-4)
    assert (proba.sum(axis=1) + untold < 1).all() and (proba.sum(axis=0) < 1).all()


def test_no_row_is_certain_if_the_forest_was_fitted_on_other_records():
    rest = ROWS < 0
    forest = RandomForestRegressor(10, random_state=0).fit(X[TRAIN], Y[TRAIN])
    with pytest.warns(UserWarning, match="No values of the candidates explain"):
        found = attack(forest, RECORDS[rest])
    _, proba = found.locate_rows(RECORDS[rest])
    assert proba.max() < 0.9
    rows, proba = found.locate_rows(RECORDS[~rest])  # not among the candidates
    assert (rows == -1).all() and (proba == 0).all()


def test_equal_values_of_other_people_are_not_taken_for_rows():
    rng = np.random.default_rng(0)
    table = rng.integers(40, size=(600, 5))
    forest = RandomForestRegressor(60, random_state=0).fit(table[:200], rng.normal(size=200))
    groups = read_split_thresholds(forest, table[200:], 0.5)
    explained = sum(one.n_explained for one in groups) / sum(one.n_thresholds for one in groups)
    assert explained > 0.5  # by chance: none of the candidates was a row
    most = locate(groups, replay_samples(forest), 400, 0.5, 0.0).max(axis=1)
    assert np.mean(most > 0.5) < 0.01


def strip(model):
    with pytest.warns(UserWarning, match="stay in the copy"):
        return strip_state(model)


def give_other_seeds(forest):
    for tree in forest.estimators_:
        tree.random_state += 1
    return forest


BAG = BaggingRegressor(n_estimators=5, random_state=0)


@pytest.mark.parametrize(
    "model, change, reason",
    [
        (GradientBoostingRegressor(n_estimators=2), None, "only random forests and bagged trees"),
        (RandomForestRegressor(5, bootstrap=False), None, "trees were grown on all rows"),
        (RandomForestRegressor(5), strip, "does not store its seeds"),
        (BAG, strip, "does not store its seeds"),
        (RandomForestRegressor(5, random_state=0), give_other_seeds, "not those that its trees"),
    ],
    ids=["boosting", "no bootstrap", "stripped forest", "stripped bag", "other draws"],
)
def test_samples_that_cannot_be_drawn_again_are_refused(model, change, reason):
    model.fit(X[TRAIN], Y[TRAIN])
    found = attack(change(model) if change else model)
    with pytest.raises(ValueError, match=f"are not drawn again: .*{reason}"):
        found.locate_rows(RECORDS)
