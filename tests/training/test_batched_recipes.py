"""Schedules, clipping and parameter groups give the same nets together and one by one."""

import itertools

import numpy as np
import pytest
import training
from cells import slow_but
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from skorch.callbacks import EarlyStopping, EpochScoring, GradientNormClipping, LRScheduler  # noqa: E402
from skorch.dataset import ValidSplit  # noqa: E402
from torch import nn  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

from skmia._training.backends.torch_nets import TorchNetsWay  # noqa: E402
from skmia._training.backends.torch_nets.prepare import prepare_net, shared_table  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.plan import plan_training  # noqa: E402
from skmia.victims import WeightAverage  # noqa: E402

ADAM = {"optimizer": torch.optim.Adam, "lr": 0.01}
MOMENTUM = {"optimizer": torch.optim.SGD, "lr": 0.1, "optimizer__momentum": 0.9}


class Net(nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.first = nn.Linear(6, 5)
        self.drop = nn.Dropout(drop)
        self.last = nn.Linear(5, 3)
        self.double()

    def forward(self, X):
        return self.last(self.drop(torch.relu(self.first(X))))


class NormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3))
        self.double()

    def forward(self, X):
        return self.layers(X)


def make_net(module=Net, **settings):
    defaults = {
        "criterion": nn.CrossEntropyLoss,
        "max_epochs": 3,
        "batch_size": 16,
        "train_split": None,
        "iterator_train__shuffle": True,
        "verbose": 0,
    }
    optimizer = {} if "optimizer" in settings else MOMENTUM
    return skorch.NeuralNetClassifier(module, **{**defaults, **optimizer, **settings})


def make_job(net, n=65, n_models=4, X=None):
    # One model of each pair has 32 records and two batches; its complement has 33 and three.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)) if X is None else X
    subsets = np.zeros((n_models, n), dtype=bool)
    for k in range(0, n_models, 2):
        subsets[k, rng.permutation(n)[: n // 2]] = True
        subsets[k + 1 : k + 2] = ~subsets[k]
    return training.make_job(net, [X], rng.integers(3, size=n), subsets, seed=7)


def weights_of(results):
    return [
        torch.cat([p.detach().flatten() for p in one.model.module_.state_dict().values()])
        for one in results.values()
    ]


def assert_equal_to_one_by_one(net, generic=False, in_turn=False):
    # Nets that hold out rows stop or slow down by themselves, some of four before others.
    job = make_job(net, n_models=4 if net.train_split else 2)
    way = TorchNetsWay(generic=generic)
    assert way.why_not(job) is None
    way._in_turn = in_turn
    ours = training.run(way, job)
    assert not any(one.warnings for one in ours.values())
    ours, theirs = weights_of(ours), weights_of(training.run_alone(job))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    return theirs


def warm_up(epoch):
    return min(1.0, (epoch + 1) / 4)


def warm_up_then_cosine(optimizer, last_epoch=-1):
    first = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2)
    second = lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    return lr_scheduler.SequentialLR(optimizer, [first, second], milestones=[2])


SCHEDULES = {
    "step": LRScheduler("StepLR", step_size=2, gamma=0.3),
    "cosine": LRScheduler("CosineAnnealingLR", T_max=6),
    "warm-up": LRScheduler(lr_scheduler.LambdaLR, lr_lambda=warm_up),
    "warm-up, then cosine": LRScheduler(warm_up_then_cosine),
    "cosine by batch": LRScheduler("CosineAnnealingLR", T_max=15, step_every="batch"),
    "one cycle": LRScheduler(
        lr_scheduler.OneCycleLR, max_lr=0.3, total_steps=20, step_every="batch"
    ),
    "restarts": LRScheduler,
}


@pytest.fixture(scope="module")
def free():
    """Weights of nets with the same rate in all steps, which are not clipped."""
    return weights_of(training.run_alone(make_job(make_net())))


# The usual recipe below has a cosine and a warm-up.
@pytest.mark.parametrize(
    "name", slow_but(SCHEDULES, "step", "cosine by batch", "one cycle", "restarts")
)
def test_schedules_of_the_learning_rate(name, free):
    changed = assert_equal_to_one_by_one(make_net(callbacks=[SCHEDULES[name]]))
    if name != "restarts":  # which is constant by default
        assert not any(map(torch.allclose, changed, free))


@pytest.mark.parametrize(
    "order, generic",
    slow_but(itertools.product([2, 1, "inf"], [False, True]), (2, True), ("inf", False)),
)
def test_gradients_are_clipped_by_the_norm_of_each_net(order, generic, free):
    clipping = GradientNormClipping(0.2, order)
    changed = assert_equal_to_one_by_one(make_net(callbacks=[clipping]), generic)
    assert not any(map(torch.allclose, changed, free))


def test_clipping_of_rows_without_zeros():
    rng = np.random.default_rng(1)
    X = np.eye(40)[rng.integers(40, size=(65, 3))].reshape(65, -1)

    def module():
        return nn.Sequential(nn.Linear(120, 4), nn.ReLU(), nn.Linear(4, 3)).double()

    for settings in ({}, {"optimizer__param_groups": [("*.bias", {"lr": 0.01})]}):
        net = make_net(module, callbacks=[GradientNormClipping(0.1)], **settings)
        job = make_job(net, X=X)
        table = shared_table(job)
        engine = NetTraining([prepare_net(job, k, table) for k in range(2)], table).engine
        assert engine.takes_sums == (not settings)
        ours, theirs = weights_of(training.run(TorchNetsWay(), job)), training.run_alone(job)
        for one, other in zip(ours, weights_of(theirs), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


GROUPS = {
    "biases without decay": {
        "optimizer": torch.optim.AdamW,
        "lr": 0.01,
        "optimizer__weight_decay": 0.3,
        "optimizer__param_groups": [("*.bias", {"weight_decay": 0.0})],
    },
    "a layer with its own rate": {
        **MOMENTUM,
        "optimizer__param_groups": [("first.*", {"lr": 0.01, "momentum": 0.0}), ("none", {})],
    },
    "each its own": {
        **ADAM,
        "optimizer__param_groups": [("first.*", {"lr": 0.1}), ("last.*", {"betas": (0.5, 0.9)})],
    },
}


@pytest.mark.parametrize(
    "name, scheduled",
    slow_but(
        itertools.product(GROUPS, [False, True]),
        ("a layer with its own rate", False),
        ("each its own", True),
    ),
)
def test_parameter_groups(name, scheduled):
    callbacks = [SCHEDULES["cosine"]] if scheduled else None
    assert_equal_to_one_by_one(make_net(callbacks=callbacks, **GROUPS[name]))


@pytest.mark.parametrize("generic", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_usual_recipe(generic):
    net = make_net(
        Net,
        module__drop=0.3,
        train_split=ValidSplit(4),
        callbacks=[
            ("clip", GradientNormClipping(1.0)),
            ("f1", EpochScoring("f1_macro", lower_is_better=False)),
            ("rate", LRScheduler("CosineAnnealingLR", T_max=6)),
            ("warm-up", SCHEDULES["warm-up"]),
        ],
        **GROUPS["biases without decay"],
    )
    assert_equal_to_one_by_one(net, generic)


def test_normalized_nets():
    callbacks = [GradientNormClipping(0.5), SCHEDULES["cosine by batch"]]
    assert_equal_to_one_by_one(make_net(NormNet, callbacks=callbacks, batch_size=11))


@pytest.mark.parametrize("name", ["cosine", "one cycle"])
def test_an_interrupted_schedule_goes_on(name):
    assert_goes_on(make_job(make_net(callbacks=[SCHEDULES[name]])))


def assert_goes_on(job):
    table = shared_table(job)
    first, second = (
        NetTraining([prepare_net(job, k, table) for k in range(4)], table) for _ in range(2)
    )
    first.run(3)
    second.import_state(first.export_state())
    for one in (first, second):
        one.run(6)
    for one, other in zip(first.nets, second.nets, strict=True):
        for ours, theirs in zip(one.module_.parameters(), other.module_.parameters(), strict=True):
            assert torch.equal(ours, theirs)


def test_clipped_nets_do_not_depend_on_those_that_they_are_trained_with():
    job = make_job(make_net(callbacks=[GradientNormClipping(0.2), SCHEDULES["cosine"]]))
    whole, small = (weights_of(training.run(TorchNetsWay(memory), job)) for memory in (None, 1))
    for one, other in zip(whole, small, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


STOPPING = {
    "patience": EarlyStopping(patience=2),
    "best weights": EarlyStopping(patience=3, load_best=True),
    "absolute": EarlyStopping(patience=1, threshold=0.01, threshold_mode="abs"),
    "at the end": EarlyStopping(patience=100),
    "best of all": EarlyStopping(patience=100, load_best=True),
    "by default": EarlyStopping,
}
STOPPED = {"train_split": ValidSplit(4), "max_epochs": 8, "lr": 0.3}


def count_epochs(monkeypatch, job):
    """Return the number of epochs of each model that is trained by itself."""
    counts, end = [], skorch.NeuralNetClassifier.on_train_end

    def count(self, net, X=None, y=None, **kwargs):
        counts.append(len(net.history))
        return end(self, net, X, y, **kwargs)

    monkeypatch.setattr(skorch.NeuralNetClassifier, "on_train_end", count)
    training.run_alone(job)
    return counts


@pytest.mark.parametrize("name", slow_but(STOPPING, "patience", "absolute", "best of all"))
def test_each_net_stops_by_itself(name):
    assert_equal_to_one_by_one(make_net(callbacks=[STOPPING[name]], **STOPPED))


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            {"criterion__weight": torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)},
            marks=pytest.mark.slow,
        ),
        {"module": NormNet, "batch_size": 11},
        {"module__drop": 0.3, "iterator_valid__batch_size": 3},
        {"callbacks": [SCHEDULES["cosine by batch"], STOPPING["best weights"]]},
    ],
    ids=["weights", "norm", "dropout", "schedule"],
)
def test_other_nets_stop_by_themselves(settings):
    assert_equal_to_one_by_one(
        make_net(**{"callbacks": [STOPPING["best weights"]], **STOPPED, **settings})
    )


def test_nets_behind_other_steps_stop_by_themselves():
    net = make_net(callbacks=[STOPPING["patience"]], **STOPPED)
    job = make_job(make_pipeline(StandardScaler(), net))
    ours, theirs = training.run(TorchNetsWay(), job), training.run_alone(job)
    for k in ours:
        np.testing.assert_allclose(ours[k].raw, theirs[k].raw, rtol=1e-5, atol=1e-6)


def test_nets_stop_after_different_epochs(monkeypatch):
    job = make_job(make_net(callbacks=[STOPPING["patience"]], **STOPPED))
    n_epochs = count_epochs(monkeypatch, job)
    assert len(set(n_epochs)) > 1
    table = shared_table(job)
    ours = NetTraining([prepare_net(job, k, table) for k in range(4)], table)
    ours.run(8)
    assert ours.epoch == max(n_epochs) and ours.stopping.is_over == (ours.epoch < 8)


@pytest.mark.parametrize(
    "name, n_epochs",
    slow_but(
        itertools.product(["patience", "best weights"], [0, 2, 5]),
        ("patience", 5),
        ("best weights", 2),
    ),
)
def test_an_interrupted_training_stops_at_the_same_epoch(name, n_epochs):
    job = make_job(make_net(NormNet, callbacks=[STOPPING[name]], batch_size=11, **STOPPED))
    table = shared_table(job)
    first, second = (
        NetTraining([prepare_net(job, k, table) for k in range(4)], table) for _ in range(2)
    )
    first.run(n_epochs)
    second.import_state(first.export_state())
    for one in (first, second):
        one.run(8)
    for one, other in zip(first.nets, second.nets, strict=True):
        for name, ours in one.module_.state_dict().items():
            assert torch.equal(ours, other.module_.state_dict()[name])


def from_optimizer(optimizer, **settings):
    return lr_scheduler.ReduceLROnPlateau(optimizer)


PLATEAUS = {
    "training loss": [LRScheduler("ReduceLROnPlateau", patience=0, factor=0.3)],
    "validation loss": [
        LRScheduler("ReduceLROnPlateau", monitor="valid_loss", patience=0, factor=0.3)
    ],
    "made by a function": [LRScheduler(from_optimizer), LRScheduler("StepLR", step_size=5)],
    "of nets that stop": [
        LRScheduler("ReduceLROnPlateau", monitor="valid_loss", patience=0),
        EarlyStopping(patience=3),
    ],
}


@pytest.fixture(scope="module")
def of_no_schedule():
    return weights_of(training.run_alone(make_job(make_net(**STOPPED))))


ON_BOTH_PATHS = itertools.product(PLATEAUS, [False, True])
EACH_TIME = [("validation loss", True), ("of nets that stop", False)]


@pytest.mark.parametrize("name, generic", slow_but(ON_BOTH_PATHS, *EACH_TIME))
def test_each_net_has_the_schedule_of_its_own_losses(name, generic, of_no_schedule):
    changed = assert_equal_to_one_by_one(make_net(callbacks=PLATEAUS[name], **STOPPED), generic)
    assert not all(map(torch.allclose, changed, of_no_schedule))


IN_TURN = {
    "plateau": PLATEAUS["training loss"],
    "stopping": PLATEAUS["of nets that stop"],
    "best weights": [STOPPING["best weights"]],
    "averages": [WeightAverage(0.8), SCHEDULES["cosine by batch"]],
}


@pytest.mark.parametrize("name", slow_but(IN_TURN, "stopping", "averages"))
def test_recipes_of_nets_in_turn(name):
    net = make_net(NormNet, callbacks=IN_TURN[name], **{**STOPPED, "batch_size": 11})
    assert_equal_to_one_by_one(net, in_turn=True)


@pytest.mark.parametrize("name", ["training loss", "validation loss"])
def test_an_interrupted_schedule_of_losses_goes_on(name):
    assert_goes_on(make_job(make_net(callbacks=PLATEAUS[name], **STOPPED)))


def test_averages_of_the_weights():
    net = make_net(NormNet, callbacks=[WeightAverage(0.8)], batch_size=11, **ADAM)
    changed = assert_equal_to_one_by_one(net)
    free = weights_of(training.run_alone(make_job(net.set_params(callbacks=None))))
    assert not any(map(torch.allclose, changed, free))


def test_interrupted_averages_go_on():
    assert_goes_on(make_job(make_net(callbacks=[WeightAverage(0.8)])))


def test_averages_are_those_of_torch():
    class Averaged(skorch.callbacks.Callback):
        def on_train_begin(self, net, **kwargs):
            rule = torch.optim.swa_utils.get_ema_multi_avg_fn(0.8)
            self.model_ = torch.optim.swa_utils.AveragedModel(net.module_, multi_avg_fn=rule)

        def on_batch_end(self, net, training, **kwargs):
            self.model_.update_parameters(net.module_)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 6)), rng.integers(3, size=30)
    net = make_net(callbacks=[("torch", Averaged()), ("ours", WeightAverage(0.8))]).fit(X, y)
    theirs = dict(net.callbacks_)["torch"].model_.module
    for ours, expected in zip(net.module_.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="decay must be from 0 to 1; got 2"):
        net.set_params(callbacks=[WeightAverage(2)]).initialize()


def score(net, X, y):
    return 0.0


EARLY = "EarlyStopping needs a validation set, and train_split is None."
REFUSED = {
    "follows None": [LRScheduler("ReduceLROnPlateau", monitor=None)],
    "follows 'valid_acc'": [LRScheduler(from_optimizer, monitor="valid_acc")],
    "ReduceLROnPlateau follows 'train_loss'": [
        LRScheduler("ReduceLROnPlateau", step_every="batch")
    ],
    "Several WeightAverage": [WeightAverage(), ("second", WeightAverage())],
    "not reproduced together": [EarlyStopping(), WeightAverage()],
    "cannot be trained": [LRScheduler("StepLR")],
    EARLY: [EarlyStopping()],
    "EarlyStopping follows 'train_loss'": [EarlyStopping("train_loss")],
    "Several EarlyStopping": [EarlyStopping(), ("second", EarlyStopping(patience=2))],
    "a sink of its own": [EarlyStopping(sink=len)],
    "use_caching=False": [EpochScoring("accuracy", use_caching=False)],
    "give it a metric by name": [("mine", EpochScoring(score))],
    "Own may change": [type("Own", (LRScheduler,), {})()],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_reproduced_is_refused_in_one_sentence(words):
    split = None if words == EARLY else ValidSplit(4)
    net = make_net(callbacks=REFUSED[words], train_split=split)
    reason = TorchNetsWay().why_not(make_job(net))
    assert words in reason and reason.endswith(".")


def test_the_reason_leads_with_what_can_be_changed():
    plan = plan_training(make_job(make_net(callbacks=[EarlyStopping()])))
    assert plan.reason == EARLY and plan.name == "joblib"


def test_groups_with_other_settings_are_refused():
    net = make_net(optimizer__param_groups=[("first.*", {"maximize": True})])
    reason = TorchNetsWay().why_not(make_job(net))
    assert reason == "optimizer__maximize is not reproduced for many nets at once."
