"""A pool on a ray cluster gives the numbers of a local one, also when a worker dies."""

import builtins
import os
import signal

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import skmia._training.workers
from skmia import Records, ShadowPool
from skmia.datasets import make_membership_problem

# What the processes of a cluster leave behind is not a matter of the pool.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # To start ray takes ten seconds; test_ray_calls.py has its calls answered in this process.
    pytest.mark.slow,
    pytest.mark.usefixtures("cluster"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two workers on this machine; ray replaces Python's print, and leaves it so."""
    ray = pytest.importorskip("ray")
    ray_joblib = pytest.importorskip("ray.util.joblib")
    replaced = builtins.print
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray_joblib.register_ray()
    yield
    ray.shutdown()
    builtins.print = replaced


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(200, random_state=0)[0]


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(5, n_jobs=2)], ids=str
)
@pytest.mark.parametrize(
    "settings", [{}, {"n_jobs": -1}, {"ray_remote_args": {"num_cpus": 2}}], ids=str
)
def test_numbers_are_those_of_a_local_fit(records, model, settings):
    pool = ShadowPool(model, 8, store="outputs", random_state=0)
    local = clone(pool).fit(records)
    with joblib.parallel_config("ray", **settings):
        pool.fit(records)
    assert (pool.backend_, local.backend_) == ("ray", "joblib")
    np.testing.assert_array_equal(pool.signals_, local.signals_)
    np.testing.assert_array_equal(pool.outputs_, local.outputs_)


def test_models_are_the_users_own(records):
    with joblib.parallel_config("ray"):
        pool = ShadowPool(
            MLPClassifier(max_iter=3), 2, store="models", batched=False, random_state=0
        )
        with pytest.warns(UserWarning, match="2 of 2 shadow models"):
            pool.fit(records)
    assert all(model.coefs_[0].flags.writeable for model in pool.estimators_)


def test_a_failure_is_told_as_a_local_one_is(records):
    with joblib.parallel_config("ray"), pytest.raises(RuntimeError, match="could not be trained"):
        ShadowPool(DecisionTreeClassifier(max_depth=-1), 4).fit(records)


def make_counted(fits):
    """A tree that notes each fit in a folder and ends its process in the first one."""

    # Defined here, it travels to the workers by value, as they cannot import this module.
    class CountedTree(DecisionTreeClassifier):
        def fit(self, X, y):
            number = len(list(fits.iterdir()))
            (fits / f"{os.getpid()}-{number}").touch()
            if number == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fit(X, y)

    return CountedTree(max_depth=3)


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_killed_worker_costs_its_model(records, tmp_path, monkeypatch, on_disk):
    np.save(tmp_path / "X.npy", np.repeat(records.X, 50, axis=1))
    records = Records(np.load(tmp_path / "X.npy", mmap_mode="r"), records.y)
    (tmp_path / "fits").mkdir()
    pool = ShadowPool(make_counted(tmp_path / "fits"), 8, on_disk=on_disk, random_state=0)
    pool.set_params(checkpoint=tmp_path / "pool")
    received, receive = [], skmia._training.workers._receive

    def weighing_receive(*arguments):
        received.append(receive(*arguments))
        return received[-1]

    monkeypatch.setattr(skmia._training.workers, "_receive", weighing_receive)
    with joblib.parallel_config("ray"):
        signals = np.asarray(pool.fit(records).signals_)
    # Two fits that begin at the same moment may both find the folder empty and die.
    n_fits = len(list((tmp_path / "fits").iterdir()))
    assert 8 + 1 <= n_fits <= 8 + 2
    assert all(not kept.arrays for part in received for _, kept in part) == on_disk
    local = clone(pool).set_params(checkpoint=None, on_disk=False).fit(records)
    np.testing.assert_array_equal(signals, local.signals_)
    assert not list((tmp_path / "pool").glob("*.tmp"))
