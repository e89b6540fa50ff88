"""The workers of a ray cluster."""

import pickle

from joblib.parallel import get_active_backend

from .joblib import Window, Workers, split_job, train_rest


def _active_backend():
    """The ray backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return backend if type(backend).__module__.startswith("ray.") else None


class RayWorkers(Workers):
    """Sends tasks directly to a ray cluster.

    Used inside ``joblib.parallel_config("ray")``. The records are sent to each machine once,
    finished models arrive one by one, and if a worker dies, its model is trained by another one.
    The backend of joblib offers none of these.
    """

    name = "ray"

    def are_active(self):
        return _active_backend() is not None

    def run(self, train, job, parts):
        import ray

        settings = {"num_cpus": 1, **(_active_backend().ray_remote_args or {})}
        remote = ray.remote(**settings)(_train_packed)
        shared, take_rest = split_job(job)
        shared = ray.put(shared)
        window = Window(lambda part: remote.remote(train, shared, take_rest(part)), parts)
        try:
            while True:
                window.fill(int(ray.cluster_resources().get("CPU", 1)))
                if not window.tasks:
                    return
                (done, *_), window.tasks = ray.wait(window.tasks)
                yield _receive(ray, done)
        finally:
            for task in window.tasks:
                ray.cancel(task)


def _train_packed(*arguments):
    from ray import cloudpickle

    # Arrays that are returned unpickled would be read-only views of the cluster's store.
    return cloudpickle.dumps(train_rest(*arguments))


def _receive(ray, task):
    try:
        return pickle.loads(ray.get(task))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
