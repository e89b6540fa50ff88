"""Pools and models that are trained together are those that are trained alone."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.shadow._together import (
    can_join,
    find_joint_backend,
    fit_pools,
    make_model_job,
    make_pool_job,
    train_models,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*Stochastic Optimizer")

MLP = MLPClassifier((5,), max_iter=8, batch_size=16)


@pytest.fixture(scope="module")
def records():
    X, y = make_classification(150, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
    return Records(X, y)


def make_net():
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    from skorch.toy import make_classifier

    return skorch.NeuralNetClassifier(
        make_classifier(input_units=6, hidden_units=5, num_hidden=1, dropout=0.0),
        optimizer=torch.optim.SGD,
        max_epochs=5,
        batch_size=16,
        train_split=None,
        iterator_train__shuffle=True,
        verbose=0,
    )


def fit_both(model, records, parts, **settings):
    """Pools fitted together and the same pools fitted one by one."""
    pools = [ShadowPool(model, random_state=seed, **settings) for seed in range(len(parts))]
    alone = [clone(pool).fit(records[part]) for pool, part in zip(pools, parts, strict=True)]
    job = make_pool_job(pools, records, parts)
    fit_pools(pools, records, parts, job, find_joint_backend(job))
    return pools, alone


def draw_parts(n_records, *sizes):
    rng = np.random.default_rng(0)
    return [np.sort(rng.permutation(n_records)[:size]) for size in sizes]


@pytest.mark.parametrize("store", ["signals", "outputs", "models"])
def test_pools_of_perceptrons_are_the_same_to_the_last_bit(records, store):
    settings = {"n_estimators": 3, "paired": False, "store": store}
    parts = draw_parts(150, 40, 60, 40)
    for pool, alone, part in zip(*fit_both(MLP, records, parts, **settings), parts, strict=True):
        own = records[part]
        np.testing.assert_array_equal(pool.membership_, alone.membership_)
        np.testing.assert_array_equal(pool.signals_[0], alone.signals_[0])
        np.testing.assert_array_equal(pool.transform(own), alone.transform(own))
        assert pool.backend_ == alone.backend_ == "perceptron"
        assert pool.n_records_ == len(part)
        if store != "signals":
            np.testing.assert_array_equal(pool.answers(own), alone.answers(own))


def test_pools_of_torch_nets_are_the_same_up_to_rounding(records):
    records = Records(records.X.astype(np.float32), records.y.astype(np.int64))
    parts = draw_parts(150, 50, 50)
    for pool, alone in zip(*fit_both(make_net(), records, parts, n_estimators=2), strict=True):
        assert pool.backend_ == "torch"
        np.testing.assert_array_equal(pool.membership_, alone.membership_)
        np.testing.assert_allclose(pool.signals_, alone.signals_, atol=1e-4)


def draw_job(model, records):
    inside = np.zeros((3, len(records)), dtype=bool)
    for row, part in zip(inside, draw_parts(len(records), 50, 70, 50), strict=True):
        row[part] = True
    return make_model_job(model, records, inside, np.random.SeedSequence(0).spawn(3))


def test_models_trained_together_are_those_of_the_estimator_itself(records):
    job = draw_job(MLP, records)
    together, caught = train_models(job, find_joint_backend(job))
    alone, _ = train_models(job)
    for one, other, inside in zip(together, alone, job.membership, strict=True):
        np.testing.assert_array_equal(one.coefs_[0], other.coefs_[0])
        by_hand = clone(MLP).set_params(random_state=one.random_state)
        by_hand.fit(records.X[inside], records.y[inside])
        np.testing.assert_array_equal(
            one.predict_proba(records.X), by_hand.predict_proba(records.X)
        )
    assert [len(one) for one in caught] == [1, 1, 1]


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier()])
def test_models_that_cannot_be_trained_together_exactly_are_trained_alone(records, model):
    # The solvers of linear models take them closer to the optimum than the estimator does.
    assert find_joint_backend(draw_job(model, records)) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"batched": True}, True),
        ({"batched": False}, False),
        ({"warm_start": True}, False),
        ({"checkpoint": "folder"}, False),
        ({"augment": lambda records: [records]}, False),
    ],
)
def test_pools_with_a_life_of_their_own_are_not_joined(settings, expected):
    assert can_join(ShadowPool(MLP, **settings)) is expected
