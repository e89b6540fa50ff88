"""Validation losses of many nets at once equal those of one net after the other."""

import numpy as np
import pytest
import training

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from nets import Images, Perceptron, make_net  # noqa: E402
from skorch import NeuralNetClassifier  # noqa: E402
from skorch.callbacks import EarlyStopping  # noqa: E402
from skorch.dataset import ValidSplit  # noqa: E402
from torch import nn  # noqa: E402

from skmia._training.backends.torch_nets import TorchNetsWay, validation  # noqa: E402
from skmia._training.backends.torch_nets.prepare import prepare_net, shared_table  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.job import Job, JobData  # noqa: E402


class DoublePerceptron(Perceptron):
    def __init__(self):
        super().__init__()
        self.double()


class Smoothed(nn.Module):
    """A loss of single batches that differs between training and validation."""

    def forward(self, out, y):
        loss = nn.functional.cross_entropy(out, y)
        return loss + loss.square() * (2 if self.training else 1)


class Branching(Perceptron):
    """Depends on the data when it predicts, and is fixed in training."""

    def forward(self, X):
        out = super().forward(X)
        if self.training:
            return out
        return out if out.sum() > 0 else -out


class OwnLoss(NeuralNetClassifier):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        loss = super().get_loss(y_pred, y_true, X=X, training=training)
        return loss if training else loss + X.square().mean()


def make_training(net):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(3, size=60)
    subsets = np.array([rng.permutation(60) < n for n in (29, 36, 36, 47)])
    job = Job(net, JobData([X], y), subsets, np.random.SeedSequence(0).spawn(4), None)
    table = shared_table(job)
    return NetTraining([prepare_net(job, k, table) for k in range(4)], table)


STOPPING = {
    "callbacks": [EarlyStopping(patience=2, load_best=True)],
    "train_split": ValidSplit(3, stratified=False),
}
NETS = {
    "perceptron": make_net(module__drop=0.5, **STOPPING),
    "images": make_net(Images, **STOPPING),
    "batches": make_net(criterion=Smoothed, iterator_valid__batch_size=5, **STOPPING),
    "all rows": make_net(criterion=Smoothed, iterator_valid__batch_size=-1, **STOPPING),
    "own loss": OwnLoss(**make_net(**STOPPING).get_params(deep=False)),
    "branching": make_net(Branching, **STOPPING),
}


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(validation, "draws_the_same", lambda device: False)


@pytest.mark.parametrize("rows", [4, pytest.param(8192, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NETS)
def test_losses_at_once_are_those_of_one_net_after_the_other(name, rows, at_once, monkeypatch):
    monkeypatch.setattr(validation, "_ROWS", rows)
    nets = make_training(NETS[name])
    nets.run(2)
    ours = nets.valid_losses
    assert type(ours) is validation.StackedValidLosses
    assert ours._is_stacked == (name != "branching")
    theirs = validation.ValidLosses(nets.engine, ours._nets, ours._valid, nets.table)
    chosen = [True, False, True, True]
    losses = [one.compute(nets._stacked(), chosen) for one in (ours, theirs)]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert np.isnan(losses[0]).tolist() == [False, True, False, False]
    assert nets.net.criterion_.training


def test_a_criterion_that_is_evaluated_is_trained_with_again():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), rng.integers(3, size=60)
    subsets = np.array([rng.permutation(60) < n for n in (29, 36)])
    settings = {**STOPPING, "criterion": Smoothed, "predict_nonlinearity": nn.Softmax(-1)}
    settings["callbacks"] = [EarlyStopping(patience=9)]  # which ends none
    net = make_net(DoublePerceptron, **settings)
    job = training.make_job(net, [X], y, subsets)
    ours, theirs = training.run(TorchNetsWay(), job), training.run_alone(job)
    for k, one in ours.items():
        assert not one.warnings
        for name, value in one.model.module_.state_dict().items():
            torch.testing.assert_close(value, theirs[k].model.module_.state_dict()[name])


def test_nets_stop_at_the_same_epochs(at_once, monkeypatch):
    net = NETS["perceptron"].set_params(max_epochs=12)
    ours = make_training(net)
    ours.run_to_end(None)
    monkeypatch.setattr(validation, "draws_the_same", lambda device: True)
    theirs = make_training(net)
    assert type(theirs.valid_losses) is validation.ValidLosses
    theirs.run_to_end(None)
    assert ours.epoch == theirs.epoch
    np.testing.assert_allclose(ours.stopping.losses, theirs.stopping.losses, rtol=1e-5)
    for one, other in zip(ours.nets, theirs.nets, strict=True):
        for name, value in one.module_.state_dict().items():
            torch.testing.assert_close(value, other.module_.state_dict()[name], rtol=0, atol=0)
