"""Soft targets of regressions: known answers, and what an attacker finds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skmia import Records, ShadowPool
from skmia.attacks import LiRA
from skmia.defenses import SoftRegressionDefense
from skmia.defenses.soft_targets import soften_values
from skmia.metrics import auc_interval

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] + RNG.normal(size=200)
TREE = DecisionTreeRegressor(random_state=0)


def test_known_answers():
    predictions = np.array([[0.0, 2.0, 5.0], [2.0, 4.0, 5.0]])  # means 1, 3, 5; deviations 1, 1, 0
    y = [11.0, -7.0, 6.0]
    assert soften_values(predictions, y).tolist() == [1, 3, 5]
    assert soften_values(predictions, y, 2.5).tolist() == [3.5, 0.5, 5]
    assert soften_values(predictions, y, [100, 1, np.inf]).tolist() == [11, 2, 6]


def test_targets_are_between_the_mean_of_others_and_the_target():
    predictions = RNG.normal(size=(5, 200))
    mean, spread = predictions.mean(axis=0), predictions.std(axis=0)
    soft = soften_values(predictions, Y, 0.7)
    share = np.minimum(1, 0.7 * spread / np.abs(Y - mean))
    np.testing.assert_allclose(soft, mean + share * (Y - mean))


@pytest.mark.parametrize(
    ("predictions", "y", "alpha", "message"),
    [
        ([[1.0, 2.0]], [1, 2], 0, "with two models or more; got shape"),
        ([1.0, 2.0], [1, 2], 0, r"with two models or more; got shape \(2,\)"),
        ([[1.0], [2.0]], [1, 2], 0, "y must be 1 numbers; got an array of shape"),
        ([[1.0], [2.0]], [1], -1, "alpha must be numbers of at least 0; got -1"),
        ([[1.0], [2.0]], [1], [1, 2], "alpha must be a number or 1 of them"),
        ([[1.0], [np.nan]], [1], 0, "predictions must be finite numbers; got nan"),
        ([["a"], ["b"]], [1], 0, "predictions must be finite numbers"),
    ],
)
def test_bad_input_is_one_sentence(predictions, y, alpha, message):
    with pytest.raises(ValueError, match=message):
        soften_values(predictions, y, alpha)


def test_no_part_of_a_soft_target_is_from_a_model_that_saw_it():
    settings = {"n_estimators": 6, "n_left_out": 3, "store_targets": True, "random_state": 0}
    y = Y.copy()
    y[7] = 1e6  # a model that was trained on the row predicts this
    defense = SoftRegressionDefense(KNeighborsRegressor(1), **settings).fit(X, y)
    assert abs(defense.targets_[7]) < 10 and (np.abs(defense.targets_) > 1e5).any()
    # With inf the targets themselves are left, so the tree is the one that is trained alone.
    whole = SoftRegressionDefense(TREE, alpha=np.inf, **settings).fit(X, Y)
    assert (whole.targets_ == Y).all()
    assert (whole.predict(X) == TREE.fit(X, Y).predict(X)).all()


@pytest.mark.slow  # the sub-models are those of soft labels, whose workers are tested there
@pytest.mark.usefixtures("copied_workers")
def test_workers_do_not_change_the_numbers():
    forest = RandomForestRegressor(5)
    found = [
        SoftRegressionDefense(forest, alpha=1.0, n_jobs=n_jobs, random_state=0).fit(X, Y).predict(X)
        for n_jobs in (None, 2)
    ]
    assert (found[0] == found[1]).all()


def test_an_attack_finds_less():
    records, members = Records(X, Y), RNG.permutation(200) < 100
    aucs = {}
    for model in (TREE, SoftRegressionDefense(TREE, random_state=0)):
        victim = FrozenEstimator(model.fit(X[members], Y[members]))
        pool = ShadowPool(model, 8, random_state=0).fit(records)
        scores = LiRA(victim, FrozenEstimator(pool)).fit(records).score_samples(records)
        aucs[type(model).__name__] = auc_interval(members, scores)
    assert aucs["DecisionTreeRegressor"].low > 0.9
    assert aucs["SoftRegressionDefense"].high < aucs["DecisionTreeRegressor"].low


def test_a_pipeline_over_a_table():
    table = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
    encode = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
    defense = SoftRegressionDefense(make_pipeline(encode, LinearRegression()), random_state=0)
    assert defense.fit(table, Y).predict(table).shape == (200,)
    assert defense.feature_names_in_.tolist() == ["a", "b"]


def test_mistakes_are_one_sentence():
    with pytest.raises(NotFittedError):
        SoftRegressionDefense(TREE).predict(X)
    with pytest.raises(ValueError, match="n_left_out must be below n_estimators=4"):
        SoftRegressionDefense(TREE, n_estimators=4, n_left_out=4).fit(X, Y)
    with pytest.raises(ValueError, match="is trained from the beginning; a FrozenEstimator in it"):
        SoftRegressionDefense(FrozenEstimator(TREE.fit(X, Y))).fit(X, Y)
    with pytest.raises(ValueError, match="n_samples = 3, all equal"):
        SoftRegressionDefense(TREE).fit(np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="must be a regressor that predicts one number"):
        SoftRegressionDefense(LogisticRegression()).fit(X, (Y > 0).astype(int))
