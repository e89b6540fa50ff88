"""Convolutional nets, augmentation, and nets that take turns in each step."""

from functools import partial

import numpy as np
import pytest
import training
from cells import slow_but

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from skorch.callbacks import GradientNormClipping, LRScheduler  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from skmia._training.backends.torch_nets import TorchNetsWay, timing  # noqa: E402
from skmia._training.backends.torch_nets import equality as _check  # noqa: E402
from skmia._training.backends.torch_nets import prepare as _prepare  # noqa: E402
from skmia._training.backends.torch_nets import step as _step  # noqa: E402
from skmia._training.backends.torch_nets.group import DeviceRows  # noqa: E402
from skmia._training.backends.torch_nets.prepare import (  # noqa: E402
    NetRandomness,
    prepare_net,
    shared_table,
)
from skmia._training.backends.torch_nets.timing import StepTimes  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.plan import plan_training  # noqa: E402
from skmia.victims import Augmentation, random_crops, random_flips  # noqa: E402

CROPS = Augmentation(partial(random_crops, padding=1), random_flips)


class ConvNet(nn.Module):
    def __init__(self, drop=0.0, normalize=False):
        super().__init__()
        self.first = nn.Conv2d(2, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3) if normalize else nn.Identity()
        self.drop = nn.Dropout(drop)
        self.last = nn.Linear(3, 3)
        self.double()

    def forward(self, X):
        h = torch.relu(self.norm(self.first(X)))
        return self.last(self.drop(h.mean((2, 3))))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(16, 3, batch_first=True).double()

    def forward(self, X):
        return self.cell(X.flatten(2))[0][:, -1]


class Branching(ConvNet):
    def forward(self, X):
        out = super().forward(X)
        return out if out.sum() > 0 else -out


class Noisy(ConvNet):
    def forward(self, X):
        return super().forward(F.dropout2d(X + torch.randn_like(X), 0.3))


class Autocast(ConvNet):
    """Computes in bfloat16."""

    def __init__(self):
        super().__init__()
        self.float()

    def forward(self, X):
        with torch.autocast("cpu", torch.bfloat16):
            return super().forward(X).float()


class StepsOfItsOwn(skorch.NeuralNetClassifier):
    def train_step_single(self, batch, **fit_params):
        self._set_training(True)
        X, y = batch
        loss = self.get_loss(self.infer(X), y) + 0.1 * self.module_.last.weight.square().sum()
        loss.backward()
        return {"loss": loss, "y_pred": None}


RECIPE = {
    "module__drop": 0.3,
    "optimizer": torch.optim.SGD,
    "optimizer__momentum": 0.9,
    "optimizer__weight_decay": 0.01,
    "iterator_train__collate_fn": CROPS,
    "callbacks": [LRScheduler("CosineAnnealingLR", T_max=3), GradientNormClipping(0.5)],
}


def make_net(module=ConvNet, kind=skorch.NeuralNetClassifier, **settings):
    usual = {
        "criterion": nn.CrossEntropyLoss,
        "lr": 0.1,
        "max_epochs": 3,
        "batch_size": 8,
        "train_split": None,
        "iterator_train__shuffle": True,
        "verbose": 0,
    }
    return kind(module, **{**usual, **settings})


def make_job(net, n=33, dtype=np.float64, n_models=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2, 4, 4)).astype(dtype)
    subsets = np.zeros((n_models, n), dtype=bool)
    for k in range(0, n_models, 2):
        subsets[k, rng.permutation(n)[: n // 2]] = True
        subsets[k + 1] = ~subsets[k]
    return training.make_job(net, [X], rng.integers(3, size=n), subsets, seed=7)


def weights_of(results):
    return [
        torch.cat([p.detach().flatten() for p in one.model.module_.state_dict().values()])
        for one in results.values()
    ]


def assert_equal_to_one_by_one(job, way, atol=1e-9):
    ours = training.run(way, job)
    assert not any(one.warnings for one in ours.values())
    theirs = training.run_alone(job)
    for one, other in zip(weights_of(ours), weights_of(theirs), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)
    return ours


def checked(job):
    way = TorchNetsWay()
    assert way.why_not(job) is None
    return way


@pytest.mark.parametrize("in_turn", [False, True])
def test_the_recipe_of_image_nets(in_turn):
    job = make_job(make_net(**RECIPE))
    way = checked(job)
    assert way.numbers == "torch"
    way._in_turn = in_turn
    assert_equal_to_one_by_one(job, way)


def test_more_batches_than_the_check_makes():
    job = make_job(make_net(**RECIPE, batch_size=3))
    assert_equal_to_one_by_one(job, checked(job))


def test_normalized_nets_in_turn():
    job = make_job(make_net(module__normalize=True, batch_size=5))
    way = checked(job)
    way._in_turn = True
    assert_equal_to_one_by_one(job, way)


TURNS = {
    "torch does not vectorize GRU": make_net(Recurrent),
    "torch cannot vectorize the module": make_net(Branching, iterator_train__collate_fn=CROPS),
    "draws random numbers in other ways": make_net(Noisy),
    "StepsOfItsOwn overrides train_step_single": make_net(kind=StepsOfItsOwn),
}


NOISY = "draws random numbers in other ways"  # such nets go on after an interruption below


@pytest.mark.parametrize("words", slow_but(TURNS, *(TURNS.keys() - {NOISY})))
def test_nets_that_torch_cannot_vectorize_take_turns(words):
    job = make_job(TURNS[words], n_models=2)
    plan = plan_training(job, batched=True)
    assert plan.numbers == "torch, in turn"
    assert words in plan.reason and "\n" not in plan.reason
    assert_equal_to_one_by_one(job, plan.way)


def test_autocast():
    # A product in bfloat16 has a relative error of 2 ** -8. Weights and gradients are below 1, and
    # each of 3 epochs has at most 3 steps with a rate of 0.1.
    job = make_job(make_net(Autocast), dtype=np.float32)
    assert_equal_to_one_by_one(job, checked(job), atol=9 * 0.1 * 2**-8)


def test_a_pickled_net_does_not_hold_the_weights_of_others():
    job = make_job(make_net())
    way = checked(job)
    way._in_turn = True
    for one in training.run(way, job).values():
        for tensor in (*one.model.module_.parameters(), *one.model.module_.buffers()):
            assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
            assert tensor.grad is None


def test_nets_in_turn_go_on_after_an_interruption():
    job = make_job(make_net(Noisy), n_models=4)
    table = shared_table(job)
    first, second = (
        NetTraining([prepare_net(job, k, table) for k in range(4)], table, in_turn=True)
        for _ in "ab"
    )
    first.run(1)
    second.import_state(first.export_state())
    for one in (first, second):
        one.run(3)
    for one, other in zip(first.nets, second.nets, strict=True):
        for ours, theirs in zip(one.module_.parameters(), other.module_.parameters(), strict=True):
            assert torch.equal(ours, theirs)


def test_rows_are_moved_to_a_device_once():
    X = np.random.default_rng(0).normal(size=(6, 3))
    rows = DeviceRows([X], torch.device("cpu"), room=6 * 3 * 4)
    first = rows.get(X[:4], torch.float32)
    assert rows.get(X[:4], torch.float32) is first
    torch.testing.assert_close(first, torch.as_tensor(X[:4], dtype=torch.float32))
    others = rows.get(X[2:], torch.float32)  # for which there is no more room
    assert rows.get(X[2:], torch.float32) is not others
    torch.testing.assert_close(others, torch.as_tensor(X[2:], dtype=torch.float32))
    copy = X[:4].copy()  # whose memory may be used again for other rows
    assert rows.get(copy, torch.float32) is not rows.get(copy, torch.float32)


class Room(torch.autograd.Function):
    """Passes rows on, and takes more memory than there is for many models at once."""

    tried = []

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x):
        Room.tried.append(info.batch_size)
        if info.batch_size > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return x.clone(), in_dims[0]


class Cramped(ConvNet):
    def forward(self, X):
        return super().forward(Room.apply(X))


def test_a_group_that_does_not_fit_the_memory_of_a_device_is_halved():
    job = make_job(make_net(Cramped, max_epochs=1), n_models=4)
    way = checked(job)
    Room.tried.clear()
    assert_equal_to_one_by_one(job, way)
    assert Room.tried[0] == 4 and max(Room.tried[1:]) == 2


def pretend(monkeypatch, times, fewest=1):
    """Let the probe measure given times."""
    monkeypatch.setattr(timing, "measure_ways", lambda job, at_once: StepTimes(*times))
    monkeypatch.setattr(timing, "FEWEST_STEPS", fewest)


PROBED = {
    (1.0, 2.0, 3.0): ("torch", "it trains many of these models at once"),
    (1.7, 1.0, 1.5): (
        "torch, in turn",
        "it trains many of these models at once; in each step one net after the other, because "
        "grouped convolutions were 1.7x slower in a probe of 3 steps",
    ),
    (1.7, 2.0, 1.0): (
        "one_by_one",
        "one after another: grouped convolutions were 1.7x slower in a probe of 3 steps",
    ),
    (2.0, 1.7, 1.0): (
        "one_by_one",
        "one after another: steps of nets on one thread were 1.7x slower in a probe of 3 steps",
    ),
    # With a fourth time on a GPU, of recorded steps of one net after the other.
    (1.0, 2.0, 3.0, 1.1): ("torch", "it trains many of these models at once"),
    (1.7, 2.0, 3.0, 1.0): (
        "torch",
        "it trains many of these models at once; in each step one net after the other, because "
        "grouped convolutions were 1.7x slower in a probe of 3 steps",
    ),
    (3.0, 2.0, 1.0, 1.7): (
        "one_by_one",
        "one after another: recorded steps of one net after the other were 1.7x slower in a probe "
        "of 3 steps",
    ),
}


@pytest.mark.parametrize("times", PROBED)
def test_the_probe_decides(monkeypatch, times):
    pretend(monkeypatch, times)
    plan = plan_training(make_job(make_net()))
    assert (plan.numbers, plan.reason) == PROBED[times]


def test_a_series_is_timed_where_steps_are_recorded(monkeypatch):
    kinds = []

    class Noting(NetTraining):
        def __init__(self, prepared, table, **settings):
            super().__init__(prepared, table, **settings)
            kinds.append(type(self.engine).__name__)

    monkeypatch.setattr(timing, "NetTraining", Noting)
    monkeypatch.setattr(timing, "_choose_clock", lambda job: timing.perf_counter)
    monkeypatch.setattr(timing, "records_steps", lambda job: True)
    times = timing.measure_ways(make_job(make_net()))
    assert kinds == ["TurnsEngine", "GenericEngine", "SeriesEngine"] and min(times) > 0


@pytest.mark.parametrize("follows", [pytest.param(False, marks=pytest.mark.slow), True])
def test_grouped_convolutions_equal_those_of_one_net_after_the_other(follows, monkeypatch):
    monkeypatch.setattr(_step, "draws_the_same", lambda device: False)
    plateau = LRScheduler("ReduceLROnPlateau", monitor="train_loss", patience=0)
    net = make_net(module__normalize=True, **{**RECIPE, "callbacks": [plateau] if follows else []})
    found = []
    for in_series in (False, True):
        job = make_job(net, n_models=4)
        table = shared_table(job)
        nets = [prepare_net(job, k, table) for k in range(4)]
        NetTraining(nets, table, in_series=in_series).run_to_end(None)
        found.append([ready.net.module_.state_dict() for ready in nets])
    for one, other in zip(*found, strict=True):
        for name, value in one.items():
            torch.testing.assert_close(value, other[name], rtol=0, atol=1e-12)


def test_the_user_decides_before_the_probe(monkeypatch):
    pretend(monkeypatch, (2.0, 2.0, 1.0))
    job = make_job(make_net())
    assert plan_training(job, batched=True).numbers == "torch"
    assert plan_training(job, batched=False).numbers == "one_by_one"


@pytest.mark.parametrize("in_series", [1.0, 3.0])
@pytest.mark.parametrize("decided", [{"batched": True}, {"known": "torch"}])
def test_nets_that_are_trained_together_are_recorded_in_the_faster_way(
    monkeypatch, decided, in_series
):
    pretend(monkeypatch, (2.0, 2.0, 0.1, in_series))
    monkeypatch.setattr(timing, "records_steps", lambda job: True)
    plan = plan_training(make_job(make_net()), **decided)
    assert plan.numbers == "torch"
    assert ("grouped convolutions were 2.0x slower" in plan.reason) == (in_series == 1.0)


@pytest.mark.parametrize("known", ["torch", "torch, in turn", "one_by_one"])
def test_a_pool_goes_on_in_the_way_of_its_first_models(monkeypatch, known):
    times = (2.0, 2.0, 1.0) if known != "one_by_one" else (1.0, 2.0, 2.0)
    pretend(monkeypatch, times)
    assert plan_training(make_job(make_net()), known=known).numbers == known


@pytest.mark.parametrize("batch_size, n_steps", [(8, 12), (2**40, 6), (-1, 6)])
def test_short_trainings_are_neither_checked_nor_probed(monkeypatch, batch_size, n_steps):
    monkeypatch.setattr(_check, "check_training", None)
    plan = plan_training(make_job(make_net(batch_size=batch_size)))
    said = f"one after another: a training of {n_steps} steps is too short for a probe"
    assert (plan.numbers, plan.reason) == ("one_by_one", said)


def test_the_probe_times_batches_of_one_size(monkeypatch):
    sizes, step = [], skorch.NeuralNet.train_step

    def note(net, batch, **fit_params):
        sizes.append(len(batch[1]))
        return step(net, batch, **fit_params)

    monkeypatch.setattr(skorch.NeuralNet, "train_step", note)
    timing.measure_ways(make_job(make_net(batch_size=6)))  # of 16 rows, the last batch has 4
    assert sizes == [6] * (1 + timing.N_STEPS)


def test_the_probe_leaves_nothing_behind():
    job = make_job(make_net(**RECIPE))
    before = torch.get_rng_state(), torch.get_num_threads(), np.random.get_state()[1].copy()  # noqa: NPY002
    times = timing.measure_ways(job)
    assert min(times[:3]) > 0 and times.in_series is None  # which is for GPUs
    assert torch.equal(torch.get_rng_state(), before[0])
    assert torch.get_num_threads() == before[1]
    np.testing.assert_array_equal(np.random.get_state()[1], before[2])  # noqa: NPY002


def test_nets_that_draw_other_numbers_on_a_device(monkeypatch):
    # As on a GPU, except that masks are drawn by the generators of the CPU: the check leaves them
    # out, and the nets still have them.
    monkeypatch.setattr(_check, "draws_the_same", lambda device: False)
    job = make_job(make_net(**RECIPE))
    assert_equal_to_one_by_one(job, checked(job))


class TwoStreams(NetRandomness):
    """Streams as on a device with generators of its own."""

    def __init__(self, device):
        super().__init__(device)
        self.own = torch.Generator().manual_seed(torch.initial_seed() + 1)


def test_masks_and_changes_of_another_stream_have_the_same_law(monkeypatch):
    settings = {**RECIPE, "module__drop": 0.5, "max_epochs": 1}
    job = make_job(make_net(**settings), n_models=24)
    monkeypatch.setattr(_prepare, "NetRandomness", TwoStreams)
    ours, theirs = training.run(TorchNetsWay(), job), training.run_alone(job)
    ours, theirs = torch.stack(weights_of(ours)), torch.stack(weights_of(theirs))
    assert not torch.allclose(ours, theirs)
    # Nets start from equal weights and see the same rows, so differences have the mean 0.
    difference = (ours - theirs)[:, (ours - theirs).std(0) > 0]
    z = difference.mean(0) / difference.std(0) * np.sqrt(24)
    assert z.abs().max() < 5.2  # Student's law has 3e-5 beyond, and there are 69 weights


def test_crops_and_flips_move_whole_images():
    images = torch.arange(1.0, 2 * 3 * 5 * 6 + 1).view(2, 3, 5, 6)
    generator = torch.Generator().manual_seed(0)
    seen = set()
    for _ in range(200):
        (first, second) = random_crops(images, generator, padding=1)
        shift = [(i, j) for i in range(3) for j in range(3) if moved(images[0], i, j).equal(first)]
        assert len(shift) == 1
        seen.add(shift[0])
        assert any(moved(images[1], i, j).equal(second) for i in range(3) for j in range(3))
    assert len(seen) == 9
    flipped = random_flips(images.expand(100, 2, 3, 5, 6).flatten(0, 1), generator)
    same = [torch.equal(one, images[k % 2]) for k, one in enumerate(flipped)]
    mirrored = [torch.equal(one, images[k % 2].flip(-1)) for k, one in enumerate(flipped)]
    assert np.all(np.add(same, mirrored) == 1)
    assert 60 < sum(same) < 140  # more than five standard deviations of 7 on each side


def moved(image, i, j):
    return F.pad(image, [1] * 4)[:, i : i + 5, j : j + 6]


def test_augmentation_refuses_what_is_no_function():
    with pytest.raises(TypeError, match="one or more functions; got int"):
        Augmentation(3)
    with pytest.raises(TypeError, match="got none"):
        Augmentation()


def test_batches_of_a_validation_set_are_not_changed():
    reason = TorchNetsWay().why_not(make_job(make_net(iterator_valid__collate_fn=CROPS)))
    assert reason == "iterator_valid changes its batches at random."
