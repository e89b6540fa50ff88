"""Another kernel of products in single precision is used where it is precise and faster."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402

from skmia import Records, ShadowPool  # noqa: E402
from skmia._training.ways.torch_nets import group  # noqa: E402
from skmia._training.ways.torch_nets.group import Measured  # noqa: E402
from skmia.exceptions import JointTrainingWarning  # noqa: E402

SHAPES = (
    group.Shape(64, 200, 32, False, True),
    group.Shape(32, 64, 200, True, False),
)
FAST = Measured(3e-7, 3e-7, 0.5)


def make_module():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))


def make_net(**settings):
    return skorch.NeuralNetClassifier(
        make_module,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        max_epochs=4,
        batch_size=16,
        train_split=None,
        verbose=0,
        **settings,
    )


def make_records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)).astype(np.float32)
    return Records(X, (X[:, 0] > 0).astype(np.int64))


@pytest.fixture
def seen(monkeypatch):
    """Precisions of the products of trainings, all of which are worth measuring."""
    monkeypatch.setattr(group, "_FEWEST_OPERATIONS", 0)
    seen, run = [], group.run_from_kept

    def watched(*arguments):
        seen.append(torch.get_float32_matmul_precision())
        return run(*arguments)

    monkeypatch.setattr(group, "run_from_kept", watched)
    return seen


def fit_pool(**settings):
    settings = {"n_estimators": 4, "random_state": 0, "temperatures": (1.0,), **settings}
    return ShadowPool(make_net(), **settings).fit(make_records())


def pretend(monkeypatch, measured):
    monkeypatch.setattr(group, "measure", lambda shapes: measured)


def multiply_in_bfloat16(monkeypatch):
    bmm = torch.bmm

    def rounded(left, right):
        if torch.get_float32_matmul_precision() == "medium":
            left, right = left.bfloat16().float(), right.bfloat16().float()
        return bmm(left, right)

    monkeypatch.setattr(torch, "bmm", rounded)


def test_products_of_a_step():
    net = make_net().initialize()
    shapes = group.list_shapes(net, 16)
    assert [shape[:3] for shape in shapes[:2]] == [(8, 5, 16), (8, 16, 5)]
    assert [shape[:3] for shape in shapes[2:]] == [(2, 8, 16), (2, 16, 8), (8, 2, 16)]
    assert group.count_operations(shapes, 10) == 20 * 16 * (2 * 8 * 5 + 3 * 2 * 8)
    for shape in shapes:
        left, right = shape.draw(3, torch.Generator())
        assert (left @ right).shape == (3, shape.rows, shape.columns)


def test_measured_products():
    before = torch.get_float32_matmul_precision(), torch.get_num_threads()
    measured = group.measure(SHAPES)
    assert measured.usual_error < 1e-6
    assert measured.time > 0
    assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == before


def test_products_in_bfloat16_are_refused(monkeypatch):
    multiply_in_bfloat16(monkeypatch)
    measured = group.measure.__wrapped__(SHAPES)
    assert measured.error > 1e-5
    assert not measured.are_single
    net = make_net().initialize()
    with group.fast_products(net, 16):
        assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    "measured, used",
    [
        (FAST, "medium"),
        (FAST._replace(time=0.9), "highest"),
        (FAST._replace(error=1e-3), "highest"),
        (FAST._replace(error=4e-6), "highest"),
    ],
)
def test_a_kernel_is_used_where_it_is_precise_and_faster(monkeypatch, seen, measured, used):
    pretend(monkeypatch, measured)
    pool = fit_pool()
    assert seen == [used]
    assert torch.get_float32_matmul_precision() == "highest"
    assert pool.backend_ == "torch"
    assert ("0.50 of the time" in pool.backend_reason_) == (used == "medium")


def test_models_are_the_usual_ones_up_to_rounding(monkeypatch, seen):
    usual = fit_pool(batched=False)
    pretend(monkeypatch, FAST)
    np.testing.assert_allclose(fit_pool().signals_, usual.signals_, rtol=1e-3, atol=1e-3)


def test_short_trainings_are_not_measured(monkeypatch):
    def measure(shapes):
        raise AssertionError

    monkeypatch.setattr(group, "measure", measure)
    assert fit_pool().backend_ == "torch"


def test_a_precision_of_the_user_stays(monkeypatch, seen):
    pretend(monkeypatch, FAST)
    torch.set_float32_matmul_precision("high")
    try:
        pool = fit_pool()
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["high"]
    assert "of the time" not in pool.backend_reason_


def test_the_kernel_is_restored_after_an_error(monkeypatch, seen):
    pretend(monkeypatch, FAST)

    def fail(*arguments):
        assert torch.get_float32_matmul_precision() == "medium"
        raise RuntimeError("stopped")

    monkeypatch.setattr(group, "run_from_kept", fail)
    with pytest.warns(JointTrainingWarning, match="stopped"):
        fit_pool()  # its models are trained one by one
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("first, then", [(FAST, FAST._replace(time=1.5)), (None, FAST)])
def test_a_pool_goes_on_with_the_kernel_of_its_first_models(
    monkeypatch, seen, tmp_path, first, then
):
    pretend(monkeypatch, first)
    fit_pool(checkpoint=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["way"] == ("torch" if first is None else "torch, fast products")
    pretend(monkeypatch, then)
    fit_pool(checkpoint=tmp_path, n_estimators=8)
    assert len(seen) == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize("batch_size", [2**40, -1])
def test_a_batch_of_more_than_all_rows_is_measured_with_all(monkeypatch, seen, batch_size):
    rows = []

    def measure(shapes):
        rows.extend(shape.columns for shape in shapes[:1])
        return FAST

    monkeypatch.setattr(group, "measure", measure)
    ShadowPool(make_net().set_params(batch_size=batch_size), 2, random_state=0).fit(make_records())
    assert rows == [40] and seen == ["medium"]  # half of 80 records; in their precision
