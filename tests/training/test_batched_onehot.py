"""Nets on one-hot columns, trained without the zeros, are those that are trained with them."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import training
from cells import slow_but
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402

from skmia._training.backends.torch_nets import TorchNetsWay  # noqa: E402
from skmia._training.backends.torch_nets import equality as _check  # noqa: E402
from skmia._training.backends.torch_nets import optimizers as _optimizers  # noqa: E402
from skmia._training.backends.torch_nets.batches import ColumnPositions, join_rows, without_zeros  # noqa: E402
from skmia._training.backends.torch_nets.prepare import prepare_net, shared_table  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402

# With it MKL takes one kernel for all products, wherever in memory their factors are.
ONE_KERNEL = ("MKL_CBWR", "COMPATIBLE")

N = 90
SIZES = (9, 20, 11)


def draw_codes(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(size, size=n) for size in SIZES], axis=1)


def make_table(dtype=np.float64, n_numbers=2):
    """Numbers in the midst of one-hot columns, of which one row has fewer ones."""
    blocks = [np.eye(size)[codes] for size, codes in zip(SIZES, draw_codes().T, strict=True)]
    numbers = np.random.default_rng(1).normal(size=(N, n_numbers))
    X = np.hstack([blocks[0], numbers, *blocks[1:], np.zeros((N, 1))]).astype(dtype)
    X[3] = 0
    return X


def make_module(n_features=43, drop=0.0, bias=True, deep=True, activation=nn.ReLU, dtype=None):
    layers = [nn.Dropout(drop), nn.Linear(n_features, 7, bias=bias), activation()]
    layers += [nn.Dropout(0.3), nn.Linear(7, 6), nn.Tanh()] if deep else []
    return nn.Sequential(*layers, nn.Linear(6 if deep else 7, 3)).to(dtype or torch.float64)


def make_linear():
    return nn.Sequential(nn.Linear(43, 3)).double()


def make_net(module=make_module, **settings):
    settings = {"optimizer": torch.optim.Adam, "lr": 0.01, "batch_size": 16, **settings}
    return skorch.NeuralNetClassifier(
        module,
        criterion=nn.CrossEntropyLoss,
        max_epochs=2,
        train_split=None,
        verbose=0,
        iterator_train__shuffle=True,
        **settings,
    )


def make_job(estimator, X, n_models=2):
    rng = np.random.default_rng(0)
    membership = np.zeros((n_models, len(X)), dtype=bool)
    for k in range(0, n_models, 2):
        membership[k, rng.permutation(len(X))[: len(X) // 2 + 1]] = True
        membership[k + 1] = ~membership[k]
    return training.make_job(estimator, [X], rng.integers(3, size=len(X)), membership, seed=7)


def models_of(results):
    return [result.model for result in results.values()]


def find_weights(model):
    net = model[-1] if hasattr(model, "steps") else model
    return [one.detach().numpy() for one in net.module_.parameters()]


def makes_sums(job):
    table = shared_table(job)
    prepared = [prepare_net(job, k, table) for k in range(len(job.seeds))]
    assert len({one.signature for one in prepared}) == 1
    return NetTraining(prepared, table).engine.takes_sums


def assert_equal_to_one_by_one(job, atol=1e-9):
    assert TorchNetsWay().why_not(job) is None
    together, alone = training.run(TorchNetsWay(), job), training.run_alone(job)
    for one, other in zip(models_of(together), models_of(alone), strict=True):
        for weight, expected in zip(find_weights(one), find_weights(other), strict=True):
            np.testing.assert_allclose(weight, expected, rtol=0, atol=atol)


MODULES = {
    "deep": {},
    "two layers": {"module__deep": False},
    "sigmoid": {"module__activation": nn.Sigmoid},
    "no bias": {"module__bias": False},
    "linear": {"module": make_linear},
    "decay": {"optimizer__weight_decay": 0.1},
    "momentum": {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.9},
    "adagrad": {
        "optimizer": torch.optim.Adagrad,
        "optimizer__initial_accumulator_value": 0.1,
        "optimizer__weight_decay": 0.1,
    },
}


@pytest.mark.parametrize("name", slow_but(MODULES, "deep", "no bias", "momentum"))
def test_weights_are_those_of_training_with_the_zeros(name):
    job = make_job(make_net(**MODULES[name]), make_table())
    assert makes_sums(job)
    assert_equal_to_one_by_one(job)


def test_single_precision():
    job = make_job(make_net(module__dtype=torch.float32), make_table(np.float32))
    assert makes_sums(job)
    assert_equal_to_one_by_one(job, atol=1e-4)


def test_nothing_but_ones():
    job = make_job(make_net(module__n_features=41), make_table(n_numbers=0))
    assert makes_sums(job)
    assert_equal_to_one_by_one(job)


def test_dropout_of_the_input_needs_the_zeros():
    job = make_job(make_net(module__drop=0.2), make_table())
    assert not makes_sums(job)
    assert_equal_to_one_by_one(job)


class Scaled(nn.Module):
    """What only the path for any module can train."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(43, 3, dtype=torch.float64)
        self.scale = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, X):
        return self.linear(X) * self.scale


def test_other_modules_are_given_the_zeros():
    job = make_job(make_net(Scaled), make_table())
    assert not makes_sums(job)
    assert_equal_to_one_by_one(job)


def test_steps_of_a_pipeline_are_fitted_for_each_model():
    frame = pd.DataFrame(draw_codes(), columns=list("abc")).assign(x=np.linspace(-1, 1, N))
    encoder = OneHotEncoder(
        categories=[np.arange(size) for size in SIZES], sparse_output=False, drop=[0, 0, 0]
    )
    columns = make_column_transformer((StandardScaler(), ["x"]), (encoder, ["a", "b", "c"]))
    job = make_job(make_pipeline(columns, make_net(module__n_features=38)), frame)
    assert makes_sums(job)
    assert_equal_to_one_by_one(job)


@pytest.mark.parametrize("activation", slow_but([nn.ReLU, nn.Tanh, nn.Sigmoid], nn.ReLU, nn.Tanh))
@pytest.mark.parametrize(
    "X",
    [
        make_table(np.float32),
        pytest.param(make_table(np.float32)[:, 9:11], marks=pytest.mark.slow),
    ],
)
def test_a_net_is_the_same_whoever_is_trained_with_it(X, activation):
    torch.set_num_threads(1)
    net = make_net(
        module__n_features=X.shape[1], module__activation=activation, module__dtype=torch.float32
    )
    job = make_job(net, X, n_models=8)
    table = shared_table(job)

    def train_some(models):
        prepared = {k: prepare_net(job, k, table) for k in models}
        NetTraining(list(prepared.values()), table).run(4)
        return {k: find_weights(one.net) for k, one in prepared.items()}

    everyone = train_some(range(8))
    for models in ([3], [7, 4, 5], [0, 1, 2, 3, 4, 6, 7]):
        for k, weights in train_some(models).items():
            for one, expected in zip(weights, everyone[k], strict=True):
                if ONE_KERNEL in os.environ.items():
                    np.testing.assert_array_equal(one, expected)
                np.testing.assert_allclose(one, expected, atol=1e-6)


@pytest.mark.slow  # Python and torch are started again; the test above compares to single precision
def test_it_is_the_same_to_the_bit_where_products_do_not_depend_on_addresses():
    name = "test_a_net_is_the_same_whoever_is_trained_with_it"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", name],
        env=os.environ | dict([ONE_KERNEL]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_rows_come_back_as_they_were():
    X = torch.as_tensor(make_table())
    rows, columns = without_zeros(X)
    assert columns == ColumnPositions((*range(9), *range(11, 43)), (9, 10))
    assert rows.ones.shape == (N, 3)
    torch.testing.assert_close(rows.to_dense(columns), X, rtol=0, atol=0)
    fewer, _ = without_zeros(X * (torch.arange(43) < 29))
    joined = join_rows([rows, fewer], columns)
    expected = torch.cat([X, X * (torch.arange(43) < 29)])
    torch.testing.assert_close(joined.to_dense(columns), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    "X",
    [
        torch.randn(5, 30),
        torch.eye(5),
        torch.eye(30).long(),
        torch.eye(30)[:, :, None],
        (torch.rand(50, 40, generator=torch.Generator().manual_seed(0)) < 0.5).float(),
    ],
    ids=["no ones", "few columns", "integers", "three dimensions", "few zeros"],
)
def test_other_tables_stay_as_they_are(X):
    assert without_zeros(X) is None


@pytest.mark.parametrize(
    "optimizer, amsgrad", [(torch.optim.Adam, False), (torch.optim.AdamW, True)]
)
def test_adam_in_several_passes(optimizer, amsgrad, monkeypatch):
    """As on versions and devices where torch has no loop for all of it."""
    monkeypatch.setattr(_optimizers, "_has_fused_adam", lambda device: False)
    settings = {"optimizer__weight_decay": 0.1, "optimizer__amsgrad": amsgrad}
    assert_equal_to_one_by_one(make_job(make_net(optimizer=optimizer, **settings), make_table()))


def test_large_nets_are_trained_one_by_one(monkeypatch):
    monkeypatch.setattr(_check, "_MOST_WEIGHTS", 300)
    reason = TorchNetsWay().why_not(make_job(make_net(), make_table()))
    assert reason == "Nets of 377 weights are not faster for many models at once on a CPU."


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_the_zeros_stay():
    job = make_job(make_net(device="cuda"), make_table())
    assert not makes_sums(job)
