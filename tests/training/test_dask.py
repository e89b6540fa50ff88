"""A pool on a dask cluster gives the numbers of a local one, also when a worker dies."""

import multiprocessing
import os
import pickle
import signal

import joblib
import numpy as np
import pandas as pd
import pytest
from forked import PRELOADED
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia._training.workers import DaskWorkers
from skmia.attacks import LiRA
from skmia.base import _pool_attack
from skmia.datasets import make_membership_problem

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

# The event loops and sockets of a cluster close after the fixture has returned.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def start_cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module", autouse=True)
def copied_workers():
    """Let workers begin as copies of one process, which imports once what they need."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context()  # which names less
        multiprocessing.set_forkserver_preload(PRELOADED)
        yield


@pytest.fixture(scope="module")
def client():
    """Two worker processes on this machine."""
    with (
        start_cluster(2) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(200, random_state=0)[0]


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4),
        pytest.param(RandomForestClassifier(5, n_jobs=2), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_numbers_are_those_of_a_local_fit(client, records, model):
    with joblib.parallel_config("dask"):
        pool = ShadowPool(model, 8, random_state=0, store="models").fit(records)
    assert pool.backend_ == "dask"
    local = ShadowPool(model, 8, random_state=0, batched=False).fit(records)
    assert local.backend_ == "joblib"
    np.testing.assert_array_equal(pool.signals_, local.signals_)
    np.testing.assert_array_equal(pool.membership_, local.membership_)


def shifted(records):
    return [Records(records.X + 1, records.y)]


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_whatever_holds_the_records_and_is_stored(client, records, container):
    records = Records(container(records.X), records.y)
    augment = shifted if container is np.asarray else None
    model = DecisionTreeClassifier(max_depth=4)
    pool = ShadowPool(model, 4, augment=augment, store="outputs", random_state=0)
    local = clone(pool).fit(records)
    with joblib.parallel_config("dask"):
        pool.fit(records)
    np.testing.assert_array_equal(pool.signals_, local.signals_)
    np.testing.assert_array_equal(pool.outputs_, local.outputs_)


def test_a_client_alone_changes_nothing(client, records):
    pool = ShadowPool(DecisionTreeClassifier(), 2, random_state=0).fit(records)
    assert pool.backend_ == "joblib"
    with joblib.parallel_config("dask"):
        assert ShadowPool(LogisticRegression(), 2).fit(records).backend_ == "linear"


def test_records_travel_once_and_not_with_each_task(client, records, monkeypatch):
    submit, weights = client.submit, []

    def weighing_submit(*arguments, **settings):
        weights.append(len(pickle.dumps(arguments[1:])))
        return submit(*arguments, **settings)

    monkeypatch.setattr(client, "submit", weighing_submit)
    records = Records(np.repeat(records.X, 50, axis=1), records.y)
    with joblib.parallel_config("dask"):
        ShadowPool(DecisionTreeClassifier(max_depth=2), 8).fit(records)
    assert len(weights) == 9
    assert weights[0] > records.X.nbytes
    assert max(weights[1:]) < records.X.nbytes / 100


def test_a_failure_is_told_as_a_local_one_is(client, records):
    with joblib.parallel_config("dask"), pytest.raises(RuntimeError, match="could not be trained"):
        ShadowPool(DecisionTreeClassifier(max_depth=-1), 4).fit(records)


def test_a_folder_goes_on_elsewhere(client, records, tmp_path):
    model = DecisionTreeClassifier(max_depth=4)
    pool = ShadowPool(model, 4, checkpoint=tmp_path / "pool", random_state=0).fit(records)
    larger = clone(pool).set_params(n_estimators=8)
    with joblib.parallel_config("dask"):
        larger.fit(records)
    assert (pool.backend_, larger.backend_) == ("joblib", "dask")
    for folder in (tmp_path / "pool", None):
        local = clone(larger).set_params(checkpoint=folder).fit(records)
        np.testing.assert_array_equal(local.signals_, larger.signals_)


def test_pools_that_are_fitted_on_the_workers_do_not_wait_for_each_other(client):
    records, membership = make_membership_problem(100, random_state=0)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    victim = FrozenEstimator(
        clone(model).fit(records.X[membership == 1], records.y[membership == 1])
    )
    pool = ShadowPool(model, 2, store="models", random_state=0)
    attack = LiRA(victim, shadows=pool, online=False)
    local = cross_val_score(attack, records, membership, cv=3)
    with joblib.parallel_config("dask"):  # more folds than workers
        np.testing.assert_array_equal(cross_val_score(attack, records, membership, cv=3), local)


def test_workers_with_many_threads_are_warned_of(records):
    pool = ShadowPool(DecisionTreeClassifier(), 4, random_state=0)
    with (
        distributed.Client(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ),
        joblib.parallel_config("dask"),
        pytest.warns(UserWarning, match="threads_per_worker=1"),
    ):
        signals = clone(pool).fit(records).signals_
    np.testing.assert_array_equal(signals, pool.fit(records).signals_)


def make_fatal(markers, n_deaths):
    """A tree that ends the process it is trained in, the first few times."""

    # Defined here, it travels to the workers by value, as they cannot import this module.
    class FatalTree(DecisionTreeClassifier):
        def fit(self, X, y):
            if len(list(markers.iterdir())) < n_deaths:
                (markers / str(os.getpid())).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fit(X, y)

    return FatalTree()


def make_counted(fits, n_deaths):
    """A tree that notes each fit in a folder and ends its process in the first few."""

    class CountedTree(DecisionTreeClassifier):
        def fit(self, X, y):
            number = len(list(fits.iterdir()))
            (fits / f"{os.getpid()}-{number}").touch()
            if number < n_deaths:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fit(X, y)

    return CountedTree(max_depth=3)


@pytest.mark.slow  # a scheduler and its workers are started for it alone
def test_workers_write_to_the_folder_and_a_killed_one_costs_its_model(records, tmp_path):
    np.save(tmp_path / "X.npy", np.repeat(records.X, 50, axis=1))
    records = Records(np.load(tmp_path / "X.npy", mmap_mode="r"), records.y)
    (tmp_path / "fits").mkdir()
    pool = ShadowPool(make_counted(tmp_path / "fits", 1), 8, on_disk=True, random_state=0)
    pool.set_params(checkpoint=tmp_path / "pool")
    sent, submit, run = [], distributed.Client.submit, DaskWorkers.run

    def weighing_submit(self, *arguments, **settings):
        sent.append(len(cloudpickle.dumps(arguments)))
        return submit(self, *arguments, **settings)

    def weighing_run(self, *arguments):
        for result in run(self, *arguments):
            sent.append(len(pickle.dumps(result)))
            yield result

    # One worker with one thread, so that nothing else is at work when it is killed.
    with (
        pytest.MonkeyPatch.context() as patch,
        start_cluster(1) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        patch.setattr(distributed.Client, "submit", weighing_submit)
        patch.setattr(DaskWorkers, "run", weighing_run)
        signals = np.asarray(pool.fit(records).signals_)
    assert len(list((tmp_path / "fits").iterdir())) == 8 + 1
    assert max(sent) < records.X.nbytes / 50  # neither the records nor signals
    local = clone(pool).set_params(checkpoint=None, on_disk=False).fit(records)
    np.testing.assert_array_equal(signals, local.signals_)
    assert not list((tmp_path / "pool").glob("*.tmp"))


def make_deadly(deaths):
    """A victim that notes each query in a folder and ends its process in the first."""

    class DeadlyModel(GaussianNB):
        def predict_proba(self, X):
            if len(X) > 100 and not list(deaths.iterdir()):
                (deaths / str(os.getpid())).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().predict_proba(X)

    return DeadlyModel()


@pytest.mark.parametrize("n_killed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_parts_of_the_records_are_scored_by_workers_one_of_which_is_killed(
    client, tmp_path, monkeypatch, n_killed
):
    records, sent = make_membership_problem(3000, random_state=0)[0], []
    pool = ShadowPool(GaussianNB(), 8, checkpoint=tmp_path / "pool", on_disk=True, random_state=0)
    half = records[::2]
    victim = GaussianNB().fit(half.X, half.y)
    local = LiRA(victim, FrozenEstimator(pool.fit(records))).fit(records)
    scores, submit = local.score_samples(records), distributed.Client.submit
    (tmp_path / "deaths").mkdir()
    if not n_killed:
        (tmp_path / "deaths" / "nobody").touch()
    attack = LiRA(make_deadly(tmp_path / "deaths").fit(half.X, half.y), local.shadows)
    attack.fit(records[:100])

    def weighing_submit(self, *arguments, **settings):
        sent.append(len(cloudpickle.dumps(arguments)))
        return submit(self, *arguments, **settings)

    monkeypatch.setattr(_pool_attack, "_MOST_AT_ONCE", 0)
    monkeypatch.setattr(_pool_attack, "_N_IN_PART", 300)
    monkeypatch.setattr(_pool_attack, "_BLOCK", 8 * 300)
    monkeypatch.setattr(distributed.Client, "submit", weighing_submit)
    with joblib.parallel_config("dask"):
        spread = attack.score_samples(records)
    assert len(list((tmp_path / "deaths").iterdir())) == 1
    assert len(sent) == 1 + 10
    assert max(sent[1:]) < records.X.nbytes / 4  # a part, and of the pool no signals
    np.testing.assert_array_equal(spread, scores)


@pytest.mark.slow
def test_a_killed_worker_costs_no_model(client, records, tmp_path):
    pool = ShadowPool(make_fatal(tmp_path, 1), 8, random_state=0)
    with joblib.parallel_config("dask"):
        signals = clone(pool).fit(records).signals_
    assert len(list(tmp_path.iterdir())) == 1
    # Bitwise the same: the seeds belong to the models, not to the workers.
    np.testing.assert_array_equal(signals, pool.fit(records).signals_)


@pytest.mark.slow
def test_the_only_worker_may_die_and_come_back(records, tmp_path):
    pool = ShadowPool(make_fatal(tmp_path, 2), 8, random_state=0)
    with (
        start_cluster(1) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        signals = clone(pool).fit(records).signals_
    assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(signals, pool.fit(records).signals_)


@pytest.mark.slow
def test_a_cluster_may_start_its_workers_when_there_is_work(records):
    with (
        start_cluster(0) as cluster,
        distributed.Client(cluster),
    ):
        cluster.adapt(minimum=0, maximum=1, interval="100ms")
        with joblib.parallel_config("dask", wait_for_workers_timeout=60):
            pool = ShadowPool(DecisionTreeClassifier(), 4, random_state=0).fit(records)
    assert pool.backend_ == "dask"
