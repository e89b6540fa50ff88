"""What it costs to spread a pool over worker processes: joblib, dask, ray, one shared folder.

For each way and number of workers:

* ms a task: a pool of a model with nothing to do on few records, seconds by models;
* MB written by this process (files in shared memory, pipes) and sent through sockets while a pool
  on large records is fitted; records that are mapped into the memory of the workers are written
  once or twice, records that are pickled as often as there are models; what ray puts into its
  store is not counted;
* seconds and processor time of that pool, in this process and in all workers;
* whether the records that a model was asked about were mapped, and whether the numbers are those of
  a pool without workers.

Workers are started before, and what that takes is printed; for a shared folder it is included, as
are the records that every process makes for itself. Asserts nothing.

    python benchmarks/bench_workers.py [--workers 1 2 4] [--models 32] [--ways n_jobs dask]
"""

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from time import perf_counter
from unittest.mock import patch

import joblib
import numpy as np
from _processes import Watch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia._training.checkpoint import FolderCheckpoint
from skmia._training.workers import DaskWorkers

LARGE = (50_000, 120)  # 48 MB


class Nothing(ClassifierMixin, BaseEstimator):
    """A model without work; what it answers tells whether it was asked about mapped records."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        base = X
        while not isinstance(base, np.memmap) and isinstance(base, np.ndarray):
            base = base.base
        p = 0.75 if isinstance(base, np.memmap) else 0.25
        return np.tile([1 - p, p], (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def make_records(n, n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    return Records(X, (X[:, 0] + rng.normal(size=n) > 0).astype(int))


def make_pool(n_models, **settings):
    model = DecisionTreeClassifier(max_depth=5, max_features=20)
    return ShadowPool(model, n_models, random_state=0, **settings)


@contextmanager
def use_jobs(n_workers):
    joblib.Parallel(n_jobs=n_workers)(joblib.delayed(len)("") for _ in range(n_workers))
    with joblib.parallel_config(n_jobs=n_workers):
        yield


@contextmanager
def use_dask(n_workers, by_joblib=False):
    from distributed import Client, LocalCluster

    unwanted = patch.object(DaskWorkers, "are_active", lambda self: False)  # by way of joblib
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
        unwanted if by_joblib else nullcontext(),
    ):
        yield


@contextmanager
def use_ray(n_workers):
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=n_workers, include_dashboard=False, log_to_driver=False)
    register_ray()
    try:
        with joblib.parallel_config("ray"):
            yield
    finally:
        ray.shutdown()


WAYS = {
    "n_jobs": use_jobs,
    "dask": use_dask,
    "dask by joblib": lambda n_workers: use_dask(n_workers, by_joblib=True),
    "ray": use_ray,
}


def measure_way(way, n_workers, n_models, expected):
    small, large = make_records(200, 2), make_records(*LARGE)
    large.fingerprint  # noqa: B018 (computed before)
    start = perf_counter()
    with ExitStack() as stack:
        stack.enter_context(WAYS[way](n_workers))
        started = perf_counter() - start
        ShadowPool(Nothing(), 8).fit(small)  # what workers do once
        make_pool(2).fit(small)
        start = perf_counter()
        ShadowPool(Nothing(), 4 * n_models).fit(small)
        task = (perf_counter() - start) / (4 * n_models)
        shown = ShadowPool(Nothing(), 2, random_state=0).fit(large).signals_[0, 0] * (
            2 * large.y - 1
        )
        with Watch() as watch:
            pool = make_pool(n_models).fit(large)
    report(way, n_workers, started, 1e3 * task, watch, bool((shown > 0).all()), pool, expected)


def measure_folder(n_workers, n_models, expected):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--folder", folder, "--models", str(n_models)]
        with Watch() as watch:
            processes = [
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                for _ in range(n_workers)
            ]
            trained = [int(process.communicate()[0]) for process in processes]
        pool = make_pool(n_models, checkpoint=folder).fit(make_records(*LARGE))
    report("one folder", n_workers, 0.0, None, watch, False, pool, expected)
    print(f"{'':16s}models trained by each process: {', '.join(map(str, trained))}", flush=True)


def fit_in_folder(folder, n_models):
    """One of several processes; prints how many of the models it has trained."""
    save, trained = FolderCheckpoint.save, []

    def counting_save(self, k, kept, subset):
        trained.append(k)
        save(self, k, kept, subset)

    with patch.object(FolderCheckpoint, "save", counting_save):
        make_pool(n_models, checkpoint=folder, n_jobs=1).fit(make_records(*LARGE))
    print(len(trained))


def report(way, n_workers, started, task, watch, mapped, pool, expected):
    same = np.array_equal(pool.signals_, expected)
    task = "-" if task is None else f"{task:.2f}"
    print(
        f"{way:16s}{n_workers:8d}{started:9.1f}{task:>11s}{1e-6 * watch.written:12.0f}"
        f"{1e-6 * watch.sent:10.0f}{watch.seconds:9.1f}{watch.busy:11.1f}"
        f"{'yes' if mapped else 'no':>8s}{'yes' if same else 'NO':>8s}",
        flush=True,
    )


def main():
    ways = [way for way in WAYS if way != "ray" or find_spec("ray")]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--models", type=int, default=32)
    parser.add_argument("--ways", nargs="+", default=[*ways, "folder"])
    parser.add_argument("--folder", help="fit a pool in this folder and print nothing else")
    options = parser.parse_args()
    if options.folder:
        fit_in_folder(options.folder, options.models)
        return
    print(f"{options.models} trees on {LARGE[0]} records x {LARGE[1]} features, 48 MB")
    titles = ("workers", "start s", "ms a task", "MB written", "MB sent", "seconds", "processor")
    widths = (8, 9, 11, 12, 10, 9, 11, 8, 8)
    print(
        f"{'way':16s}"
        + "".join(
            f"{title:>{width}s}"
            for title, width in zip((*titles, "mapped", "same"), widths, strict=True)
        )
    )
    with Watch() as watch:
        pool = make_pool(options.models, n_jobs=1).fit(make_records(*LARGE))
    report("none", 1, 0.0, None, watch, False, pool, pool.signals_)
    for way in options.ways:
        for n_workers in options.workers:
            if way == "folder":
                measure_folder(n_workers, options.models, pool.signals_)
            else:
                measure_way(way, n_workers, options.models, pool.signals_)


if __name__ == "__main__":
    main()
