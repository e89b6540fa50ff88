"""Threads of one program train shadow models at once and get the numbers that each gets alone."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from skmia import Records, ShadowPool
from skmia.datasets import make_membership_problem

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402

from skmia._training.backends.torch_nets.mlp import as_chain  # noqa: E402

PATIENCE = 30.0  # seconds, after which a test that hangs fails


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(20, 8), nn.Linear(8, 2)

    def forward(self, X):
        return self.last(torch.relu(self.first(X)))


class SlowNet(Net):
    """Is traced for as long as others want."""

    def __init__(self):
        super().__init__()
        self.begun, self.may_end = Event(), Event()

    def forward(self, X):
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        return super().forward(X)


@pytest.fixture
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def fit(seed):
    records, _ = make_membership_problem(120, random_state=0)
    records = Records(records.X.astype(np.float32), records.y)
    net = skorch.NeuralNetClassifier(
        Net,
        criterion=nn.CrossEntropyLoss,
        max_epochs=2,
        batch_size=32,
        train_split=None,
        verbose=0,
    )
    pool = ShadowPool(net, 4, random_state=seed).fit(records)
    return pool.signals_, pool.backend_, pool.backend_reason_


def test_nets_that_are_fitted_in_threads_are_those_that_are_fitted_alone(frequent_switches):
    alone = [fit(seed) for seed in range(3)]
    assert {backend for _, backend, _ in alone} == {"torch"}
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(fit, range(3)))
    for (signals, *way), (expected, *expected_way) in zip(together, alone, strict=True):
        assert way == expected_way
        assert np.array_equal(signals, expected)


def test_nets_answer_while_another_thread_traces_one():
    slow, net, X = SlowNet(), Net(), torch.ones(1, 20)
    expected = net(X)
    with ThreadPoolExecutor(1) as threads:
        tracing = threads.submit(as_chain, slow)
        try:
            assert slow.begun.wait(PATIENCE)
            assert torch.equal(net(X), expected)
        finally:
            slow.may_end.set()
        assert len(tracing.result().layers) == 2
