"""A bar moves while many models are trained together in one process."""

import re
from io import StringIO

import numpy as np
import pytest
import training
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia._core import progress as _bar
from skmia._training import job as _progress
from skmia._training.workers import split_job

RECORDS = Records(
    np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32), np.arange(60) % 2
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Draw the bar at each move, as in a terminal."""
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_MOVES", 0.0)
    monkeypatch.setattr(_bar, "_BETWEEN_MOVES", 0.0)
    monkeypatch.setattr(_bar, "draws_bars", lambda file=None: True)


def make_torch_net():
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")

    def module():
        return torch.nn.Linear(3, 2)

    return skorch.NeuralNetClassifier(
        module,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=5,
        batch_size=10,
        train_split=None,
        verbose=0,
    )


def draw_bar(capsys, estimator, **settings):
    """Return the drawn numbers of models, in order, and all that was drawn."""
    pool = ShadowPool(estimator, 4, random_state=0, verbose=1, **settings).fit(RECORDS)
    drawn = capsys.readouterr().err
    return [int(n) for n in re.findall(r"\| (\d+)/4 \[", drawn)], drawn, pool


@pytest.mark.filterwarnings("ignore:.*Stochastic Optimizer")
@pytest.mark.parametrize("n_jobs", [None, 1])
@pytest.mark.parametrize("name", ["torch", "perceptron"])
def test_models_that_are_trained_together_move_the_bar_with_each_epoch(capsys, name, n_jobs):
    if name == "torch":
        estimator = make_torch_net()
    else:
        estimator = MLPClassifier((4,), max_iter=5, random_state=0)
    numbers, drawn, pool = draw_bar(capsys, estimator, n_jobs=n_jobs)
    assert pool.backend_ == name
    assert numbers == sorted(numbers) and {1, 2, 3, 4} <= set(numbers)
    assert all(f"epoch {i} of 5" in drawn for i in (1, 2, 3, 4))
    assert "shadow models" in drawn


def test_models_that_are_trained_one_by_one_are_counted(capsys):
    numbers, drawn, _ = draw_bar(capsys, DecisionTreeClassifier())
    assert numbers == sorted(numbers) and {1, 2, 3, 4} <= set(numbers)
    assert "epoch" not in drawn


def test_the_bar_is_not_sent_to_other_processes():
    X, subsets = np.zeros((4, 1)), np.eye(2, 4) > 0
    job = training.make_job(DecisionTreeClassifier(), [X], np.arange(4) % 2, subsets)
    shared, take_rest = split_job(job._replace(progress=object()))
    assert shared["progress"] is None
    assert take_rest(job._replace(progress=object())).progress is None


def test_a_group_that_is_trained_again_does_not_move_the_bar_back():
    bar = _bar.tqdm(total=4, file=StringIO(), mininterval=0)
    progress = _progress.JobProgress(bar)
    progress.show(3.0, "epoch", 3, 4)
    progress.show(0.5, "epoch", 1, 4)
    assert bar.n == 3
    for k in (0, 1, 1, 2, 3):
        progress.finish(k)
    assert bar.n == 4
    bar.close()


def test_without_a_bar_nothing_is_drawn(capsys):
    ShadowPool(make_torch_net(), 2, random_state=0).fit(RECORDS)
    assert capsys.readouterr().err == ""
