"""A pool on a ray cluster gives the numbers of a local one, also when a worker dies."""

import os
import signal

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia.datasets import make_membership_problem

ray = pytest.importorskip("ray")
ray_joblib = pytest.importorskip("ray.util.joblib")

# What the processes of a cluster leave behind is not a matter of the pool.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers on this machine."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray_joblib.register_ray()
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(200, random_state=0)[0]


@pytest.mark.slow
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


@pytest.mark.slow
def test_models_are_the_users_own(records):
    with joblib.parallel_config("ray"):
        pool = ShadowPool(
            MLPClassifier(max_iter=3), 2, store="models", batched=False, random_state=0
        )
        with pytest.warns(UserWarning, match="2 of 2 shadow models"):
            pool.fit(records)
    assert all(model.coefs_[0].flags.writeable for model in pool.estimators_)


@pytest.mark.slow
def test_a_failure_is_told_as_a_local_one_is(records):
    with joblib.parallel_config("ray"), pytest.raises(RuntimeError, match="could not be trained"):
        ShadowPool(DecisionTreeClassifier(max_depth=-1), 4).fit(records)


def make_fatal(marker):
    """A tree that ends the process it is trained in, the first time."""

    # Defined here, it travels to the workers by value, as they cannot import this module.
    class FatalTree(DecisionTreeClassifier):
        def fit(self, X, y):
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fit(X, y)

    return FatalTree()


def test_a_killed_worker_costs_no_model(records, tmp_path):
    pool = ShadowPool(make_fatal(tmp_path / "killed"), 8, random_state=0)
    with joblib.parallel_config("ray"):
        signals = pool.fit(records).signals_
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(signals, clone(pool).fit(records).signals_)
