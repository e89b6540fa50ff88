"""What is done for GPUs, as far as it can be seen without one.

Tensors on the device "meta" have a shape and no numbers, and torch refuses to combine them with
tensors on a CPU, as it does with tensors on a GPU.
"""

import itertools
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest
import training
from cells import slow_but

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from nets import Images, make_net  # noqa: E402
from skorch.callbacks import GradientNormClipping, LRScheduler  # noqa: E402

from skmia import Records, ShadowPool  # noqa: E402
from skmia._training.backends.torch_nets import TorchNetsWay, prepare, timing, train  # noqa: E402
from skmia._training.backends.torch_nets.batches import BatchBuffers, _DeviceFerry, select  # noqa: E402
from skmia._training.backends.torch_nets.prepare import BatchOrder, EpochOrders  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.job import Job, JobData  # noqa: E402
from skmia._training.workers import TaskWorkers  # noqa: E402
from skmia.victims import Augmentation  # noqa: E402

META = torch.device("meta")
N, N_MODELS = 40, 4


def make_training(net, **settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 6)).astype(np.float32), rng.integers(3, size=N)
    subsets = np.zeros((N_MODELS, N), dtype=bool)
    for subset in subsets:
        subset[rng.permutation(N)[: N // 2]] = True
    job = Job(net, JobData([X], y), subsets, np.random.SeedSequence(0).spawn(N_MODELS), None)
    table = prepare.shared_table(job)
    prepared = [prepare.prepare_net(job, k, table) for k in range(N_MODELS)]
    return NetTraining(prepared, table, **settings)


class OnMeta(torch.Generator):
    device = META


class TorchWithMeta:
    """The module torch with generators of numbers on the device "meta"."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def Generator(self, device="cpu"):
        return torch.Generator() if torch.device(device).type == "cpu" else OnMeta()


@pytest.fixture
def meta(monkeypatch):
    monkeypatch.setattr(prepare, "torch", TorchWithMeta())
    as_int = torch.Tensor.__int__  # the smallest label is asked for once
    monkeypatch.setattr(torch.Tensor, "__int__", lambda self: 0 if self.is_meta else as_int(self))


def add_noise(X, generator):
    return X + torch.randn(X.shape, generator=generator, device=generator.device)


COSINE = LRScheduler("CosineAnnealingLR", T_max=9, step_every="batch")
SETTINGS = {
    "SGD": {"optimizer__momentum": 0.9},
    "Adam": {"optimizer": torch.optim.Adam},
    "RMSprop": {"optimizer": torch.optim.RMSprop},
    "Adagrad": {"optimizer": torch.optim.Adagrad},
    "dropout": {"module__drop": 0.5},
    "clipped, by schedule": {"callbacks": [GradientNormClipping(0.1), COSINE]},
    "images": {"module": Images},
    "augmented": {"iterator_train__collate_fn": Augmentation(add_noise)},
}


CELLS = [(name, *rest) for name in SETTINGS for rest in itertools.product([True, False], repeat=3)]
# One or two of each name; both values of the last two settings on either path.
TURNS = [(k % 2 == 0, k // 2 % 2 == 0) for k in range(len(SETTINGS))]
EACH_TIME = [
    (name, generic, fits == generic, is_recorded == generic)
    for name, (fits, is_recorded) in zip(SETTINGS, TURNS, strict=True)
    for generic in (True, False)
    if generic == fits or name in ("clipped, by schedule", "images")
]


@pytest.mark.parametrize("name, generic, fits, is_recorded", slow_but(CELLS, *EACH_TIME))
def test_each_step_stays_on_the_device_of_the_nets(
    name, generic, fits, is_recorded, meta, monkeypatch
):
    monkeypatch.setattr(prepare, "fits", lambda n_bytes, device: fits)
    # A recording fails there, and the step is computed with the numbers that would be recorded.
    is_recorded = is_recorded and name != "Adam"  # torch has no fused update for this device
    monkeypatch.setattr(train, "can_record", lambda engine, device: is_recorded)
    nets = make_training(make_net(device="meta", **SETTINGS[name]), generic=generic)
    assert nets.table.home == torch.device("meta" if fits else "cpu")
    for _ in range(2):
        order = nets.begin_epoch()
        for i in range(len(nets.batches)):
            nets.step(i, order)
            nets.schedules.end_batch(i)
        nets.orders.end_epoch()
    assert all(one.is_meta for one in nets.engine.stack.memory.values())
    changes = nets.joint_step._changes
    assert changes is None or changes._is_keyed  # all nets at once


def test_rows_that_are_too_large_for_the_device_are_moved_batch_by_batch():
    rng = torch.Generator().manual_seed(0)
    rows, rooms = torch.randn(50, 2, 3, generator=rng), BatchBuffers()
    assert select(rows, torch.arange(4), META).is_meta
    chosen = rooms.select(rows, torch.arange(4).view(2, 2), META)
    assert chosen.is_meta and chosen.shape == (2, 2, 2, 3)
    ferry = _DeviceFerry(rows, 5, torch.device("cpu"))
    for _ in range(4):
        places = torch.randint(50, (5,), generator=rng)
        torch.testing.assert_close(ferry.gather(rows, places), rows[places], rtol=0, atol=0)


def test_a_batch_is_gathered_beside_the_one_that_leaves(monkeypatch):
    """A room is filled again only after its last copy has ended."""
    events = []

    class Event:
        def __init__(self):
            self.name = len(events)
            events.append(f"copy {self.name} begins")

        def synchronize(self):
            events.append(f"copy {self.name} ended")

    monkeypatch.setattr("skmia._training.backends.torch_nets.batches._mark", lambda device: Event())
    ferry = _DeviceFerry(torch.zeros(9, 2), 3, torch.device("cpu"))
    for _ in range(3):
        ferry.gather(torch.zeros(9, 2), torch.arange(3))
    assert events == ["copy 0 begins", "copy 1 begins", "copy 0 ended", "copy 3 begins"]


def test_a_table_on_the_host_gives_the_same_nets(monkeypatch):
    here = make_training(make_net(Images))
    monkeypatch.setattr("skmia._training.backends.torch_nets.batches._DeviceBuffer", _DeviceFerry)
    ferried = make_training(make_net(Images))
    for one in (here, ferried):
        one.run_to_end(None)
    for one, other in zip(here.nets, ferried.nets, strict=True):
        for name, value in one.module_.state_dict().items():
            torch.testing.assert_close(value, other.module_.state_dict()[name], rtol=0, atol=0)


def test_rows_stay_on_the_host_if_half_of_the_free_memory_is_too_small(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 4000))
    gpu = torch.device("cuda")
    assert prepare.fits(500, gpu) and not prepare.fits(501, gpu)
    assert prepare.fits(501, torch.device("cpu"))


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("has_valid", [True, False])
def test_orders_that_are_drawn_ahead_are_the_same(shuffle, has_valid):
    def draw(ahead):
        generators = [torch.Generator().manual_seed(k) for k in range(3)]
        rows = [torch.arange(k, 20 + k) for k in range(3)]
        orders = [BatchOrder(one, 20, shuffle, has_valid) for one in generators]
        epochs = EpochOrders(orders, rows, ahead)
        for epoch in range(5):
            yield epochs.begin_epoch()
            if epoch == 2:  # as a module that draws numbers on the CPU
                torch.rand(7, generator=generators[1])
            epochs.end_epoch()
        yield torch.rand(3, generator=generators[1])

    for one, other in zip(draw(True), draw(False), strict=True):
        assert torch.equal(one, other)


def test_a_shuffled_epoch_is_foreseen_by_its_seed():
    order = BatchOrder(torch.Generator().manual_seed(0), 9, True, True)
    order.begin_epoch()
    foreseen = order.foresee()
    order.end_epoch()
    assert order.begin_epoch() == foreseen


def test_groups_are_spread_over_as_many_gpus_as_there_are_processes(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(
        timing, "effective_n_jobs", lambda n_jobs: {None: 1, -1: 16}.get(n_jobs, n_jobs)
    )
    assert [timing.count_devices("cuda", n) for n in (None, 1, 3, -1)] == [1, 1, 3, 4]
    assert [timing.count_devices(one, -1) for one in ("cuda:1", "mps", "cpu")] == [1, 1, 0]


def test_no_two_groups_have_the_same_gpu():
    used, barrier = [], Barrier(3)

    @contextmanager
    def use(number):
        barrier.wait(30)  # all three at a time
        used.append(number)
        yield

    with timing.spread_over_gpus(lambda job: job, 3, use) as train:
        threads = [Thread(target=train, args=(None,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(used) == [0, 1, 2]


class _Noting:
    """Notes the number of a device in a folder while it is used."""

    def __init__(self, folder, number):
        self._path = Path(folder) / str(number)

    def __enter__(self):
        with open(self._path, "a") as file:
            file.write("x")

    def __exit__(self, *error):
        return None


class Use:
    def __init__(self, folder):
        self._folder = folder

    def __call__(self, number):
        return _Noting(self._folder, number)


@pytest.mark.usefixtures("copied_workers")
def test_a_pool_on_two_devices_equals_one_on_one(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(N, 6)).astype(np.float32), rng.integers(3, size=N))
    settings = {"batched": 2, "n_jobs": 1, "random_state": 0}
    one = ShadowPool(make_net(), 8, **settings).fit(records)
    spread = timing.spread_over_gpus
    monkeypatch.setattr(timing, "count_devices", lambda device, n_jobs: 2)
    monkeypatch.setattr(
        timing, "spread_over_gpus", lambda train, n: spread(train, n, Use(tmp_path))
    )
    two = ShadowPool(make_net(), 8, **settings).fit(records)
    np.testing.assert_array_equal(one.signals_, two.signals_)
    used = {path.name: len(path.read_text()) for path in tmp_path.iterdir()}
    assert set(used) <= {"0", "1"} and sum(used.values()) == 4


class Cluster(TaskWorkers):
    """Workers with devices of their own."""

    name = "cluster"

    def are_active(self):
        return True

    def run(self, train, job, parts):
        yield from map(train, parts)

    def map(self, function, shared, parts):
        raise NotImplementedError


def test_workers_of_a_cluster_use_their_own_devices(monkeypatch):
    monkeypatch.setattr(timing, "count_devices", None)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 6)).astype(np.float32), rng.integers(3, size=N)
    subsets = np.arange(N) % 2 == np.arange(N_MODELS)[:, None] % 2
    job = training.make_job(make_net(), [X], y, subsets)
    assert sorted(k for k, _ in TorchNetsWay().run(job, range(N_MODELS), Cluster())) == [0, 1, 2, 3]
