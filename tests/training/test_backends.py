"""Models that are trained one by one have the same numbers, wherever and by whomever it is."""

import multiprocessing
import os
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import training
from cells import slow_but
from forked import FORKS
from joblib._parallel_backends import ThreadingBackend
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from skmia import Records, ShadowPool
from skmia._training import workers
from skmia._training.backends.backend import train_alone
from skmia._training.checkpoint import FolderCheckpoint
from skmia.datasets import make_membership_problem
from skmia.shadow._job import PoolKeeper


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(120, random_state=0)[0]


def make_thread_counter(**parameters):
    """A model that remembers how many threads BLAS and OpenMP had during its training."""

    # Defined here, it travels to the workers by value, as they cannot import this module.
    class ThreadCounter(ClassifierMixin, BaseEstimator):
        def __init__(self, n_jobs=None):
            self.n_jobs = n_jobs

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.threads_ = max(library["num_threads"] for library in threadpool_info())
            self.jobs_ = self.n_jobs
            return self

        def predict_proba(self, X):
            return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

        def predict(self, X):
            return np.full(len(X), self.classes_[0])

    return ThreadCounter(**parameters)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_has_one_thread_where_the_number_of_jobs_is_given(records, n_jobs):
    with threadpool_limits(2):
        pool = ShadowPool(make_thread_counter(n_jobs=2), 4, store="models", n_jobs=n_jobs)
        pool.fit(records)
        after = {library["num_threads"] for library in threadpool_info()}
    assert [model.threads_ for model in pool.estimators_] == [1] * 4
    assert [model.jobs_ for model in pool.estimators_] == [1] * 4
    assert after == {2}


def test_a_model_has_its_own_threads_where_no_number_of_jobs_is_given(records):
    with threadpool_limits(2):
        pool = ShadowPool(make_thread_counter(n_jobs=2), 2, store="models").fit(records)
    assert [model.threads_ for model in pool.estimators_] == [2, 2]
    assert [model.jobs_ for model in pool.estimators_] == [2, 2]


@pytest.mark.parametrize(
    "model",
    [HistGradientBoostingClassifier(max_iter=2), RandomForestClassifier(4, n_jobs=2)],
    ids=["boosting", "forest"],
)
def test_numbers_do_not_depend_on_threads(records, model):
    pools = [ShadowPool(model, 4, n_jobs=n, random_state=0).fit(records) for n in (None, 1, 2)]
    for pool in pools[1:]:
        np.testing.assert_array_equal(pool.signals_, pools[0].signals_)


def bytes_written():
    return int(Path("/proc/self/io").read_text().split("wchar:")[1].split()[0])


def as_tensor(X):
    return pytest.importorskip("torch").as_tensor(X)


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts the bytes")
@pytest.mark.parametrize(
    "container", slow_but([np.asarray, pd.DataFrame, as_tensor], pd.DataFrame, as_tensor)
)
def test_records_are_mapped_and_not_sent_with_each_model(container):
    X = np.random.default_rng(0).normal(size=(400, 400))
    records = Records(container(X), np.arange(400) % 2)
    pool = ShadowPool(DummyClassifier(), 8, random_state=0)
    local = clone(pool).fit(records)
    before = bytes_written()
    pool.set_params(n_jobs=2).fit(records)
    # Once by each of the two threads from which joblib gives out tasks, and a little for the rest.
    assert X.nbytes / 2 < bytes_written() - before < 3 * X.nbytes
    np.testing.assert_array_equal(pool.signals_, local.signals_)


class OldBackend(ThreadingBackend):
    """Like a backend of joblib that gives its results all at once, as some of others do."""

    supports_return_generator = False


def test_a_backend_that_gives_all_results_at_once_will_do(records):
    joblib.register_parallel_backend("old", OldBackend)
    pool = ShadowPool(DecisionTreeClassifier(), 12, random_state=0)
    with joblib.parallel_config("old", n_jobs=2):
        signals = clone(pool).fit(records).signals_
    np.testing.assert_array_equal(signals, pool.fit(records).signals_)


def work_apart(k):
    """Return a number and a process; the number 3 fails, and 9 never ends."""
    if k == 3:
        raise ValueError("three")
    if k == 9:
        time.sleep(600)
    return k, os.getpid()


def take_tasks(numbers, taken):
    for k in numbers:
        taken.append(k)
        yield joblib.delayed(work_apart)(k)


@FORKS
def test_each_task_of_a_process_that_may_only_fork_has_a_copy_of_its_own():
    taken = []
    results = workers._fork_for_each(take_tasks([0, 1, 2, 4, 5], taken), 2)
    found = [next(results)]
    assert taken == [0, 1]  # as many as there are jobs
    found += results
    assert sorted(k for k, _ in found) == taken == [0, 1, 2, 4, 5]
    assert len({os.getpid(), *(process for _, process in found)}) == 6
    assert list(workers._fork_for_each(iter([]), 2)) == []


@FORKS
def test_what_is_at_work_ends_with_the_first_error():
    taken, before = [], {*multiprocessing.active_children()}
    with pytest.raises(ValueError, match="three"):
        list(workers._fork_for_each(take_tasks([9, 3, 0], taken), 2))
    assert taken == [9, 3]
    for process in {*multiprocessing.active_children()} - before:
        process.join(60)
        assert process.exitcode < 0


@pytest.fixture
def colleagues(tmp_path):
    """Two processes' views of one folder."""
    pair = [FolderCheckpoint(tmp_path / "pool") for _ in range(2)]
    for one in pair:
        one.open({"pool": "the same"}, PoolKeeper(("auto",), (1.0,), "auto", "signals"))
    return pair


def finish(checkpoint, k, records):
    inside = np.arange(len(records)) < 60
    job = training.make_job(
        DecisionTreeClassifier(), [records.X], records.y, inside[None], seed=k, store="signals"
    )
    checkpoint.save(k, train_alone(job, 0), inside)


def test_processes_on_one_folder_share_the_work(colleagues, records):
    one, other = colleagues
    mine, yours = one.unfinished(range(6)), other.unfinished(range(6))
    trained = []
    for turns in (mine, yours, yours, mine, yours, mine):
        trained.append(next(turns))
        finish(one, trained[-1], records)
    assert trained == [0, 1, 2, 3, 4, 5]
    assert list(mine) == list(yours) == []
    assert not list(one.folder.glob("*.begun"))


def test_what_a_killed_process_had_begun_is_trained_last(colleagues, records):
    killed, other = colleagues
    begun = killed.unfinished(range(4))
    assert [next(begun), next(begun)] == [0, 1]
    assert list(other.unfinished(range(4))) == [2, 3, 0, 1]


def test_a_model_that_another_process_finishes_meanwhile_is_read(records, tmp_path, monkeypatch):
    pool = ShadowPool(DecisionTreeClassifier(max_depth=3), 8, random_state=0)
    expected = clone(pool).fit(records)
    colleague = clone(pool).set_params(checkpoint=tmp_path / "pool")
    fits, original = [], DecisionTreeClassifier.fit

    def fit(self, X, y):
        fits.append(len(fits))
        if len(fits) == 3:  # in the middle of one's own third model
            colleague.fit(records)
        return original(self, X, y)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit)
    slow = clone(colleague).fit(records)
    # 3 by one, 6 by the other: the third is the only one that both have trained.
    assert len(fits) == 9
    for one in (slow, colleague):
        np.testing.assert_array_equal(one.signals_, expected.signals_)
