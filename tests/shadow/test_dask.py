"""A pool on a dask cluster gives the numbers of a local one, also when a worker dies."""

import os
import signal
import threading

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia.datasets import make_membership_problem

distributed = pytest.importorskip("distributed")

# The event loops and sockets of a cluster close after the fixture has returned.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client():
    """Two worker processes on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(200, random_state=0)[0]


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(5, n_jobs=2)], ids=str
)
def test_numbers_are_those_of_a_local_fit(client, records, model):
    with joblib.parallel_config("dask"):
        pool = ShadowPool(model, 8, random_state=0, store="models").fit(records)
    assert pool.backend_ == "dask"
    local = ShadowPool(model, 8, random_state=0, batched=False).fit(records)
    assert local.backend_ == "joblib"
    np.testing.assert_array_equal(pool.signals_, local.signals_)
    np.testing.assert_array_equal(pool.membership_, local.membership_)


def test_a_killed_worker_costs_no_model(client, records, tmp_path):
    forest = RandomForestClassifier(60)
    pool = ShadowPool(forest, 16, random_state=0, checkpoint=tmp_path / "pool")
    processes = client.run(os.getpid)
    timer = threading.Timer(0.5, os.kill, (next(iter(processes.values())), signal.SIGKILL))
    timer.start()
    with joblib.parallel_config("dask"):
        pool.fit(records)
    assert not timer.is_alive()
    # Bitwise the same: the seeds belong to the models, not to the workers.
    local = ShadowPool(forest, 16, random_state=0).fit(records)
    np.testing.assert_array_equal(pool.signals_, local.signals_)
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != set(processes.values())
