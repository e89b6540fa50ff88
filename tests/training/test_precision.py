"""Other processes multiply in the precision that the user has set."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from nets import Images, Perceptron, make_net  # noqa: E402

from skmia import Records, ShadowPool  # noqa: E402
from skmia._training.backends.torch_nets import cuda_graphs, group  # noqa: E402
from skmia._training.backends.torch_nets.precision import (  # noqa: E402
    ProductPrecision,
    multiplying,
    read_precision,
)

FULL, FEWER = ProductPrecision("highest", False), ProductPrecision("high", True)


@pytest.fixture(autouse=True)
def as_before():
    before = read_precision()
    yield
    assert read_precision() == before


def test_a_precision_holds_inside_alone():
    before = read_precision()
    for precision in (FULL, FEWER):
        with pytest.raises(KeyError), multiplying(precision):
            assert read_precision() == precision
            raise KeyError
        assert read_precision() == before
    with multiplying(None):
        assert read_precision() == before


def test_which_precisions_round_products():
    for has_convolutions in (False, True):
        assert FEWER.rounds_factors(has_convolutions)
        assert not FULL.rounds_factors(has_convolutions)
        for said in (True, None):  # torch does not tell in every version
            assert ProductPrecision("highest", said).rounds_factors(True)
            assert not ProductPrecision("highest", said).rounds_factors(False)


def test_a_replay_may_differ_by_the_rounding_of_its_products():
    usual = [torch.tensor([1.0, 0.5])]
    for precision, module, rounding in [
        (FULL, Images, 1e-3),
        (FEWER, Perceptron, 1e-2),
        (ProductPrecision("highest", True), Images, 1e-2),
        (ProductPrecision("highest", True), Perceptron, 1e-3),
    ]:
        step = SimpleNamespace(engine=SimpleNamespace(net=SimpleNamespace(module_=module())))
        with multiplying(precision):
            assert cuda_graphs.RecordedSteps(step, "cuda")._choose_rounding() == rounding
        for share in (0.5, 2):
            replayed = [usual[0] + torch.tensor([0.0, share * rounding])]
            assert cuda_graphs._are_equal_tensors(usual, replayed, rounding) == (share < 1)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_groups_are_trained_in_the_precision_of_the_caller(device, monkeypatch):
    passed = []

    def train(job, precision=None, **settings):
        passed.append(precision)
        raise InterruptedError

    monkeypatch.setattr(group, "train_group", train)
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(40, 6)).astype(np.float32), rng.integers(3, size=40))
    monkeypatch.setattr(
        "skmia._training.backends.torch_nets.TorchNetsWay.why_not", lambda self, job: None
    )
    monkeypatch.setattr(
        "skmia._training.backends.torch_nets.TorchNetsWay._count_together", lambda self, job: 4
    )
    pool = ShadowPool(make_net(device=device), 4, batched=True, random_state=0)
    with pytest.raises(InterruptedError), multiplying(FEWER):
        pool.fit(records)
    assert passed == [None if device == "cpu" else FEWER]
