"""Where the tasks of a job run: in this process and others on the machine, through joblib."""

import sys
from abc import ABC, abstractmethod
from functools import lru_cache
from itertools import islice

from joblib import Parallel, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from ..._core.seeding import PROCESS_LOCK
from ..._core.tasks import delayed


class Workers(ABC):
    """Where tasks run.

    Attributes
    ----------
    name : str
        As shown in ``ShadowPool.backend_``.
    """

    name: str

    @abstractmethod
    def are_active(self):
        """Whether joblib has been told to use these workers."""

    @abstractmethod
    def run(self, train, job, parts):
        """Train parts of a job.

        Parameters
        ----------
        train : callable
            Takes a part of the job; runs in the worker.
        job : Job
            What all parts share is taken from it.
        parts : iterable of Job
            As of :meth:`Job.part`; taken when their turn comes, where that is possible.

        Yields
        ------
        result : object
            What ``train`` returns for each part, in the order in which they are done.
        """


def use_one_job(estimator):
    """Set every ``n_jobs`` of an estimator, nested ones included, to 1."""
    # None is one job within a worker already, and LogisticRegression warns of any other value.
    names = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] == "n_jobs" and value is not None
    ]
    return estimator.set_params(**dict.fromkeys(names, 1))


@lru_cache(maxsize=1)
def _thread_pools(n_modules):
    return ThreadpoolController()


def run_on_one_thread(function, *arguments):
    """Call a function with BLAS and OpenMP on a single thread; threads of Python take turns.

    Threads of several models, or of other programs on the machine, would wait for each other:
    boosted trees on two threads take ten times as long, and more, where a core is taken.
    """
    # Looking for the libraries takes longer than a small tree; new ones come with new modules.
    with PROCESS_LOCK, _thread_pools(len(sys.modules)).limit(limits=1):
        return function(*arguments)


def split_job(job):
    """What all parts of a job share, and a function that leaves a part the rest of it."""
    shared = {"estimator": use_one_job(clone(job.estimator)), "data": job.data}
    shared.update(keep=job.keep, fit=job.fit)
    empty = dict.fromkeys(shared)
    return shared, lambda part: part._replace(**empty)


def train_rest(train, shared, rest):
    """Train a part of a job in a worker, which is to start no workers or threads of its own."""
    data = shared["data"].unpacked()
    return run_on_one_thread(train, rest._replace(**{**shared, "data": data}))


class JoblibWorkers(Workers):
    """The process itself, or further ones that joblib starts."""

    name = "joblib"

    def are_active(self):
        return True

    def run(self, train, job, parts):
        n_jobs = effective_n_jobs(job.n_jobs)
        if job.n_jobs is None and n_jobs == 1:
            # Nobody has said how many processors to use: the estimator knows best.
            yield from (train(part._replace(estimator=clone(job.estimator))) for part in parts)
            return
        shared, take_rest = split_job(job)
        if n_jobs > 1:
            shared["data"] = shared["data"].packed()
        tasks = (delayed(train_rest)(train, shared, take_rest(part)) for part in parts)
        yield from run_tasks(tasks, job.n_jobs)


def run_tasks(tasks, n_jobs):
    """Results of tasks of joblib in the order in which they arrive."""
    if get_active_backend()[0].supports_return_generator:
        return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    return _run_in_rounds(Parallel(n_jobs=n_jobs), tasks, 4 * effective_n_jobs(n_jobs))


def _run_in_rounds(parallel, tasks, size):
    """Results of a joblib backend that hands out none before all are there."""
    with parallel:
        while some := list(islice(tasks, size)):
            yield from parallel(some)
