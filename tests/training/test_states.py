"""Models that are trained together lose no more than a minute when their process is killed."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from cells import slow_but
from sklearn.neural_network import MLPClassifier

from skmia import Records, ShadowPool
from skmia._training import groups as _states
from skmia._training.groups import StateKeeper, TrainingStates, split_models
from skmia._training.job import Job
from skmia.datasets import make_membership_problem

try:
    import skorch
    import torch
except ImportError:
    torch = None

N_MODELS = 4


@pytest.fixture(scope="module")
def records():
    made = make_membership_problem(160, n_features=8, n_classes=3, random_state=0)[0]
    return Records(made.X.astype(np.float32), made.y)


@pytest.fixture
def every_epoch(monkeypatch):
    monkeypatch.setattr(_states, "SECONDS_BETWEEN_STATES", 0.0)


def make_perceptron(max_iter=80, **settings):
    # Some models end before others, and the state holds both kinds.
    settings = {"tol": 0.02, "n_iter_no_change": 4, "learning_rate_init": 0.02, **settings}
    return MLPClassifier(6, max_iter=max_iter, batch_size=16, **settings)


def make_module():
    linear, last = torch.nn.Linear(8, 6), torch.nn.Linear(6, 3)
    return torch.nn.Sequential(linear, torch.nn.Dropout(0.2), torch.nn.ReLU(), last)


def make_net(max_epochs=60, **settings):
    settings = {"optimizer": torch.optim.Adam, "lr": 0.01, **settings}
    return skorch.NeuralNetClassifier(
        make_module,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=max_epochs,
        batch_size=16,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
        **settings,
    )


def make_momentum_net(**settings):
    return make_net(optimizer=torch.optim.SGD, optimizer__momentum=0.9, **settings)


ESTIMATORS = {
    "perceptron": make_perceptron,
    "perceptron with momentum": lambda: make_perceptron(solver="sgd", learning_rate_init=0.05),
    "net": make_net,
    "net with momentum": make_momentum_net,
}
if torch is None:
    ESTIMATORS = {name: make for name, make in ESTIMATORS.items() if "net" not in name}


def make_pool(estimator, folder=None, n_models=N_MODELS, **settings):
    settings = {"batched": True, "random_state": 0, **settings}
    return ShadowPool(estimator, n_models, checkpoint=folder, **settings)


def assert_same(one, other):
    np.testing.assert_array_equal(one.membership_, other.membership_)
    np.testing.assert_array_equal(one.signals_, other.signals_)


def state_files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("training-*.npz")}


def kill_in_training(pool, records, folder, wait):
    """Kill a process a moment after it has written a state; whether it was still at work."""
    before = state_files(folder)
    process = multiprocessing.get_context("fork").Process(target=pool.fit, args=(records,))
    process.start()
    while process.is_alive() and state_files(folder) == before:
        time.sleep(0.001)
    time.sleep(wait)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test kills a forked process")
@pytest.mark.parametrize(
    "name", slow_but([one for one in ESTIMATORS if "momentum" not in one], "perceptron")
)
def test_killed_inside_a_joint_training_it_goes_on_and_ends_with_the_same_bits(
    records, undisturbed, tmp_path, every_epoch, name
):
    alone = undisturbed if name == "perceptron" else make_pool(ESTIMATORS[name]()).fit(records)
    folder, rng, n_kills = tmp_path / "pool", np.random.default_rng(0), 0
    while n_kills < 1:
        pool = make_pool(ESTIMATORS[name](), folder)
        assert kill_in_training(pool, records, folder, rng.uniform(0, 0.02))
        n_kills += 1
    assert not list(folder.glob("shadow-*.npz"))
    assert state_files(folder)
    assert_same(make_pool(ESTIMATORS[name](), folder).fit(records), alone)
    assert not state_files(folder)


@pytest.fixture(scope="module")
def undisturbed(records):
    """The pool of perceptrons that nothing interrupted; nobody changes it."""
    return make_pool(make_perceptron()).fit(records)


class Killed(BaseException):
    """What nothing catches."""


def count_states(monkeypatch, stop_after=None):
    """Note what is written; the fit ends after a number of states, as by a kill."""
    written, save = [], TrainingStates.save

    def save_and_note(self, group, arrays):
        save(self, group, arrays)
        written.append(group)
        if len(written) == stop_after:
            raise Killed

    monkeypatch.setattr(TrainingStates, "save", save_and_note)
    return written


@pytest.mark.parametrize("name", slow_but(ESTIMATORS, "net", "perceptron with momentum"))
def test_no_epoch_is_made_twice(records, tmp_path, every_epoch, monkeypatch, name):
    # No model of a net ends before the others: a few epochs tell as much as many.
    estimator = ESTIMATORS[name](**{"max_epochs": 3} if "net" in name else {})
    with monkeypatch.context() as patch:
        whole = count_states(patch)
        undisturbed = make_pool(estimator, tmp_path / "undisturbed").fit(records)
    for n_before in (1, len(whole) - 1):
        folder = tmp_path / str(n_before)
        with monkeypatch.context() as patch:
            count_states(patch, stop_after=n_before)
            with pytest.raises(Killed):
                make_pool(estimator, folder).fit(records)
        with monkeypatch.context() as patch:
            after = count_states(patch)
            assert_same(make_pool(estimator, folder).fit(records), undisturbed)
        assert n_before + len(after) == len(whole)


def make_importable_net():
    """A net that the processes of joblib can import."""
    from small_net import make_small_net

    return make_small_net(n_features=8, n_classes=3, max_epochs=10)


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize(
    "name", slow_but(["perceptron", "net"], "perceptron") if torch else ["perceptron"]
)
def test_models_do_not_depend_on_who_is_trained_with_them(records, undisturbed, tmp_path, name):
    estimator = make_importable_net() if name == "net" else make_perceptron()
    pools = [make_pool(estimator).fit(records) if name == "net" else undisturbed]
    pools.append(make_pool(estimator, n_jobs=2).fit(records))
    make_pool(estimator, tmp_path, n_models=2).fit(records)
    pools.append(make_pool(estimator, tmp_path).fit(records))
    for pool in pools[1:]:
        assert_same(pool, pools[0])


def test_models_finished_since_are_not_given_again(
    records, undisturbed, tmp_path, every_epoch, monkeypatch
):
    with monkeypatch.context() as patch:
        count_states(patch, stop_after=3)
        with pytest.raises(Killed):
            make_pool(make_perceptron(), tmp_path).fit(records)
    state = next(tmp_path.glob("training-*.npz"))
    content = state.read_bytes()
    make_pool(make_perceptron(), tmp_path).fit(records)
    state.write_bytes(content)
    (tmp_path / "shadow-00002.npz").unlink()
    assert_same(make_pool(make_perceptron(), tmp_path).fit(records), undisturbed)
    assert not state.exists()


@pytest.mark.parametrize(
    "damage", slow_but(["truncated", "flipped", "of another pool"], "flipped", "of another pool")
)
def test_a_state_that_cannot_be_used_is_none(
    records, undisturbed, tmp_path, every_epoch, monkeypatch, damage
):
    with monkeypatch.context() as patch:
        count_states(patch, stop_after=3)
        with pytest.raises(Killed):
            make_pool(make_perceptron(), tmp_path).fit(records)
    state = next(tmp_path.glob("training-*.npz"))
    content = bytearray(state.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 255
    state.write_bytes(content[: len(content) // 2] if damage == "truncated" else content)
    if damage == "of another pool":
        TrainingStates(tmp_path, "other", _write).save(list(range(N_MODELS)), {"x": np.zeros(1)})
    assert_same(make_pool(make_perceptron(), tmp_path).fit(records), undisturbed)


def _write(path, write):
    with open(path, "wb") as file:
        write(file)


def make_job(n_models, states=None, n_jobs=1):
    subsets = np.zeros((n_models, 3), dtype=bool)
    return Job(None, None, subsets, [None] * n_models, None, n_jobs, states=states)


def test_interrupted_groups_come_first_and_as_they_were(tmp_path):
    states = TrainingStates(tmp_path, "mine", _write)
    for group in ([2, 5, 6], [0, 1], [9, 30]):
        states.save(group, {})
    TrainingStates(tmp_path, "other", _write).save([3, 4], {})
    groups = split_models(make_job(12, states), [3, 4, 5, 7, 8, 9, 10], 3)
    assert groups == [[2, 5, 6], [3, 4], [7, 8], [9, 10]]


@pytest.mark.parametrize(
    ("n_together", "n_jobs", "sizes"),
    [(64, 1, [10]), (64, 2, [5, 5]), (4, 1, [4, 3, 3]), (4, 2, [3, 3, 2, 2]), (1, 2, [1] * 10)],
)
def test_each_worker_gets_as_many_groups(n_together, n_jobs, sizes):
    groups = split_models(make_job(10, n_jobs=n_jobs), list(range(10)), n_together)
    assert [len(group) for group in groups] == sizes
    assert [k for group in groups for k in group] == list(range(10))


def test_a_state_is_written_once_a_minute(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_states, "monotonic", lambda: now[0])
    states = TrainingStates(tmp_path, "mine", lambda path, write: write(path))
    keeper, made = StateKeeper(states, [0, 1]), []
    for now[0] in range(0, 181, 20):
        keeper.offer(lambda: made.append(now[0]) or {"x": np.zeros(1)})
    assert made == [60, 120, 180]
