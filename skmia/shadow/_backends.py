"""Ways to train the shadow models of a pool."""

import sys
from abc import ABC, abstractmethod
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from joblib import Parallel, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from ..utils._tasks import delayed
from ._seeding import PROCESS_LOCK
from ._worker import PoolData, PoolSettings, fit_shadow


class PoolJob(NamedTuple):
    """All that determines the models of a pool, and how many may be trained at once."""

    estimator: object
    data: PoolData
    membership: np.ndarray  # (n_estimators, n)
    seeds: list  # a SeedSequence a model
    settings: PoolSettings
    n_jobs: int | None
    states: object = None  # TrainingStates of a checkpoint
    notes: tuple = ()  # how models differ from the victim; one tuple a pool, where some are joined


class Backend(ABC):
    """A way to train shadow models.

    Attributes
    ----------
    name : str
        As shown in ``ShadowPool.backend_``.
    numbers : str
        Equal for backends that give bitwise the same numbers, so that one of them can go on where
        another one stopped.
    lazy : bool
        Whether models are taken from an iterator only when their turn comes.
    """

    name: str
    lazy = False

    @property
    def numbers(self):
        return self.name

    @abstractmethod
    def why_not(self, job):
        """Reason why the backend cannot do a job, in one sentence; None where it can."""

    def nearly(self, job):
        """What the user's code has that keeps the backend from a job of a kind that it can do.

        One sentence; None where it can do the job, or the job is of another kind.
        """
        return None

    @abstractmethod
    def run(self, job, models):
        """Train some of the models of a job.

        Parameters
        ----------
        job : PoolJob
            The pool.
        models : sequence of int
            Numbers of the models to train; for a lazy backend any iterable.

        Yields
        ------
        k, result : int, ShadowResult
            Each model once, in any order, as soon as it is there; and further ones, where they
            come out of the same computation.
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


def fit_on_one_thread(*arguments):
    """Train a shadow model as :func:`fit_shadow` does, with BLAS and OpenMP on a single thread.

    Threads of several models, or of other programs on the machine, would wait for each other:
    boosted trees on two threads take ten times as long, and more, where a core is taken.
    """
    return run_on_one_thread(fit_shadow, *arguments)


def run_on_one_thread(function, *arguments):
    """Call a function with BLAS and OpenMP on a single thread; threads of Python take turns."""
    # Looking for the libraries takes longer than a small tree; new ones come with new modules.
    with PROCESS_LOCK, _thread_pools(len(sys.modules)).limit(limits=1):
        return function(*arguments)


def _fit_numbered(k, fit, estimator, data, *arguments):
    return k, fit(estimator, data.unpacked(), *arguments)


class JoblibBackend(Backend):
    """One model after the other in each worker of joblib: any estimator."""

    name = "joblib"
    lazy = True

    def why_not(self, job):
        return None

    def run(self, job, models):
        estimator, fit = clone(job.estimator), fit_shadow
        n_jobs = effective_n_jobs(job.n_jobs)
        if job.n_jobs is not None or n_jobs > 1:
            # As many processors as asked for: workers must not start workers or threads.
            estimator, fit = use_one_job(estimator), fit_on_one_thread
        data = job.data.packed() if n_jobs > 1 else job.data
        tasks = (
            delayed(_fit_numbered)(
                k, fit, estimator, data, job.membership[k], job.seeds[k], job.settings
            )
            for k in models
        )
        return run_tasks(tasks, job.n_jobs)


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
