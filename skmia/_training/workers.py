"""Workers that run tasks: processes of this machine, or a cluster."""

import pickle
import signal
import warnings
from abc import ABC, abstractmethod
from contextlib import nullcontext
from functools import partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import wait

from joblib import Parallel, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from .._core.callers import level_of_user
from .._core.copies import copy_unfitted, list_parameters
from .._core.randomness import PROCESS_LOCK
from .._core.sandbox import is_apart, start_process
from .._core.tasks import delayed
from .._core.threads import find_thread_pools
from ..exceptions import TrainingError

# Number of tasks that may wait on a cluster of any size, which may grow when it has work.
_FEWEST_TASKS = 16


class TaskWorkers(ABC):
    """Base class of the workers that run tasks."""

    name: str  # as shown in ShadowPool.backend_

    @abstractmethod
    def are_active(self):
        """Return whether joblib is configured to use these workers."""

    @abstractmethod
    def run(self, train, job, parts):
        """Train parts of a job.

        Return result: result of train for each part, in the order in which the parts are finished.
        """

    @abstractmethod
    def map(self, function, shared, parts):
        """Yield the results of ``function(shared, part)`` in the order in which they arrive.

        shared travels to each worker once, and parts are made when a worker is free.
        """


def use_one_job(estimator):
    """Set every ``n_jobs`` of an estimator, also of nested ones, to 1; not of fitted victims.

    None already means one job within a worker, and LogisticRegression warns about other values.
    """
    names = [
        name
        for name, value in list_parameters(estimator).items()
        if name.split("__")[-1] == "n_jobs" and value is not None
    ]
    return estimator.set_params(**dict.fromkeys(names, 1))


def run_on_one_thread(function, *arguments):
    """Call a function with BLAS and OpenMP on a single thread; Python threads take turns.

    Threads of several models, or of other programs on the machine, would wait for each other. If
    one core is busy, boosted trees on two threads take ten times as long or more.
    """
    with PROCESS_LOCK, find_thread_pools().limit(limits=1):
        return function(*arguments)


def split_job(job):
    """Return the fields that all parts of a job share, and a function that drops them from one.

    Workers that write files share a file system, so they can map the records themselves.
    """
    data = job.data if job.write is None else job.data.by_place()
    shared = {"estimator": use_one_job(copy_unfitted(job.estimator)), "data": data}
    shared.update(keep=job.keep, fit=job.fit, progress=None)
    empty = dict.fromkeys(shared)
    return shared, lambda part: part._replace(**empty)


def train_rest(train, shared, rest):
    """Train a part of a job in a worker, without starting further workers or threads."""
    data = shared["data"].unpacked()
    return run_on_one_thread(train, rest._replace(**{**shared, "data": data}))


def get_workers():
    """Return the workers that joblib is configured to use."""
    return next(
        workers
        for workers in (DaskWorkers(), RayWorkers(), JoblibWorkers())
        if workers.are_active()
    )


class JoblibWorkers(TaskWorkers):
    """Runs tasks in this process or in further ones that joblib starts."""

    name = "joblib"

    def are_active(self):
        return True

    def run(self, train, job, parts):
        n_jobs = _count_jobs(job.n_jobs)
        if job.n_jobs is None and n_jobs == 1:
            # n_jobs was not set, so the estimator's own n_jobs applies.
            yield from (
                train(part._replace(estimator=copy_unfitted(job.estimator))) for part in parts
            )
            return
        shared, take_rest = split_job(job)
        if n_jobs > 1:
            shared["data"] = shared["data"].packed()
        else:
            shared["progress"] = job.progress  # no other process is at work
        yield from self._run(partial(train_rest, train), shared, map(take_rest, parts), job.n_jobs)

    def map(self, function, shared, parts):
        if _count_jobs(None) == 1:
            yield from (function(shared, part) for part in parts)
        else:
            yield from self._run(function, shared, parts, None)

    def _run(self, function, shared, parts, n_jobs):
        yield from run_tasks((delayed(function)(shared, part) for part in parts), n_jobs)


class TaskWindow:
    """Tasks at work on a cluster. Few wait at a time, as each brings its training set."""

    def __init__(self, submit, parts):
        self._submit, self._parts, self.tasks = submit, iter(parts), []

    def fill(self, n_processors):
        """Submit tasks until two for each processor are at work or wait; return the new ones."""
        free = max(_FEWEST_TASKS, 2 * n_processors) - len(self.tasks)
        new = [self._submit(part) for part in islice(self._parts, max(0, free))]
        self.tasks += new
        return new


def _count_jobs(n_jobs):
    with parallel_config("loky") if is_apart() else nullcontext():
        return effective_n_jobs(n_jobs)


def run_tasks(tasks, n_jobs):
    """Yield the results of joblib tasks in the order in which they arrive."""
    if is_apart():
        return _fork_for_each(tasks, _count_jobs(n_jobs))
    if get_active_backend()[0].supports_return_generator:
        return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    return _run_in_rounds(Parallel(n_jobs=n_jobs), tasks, 4 * effective_n_jobs(n_jobs))


def _run_in_rounds(parallel, tasks, size):
    """Yield the results of a joblib backend that returns nothing before all tasks are done."""
    with parallel:
        while some := list(islice(tasks, size)):
            yield from parallel(some)


def _fork_for_each(tasks, n_jobs):
    """Yield the results of tasks, each from a copy of this process; they share no lock or file."""
    context, at_work = get_context("fork"), {}
    try:
        while True:
            for task in islice(tasks, n_jobs - len(at_work)):
                receiver, sender = context.Pipe(duplex=False)
                at_work[receiver] = context.Process(target=_send_result, args=(sender, task))
                start_process(at_work[receiver])
                sender.close()
            if not at_work:
                return
            for receiver in wait(list(at_work)):
                yield _receive_result(receiver, at_work.pop(receiver))
    finally:
        for process in at_work.values():
            process.kill()


def _send_result(sender, task):
    function, arguments, settings = task
    try:
        result = function(*arguments, **settings), None
    except Exception as error:
        result = None, error
    sender.send(result)


def _receive_result(receiver, process):
    try:
        with receiver:
            result, error = receiver.recv()
    except EOFError as error:
        process.join()
        code = process.exitcode
        if code < 0:  # what ends a part ends the whole
            signal.raise_signal(-code)
        raise TrainingError(f"The process of a model ended with exit code {code}.") from error
    process.join()
    if error is not None:
        raise error
    return result


def _active_backend():
    """Return the dask backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return backend if hasattr(backend, "client") else None


def free_slot():
    """Return a context in which a task that waits leaves its place on a dask worker to others."""
    backend = _active_backend()
    return nullcontext() if backend is None else backend.retrieval_context()


class DaskWorkers(TaskWorkers):
    """Sends tasks directly to a dask cluster.

    Used inside joblib.parallel_config("dask"). The records are sent to each worker once instead of
    with every batch of tasks, and if a worker dies, its model is trained by another one.
    """

    name = "dask"

    def are_active(self):
        return _active_backend() is not None

    def run(self, train, job, parts):
        _warn_of_threads(_active_backend().client)
        shared, take_rest = split_job(job)
        yield from self.map(partial(train_rest, train), shared, map(take_rest, parts))

    def map(self, function, shared, parts):
        from distributed import as_completed

        backend = _active_backend()
        client = backend.client
        effective_n_jobs()  # without workers, joblib raises an error that says how to wait for them
        shared = _send(client, shared)

        def submit(part):
            return client.submit(function, shared, part, pure=False)

        window = TaskWindow(submit, parts)
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
            stacklevel=level_of_user(),
        )


def _active_backend_ray():
    """Return the ray backend that joblib has been told to use, or None."""
    backend, _ = get_active_backend()
    return backend if type(backend).__module__.startswith("ray.") else None


class RayWorkers(TaskWorkers):
    """Sends tasks directly to a ray cluster.

    Used inside joblib.parallel_config("ray"). The records are sent to each machine once, finished
    models arrive one by one, and if a worker dies, its model is trained by another one. The backend
    of joblib offers none of these.
    """

    name = "ray"

    def are_active(self):
        return _active_backend_ray() is not None

    def run(self, train, job, parts):
        shared, take_rest = split_job(job)
        yield from self.map(partial(train_rest, train), shared, map(take_rest, parts))

    def map(self, function, shared, parts):
        import ray

        settings = {"num_cpus": 1, **(_active_backend_ray().ray_remote_args or {})}
        remote = ray.remote(**settings)(_call_packed)
        shared = ray.put(shared)
        window = TaskWindow(lambda part: remote.remote(function, shared, part), parts)
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


def _call_packed(function, *arguments):
    from ray import cloudpickle

    # Arrays that are returned unpickled would be read-only views of the cluster's store.
    return cloudpickle.dumps(function(*arguments))


def _receive(ray, task):
    try:
        return pickle.loads(ray.get(task))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
