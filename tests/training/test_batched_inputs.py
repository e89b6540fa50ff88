"""Nets with several inputs, transformers with masks, and losses of the user."""

import numpy as np
import pytest
import training
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from skmia._training.backends.torch_nets import TorchNetsWay  # noqa: E402

N_TOKENS, LENGTH = 7, 5


def split_tokens(X):
    """Token ids and a mask of the padding, which are the two halves of a row."""
    return {"ids": X[:, :LENGTH], "mask": X[:, LENGTH:].astype(bool)}


def split_numbers(X):
    return {"first": X[:, :4] / 3.0, "second": X[:, 4:] / 3.0}


class Transformer(nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.table = nn.Embedding(N_TOKENS, 4)
        self.layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=drop, batch_first=True)
        self.last = nn.Linear(4, 3)
        self.double()

    def forward(self, ids, mask):
        h = self.layer(self.table(ids), src_key_padding_mask=mask)
        keep = (~mask).unsqueeze(-1).to(h.dtype)
        return self.last((h * keep).sum(1) / keep.sum(1))


class TwoInputs(nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(6, 4)
        self.drop, self.last = nn.Dropout(drop), nn.Linear(4, 3)
        self.double()

    def forward(self, first, second):
        return self.last(self.drop(torch.relu(self.first(first) + self.second(second))))


class Probabilities(TwoInputs):
    def forward(self, first, second):
        return torch.softmax(super().forward(first, second), dim=-1)


class SquaredError(nn.Module):
    """Squared error of probabilities, the loss of each record or its mean."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def forward(self, proba, y):
        losses = (proba - F.one_hot(y, 3)).square().sum(-1)
        return losses.mean() if self.reduction == "mean" else losses


class WeightedRecords(skorch.NeuralNetClassifier):
    """Weighs the losses of single records."""

    def get_loss(self, y_pred, y_true, *args, **kwargs):
        losses = super().get_loss(y_pred, y_true, *args, **kwargs)
        return (losses * (1 + 0.5 * y_true)).mean()


class FirstColumn(skorch.NeuralNetClassifier):
    """Weighs the losses of records by one of their values."""

    def get_loss(self, y_pred, y_true, X=None, training=False):
        losses = super().get_loss(y_pred, y_true, X, training)
        return (losses * (1 + X["first"][:, 0].abs())).mean()


class Learned(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, out, y):
        return F.cross_entropy(out * self.scale, y)


def make_job(module, split=split_numbers, kind=skorch.NeuralNetClassifier, **settings):
    usual = {
        "criterion": nn.CrossEntropyLoss,
        "lr": 0.1,
        "max_epochs": 2,
        "batch_size": 8,
        "train_split": None,
        "iterator_train__shuffle": True,
        "verbose": 0,
    }
    net = make_pipeline(FunctionTransformer(split), kind(module, **{**usual, **settings}))
    rng = np.random.default_rng(0)
    ids = rng.integers(N_TOKENS, size=(33, LENGTH))
    mask = np.arange(LENGTH) >= rng.integers(1, LENGTH + 1, size=(33, 1))
    subsets = np.zeros((2, 33), dtype=bool)
    subsets[0, rng.permutation(33)[:16]] = True
    subsets[1] = ~subsets[0]
    X = np.column_stack([ids, mask.astype(ids.dtype)])
    return training.make_job(net, [X], rng.integers(3, size=33), subsets, seed=7)


def assert_equal_to_one_by_one(job):
    """Train together, compare the weights and answers with training one by one; return the way."""
    way = TorchNetsWay()
    assert way.why_not(job) is None
    ours, theirs = training.run(way, job), training.run_alone(job)
    for k, one in ours.items():
        assert not one.warnings
        np.testing.assert_allclose(one.raw, theirs[k].raw, rtol=1e-5, atol=1e-6)
        for name, value in one.model[-1].module_.state_dict().items():
            expected = theirs[k].model[-1].module_.state_dict()[name]
            torch.testing.assert_close(value, expected, rtol=0, atol=1e-9)
    return way.numbers


@pytest.mark.parametrize("drop", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
def test_transformers_with_token_ids_and_masks(drop):
    # Attention draws its masks by itself, so nets with dropout take turns.
    numbers = assert_equal_to_one_by_one(make_job(Transformer, split_tokens, module__drop=drop))
    assert drop == 0 or numbers == "torch, in turn"


def test_several_inputs():
    assert assert_equal_to_one_by_one(make_job(TwoInputs, module__drop=0.2)) == "torch"


def test_squared_error_of_probabilities():
    settings = {"criterion": SquaredError, "predict_nonlinearity": None}
    assert_equal_to_one_by_one(make_job(Probabilities, **settings))


def test_losses_of_single_records():
    settings = {"criterion__reduction": "none", "kind": WeightedRecords}
    assert assert_equal_to_one_by_one(make_job(TwoInputs, **settings)) == "torch"


def test_losses_that_read_the_records():
    settings = {"criterion__reduction": "none", "kind": FirstColumn}
    assert assert_equal_to_one_by_one(make_job(TwoInputs, **settings)) == "torch"


def refusal(job):
    """Why the nets of a job are not trained together."""
    return TorchNetsWay().why_not(job)


def test_a_criterion_that_learns_is_refused():
    assert refusal(make_job(TwoInputs, criterion=Learned)) == (
        "The criterion has weights that are trained."
    )


def test_lists_of_inputs_are_refused():
    def split(X):
        return list(split_numbers(X).values())

    reason = refusal(make_job(TwoInputs, split))
    assert reason is not None and reason.endswith(".")


def test_text_among_the_inputs_is_refused():
    def split(X):
        return {"first": X[:, :4].astype(str), "second": X[:, 4:]}

    assert refusal(make_job(TwoInputs, split)).startswith("Of 'first': The net is given an array")
