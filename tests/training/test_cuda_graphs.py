"""Steps that are replayed give the weights of steps that are computed one after the other.

There is no GPU here, so the operations on tensors are recorded instead of kernels. Like those, they
are repeated with the numbers of Python that they were given once, on the memory that they used.
"""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from cells import slow_but

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from nets import Images, make_net  # noqa: E402
from skorch.callbacks import EarlyStopping, GradientNormClipping, LRScheduler  # noqa: E402
from skorch.dataset import ValidSplit  # noqa: E402
from skorch.helper import SliceDict  # noqa: E402
from torch import nn  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from skmia._training.backends.torch_nets import cuda_graphs, step, train  # noqa: E402
from skmia._training.backends.torch_nets.prepare import prepare_net, shared_table  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.job import Job, JobData  # noqa: E402
from skmia.victims import WeightAverage  # noqa: E402

N_MODELS, N_EPOCHS = 3, 4  # of nets.make_net
ADAM = {"optimizer": torch.optim.Adam, "optimizer__weight_decay": 0.1}
MOMENTUM = {"optimizer__momentum": 0.9, "optimizer__nesterov": True}


class Tape(TorchDispatchMode):
    """Notes each operation, and the values that it overwrites."""

    def __init__(self):
        super().__init__()
        self.steps, self.before = [], []

    def __torch_dispatch__(self, operation, types, arguments=(), settings=None):
        if operation is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        settings = settings or {}
        named = zip(operation._schema.arguments, arguments, strict=False)
        given = {one.name: value for one, value in named} | settings
        for one in operation._schema.arguments:
            if one.alias_info is not None and one.alias_info.is_write and one.name in given:
                written = tree_leaves(given[one.name])
                self.before += [(tensor, tensor.clone()) for tensor in written]
        result = operation(*arguments, **settings)
        self.steps.append((operation, arguments, settings, result))
        return result

    @torch.no_grad()
    def play(self):
        for operation, arguments, settings, result in self.steps:
            again = operation(*arguments, **settings)
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if torch.is_tensor(old) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)

    @torch.no_grad()
    def undo(self):
        """Restore what was overwritten: a GPU only records, and computes nothing."""
        for tensor, values in reversed(self.before):
            tensor.copy_(values)


@pytest.fixture
def n_replays(monkeypatch):
    """Number of replays of each recording, in a list that grows with each recording."""
    counts = []

    def record(function, device):
        function()
        with Tape() as tape:
            results = function()
        tape.undo()
        counts.append(0)
        place = len(counts) - 1

        def replay():
            counts[place] += 1
            tape.play()

        return replay, results

    monkeypatch.setattr(cuda_graphs, "record", record)
    monkeypatch.setattr(train, "can_record", lambda engine, device: engine.repeats)
    monkeypatch.setattr(step, "draws_the_same", lambda device: False)
    monkeypatch.setattr(cuda_graphs.ReplayTimes, "are_worth_it", True)
    return counts


class Parts(nn.Module):
    """A module of two inputs by name."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(2, 3), nn.Linear(4, 3)

    def forward(self, left, right):
        return self.left(left) * self.right(right)


class Waits(nn.Module):
    """A module that reads a number of a tensor, for which Python waits."""

    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(6, 3), [torch.tensor(2.0)]

    def forward(self, X):
        return self.layer(X) * float(self.scale[0])


class Counts(nn.Module):
    """A module whose forward pass depends on how often it was called."""

    def __init__(self):
        super().__init__()
        self.layer, self.n_calls = nn.Linear(6, 3), 0

    def forward(self, X):
        self.n_calls += 1
        return self.layer(X) * self.n_calls


def train_nets(net, generic=False, sizes=(29, 30, 31), **ways):
    """The weights and buffers of some nets, in batches of 8 records."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(3, size=60)
    if net.module is Parts:
        X = SliceDict(left=X[:, :2], right=X[:, 2:])
    subsets = np.zeros((N_MODELS, 60), dtype=bool)
    for k, subset in enumerate(subsets):
        subset[rng.permutation(60)[: sizes[k]]] = True
    job = Job(net, JobData([X], y), subsets, np.random.SeedSequence(0).spawn(N_MODELS), None)
    table = shared_table(job)
    training = NetTraining(
        [prepare_net(job, k, table) for k in range(N_MODELS)], table, generic, **ways
    )
    training.run_to_end(None)
    return [net.module_.state_dict() for net in training.nets]


def assert_equal(ours, theirs, atol=0):
    for one, other in zip(ours, theirs, strict=True):
        for name, value in one.items():
            torch.testing.assert_close(value, other[name], rtol=0, atol=atol)


PLATEAU = LRScheduler(lr_scheduler.ReduceLROnPlateau, monitor="train_loss", patience=0, factor=0.1)
SPLIT = {"train_split": ValidSplit(3, stratified=False)}
NETS = {
    "perceptron": make_net(**MOMENTUM),
    "adam": make_net(**ADAM),
    "groups": make_net(**MOMENTUM, optimizer__param_groups=[("*.bias", {"weight_decay": 0.5})]),
    "rates by batch": make_net(
        callbacks=[LRScheduler("CosineAnnealingLR", T_max=15, step_every="batch")]
    ),
    "amsgrad": make_net(
        optimizer=torch.optim.AdamW,
        optimizer__amsgrad=True,
        callbacks=[LRScheduler("StepLR", step_size=1, gamma=0.5)],
    ),
    "centered": make_net(
        optimizer=torch.optim.RMSprop, optimizer__momentum=0.5, optimizer__centered=True
    ),
    "decaying": make_net(optimizer=torch.optim.Adagrad, optimizer__lr_decay=0.1),
    "momentum by batch": make_net(
        **MOMENTUM,
        callbacks=[
            LRScheduler(lr_scheduler.OneCycleLR, max_lr=0.2, total_steps=20, step_every="batch")
        ],
    ),
    "clipped": make_net(callbacks=[GradientNormClipping(0.1)]),
    "dropout": make_net(module__drop=0.4, **ADAM),
    "images": make_net(Images, **ADAM),
    "averages": make_net(Images, callbacks=[WeightAverage(0.8)]),
    "plateau": make_net(callbacks=[PLATEAU]),
    "stopping": make_net(callbacks=[EarlyStopping(patience=3, load_best=True)], **SPLIT),
    "inputs by name": make_net(Parts, **ADAM),
}


# A step of any module is recorded alike, whatever else it computes. Of the others, the quick ones
# have what the slow ones have: Adam and amsgrad, rates and momentum by batch, images and averages.
GENERIC = slow_but([(name, True) for name in NETS], ("plateau", True))
SLOW = ("perceptron", "adam", "rates by batch", "images", "inputs by name", "plateau", "decaying")
CHAINS = slow_but(
    [(name, False) for name in NETS], *((name, False) for name in NETS if name not in SLOW)
)


@pytest.mark.parametrize("name, generic", [*CHAINS, *GENERIC])
def test_replayed_steps_give_the_same_weights(name, generic, n_replays, monkeypatch):
    replayed = train_nets(NETS[name], generic)
    n_full = {"stopping": 2 * N_EPOCHS}.get(name, 3 * N_EPOCHS)
    # Of the steps with full batches three come before the recording.
    assert n_replays == [n_full - 3]
    monkeypatch.setattr(cuda_graphs.ReplayTimes, "are_worth_it", False)
    given_up = train_nets(NETS[name], generic)
    assert n_replays[1:] == [2]
    monkeypatch.setattr(train, "can_record", lambda engine, device: False)
    plain = train_nets(NETS[name], generic)
    assert_equal(replayed, given_up)
    assert_equal(replayed, plain, atol=1e-5)  # where learning rates are numbers of Python


@pytest.mark.parametrize(
    "name", slow_but(["images", "inputs by name", "plateau"], "inputs by name", "plateau")
)
def test_nets_one_after_the_other_are_one_recording(name, n_replays, monkeypatch):
    replayed = train_nets(NETS[name], in_series=True)
    assert n_replays == [3 * N_EPOCHS - 3]
    monkeypatch.setattr(train, "can_record", lambda engine, device: False)
    assert_equal(replayed, train_nets(NETS[name], in_series=True), atol=1e-5)
    assert_equal(replayed, train_nets(NETS[name]), atol=1e-4)


UNEVEN = ["adam", "plateau", "dropout", "rates by batch", "averages"]


@pytest.mark.parametrize("name", slow_but(UNEVEN, "plateau", "dropout"))
def test_models_with_more_batches_than_others_are_replayed_with_them(name, n_replays, monkeypatch):
    sizes = 20, 28, 42
    replayed = train_nets(NETS[name], sizes=sizes)
    assert n_replays == [2 * N_EPOCHS - 3]  # two full batches of all models
    monkeypatch.setattr(train, "can_record", lambda engine, device: False)
    assert_equal(replayed, train_nets(NETS[name], sizes=sizes), atol=1e-5)


def test_a_setting_that_is_changed_late_ends_the_replays(n_replays, monkeypatch):
    class Late(lr_scheduler.StepLR):
        def step(self, *given):
            super().step(*given)
            if self.last_epoch >= 3:
                self.optimizer.param_groups[0]["momentum"] = 0.1

    net = make_net(**MOMENTUM, callbacks=[LRScheduler(Late, step_size=1, gamma=0.5)])
    replayed = train_nets(net)
    assert n_replays == [3 * 3 - 3]  # none in the last of four epochs
    monkeypatch.setattr(train, "can_record", lambda engine, device: False)
    assert_equal(replayed, train_nets(net), atol=1e-5)


@pytest.mark.parametrize("module", [Waits, Counts])
def test_steps_that_cannot_be_replayed_are_computed(module, n_replays, monkeypatch):
    ours = train_nets(make_net(module), generic=True)
    assert n_replays == {Waits: [], Counts: [1]}[module]
    if module is Waits:  # the trials count as calls, so the others differ
        monkeypatch.setattr(train, "can_record", lambda engine, device: False)
        assert_equal(ours, train_nets(make_net(module), generic=True))


def test_a_wrong_replay_has_no_effect(n_replays, monkeypatch):
    record = cuda_graphs.record

    def record_badly(function, device):
        replay, results = record(function, device)
        return lambda: (replay(), replay()), results  # running means are updated twice

    monkeypatch.setattr(cuda_graphs, "record", record_badly)
    ours = train_nets(NETS["images"])
    assert n_replays == [2]
    monkeypatch.setattr(train, "can_record", lambda engine, device: False)
    assert_equal(ours, train_nets(NETS["images"]))


def test_losses_of_a_wrong_replay_are_not_followed(n_replays, monkeypatch):
    record = cuda_graphs.record

    def record_badly(function, device):
        replay, (gradients, losses) = record(function, device)
        return lambda: (replay(), gradients[0].add_(1), losses.fill_(1e6)), (gradients, losses)

    monkeypatch.setattr(cuda_graphs, "record", record_badly)
    ours = train_nets(NETS["plateau"])
    assert n_replays == [1]
    monkeypatch.setattr(train, "can_record", lambda engine, device: False)
    assert_equal(ours, train_nets(NETS["plateau"]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("ways", [{}, {"generic": True}, {"in_series": True}])
@pytest.mark.parametrize("name", NETS)
def test_on_a_gpu_replayed_steps_give_the_same_weights(name, ways, monkeypatch):
    net, replays = NETS[name].set_params(device="cuda"), []
    replay = cuda_graphs.CudaGraphStep.replay
    monkeypatch.setattr(
        cuda_graphs.CudaGraphStep,
        "replay",
        lambda self, inputs: replays.append(1) or replay(self, inputs),
    )
    monkeypatch.setattr(cuda_graphs.ReplayTimes, "are_worth_it", True)
    try:
        replayed = train_nets(net, **ways)
        assert len(replays) >= 5
        monkeypatch.setattr(train, "can_record", lambda engine, device: False)
        assert_equal(replayed, train_nets(net, **ways), atol=1e-3)
    finally:
        net.set_params(device="cpu")


class Stream:
    def wait_stream(self, other):
        assert other is not self


class FakeCuda:
    """The streams of torch.cuda, where an error leaves the stream of a recording in use."""

    Stream, CUDAGraph = Stream, SimpleNamespace

    def __init__(self):
        self.used = Stream()

    def current_stream(self):
        return self.used

    def set_stream(self, stream):
        self.used = stream

    def device(self, device):
        return nullcontext()

    @contextmanager
    def stream(self, stream):
        before, self.used = self.used, stream
        yield
        self.used = before

    def graph(self, graph, stream):
        graph.replay = "replay"
        return self.stream(stream)


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_a_recording_leaves_the_stream_of_the_training_in_use(n_calls, monkeypatch):
    cuda, streams = FakeCuda(), []
    monkeypatch.setattr(cuda_graphs, "torch", SimpleNamespace(cuda=cuda))
    of_training = cuda.used

    def step():
        streams.append(cuda.used)
        if len(streams) == n_calls:
            raise RuntimeError("operation not permitted when stream is capturing")
        return "gradients"

    if n_calls == 3:  # the first call warms up, the second is recorded
        assert cuda_graphs.record(step, "cuda") == ("replay", "gradients")
    else:
        with pytest.raises(RuntimeError, match="not permitted"):
            cuda_graphs.record(step, "cuda")
    assert cuda.used is of_training
    assert of_training not in streams and len(set(map(id, streams))) == 1


def test_nets_that_take_turns_are_not_recorded(n_replays):
    train_nets(make_net(), in_turn=True)
    assert n_replays == []


def test_a_replay_is_chosen_if_it_is_clearly_faster():
    assert cuda_graphs.ReplayTimes(1.0, 0.5).are_worth_it
    assert not cuda_graphs.ReplayTimes(1.0, 0.95).are_worth_it


def test_nothing_is_recorded_on_a_cpu(monkeypatch):
    monkeypatch.setattr(cuda_graphs, "record", None)
    train_nets(make_net())
