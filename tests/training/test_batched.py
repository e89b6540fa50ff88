"""Many skorch nets at once are the nets that are trained one after the other."""

import importlib
import random
import sys
from types import SimpleNamespace as NS
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import training
from cells import slow_but
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from skorch import NeuralNetBinaryClassifier, NeuralNetRegressor  # noqa: E402
from skorch.callbacks import EarlyStopping, EpochTimer  # noqa: E402
from skorch.dataset import Dataset, ValidSplit  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

from skmia._training import backends  # noqa: E402
from skmia._training import job as _job  # noqa: E402
from skmia._training.backends.backend import OneByOneWay  # noqa: E402
from skmia._training.backends.torch_nets import TorchNetsWay  # noqa: E402
from skmia._training.backends.torch_nets.engine import TotalLoss  # noqa: E402
from skmia._training.backends.torch_nets.mlp import as_chain  # noqa: E402
from skmia._training.backends.torch_nets.plan import find_net  # noqa: E402
from skmia._training.backends.torch_nets.prepare import (  # noqa: E402
    bytes_per_model,
    memory_for,
    prepare_net,
    shared_table,
)
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.job import JobData  # noqa: E402
from skmia._training.workers import JoblibWorkers  # noqa: E402

DOUBLE = torch.float64
ADAM = {"optimizer": torch.optim.Adam, "lr": 0.01}
MOMENTUM = {"optimizer": torch.optim.SGD, "lr": 0.05, "optimizer__momentum": 0.9}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class MLP(nn.Module):
    def __init__(self, n_features=6, n_out=3, drop=0.0, dtype=DOUBLE):
        super().__init__()
        self.first = nn.Linear(n_features, 5, dtype=dtype)
        self.drop = nn.Dropout(drop)
        self.second = nn.Linear(5, 4, bias=False, dtype=dtype)
        self.last = nn.Linear(4, n_out, dtype=dtype)

    def forward(self, X):
        return self.last(torch.tanh(self.second(self.drop(torch.relu(self.first(X))))))


class SoftmaxMLP(MLP):
    def forward(self, X):
        return torch.softmax(super().forward(X), dim=-1)


class BatchNormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Sigmoid(), nn.LayerNorm(5), nn.Linear(5, 3)
        ).double()

    def forward(self, X):
        return self.layers(X)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 4, dtype=DOUBLE)
        self.out = nn.Linear(4, 3, dtype=DOUBLE)

    def forward(self, X):
        return self.out(self.table(X).mean(1))


class TiedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6, dtype=DOUBLE)
        self.frozen = nn.Parameter(torch.ones(6, dtype=DOUBLE), requires_grad=False)
        self.out = nn.Linear(6, 3, dtype=DOUBLE)

    def forward(self, X):
        return self.out(self.first(torch.relu(self.first(X))) * self.frozen)


class FlatMLP(MLP):
    def __init__(self):
        super().__init__(n_out=1)

    def forward(self, X):
        return super().forward(X).squeeze(-1)


class ImageMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(6, 4),
            nn.Dropout(0),
            nn.ReLU(),
            nn.Linear(4, 3),
        ).double()

    def forward(self, X):
        return self.layers(X)


class Lazy(nn.Module):
    """Answers from the number of columns that it is given."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3, dtype=DOUBLE))

    def forward(self, X):
        return X[:, :3] * X.shape[1] + self.bias


class Dropper(TransformerMixin, BaseEstimator):
    """Keeps one column less where the last one is large."""

    def fit(self, X, y=None):
        self.n_ = 5 if X[:, 5].mean() > 0 else 6
        return self

    def transform(self, X):
        return X[:, : self.n_]


class Single(MLP):
    def forward(self, X):
        return super().forward(X.float())


class Rebound(MLP):
    """Counts its batches in a buffer that each forward pass replaces."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=DOUBLE))

    def forward(self, X):
        if self.training:
            self.count = self.count + 1
        return super().forward(X) * (1 + self.count)


class Job(NamedTuple):
    """What ``make_job`` takes, with the defaults of most tests."""

    n: int = 77
    n_models: int = 2
    dtype: type = np.float64
    store: str = "models"
    kind: str = "classes"


def make_job(estimator, X=None, y=None, **settings):
    how = Job(**settings)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(how.n, 6)).astype(how.dtype) if X is None else X
    if y is None:
        y = rng.integers(3 if how.kind == "classes" else 2, size=how.n)
        y = y.astype(how.dtype) if how.kind != "classes" else y
    membership = np.zeros((how.n_models, how.n), dtype=bool)
    for k in range(0, how.n_models, 2):
        membership[k, rng.permutation(how.n)[: how.n // 2]] = True
        membership[k + 1] = ~membership[k]
    further = X.flip(0) if isinstance(X, torch.Tensor) else X[::-1]
    return training.make_job(estimator, [X, further], y, membership, seed=7, store=how.store)


def classifier(module=MLP, kind=None, **settings):
    defaults = {
        "criterion": nn.CrossEntropyLoss,
        "max_epochs": 2,
        "batch_size": 16,
        "train_split": None,
        "verbose": 0,
    }
    return (kind or skorch.NeuralNetClassifier)(module, **{**defaults, **settings})


def train(way, job, models=None):
    return list(training.run(way, job, models).values())


def weights(model):
    net = model[-1] if hasattr(model, "steps") else model
    return {name: one.detach().numpy() for name, one in net.module_.state_dict().items()}


def assert_equal_to_one_by_one(job, generic=False, memory=2**29):
    backend = TorchNetsWay(memory, generic)
    assert backend.why_not(job) is None
    ours, theirs = train(backend, job), train(OneByOneWay(), job)
    for one, other in zip(ours, theirs, strict=True):
        assert (one.signal, one.kind, one.dtype) == (other.signal, other.kind, other.dtype)
        np.testing.assert_array_equal(one.classes, other.classes)
        np.testing.assert_allclose(one.raw, other.raw, rtol=1e-5, atol=1e-6)
        assert one.step == pytest.approx(other.step)
        assert (one.outputs is None) == (other.outputs is None)
        if one.outputs is not None:
            np.testing.assert_allclose(one.outputs, other.outputs, rtol=1e-6, atol=1e-6)
        if one.model is not None:
            expected = weights(other.model)
            for name, value in weights(one.model).items():
                np.testing.assert_allclose(value, expected[name], rtol=0, atol=1e-9, err_msg=name)
    return ours


OPTIMIZERS = {
    "sgd": {"optimizer": torch.optim.SGD, "optimizer__weight_decay": 0.1},
    "momentum": MOMENTUM,
    "nesterov": {**MOMENTUM, "optimizer__nesterov": True, "optimizer__weight_decay": 0.1},
    "dampening": {**MOMENTUM, "optimizer__dampening": 0.5},
    "adam": ADAM,
    "adam decay": {**ADAM, "optimizer__weight_decay": 0.1, "optimizer__betas": (0.8, 0.9)},
    "amsgrad": {**ADAM, "optimizer__amsgrad": True},
    "adamw": {**ADAM, "optimizer": torch.optim.AdamW},
    "rmsprop": {"optimizer": torch.optim.RMSprop, "optimizer__weight_decay": 0.1},
    "rmsprop all": {
        "optimizer": torch.optim.RMSprop,
        "optimizer__centered": True,
        "optimizer__momentum": 0.5,
        "optimizer__weight_decay": 0.1,
    },
    "adagrad": {
        "optimizer": torch.optim.Adagrad,
        "optimizer__lr_decay": 0.1,
        "optimizer__weight_decay": 0.1,
        "optimizer__initial_accumulator_value": 0.1,
    },
}


# The quick ones have a branch of their own each, with what the others have beside it.
QUICK = ("nesterov", "dampening", "adam decay", "amsgrad", "adamw", "rmsprop all", "adagrad")


@pytest.mark.parametrize("name", slow_but(OPTIMIZERS, *QUICK))
def test_optimizers_are_those_of_torch(name):
    # 65 records: one model has 32 and two batches, its complement 33 and a third batch of one.
    assert_equal_to_one_by_one(make_job(classifier(**OPTIMIZERS[name]), n=65))


def test_answers_are_not_broadcast_against_targets_of_another_shape():
    regressor, binary = NeuralNetRegressor(nn.Linear), NeuralNetBinaryClassifier(nn.Linear)
    out, y = torch.zeros(2, 3, 1), torch.zeros(2, 3)
    asked = [(regressor, out, y), (regressor, out[..., 0], y), (binary, out, y)]
    asked += [(binary, torch.zeros(2, 3, 2), y)]
    loss = [NS(net=net, by_label=False, by_element=True) for net, *_ in asked]
    found = [TotalLoss._is_mean_of_records(one, *pair) for one, (_, *pair) in zip(loss, asked)]
    assert found == [False, True, True, False]


SETTINGS = {
    "shuffled": {"iterator_train__shuffle": True},
    "validation split": {"train_split": ValidSplit(5, stratified=True)},
    "random split": {"train_split": ValidSplit(0.3)},
    "split and shuffled": {"train_split": ValidSplit(3), "iterator_train__shuffle": True},
    "drop last": {"iterator_train__drop_last": True, "iterator_train__shuffle": True},
    "one batch": {"batch_size": -1},
    "own batch size": {"iterator_train__batch_size": 9, "iterator_valid__batch_size": 50},
    "dropout": {"module__drop": 0.4, "iterator_train__shuffle": True, "train_split": ValidSplit(4)},
    "class weights": {"criterion__weight": torch.tensor([1.0, 2.0, 0.5], dtype=DOUBLE)},
    "label smoothing": {"criterion__label_smoothing": 0.1},
    "sum": {"criterion__reduction": "sum", "lr": 0.001},
    "harmless callback": {"callbacks": [EpochTimer()], "callbacks__valid_acc": None},
    "no callbacks": {"callbacks": "disable"},
}
# Others have them too, or they take the same steps.
COVERED = ("shuffled", "validation split", "one batch", "label smoothing", "harmless callback")


@pytest.mark.parametrize(
    "name", slow_but(SETTINGS, *[one for one in SETTINGS if one not in COVERED])
)
def test_settings_of_the_net_are_kept(name):
    assert_equal_to_one_by_one(make_job(classifier(**{**ADAM, **SETTINGS[name]})))


@pytest.mark.parametrize("name", slow_but(SETTINGS, "split and shuffled", "dropout", "sum"))
def test_settings_of_the_net_are_kept_on_the_path_for_any_module(name):
    assert_equal_to_one_by_one(make_job(classifier(**{**ADAM, **SETTINGS[name]})), generic=True)


@pytest.mark.parametrize(
    "optimizer", [pytest.param(MOMENTUM, marks=pytest.mark.slow), ADAM], ids=["momentum", "adam"]
)
@pytest.mark.parametrize("module", [BatchNormNet, TiedNet, MLP])
def test_modules_of_the_path_for_any_module(module, optimizer):
    job = make_job(classifier(module, iterator_train__shuffle=True, **optimizer))
    assert_equal_to_one_by_one(job, generic=True)


@pytest.mark.parametrize(("step", "is_known"), [(nn.Sigmoid(), True), (nn.GELU(), False)])
def test_a_module_with_another_step_is_no_chain_of_linears(step, is_known):
    chain = as_chain(nn.Sequential(nn.Linear(6, 5), step, nn.Linear(5, 3)))
    assert (chain is not None) == is_known


def test_embeddings_of_integers():
    X = np.random.default_rng(1).integers(11, size=(77, 5))
    assert_equal_to_one_by_one(make_job(classifier(EmbeddingNet, **ADAM), X))


ON_EITHER_PATH = pytest.mark.parametrize(
    "generic", [False, pytest.param(True, marks=pytest.mark.slow)]
)


@ON_EITHER_PATH
def test_criterion_that_takes_probabilities(generic):
    job = make_job(classifier(SoftmaxMLP, criterion=nn.NLLLoss, **ADAM), store="outputs")
    assert_equal_to_one_by_one(job, generic)


@ON_EITHER_PATH
def test_binary_classifier(generic):
    net = classifier(
        MLP,
        skorch.NeuralNetBinaryClassifier,
        module__n_out=1,
        criterion=nn.BCEWithLogitsLoss,
        **ADAM,
    )
    assert_equal_to_one_by_one(make_job(net, kind="binary"), generic)


@pytest.mark.parametrize("criterion, generic", [(nn.MSELoss, False), (nn.HuberLoss, True)])
def test_regressor(criterion, generic):
    net = classifier(FlatMLP, skorch.NeuralNetRegressor, criterion=criterion, **ADAM)
    assert_equal_to_one_by_one(make_job(net, kind="reals"), generic)


@ON_EITHER_PATH
def test_images_are_flattened(generic):
    X = np.random.default_rng(3).normal(size=(77, 1, 2, 3))
    assert_equal_to_one_by_one(make_job(classifier(ImageMLP, **ADAM), X), generic)


def test_tensors_are_rows():
    X = torch.as_tensor(np.random.default_rng(3).normal(size=(77, 6)))
    assert_equal_to_one_by_one(make_job(classifier(**ADAM), X))


@ON_EITHER_PATH
def test_steps_of_a_pipeline_are_fitted_for_each_model(generic):
    net = classifier(module__n_features=4, iterator_train__shuffle=True, **ADAM)
    job = make_job(make_pipeline(StandardScaler(), PCA(4), net))
    results = assert_equal_to_one_by_one(job, generic)
    assert not np.allclose(results[0].model[0].mean_, results[1].model[0].mean_)


def test_model_that_differs_in_shape_is_trained_alone():
    job = make_job(make_pipeline(Dropper(), classifier(Lazy)))
    ours, theirs = train(TorchNetsWay(), job), train(OneByOneWay(), job)
    assert len({one.model[0].n_ for one in ours}) == 2
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.raw, other.raw, rtol=1e-5, atol=1e-6)


def test_chunks_of_models_and_single_models_are_the_same():
    job = make_job(classifier(module__drop=0.3, iterator_train__shuffle=True, **ADAM), n_models=6)
    whole = train(TorchNetsWay(), job)
    small = train(TorchNetsWay(memory=1), job)
    single = train(TorchNetsWay(), job, [4])
    for one, other in zip([*whole, whole[4]], [*small, *single], strict=True):
        np.testing.assert_allclose(one.raw, other.raw, rtol=1e-6)


def test_memory_of_a_model_by_hand():
    # Of 70 weights in double precision, six arrays; of each row of a batch, its 6 columns and three
    # arrays of what the layers, the dropout and the module give; of 38 rows, their order.
    outputs = 5 + 5 + 4 + 3 + 3
    for batch_size in (8, 16):
        job = make_job(classifier(batch_size=batch_size))
        table = shared_table(job)
        net = prepare_net(job, 0, table)
        assert (sum(p.numel() for p in net.net.module_.parameters()), len(net.rows)) == (70, 38)
        batch = batch_size * 8 * (6 + 3 * outputs)
        assert bytes_per_model(net, table) == 6 * 70 * 8 + batch + 16 * 38


def test_trained_net_is_an_ordinary_one():
    job = make_job(classifier(BatchNormNet, **ADAM))
    model = train(TorchNetsWay(), job)[0].model
    X, y = job.data.tables[0], job.data.y
    assert model.predict_proba(X).shape == (77, 3)
    assert 0 <= model.score(X, y) <= 1
    model.partial_fit(X, y)


def test_global_generators_stay_as_they_were():
    job = make_job(classifier(module__drop=0.3, train_split=ValidSplit(0.3), **ADAM))
    states = [np.random.get_state()[1].copy(), torch.get_rng_state(), random.getstate()]  # noqa: NPY002
    backend = TorchNetsWay()
    backend.why_not(job)
    for _ in backend.run(job, [0, 1], JoblibWorkers()):
        assert torch.equal(torch.get_rng_state(), states[1])
    np.testing.assert_array_equal(np.random.get_state()[1], states[0])  # noqa: NPY002
    assert random.getstate() == states[2]


@pytest.mark.slow  # test_batched_onehot.py has weights in single precision
def test_single_precision_learns_as_well():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    net = classifier(module__dtype=torch.float32, max_epochs=15, iterator_train__shuffle=True)
    job = make_job(net.set_params(batch_size=50, **ADAM), X, y, n=400, store="signals")
    ours, theirs = train(TorchNetsWay(), job), train(OneByOneWay(), job)
    sides = [np.mean([one.raw[0, 0] > 0 for one in results]) for results in (ours, theirs)]
    assert sides[0] == pytest.approx(sides[1], abs=0.01)
    areas = [
        [roc_auc_score(job.subsets[k], one.raw[0, 0]) for k, one in enumerate(results)]
        for results in (ours, theirs)
    ]
    np.testing.assert_allclose(areas[0], areas[1], atol=0.02)


def refusal(net, X=None, **settings):
    reason = TorchNetsWay().why_not(make_job(net, X, **settings))
    assert reason is None or (reason.endswith(".") and "\n" not in reason)
    return reason


REFUSED = {
    "warm_start": {"warm_start": True},
    "compile": {"compile": True},
    "use_caching": {"use_caching": False},
    "device": {"device": None},
    "max_epochs": {"max_epochs": float("inf")},
    "EarlyStopping": {"callbacks": [EarlyStopping()]},
    "callbacks__valid_acc__": {"callbacks__valid_acc__use_caching": False},
    "num_workers": {"iterator_train__num_workers": 1},
    "iterator_train__sampler": {"iterator_train__sampler": torch.utils.data.SequentialSampler([0])},
    "iterator_valid__shuffle": {"iterator_valid__shuffle": True},
    "batch size": {"batch_size": None},
    "iterator_train is": {"iterator_train": type("Loader", (DataLoader,), {})},
    "dataset": {"dataset": type("OwnDataset", (Dataset,), {})},
    "Adafactor|LBFGS": {"optimizer": torch.optim.LBFGS},
    "optimizer__maximize": {"optimizer__maximize": True},
    "tensor": {**ADAM, "lr": torch.tensor(0.1)},
    "train_split": {"train_split": lambda dataset, y: (Dataset(dataset.X * 2, y), None)},
}


@pytest.mark.parametrize("word", REFUSED)
def test_settings_that_are_not_reproduced_are_refused(word):
    reason = refusal(classifier(**REFUSED[word]))
    assert reason is not None and any(part in reason for part in word.split("|"))


def test_other_estimators_are_refused():
    assert "LogisticRegression" in refusal(LogisticRegression())
    assert "Pipeline" in refusal(make_pipeline(StandardScaler(), LogisticRegression()))
    assert "memory" in refusal(make_pipeline(StandardScaler(), classifier(), memory="unused"))
    assert "NeuralNet is none of" in refusal(classifier(kind=skorch.NeuralNet))


def test_subclass_that_overrides_a_method_is_refused():
    class Own(skorch.NeuralNetClassifier):
        def train_step(self, batch, **fit_params):
            return super().train_step(batch, **fit_params)

    class Plain(skorch.NeuralNetClassifier):
        """Only a name."""

    assert "overrides train_step" in refusal(classifier(kind=Own))
    assert refusal(classifier(kind=Plain)) is None


def test_rows_that_are_no_numbers_are_refused():
    X = np.random.default_rng(0).normal(size=(77, 6))
    assert "DataFrame" in refusal(classifier(), pd.DataFrame(X))
    assert "csr" in refusal(classifier(), sparse.csr_array(X))
    assert "<U" in refusal(classifier(), X.astype(str))
    table = make_pipeline(StandardScaler().set_output(transform="pandas"), classifier())
    assert "DataFrame" in refusal(table, X)


def test_modules_that_cannot_be_trained_are_refused():
    X = np.random.default_rng(0).normal(size=(77, 6, 2))
    assert "cannot be trained" in refusal(classifier(MLP, module__n_features=5))
    assert "cannot be trained" in refusal(classifier(), X[:, :, 0].astype(np.float32))


def test_module_that_cannot_compute_in_double_precision_is_compared_in_single():
    net = classifier(Single, module__dtype=torch.float32, **ADAM)
    assert_equal_to_one_by_one(make_job(net, dtype=np.float32, store="signals"))


def test_silent_difference_is_found_by_training_two_models():
    assert "differ" in refusal(classifier(Rebound))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("module", [MLP, BatchNormNet])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["net", "pipeline"])
def test_on_a_gpu(module, steps):
    net = classifier(module, device="cuda", iterator_train__shuffle=True, **ADAM)
    job = make_job(make_pipeline(*steps, net) if steps else net)._replace(n_jobs=2)
    assert TorchNetsWay().why_not(job) is None
    ours, theirs = train(TorchNetsWay(), job), train(OneByOneWay(), job)
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one.raw, np.ndarray)
        np.testing.assert_allclose(one.raw, other.raw, rtol=1e-5, atol=1e-6)
        assert next(find_net(one.model).module_.parameters()).device.type == "cuda"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_chunks_on_a_gpu_are_as_large_as_its_memory_allows():
    assert 0 < memory_for(torch.device("cuda")) <= torch.cuda.mem_get_info()[1] // 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_state_taken_on_a_gpu_is_put_back_there():
    job = make_job(classifier(device="cuda", iterator_train__shuffle=True, **ADAM), n_models=4)
    table = shared_table(job)
    first, second = (
        NetTraining([prepare_net(job, k, table) for k in range(4)], table) for _ in range(2)
    )
    first.run(2)
    second.import_state(first.export_state())
    for one in (first, second):
        one.run(3)
    for one, other in zip(first.nets, second.nets, strict=True):
        for ours, theirs in zip(one.module_.parameters(), other.module_.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_refusing_imports_no_torch(monkeypatch):
    name = "skmia._training.backends.torch_nets"
    monkeypatch.setattr(backends, "torch_nets", backends.torch_nets)  # the import below sets it
    for module in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        monkeypatch.delitem(sys.modules, module)
    for package in ("torch", "skorch"):
        monkeypatch.setitem(sys.modules, package, None)  # an import of it fails
    way = importlib.import_module(name).TorchNetsWay()
    job = _job.Job(LogisticRegression(), None, None, None, None)
    assert "LogisticRegression" in way.why_not(job)


def test_what_fails_together_and_alone_is_told_by_the_model_that_failed():
    job = make_job(classifier(max_epochs=1))
    y = job.data.y.copy()
    y[np.flatnonzero(job.subsets[0])[-1]] = 3  # a label without an output, beyond the check
    job = job._replace(data=JobData(job.data.tables, y))
    with pytest.raises(RuntimeError, match="A shadow model .* could not be trained"):
        train(TorchNetsWay(), job)
