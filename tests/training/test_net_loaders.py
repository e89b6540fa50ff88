"""Loaders of nets show each shadow model its own rows, or are refused."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from skmia import Records, ShadowPool
from skmia._core.skorch_nets import why_not_loader
from skmia.epsilon import OneRunAudit

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch.utils.data import BatchSampler, DataLoader, WeightedRandomSampler  # noqa: E402

RNG = np.random.default_rng(0)
RECORDS = Records(RNG.normal(size=(60, 2)).astype(np.float32), np.arange(60) % 2)
OF_OTHER_ROWS = WeightedRandomSampler(np.ones(20), 20)


def make_net(**settings):
    fixed = {"criterion": torch.nn.CrossEntropyLoss, "max_epochs": 1, "verbose": 0}
    fixed |= {"module__in_features": 2, "module__out_features": 2, "train_split": None}
    return skorch.NeuralNetClassifier(torch.nn.Linear, **(fixed | settings))


@pytest.mark.parametrize(
    "name, sampler",
    [("sampler", OF_OTHER_ROWS), ("batch_sampler", BatchSampler(OF_OTHER_ROWS, 5, False))],
)
def test_sampler_of_the_rows_of_the_victim_is_refused(name, sampler):
    net = make_net(**{f"iterator_train__{name}": sampler})
    for estimator in (net, GridSearchCV(net, {"lr": [0.1]}, cv=2)):
        with pytest.raises(ValueError, match=f"iterator_train__{name}={type(sampler).__name__},"):
            ShadowPool(estimator, 2).fit(RECORDS)


def test_sampler_of_the_rows_of_the_victim_is_refused_where_one_model_is_trained():
    net = make_net(iterator_train__sampler=OF_OTHER_ROWS)
    with pytest.raises(ValueError, match="draws positions in one training set"):
        OneRunAudit(net, n_canaries=20).fit(RECORDS.X, RECORDS.y)


def test_sampler_that_a_function_makes_of_the_rows_of_a_model_is_taken():
    sizes = []

    def load(dataset, sampler, **settings):
        sizes.append(len(dataset))
        weights = 1.0 + np.array(dataset.y)
        return DataLoader(dataset, sampler=sampler(weights, len(dataset)), **settings)

    net = make_net(iterator_train=load, iterator_train__sampler=WeightedRandomSampler)
    ShadowPool(net, 2).fit(RECORDS)
    assert sizes == [30, 30]


def test_net_that_no_batch_would_train_is_refused():
    net = make_net(iterator_train__drop_last=True, batch_size=31)
    with pytest.raises(ValueError, match="on 30 rows, which fill no batch of 31, .*learn nothing"):
        ShadowPool(net, 2).fit(RECORDS)
    ShadowPool(net.set_params(batch_size=30), 2).fit(RECORDS)
    ShadowPool(net.set_params(batch_size=-1), 2).fit(RECORDS)


@pytest.mark.parametrize(
    "split, n_rows, n_trained",
    [(skorch.dataset.ValidSplit(5), 31, 24), (skorch.dataset.ValidSplit(0.25), 30, 22)],
)
def test_rows_that_a_split_holds_back_fill_no_batch(split, n_rows, n_trained):
    net = make_net(train_split=split, iterator_train__drop_last=True, batch_size=n_trained)
    X, y = RECORDS.X[:n_rows], RECORDS.y[:n_rows]
    assert len(split(skorch.dataset.Dataset(X, y))[0]) == n_trained
    assert why_not_loader(net, n_rows) is None
    assert f"on {n_trained} rows" in why_not_loader(net.set_params(batch_size=25), n_rows)


def test_split_of_ones_own_is_not_guessed():
    net = make_net(train_split=lambda data, y: (data, data), iterator_train__drop_last=True)
    assert why_not_loader(net, 2) is None
