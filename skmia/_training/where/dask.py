"""The workers of a dask cluster."""

import warnings

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from .joblib import Window, Workers, split_job, train_rest


def _active_backend():
    """The dask backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return backend if hasattr(backend, "client") else None


class DaskWorkers(Workers):
    """Sends tasks directly to a dask cluster.

    Used inside ``joblib.parallel_config("dask")``. The records are sent to each worker once instead
    of with every batch of tasks, and if a worker dies, its model is trained by another one.
    """

    name = "dask"

    def are_active(self):
        return _active_backend() is not None

    def run(self, train, job, parts):
        from distributed import as_completed

        backend = _active_backend()
        client = backend.client
        effective_n_jobs()  # without workers, joblib raises an error that says how to wait for them
        _warn_of_threads(client)
        shared, take_rest = split_job(job)
        shared = _send(client, shared)

        def submit(part):
            return client.submit(train_rest, train, shared, take_rest(part), pure=False)

        window = Window(submit, parts)
        try:
            # A pool that is itself fitted on a worker frees its slot for the models it waits for.
            with backend.retrieval_context():
                arrived = as_completed(window.fill(_count_threads(client)), with_results=True)
                for future, result in arrived:
                    # Finished futures are not kept, so that the cluster can free their results.
                    window.tasks.remove(future)
                    arrived.update(window.fill(_count_threads(client)))
                    yield result
        finally:
            client.cancel(window.tasks)


def _count_threads(client):
    return sum(client.nthreads().values())


def _as_it_is(shared):
    return shared


def _send(client, shared):
    # Scattered data need a running worker, and are lost with the last worker that holds them. The
    # result of a task is computed again instead, and an adaptive cluster starts workers for it.
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
