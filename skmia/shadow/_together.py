"""Training many models of one estimator, each on records of its own choice, in one program."""

import warnings
from contextlib import contextmanager
from itertools import accumulate

import numpy as np
from sklearn.base import clone

from ..utils._caches import clone_to_train
from ..utils._validation import check_records
from ..victims._query import unwrap
from ._backends import PoolJob
from ._choose import choose_backend
from ._first_answers import check_first_answers
from ._worker import PoolData, PoolSettings, train_model

# Backends whose models are those of training one by one, however few of the records each is
# trained on: the solvers of linear models go through all records for every model.
_JOINT = ("perceptron", "torch")
# What a backend is told where only the models themselves are wanted.
_KEEP_MODELS = PoolSettings(temperatures=(1.0,), resolution="auto", store="models")


@contextmanager
def accepting_read_only():
    """Let torch read the arrays of records without a word: they are read-only, and stay so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
        yield


def find_joint_backend(job):
    """The backend that trains many models of a job at once; None where there is none.

    Raises
    ------
    ValueError
        If the answers of such models could not be used.
    """
    with accepting_read_only():
        backend, _ = choose_backend(job, "auto")
        if backend.name not in _JOINT:
            return None
        check_first_answers(job)
    return backend


def make_model_job(estimator, records, membership, seeds):
    """A job of models that are wanted themselves, trained on records of their own choice.

    Parameters
    ----------
    estimator : estimator
        Cloned, never changed.
    records : Records of n records
        All records.
    membership : ndarray of shape (n_models, n), dtype bool
        Training records of each model.
    seeds : list of SeedSequence
        Randomness of each model.

    Returns
    -------
    job : PoolJob
    """
    data = PoolData([records.X], records.y)
    model = clone_to_train(estimator)
    return PoolJob(model, data, membership, seeds, _KEEP_MODELS, None)


def train_models(job, backend=None):
    """The models of a job.

    Parameters
    ----------
    job : PoolJob
        As of :func:`make_model_job`.
    backend : Backend, default=None
        As of :func:`find_joint_backend`. Without one the models are trained one after the other and
        asked nothing, so that they need no probabilities.

    Returns
    -------
    models : list of estimators
        Fitted.
    caught : list of list of (category, str)
        Warnings of each training.
    """
    if backend is None:
        pairs = [
            train_model(job.estimator, job.data, inside, seeds)
            for inside, seeds in zip(job.membership, job.seeds, strict=True)
        ]
    else:
        with accepting_read_only():
            results = dict(backend.run(job, range(len(job.membership))))
        pairs = [(results[k].model, results[k].warnings) for k in range(len(results))]
    return [model for model, _ in pairs], [caught for _, caught in pairs]


def can_join(pool):
    """Whether an unfitted pool's models may be trained together with those of other pools."""
    alone = pool.checkpoint is not None or pool.warm_start or pool.augment is not None
    return pool.batched is not False and not alone


def make_pool_job(pools, records, parts):
    """One job of the models of several pools.

    Parameters
    ----------
    pools : list of ShadowPool
        Alike but for ``random_state``.
    records : Records of n records
        All records.
    parts : list of ndarray of int
        Which of them each pool is to be fitted on.

    Returns
    -------
    job : PoolJob
        Its models are those of the first pool, then those of the second, and so on.
    """
    jobs = []
    for pool, part in zip(pools, parts, strict=True):
        own = records[part]
        _, entropy = pool._start(check_records(own))
        jobs.append(pool._make_job(own, entropy))
    membership = np.zeros((sum(len(job.membership) for job in jobs), len(records)), dtype=bool)
    stops = accumulate(len(job.membership) for job in jobs)
    for job, part, stop in zip(jobs, parts, stops, strict=True):
        membership[stop - len(job.membership) : stop, part] = job.membership
    seeds = [seed for job in jobs for seed in job.seeds]
    estimator, settings = clone(unwrap(jobs[0].estimator)), jobs[0].settings
    return PoolJob(
        estimator,
        PoolData([records.X], records.y),
        membership,
        seeds,
        settings,
        n_jobs=None,
        notes=tuple(job.notes for job in jobs),
    )


def fit_pools(pools, records, parts, job, backend):
    """Fit several pools, training the models of all in one program.

    Each pool has the training sets and seeds that it would have by itself. Only where the pool's
    probabilities reach 0 or 1 may its evidence at further temperatures differ, as the finest step
    of a model is then looked for among all records.

    Parameters
    ----------
    pools : list of ShadowPool
        Fitted in place.
    records : Records of n records
        All records.
    parts : list of ndarray of int
        Which of them each pool is fitted on.
    job : PoolJob
        As of :func:`make_pool_job`.
    backend : Backend
        As of :func:`find_joint_backend`.
    """
    owner = np.repeat(np.arange(len(pools)), [pool.n_estimators for pool in pools])
    first = np.searchsorted(owner, np.arange(len(pools)))
    results = [[] for _ in pools]
    with accepting_read_only():
        for k, result in backend.run(job, range(len(owner))):
            i = owner[k]
            results[i].append((k - first[i], _of_part(result, parts[i])))
    chosen = backend.name, "it trains the models of many pools at once"
    for i, (pool, own, part) in enumerate(zip(pools, results, parts, strict=True)):
        membership = job.membership[owner == i][:, part]
        its_job = job._replace(membership=membership, notes=job.notes[i])
        pool._collect(own, records[part], its_job, chosen)


def _of_part(result, part):
    """What a model said of some of the records."""
    outputs = None if result.outputs is None else result.outputs[part]
    return result._replace(raw=result.raw[:, :, part], outputs=outputs)
