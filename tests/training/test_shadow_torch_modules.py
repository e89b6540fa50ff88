"""Shadow models of a torch net start from weights of their own."""

import copy
from functools import lru_cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool
from skmia._core.copies import copy_unfitted
from skmia.victims import FunctionClassifier

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


@pytest.mark.parametrize(
    "make_function",
    [
        lambda module: lambda: module,
        lambda module: partial(lambda net: net, module),
        lambda module: lambda: next(one for one in [module]),
        lambda _: lru_cache(make_module),
    ],
    ids=["closure", "partial", "generator", "cache"],
)
def test_function_that_gives_all_nets_one_module_is_refused(rows, make_function):
    victim = make_net(make_function(make_module())).fit(*rows)
    with pytest.raises(ValueError, match="returns the same torch module in each call"):
        ShadowPool(victim, n_estimators=2).fit(Records(*rows))


def test_function_that_copies_a_module_is_taken(rows):
    module, state, made = make_module(), torch.get_rng_state(), []
    net = make_net(lambda: made.append(1) or copy.deepcopy(module))
    for _ in range(3):
        assert copy_unfitted(net).module is net.module
    assert torch.equal(torch.get_rng_state(), state)
    assert len(made) == 2  # a module can be large


ONE = torch.nn.Linear(3, 2)


def train_one(X, y, seed):
    return train_by_steps(X, y, lambda: ONE)


def train_by_steps(X, y, make):
    module = make()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    torch.nn.functional.cross_entropy(module(torch.tensor(X)), torch.tensor(y)).backward()
    optimizer.step()
    return module


class Trainer:
    def __init__(self):
        self.module = None

    def train(self, X, y, seed):
        self.module = self.module or torch.nn.Linear(3, 2)
        return train_by_steps(X, y, lambda: self.module)

    __call__ = train

    def train_anew(self, X, y, seed):
        self.module = torch.nn.Linear(3, 2)
        return train_by_steps(X, y, lambda: self.module)


def test_training_function_that_returns_a_model_of_before_is_refused(rows):
    with pytest.raises(ValueError, match="train returned a Linear that existed before the call"):
        FunctionClassifier(train_one).fit(*rows)
    for train in (Trainer().train, Trainer()):
        victim = FunctionClassifier(train).fit(*rows)
        with pytest.raises(ValueError, match="train returned a Linear that existed before the"):
            victim.fit(*rows)
    held = LogisticRegression()
    with pytest.raises(ValueError, match="train returned a LogisticRegression that existed"):
        FunctionClassifier(
            lambda X, y, seed: held.fit(X, y), LogisticRegression.decision_function
        ).fit(*rows)
    anew = FunctionClassifier(Trainer().train_anew)
    assert anew.fit(*rows).model_ is not anew.fit(*rows).model_


def test_training_function_that_makes_its_module_is_taken_beside_one_of_its_name(rows):
    def train(X, y, seed):
        made = SimpleNamespace(ONE=torch.nn.Linear(3, 2))
        return train_by_steps(X, y, lambda: made.ONE)

    victim = FunctionClassifier(train).fit(*rows)
    assert ShadowPool(victim, n_estimators=2).fit(Records(*rows)).notes_ == []
