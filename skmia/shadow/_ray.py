"""Shadow models on the workers of a ray cluster."""

import pickle

from joblib.parallel import get_active_backend
from sklearn.base import clone

from ._backends import Backend, JoblibBackend, fit_on_one_thread, use_one_job


def _active_backend():
    """The ray backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return backend if type(backend).__module__.startswith("ray.") else None


class RayBackend(Backend):
    """One task a model, sent straight to a ray cluster.

    It is taken inside ``joblib.parallel_config("ray")``. The records go to each machine once,
    finished models arrive one by one, and a model whose worker died is trained by another one; by
    way of joblib none of the three would be so.
    """

    name = "ray"
    numbers = JoblibBackend.name

    def why_not(self, job):
        if _active_backend() is None:
            return 'joblib has not been told to use ray: with joblib.parallel_config("ray").'
        return None

    def run(self, job, models):
        import ray

        settings = {"num_cpus": 1, **(_active_backend().ray_remote_args or {})}
        train = ray.remote(**settings)(_fit_packed)
        data, estimator = ray.put(job.data), ray.put(use_one_job(clone(job.estimator)))
        numbers = {
            train.remote(estimator, data, job.membership[k], job.seeds[k], job.settings): k
            for k in models
        }
        try:
            while numbers:
                (done, *_), _ = ray.wait(list(numbers))
                yield numbers.pop(done), _receive(ray, done)
        finally:
            for task in numbers:
                ray.cancel(task)


def _fit_packed(*arguments):
    from ray import cloudpickle

    # Arrays that come back as they are would be read-only views of the cluster's store.
    return cloudpickle.dumps(fit_on_one_thread(*arguments))


def _receive(ray, task):
    try:
        return pickle.loads(ray.get(task))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
