"""Other processes multiply in the precision that the user has set."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from nets import make_net  # noqa: E402

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
    assert FEWER.allows_tf32 and not FULL.allows_tf32
    assert ProductPrecision("highest", True).allows_tf32
    assert ProductPrecision("highest", None).allows_tf32  # torch does not tell


def test_a_replay_may_differ_by_the_rounding_of_its_products():
    usual = [torch.tensor([1.0, 0.5])]
    for difference, precision, expected in [
        (5e-4, FULL, True),
        (5e-3, FULL, False),
        (5e-3, FEWER, True),
        (5e-2, FEWER, False),
    ]:
        with multiplying(precision):
            replayed = [usual[0] + torch.tensor([0.0, difference])]
            assert cuda_graphs._are_equal_tensors(usual, replayed) == expected


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
