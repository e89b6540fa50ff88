"""Ways to train the shadow models of a pool."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone

from ._worker import PoolData, PoolSettings, fit_shadow


class PoolJob(NamedTuple):
    """All that determines the models of a pool, and how many may be trained at once."""

    estimator: object
    data: PoolData
    membership: np.ndarray  # (n_estimators, n)
    seeds: list  # a SeedSequence a model
    settings: PoolSettings
    n_jobs: int | None


class Backend(ABC):
    """A way to train shadow models.

    Attributes
    ----------
    name : str
        As shown in ``ShadowPool.backend_``.
    """

    name: str

    @abstractmethod
    def why_not(self, job):
        """Reason why the backend cannot do a job, in one sentence; None where it can."""

    @abstractmethod
    def run(self, job, models):
        """Train some of the models of a job.

        Parameters
        ----------
        job : PoolJob
            The pool.
        models : sequence of int
            Numbers of the models to train.

        Yields
        ------
        k, result : int, ShadowResult
            Each model once, in any order, as soon as it is there.
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


def _fit_numbered(k, *arguments):
    return k, fit_shadow(*arguments)


class JoblibBackend(Backend):
    """One model after the other in each worker of joblib: any estimator."""

    name = "joblib"

    def why_not(self, job):
        return None

    def run(self, job, models):
        estimator = clone(job.estimator)
        if effective_n_jobs(job.n_jobs) > 1:
            estimator = use_one_job(estimator)  # workers must not start workers of their own
        tasks = (
            delayed(_fit_numbered)(
                k, estimator, job.data, job.membership[k], job.seeds[k], job.settings
            )
            for k in models
        )
        return Parallel(n_jobs=job.n_jobs, return_as="generator_unordered")(tasks)
