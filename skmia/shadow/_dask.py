"""Shadow models on the workers of a dask cluster."""

import warnings

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone

from ._backends import Backend, JoblibBackend, fit_on_one_thread, use_one_job


def _active_backend():
    """The dask backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return backend if hasattr(backend, "client") else None


class DaskBackend(Backend):
    """One task a model, sent straight to a dask cluster.

    It is taken inside ``joblib.parallel_config("dask")``. The records go to each worker once,
    instead of with every batch of tasks, and a model whose worker died is trained by another one.
    """

    name = "dask"
    numbers = JoblibBackend.name

    def why_not(self, job):
        if _active_backend() is None:
            return 'joblib has not been told to use dask: with joblib.parallel_config("dask").'
        return None

    def run(self, job, models):
        from distributed import as_completed

        backend = _active_backend()
        client = backend.client
        effective_n_jobs()  # joblib says so where there are no workers, and how to wait for them
        _warn_of_threads(client)
        shared = _send(client, (use_one_job(clone(job.estimator)), job.data))
        numbers = {
            client.submit(
                _fit, shared, job.membership[k], job.seeds[k], job.settings, pure=False
            ): k
            for k in models
        }
        try:
            # A pool that is fitted on a worker lends its place to the models that it waits for.
            with backend.retrieval_context():
                for future, result in as_completed(list(numbers), with_results=True):
                    yield numbers.pop(future), result
        finally:
            client.cancel(list(numbers))


def _fit(shared, *arguments):
    return fit_on_one_thread(*shared, *arguments)


def _as_it_is(shared):
    return shared


def _send(client, shared):
    # Scattered data would be lost with the last worker that holds them, and workers have to be
    # there to begin with. What a task returns is made again, and an adaptive cluster starts workers
    # for it.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(_as_it_is, shared, pure=False)


def _warn_of_threads(client):
    n_threads = max(client.nthreads().values(), default=1)
    if n_threads > 1:
        warnings.warn(
            f"Workers of the dask cluster have up to {n_threads} threads each, but train one "
            "shadow model at a time; start more workers with threads_per_worker=1.",
            stacklevel=2,
        )
