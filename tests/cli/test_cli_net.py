"""``--estimator mlp``: a net in single precision, whose shadow models are trained together."""

import json
import sys

import numpy as np
import pytest

from skmia import ShadowPool
from skmia.cli._features_and_target import as_features
from skmia.cli._model import make_estimator

NET = ["--estimator", "mlp", "--shadows", "4", "--jobs", "1", "--verbose"]
NET_ALONE = ["--estimator", "mlp", "--quick", "--jobs", "1", "--verbose"]  # not as a file


def test_torch_is_named_where_it_is_missing(refuse, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "skorch", None)
    line = refuse("--data", data, "--target", "income", *NET)
    assert 'pip install "skmia[torch]"' in line


def test_a_regression_needs_no_torch(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "skorch", None)
    X = as_features(table[["age", "city", "works"]])
    model = make_estimator("mlp", X, "regression", 0)
    assert model.fit(X, table["noise"]).predict(X).dtype == np.float32


@pytest.fixture
def net():
    pytest.importorskip("torch")
    pytest.importorskip("skorch")
    return make_estimator


def test_batched_and_one_by_one_are_the_same_shadow_models(
    run, table, tmp_path, net, handed_over, monkeypatch
):
    from skmia._training.backends.torch_nets import TorchNetsWay

    data = tmp_path / "table.csv"
    table[:60].to_csv(data, index=False)
    monkeypatch.setattr("skmia.cli._net._MOST_EPOCHS", 2)
    train_together, together = TorchNetsWay.run, []

    def note_and_run(*arguments):
        together.append(True)
        return train_together(*arguments)

    monkeypatch.setattr(TorchNetsWay, "run", note_and_run)
    signals = []
    for options in ([], ["--no-batching"]):
        together.clear()
        options = ["--data", data, "--target", "income", *NET_ALONE, *options]
        code, text, err = run(*options, "--format", "json")
        assert (code, err) == (0, "")
        is_batched = "--no-batching" not in options
        command = json.loads(text)["settings"]["command"]
        assert command["no_batching"] != is_batched
        model, records, _, settings = handed_over.pop()
        assert "Perceptron" in str(model)
        pool = ShadowPool(model, 2, batched=settings["batched"], random_state=0)
        signals.append(pool.fit(records).transform(records))
        assert bool(together) == is_batched
    # The nets differ by what single precision makes of the order of a sum.
    np.testing.assert_allclose(*signals, atol=1e-4)


def test_every_half_gives_the_net_as_many_columns(table, net):
    many = table.assign(many=[f"value {i % 120}" for i in range(len(table))])
    X = as_features(many[["age", "city", "many"]])
    model = net("mlp", X, "classification", 0, n_classes=3)
    y = np.arange(len(X)) % 3
    widths = set()
    for half in (X[:100], X[100:]):
        columns = model[0].fit_transform(half, y[: len(half)])
        assert columns.dtype == np.float32
        widths.add(columns.shape[1])
    # Rome, Oslo, ? and (missing); 99 values and the one of all others.
    assert widths == {1 + 4 + 100}
    model[-1].set_params(max_epochs=1)
    assert model.fit(X, y).predict_proba(X).shape == (len(X), 3)


@pytest.mark.parametrize(
    ("n_rows", "n_epochs"), [(100, 200), (6_000, 200), (24_421, 49), (1_000_000, 20)]
)
def test_epochs_are_those_in_which_a_net_learns(net, n_rows, n_epochs):
    from skmia.cli._net import make_perceptron

    assert make_perceptron(n_rows, 5, 2).max_epochs == n_epochs


def test_a_net_comes_out_of_a_clone_as_it_was(net):
    from sklearn.base import clone

    from skmia.cli._net import make_perceptron

    made = make_perceptron(100, 5, 3)
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    assert repr(clone(made)) == "Perceptron(5-100-3, max_epochs=200)"
    quick = clone(made).set_params(max_epochs=2)
    assert quick.fit(X, np.arange(40) % 3).predict_proba(X).shape == (40, 3)
