"""Nets are asked in large batches, with the answers of small ones."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402

from skmia._core import skorch_nets  # noqa: E402
from skmia._core.query import query_victim  # noqa: E402

N = 100


class Counting(nn.Module):
    """Two logits; ``kind`` says how they depend on more than the record."""

    def __init__(self, kind="plain"):
        super().__init__()
        self.linear, self.kind, self.sizes = nn.Linear(3, 2), kind, []

    def forward(self, X):
        self.sizes.append(len(X))
        logits = self.linear(X)
        if self.kind == "batch":
            return logits - X.mean()
        if self.kind == "random":
            return logits + torch.randn_like(logits)
        return (logits, X) if self.kind == "tuple" else logits


class OwnSteps(skorch.NeuralNetClassifier):
    def get_dataset(self, X, y=None):
        return super().get_dataset(-X, y)


def fit_net(kind="plain", net=skorch.NeuralNetClassifier, **settings):
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    settings = {"batch_size": 16, "max_epochs": 1, "train_split": None, "verbose": 0, **settings}
    net = net(Counting, module__kind=kind, criterion=nn.CrossEntropyLoss, **settings)
    net.initialize()
    net.classes_inferred_ = np.arange(2)
    net.module_.sizes.clear()
    return net, X


def answers(net, X):
    parts = [part[0] if isinstance(part, tuple) else part for part in net.forward_iter(X)]
    return np.concatenate([skorch.utils.to_numpy(part) for part in parts])


@pytest.mark.parametrize("kind", ["plain", "tuple"])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_few_large_batches_give_the_same_answers(monkeypatch, kind, as_tensor):
    monkeypatch.setattr(skorch_nets, "_RECORDS", 64)
    net, X = fit_net(kind)
    X.flags.writeable = False
    rows = torch.tensor(X) if as_tensor else X
    got = query_victim(net, rows)
    assert net.module_.sizes == [64, 16, 36]
    X.flags.writeable = True
    np.testing.assert_allclose(got.values, answers(net, X), rtol=1e-6, atol=1e-6)


def test_wide_records_come_in_smaller_batches(monkeypatch):
    monkeypatch.setattr(skorch_nets, "_NUMBERS", 3 * 40)
    net, X = fit_net()
    query_victim(net, X)
    assert net.module_.sizes == [40, 16, 40, 20]


@pytest.mark.parametrize("kind", ["batch", "random"])
def test_answers_that_depend_on_the_batch_come_from_the_batches_of_the_net(kind):
    net, X = fit_net(kind)
    got = query_victim(net, X)
    assert net.module_.sizes[2:] == [16] * 6 + [4]
    if kind == "batch":
        np.testing.assert_allclose(got.values, answers(net, X), rtol=1e-6)


def test_answers_that_are_no_numbers_are_refused_as_of_small_batches():
    net, X = fit_net()
    with torch.no_grad():
        net.module_.linear.weight[0, 0] = torch.inf
    X[5, 0] = 0  # of which infinity is no number
    for rows in (X, X[:16]):
        words = f"returned NaN for 1 of {len(rows)} records, first at position 5"
        with pytest.raises(ValueError, match=words):
            query_victim(net, rows)


@pytest.mark.parametrize(
    "settings",
    [
        {"net": OwnSteps},
        {"iterator_valid__drop_last": True},
        {"iterator_valid__collate_fn": torch.utils.data.default_collate},
        {"batch_size": -1},
    ],
)
def test_nets_with_their_own_steps_are_asked_by_them(monkeypatch, settings):
    net, X = fit_net(**settings)
    monkeypatch.setattr(skorch_nets, "_forward_in_bulk", None)
    np.testing.assert_array_equal(
        np.concatenate(list(skorch_nets.forward(net, X))), answers(net, X)
    )
