"""Shadow models of a torch net start from weights of their own."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")


def make_module():
    return torch.nn.Sequential(torch.nn.Linear(3, 2))


def make_net(module):
    settings = {"max_epochs": 1, "train_split": None, "verbose": 0}
    return skorch.NeuralNetClassifier(module, criterion=torch.nn.CrossEntropyLoss, **settings)


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(np.int64)


@pytest.mark.parametrize(
    "wrap", [FrozenEstimator, lambda net: make_pipeline(StandardScaler(), net)]
)
def test_module_that_the_victim_was_trained_in_is_refused(rows, wrap):
    victim = wrap(make_net(make_module()).fit(*rows))
    with pytest.raises(ValueError, match="is a torch module, which fit trains in place"):
        ShadowPool(victim, n_estimators=2).fit(Records(*rows))


def test_function_that_makes_the_module_is_taken(rows):
    victim = make_net(make_module).fit(*rows)
    pool = ShadowPool(victim, n_estimators=2, store="models", random_state=0).fit(Records(*rows))
    first, second = (model.module_[0].weight for model in pool.estimators_)
    assert not torch.equal(first, second)
