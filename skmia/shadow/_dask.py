"""Shadow models on the workers of a dask cluster."""

from joblib.parallel import get_active_backend
from sklearn.base import clone

from ._backends import Backend, use_one_job
from ._worker import fit_shadow


def _active_client():
    """Client of the dask backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return getattr(backend, "client", None)


class DaskBackend(Backend):
    """One task a model, sent straight to a dask cluster.

    It is taken inside ``joblib.parallel_config("dask")``. The records go to the workers once,
    instead of with every batch of tasks, and a model whose worker died is trained by another one.
    """

    name = "dask"

    def why_not(self, job):
        if _active_client() is None:
            return 'joblib has not been told to use dask: with joblib.parallel_config("dask").'
        return None

    def run(self, job, models):
        from distributed import as_completed

        client = _active_client()
        # Hashing would read the records once more, only to find that they are new.
        data, estimator = client.scatter(
            [job.data, use_one_job(clone(job.estimator))], broadcast=True, hash=False
        )
        numbers = {
            client.submit(
                fit_shadow,
                estimator,
                data,
                job.membership[k],
                job.seeds[k],
                job.settings,
                pure=False,
            ): k
            for k in models
        }
        try:
            for future in as_completed(list(numbers)):
                yield numbers.pop(future), future.result()
        finally:
            client.cancel(list(numbers))
