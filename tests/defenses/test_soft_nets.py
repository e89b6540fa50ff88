"""Nets that are fitted on probabilities instead of labels."""

import pickle

import numpy as np
import pytest
import training
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skmia.defenses import LabelSmoothingDefense, SELENADefense, SoftLabelDefense
from skmia.defenses._meta import fit_on_targets

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

X, Y = load_digits(return_X_y=True)
X, Y = (X[:240] / 16).astype(np.float32), Y[:240]
CLASSES = np.arange(10)
RNG = np.random.default_rng(0)
TARGETS = 0.5 * np.eye(10)[Y] + 0.5 * RNG.dirichlet(np.ones(10), len(Y))
WEIGHT = RNG.uniform(0, 3, len(Y))


def make_module(dtype=torch.float32):
    return torch.nn.Sequential(
        torch.nn.Linear(64, 16, dtype=dtype),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(16, 10, dtype=dtype),
    )


def make_net(**settings):
    defaults = {
        "criterion": torch.nn.CrossEntropyLoss,
        "max_epochs": 3,
        "lr": 0.5,
        "batch_size": 32,
        "iterator_train__shuffle": True,
        "train_split": None,
        "verbose": 0,
    }
    return skorch.NeuralNetClassifier(make_module, **{**defaults, **settings})


def train_by_hand(X, targets, weight):
    """The weights after the same three epochs, written out."""
    torch.manual_seed(0)
    module = make_module(torch.float64).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    rows = torch.utils.data.TensorDataset(*map(torch.as_tensor, (X, targets, weight)))
    for _ in range(3):
        for Xb, targets_b, weight_b in torch.utils.data.DataLoader(rows, 32, shuffle=True):
            optimizer.zero_grad()
            log_p = torch.log_softmax(module(Xb), dim=1)
            (-(targets_b * log_p).sum(dim=1) * weight_b).mean().backward()
            optimizer.step()
    return module


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_a_net_is_trained_as_by_a_loop_by_hand(weight):
    rows = X.astype(np.float64)
    net = make_net(module__dtype=torch.float64)
    torch.manual_seed(0)
    fit_on_targets(net, rows, Y, TARGETS, CLASSES, weight)
    wanted = train_by_hand(rows, TARGETS, np.ones(len(Y)) if weight is None else weight)
    for one, other in zip(net.module_.parameters(), wanted.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_one_hot_targets_are_the_plain_fit():
    torch.manual_seed(0)
    soft = fit_on_targets(make_net(), X, Y, np.eye(10)[Y], CLASSES)
    torch.manual_seed(0)
    plain = make_net().fit(X, Y)
    np.testing.assert_allclose(soft.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(soft.classes_, plain.classes_)


def test_the_usual_split_and_scores_go_on():
    from skorch.callbacks import EarlyStopping, EpochScoring
    from skorch.dataset import ValidSplit

    net = make_net(
        train_split=ValidSplit(4, stratified=True),
        callbacks=[
            EpochScoring("f1_macro", on_train=True, name="f1"),
            EarlyStopping(monitor="valid_acc", lower_is_better=False),
        ],
    )
    asked = []
    split = net.train_split
    net.train_split = lambda dataset, y: asked.append(y) or split(dataset, y)
    torch.manual_seed(0)
    fit_on_targets(net, X, Y, np.eye(10)[Y], CLASSES)
    np.testing.assert_array_equal(asked[0], Y)
    torch.manual_seed(0)
    plain = make_net(**{"train_split": split, "callbacks": net.callbacks}).fit(X, Y)
    for name in ("f1", "valid_acc", "valid_loss", "train_loss"):
        np.testing.assert_allclose(net.history[:, name], plain.history[:, name], rtol=1e-6)
    assert net.train_split is not split
    net.partial_fit(X, Y)  # takes labels again


def test_the_defense_gives_the_net_its_settings_back():
    net = make_net(train_split=skorch.dataset.ValidSplit(4))
    defended = LabelSmoothingDefense(net).fit(X, Y)
    assert isinstance(defended.estimator_.train_split, skorch.dataset.ValidSplit)
    assert not hasattr(net, "module_")
    copy = pickle.loads(pickle.dumps(defended))
    np.testing.assert_array_equal(copy.predict_proba(X), defended.predict_proba(X))


def test_units_that_no_label_names_stay():
    defended = LabelSmoothingDefense(make_net()).fit(X[Y != 9], Y[Y != 9])
    np.testing.assert_array_equal(defended.classes_, CLASSES)
    assert defended.predict_proba(X).shape == (len(X), 10)


@pytest.mark.parametrize("n_iterations", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_sub_models_that_are_trained_together_answer_as_those_one_by_one(n_iterations, monkeypatch):
    defense = SoftLabelDefense(
        make_net(), n_estimators=4, n_left_out=2, n_iterations=n_iterations, random_state=0
    )
    state = torch.random.get_rng_state()
    defense.fit(X, Y)
    assert torch.equal(torch.random.get_rng_state(), state)
    together = defense.predict_proba(X)
    training.train_one_by_one(monkeypatch)
    np.testing.assert_allclose(defense.fit(X, Y).predict_proba(X), together, atol=1e-5)


def test_a_net_at_the_end_of_a_pipeline():
    settings = {"n_estimators": 4, "n_left_out": 2, "random_state": 0}
    alone = SELENADefense(make_net(), **settings).fit(X, Y)
    piped = SELENADefense(make_pipeline(FunctionTransformer(), make_net()), **settings).fit(X, Y)
    np.testing.assert_allclose(piped.predict_proba(X), alone.predict_proba(X), atol=1e-5)


class Flat(torch.nn.Linear):
    def forward(self, X):
        return super().forward(X).ravel()


@pytest.mark.parametrize(
    "net, y, message",
    [
        (make_net(criterion=torch.nn.NLLLoss), Y, "criterion=NLLLoss does not take; use"),
        (make_net(), Y + 1, r"10 output units wants labels 0 to 9; got \[1, "),
        (make_net(), Y.astype(str), r"wants labels 0 to 9; got \['0', "),
        (make_net(criterion__label_smoothing=0.1), Y, "leave one of the two out"),
        (
            skorch.NeuralNetClassifier(
                lambda: Flat(64, 10), criterion=torch.nn.CrossEntropyLoss, train_split=None
            ),
            Y,
            r"one logit for each class; for 2 rows it gave an array of shape \(20,\)",
        ),
    ],
)
def test_nets_that_cannot_be_trained_so_are_refused(net, y, message):
    with pytest.raises(ValueError, match=message):
        LabelSmoothingDefense(net).fit(X, y, sample_weight=np.ones(len(y)))


def test_a_module_that_was_trained_before_is_refused():
    net = make_net()
    trained = skorch.NeuralNetClassifier(make_module(), criterion=torch.nn.CrossEntropyLoss)
    SoftLabelDefense(net, n_estimators=4, n_left_out=2).fit(X, Y)
    with pytest.raises(ValueError, match="'module' .* is a torch module"):
        SoftLabelDefense(trained).fit(X, Y)
