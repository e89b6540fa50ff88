"""What is done, and said, where models that go together cannot be trained together."""

import warnings

import numpy as np
import pytest
import training
from cells import slow_but
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier

from skmia import Records, ShadowPool, audit
from skmia._core.budget import is_of_memory
from skmia._training.backends.linear import LinearWay
from skmia._training.backends.linear.logistic import LogisticSolver
from skmia._training.backends.perceptron import backend as perceptron
from skmia._training.workers import JoblibWorkers
from skmia.attacks import LiRA
from skmia.exceptions import JointTrainingWarning, TrainingError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = RNG.integers(2, size=60)
RECORDS = Records(X, Y)
N_MODELS = 8
PERCEPTRON = MLPClassifier((3,), tol=10.0, n_iter_no_change=1)
REASON = "joint training failed (MemoryError: no room)"


def fit_pool(estimator, **settings):
    return ShadowPool(estimator, N_MODELS, random_state=0, **settings).fit(RECORDS)


@pytest.fixture
def skorch():
    pytest.importorskip("torch")
    return pytest.importorskip("skorch")


@pytest.fixture
def net(skorch):
    from skorch.toy import MLPModule
    from torch.nn import CrossEntropyLoss

    settings = {"max_epochs": 2, "verbose": 0, "train_split": None, "module__input_units": 4}
    return skorch.NeuralNetClassifier(MLPModule, criterion=CrossEntropyLoss, **settings)


def limit_room(monkeypatch, module, most, error):
    """Let the joint training of more models than ``most`` fail; the sizes that were tried."""
    kind = "PerceptronTraining" if module is perceptron else "NetTraining"
    tried, training = [], getattr(module, kind)

    def train(models, *others, **settings):
        if len(others) < 3:  # the trial of two models is given a type of its own
            tried.append(len(models))
            if len(models) > most:
                raise error
        return training(models, *others, **settings)

    monkeypatch.setattr(module, kind, train)
    return tried


def find_module(name):
    if name == "perceptron":
        return perceptron
    from skmia._training.backends.torch_nets import group as _group

    return _group


@pytest.mark.parametrize("name", ["perceptron", "torch"])
def test_a_group_that_does_not_fit_memory_is_halved(monkeypatch, request, name):
    estimator = PERCEPTRON if name == "perceptron" else request.getfixturevalue("net")
    whole = fit_pool(estimator)
    tried = limit_room(monkeypatch, find_module(name), 3, MemoryError("no room"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        halved = fit_pool(estimator)
    assert tried == [8, 4, 2, 2, 4, 2, 2]
    assert (halved.backend_, halved.backend_reason_) == (whole.backend_, whole.backend_reason_)
    assert halved.notes_ == []
    np.testing.assert_allclose(halved.signals_, whole.signals_, atol=1e-5)


@pytest.mark.parametrize("name", slow_but(["perceptron", "torch"], "perceptron"))
def test_no_more_models_are_trained_at_once_than_the_pool_is_told(monkeypatch, request, name):
    estimator = PERCEPTRON if name == "perceptron" else request.getfixturevalue("net")
    whole = fit_pool(estimator)
    sizes = limit_room(monkeypatch, find_module(name), N_MODELS, None)
    small = fit_pool(estimator, batched=3)
    assert sizes == [3, 3, 2]
    assert (small.backend_, small.notes_) == (whole.backend_, [])
    np.testing.assert_allclose(small.signals_, whole.signals_, atol=1e-5)


def test_linear_models_are_solved_a_few_at_a_time():
    whole, small = fit_pool(LogisticRegression()), fit_pool(LogisticRegression(), batched=2)
    assert whole.backend_ == small.backend_ == "linear"
    np.testing.assert_allclose(small.signals_, whole.signals_, atol=1e-3)


@pytest.mark.parametrize("name", slow_but(["perceptron", "torch"], "torch"))
def test_models_that_fit_memory_one_by_one_alone_are_said_to_be(
    monkeypatch, request, tmp_path, name
):
    estimator = PERCEPTRON if name == "perceptron" else request.getfixturevalue("net")
    whole = fit_pool(estimator)
    limit_room(monkeypatch, find_module(name), 0, MemoryError("no room"))
    with pytest.warns(JointTrainingWarning, match="8 of 8 shadow models: joint training failed"):
        pool = fit_pool(estimator, checkpoint=tmp_path / "pool")
    assert (pool.backend_, pool.backend_reason_) == ("joblib", REASON)
    assert pool.notes_ == [f"8 of 8 shadow models were trained one by one: {REASON}."]
    np.testing.assert_allclose(pool.signals_, whole.signals_, atol=1e-5)
    with pytest.warns(JointTrainingWarning):  # models that are read again were trained as they were
        again = fit_pool(estimator, checkpoint=tmp_path / "pool")
    assert again.notes_ == pool.notes_


@pytest.mark.parametrize("name", slow_but(["perceptron", "torch"], "perceptron"))
def test_a_training_that_fails_otherwise_is_not_tried_in_halves(monkeypatch, request, name):
    estimator = PERCEPTRON if name == "perceptron" else request.getfixturevalue("net")
    tried = limit_room(monkeypatch, find_module(name), 0, ValueError("two\nlines"))
    with pytest.warns(JointTrainingWarning):
        pool = fit_pool(estimator)
    assert tried == [8]
    assert pool.backend_reason_ == "joint training failed (ValueError: two)"


def test_linear_models_that_do_not_fit_memory_are_trained_one_by_one(monkeypatch):
    def solve(self, models):
        raise MemoryError("no room")

    monkeypatch.setattr(LogisticSolver, "solve", solve)
    with pytest.warns(JointTrainingWarning):
        pool = fit_pool(LogisticRegression())
    assert (pool.backend_, pool.backend_reason_) == ("joblib", REASON)
    inside = np.arange(4 * len(X)).reshape(4, -1) % 2 == 0
    job = training.make_job(LogisticRegression(), [X], Y, inside)
    made = [k for k, _ in LinearWay().run(job, [1, 2], JoblibWorkers())]
    assert made == [1, 2]  # as where the others are kept in a folder


def make_failing_criterion():
    """A loss that cannot be computed for many models at once but in the trial of two."""
    from torch import float32, nn
    from torch._C._functorch import is_batchedtensor

    class FailsTogether(nn.CrossEntropyLoss):
        def forward(self, out, y):
            if is_batchedtensor(out) and out.dtype == float32:
                raise MemoryError("no room")
            return super().forward(out, y)

    FailsTogether.__qualname__ = "FailsTogether"  # that copies of this process find by its name
    return FailsTogether


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize("n_jobs", [pytest.param(None, marks=pytest.mark.slow), 2])
def test_workers_say_that_they_could_not_train_together(net, n_jobs, monkeypatch):
    criterion = make_failing_criterion()
    monkeypatch.setitem(globals(), "FailsTogether", criterion)
    net.set_params(criterion=criterion)
    message = "8 of 8 shadow models: joint training failed"
    with pytest.warns(JointTrainingWarning, match=message):
        pool = fit_pool(net, n_jobs=n_jobs)
    assert (pool.backend_, pool.backend_reason_) == ("joblib", REASON)


@pytest.mark.slow  # the test below shows that a report has the notes of its pool
@pytest.mark.usefixtures("quick_audits")
def test_audits_say_that_models_could_not_be_trained_together(net):
    net.set_params(criterion=make_failing_criterion())
    with pytest.warns(JointTrainingWarning):
        attacks = {"LiRA": LiRA()}
        report = audit(net, RECORDS, attacks=attacks, shadows=4, random_state=0)
    assert f"4 of 4 shadow models were trained one by one: {REASON}." in report.notes


def make_overriding(skorch, net):
    class Casting(skorch.NeuralNetClassifier):
        def fit(self, X, y, **fit_params):
            return super().fit(X.astype(np.float32), y, **fit_params)

    return Casting(**net.get_params(deep=False))


def test_a_class_of_the_user_that_is_trained_one_by_one_is_told_why(skorch, net):
    estimator = make_overriding(skorch, net)
    message = r"trained one by one, .* Casting overrides fit of skorch. ShadowPool\(batched=False"
    with pytest.warns(JointTrainingWarning, match=message):
        pool = fit_pool(estimator)
    assert pool.backend_ == "joblib"
    assert "Casting overrides fit of skorch." in pool.backend_reason_
    assert pool.notes_ == [
        "The shadow models were trained one by one: Casting overrides fit of skorch."
    ]
    with pytest.raises(ValueError, match="not possible here; Casting overrides fit of skorch"):
        fit_pool(estimator, batched=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_pool(estimator, batched=False)


@pytest.mark.usefixtures("quick_audits")
def test_audits_say_why_a_class_of_the_user_is_trained_one_by_one(skorch, net):
    with pytest.warns(JointTrainingWarning, match="Casting overrides fit"):
        attacks, net = {"LiRA": LiRA()}, make_overriding(skorch, net)
        report = audit(net, RECORDS, attacks=attacks, shadows=4, file=False, random_state=0)
    said = "The shadow models were trained one by one: Casting overrides fit of skorch."
    assert said in report.notes
    assert f"<li>{said}</li>" in report.to_html()
    assert said in " ".join(report.summary().split())


def test_running_out_of_memory_is_recognized():
    with pytest.raises(MemoryError) as caught:
        np.empty(2**60, np.uint8)
    assert is_of_memory(caught.value)
    assert not is_of_memory(ValueError("can't allocate memory"))
    torch = pytest.importorskip("torch")
    assert is_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60)
    assert is_of_memory(caught.value)


def test_values_whose_squares_overflow_are_trained_one_by_one():
    rows = np.random.default_rng(0).uniform(-1, 1, size=(24, 3))
    records = Records(rows * 1e155, rows[:, 0])
    pool = ShadowPool(LinearRegression(), 4, random_state=0).fit(records)
    assert "squares" in pool.backend_reason_
    assert np.isfinite(pool.transform(records)).all()
    for hard in (records, Records(rows, rows[:, 0] * 1e308)):
        with pytest.raises(TrainingError, match="could not be trained"):  # by scikit-learn's solver
            ShadowPool(Ridge(), 4, random_state=0).fit(hard)
