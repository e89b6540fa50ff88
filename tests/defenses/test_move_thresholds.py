"""Moved thresholds are no midpoints, predict training records the same, and are still attacked."""

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import SplitThresholdAttack
from skmia.defenses import ReleasedFileDefense, move_thresholds

N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 5))
Y = (X[:, :2].sum(axis=1) + RNG.normal(size=N) > 0).astype(int)


def read_thresholds(model):
    trees = np.ravel(getattr(model, "estimators_", [model]))
    return np.concatenate([one.tree_.threshold[one.tree_.children_left >= 0] for one in trees])


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_leaf_nodes=20, random_state=0),
        RandomForestClassifier(5, random_state=0),
        GradientBoostingRegressor(n_estimators=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_training_records_are_predicted_bitwise_the_same(model):
    model.fit(X, Y)
    before, answers = read_thresholds(model), model.predict(X)
    moved = move_thresholds(model, X)
    assert np.mean(read_thresholds(moved) != before) > 0.99
    np.testing.assert_array_equal(moved.predict(X), answers)
    np.testing.assert_array_equal(read_thresholds(model), before)
    again = [read_thresholds(move_thresholds(model, X, random_state=seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(again[0], again[1])
    assert (again[0] != again[2]).any()


def test_missing_values_and_steps_before_the_trees_are_followed():
    data = X.copy()
    data[::7, 0] = np.nan
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(data, Y)
    moved = move_thresholds(model, data)
    assert (read_thresholds(moved[-1]) != read_thresholds(model[-1])).mean() > 0.9
    np.testing.assert_array_equal(moved.predict_proba(data), model.predict_proba(data))


def test_thresholds_between_equal_neighbors_stay():
    close = np.array([[8.0], [np.nextafter(np.float32(8), np.float32(9))]])
    tree = DecisionTreeClassifier().fit(close, [0, 1])
    np.testing.assert_array_equal(move_thresholds(tree, close).predict(close), [0, 1])


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="got HistGradientBoostingClassifier"):
        move_thresholds(HistGradientBoostingClassifier(max_iter=2).fit(X, Y), X)
    with pytest.raises(ValueError, match="split by 5 features; the records have shape"):
        move_thresholds(DecisionTreeClassifier().fit(X, Y), X[:, :2])
    with pytest.raises(ValueError, match="rows that the model was trained on; got none"):
        move_thresholds(DecisionTreeClassifier().fit(X, Y), X[:0])
    with pytest.raises(NotFittedError):
        move_thresholds(DecisionTreeClassifier(), X)


def test_gaps_around_moved_thresholds_still_say_who_was_no_member():
    member = np.zeros(N, dtype=bool)
    member[RNG.permutation(N)[: N // 2]] = True
    forest = RandomForestClassifier(10, random_state=0).fit(X[member], Y[member])
    records = Records(X, Y)
    exact = SplitThresholdAttack(FrozenEstimator(forest)).fit(records)
    assert exact.explained_ == 1
    moved = FrozenEstimator(move_thresholds(forest, X[member], random_state=0))
    with pytest.warns(UserWarning, match="were moved"):
        attack = SplitThresholdAttack(moved).fit(records)
    assert attack.explained_ < 0.1
    auc = roc_auc_score(member, attack.score_samples(records))
    later = attack.score_samples(Records(X + 0.01, Y))
    one_by_one = [attack.score_samples(Records(X[[i]] + 0.01, Y[[i]]))[0] for i in range(5)]
    np.testing.assert_allclose(later[:5], one_by_one, atol=1e-6)
    # Above chance by more than four standard errors, and below what midpoints say.
    assert 0.5 + 4 * np.sqrt((N + 1) / (3 * N**2)) < auc
    assert auc < roc_auc_score(member, exact.score_samples(records))


def test_the_defense_moves_thresholds_after_each_fit():
    forest = RandomForestClassifier(3, random_state=0)
    defended = ReleasedFileDefense(forest, move=True).fit(X, Y)
    expected = forest.fit(X, Y)
    assert (read_thresholds(defended.estimator_) != read_thresholds(expected)).mean() > 0.9
    np.testing.assert_array_equal(defended.predict_proba(X), expected.predict_proba(X))
