"""Shadow models that are trained together, a group of them in each process."""

import numpy as np
from joblib import delayed, effective_n_jobs
from sklearn.base import clone

from ._backends import run_on_one_thread, run_tasks, use_one_job


def run_groups(job, models, count_together, train_group):
    """Train models in groups and yield what they give.

    The arithmetic is on one thread: with more of them, it would depend on their number how sums are
    rounded. Further processes are what uses further cores.

    Parameters
    ----------
    job : PoolJob
        The pool.
    models : sequence of int
        Numbers of the models to train.
    count_together : callable
        Takes the job of the first model; largest number of models that are trained together.
    train_group : callable
        Takes the job of the models of a group and their numbers in the pool, and returns a list of
        (number, ShadowResult).

    Yields
    ------
    k, result : int, ShadowResult
        Each model once.
    """
    models = [int(k) for k in models]
    if not models:
        return
    job = job._replace(estimator=clone(job.estimator))
    if job.n_jobs is not None or effective_n_jobs(job.n_jobs) > 1:
        use_one_job(job.estimator)  # as many processors as asked for
    groups = split_models(job, models, count_together(_part_of(job, models[:1])))
    tasks = (
        delayed(run_on_one_thread)(train_group, _part_of(job, group), group) for group in groups
    )
    wanted = set(models)
    for results in run_tasks(tasks, job.n_jobs):
        yield from ((k, result) for k, result in results if k in wanted)
        if job.states is not None:
            job.states.drop([k for k, _ in results])


def split_models(job, models, n_together):
    """Groups of models to be trained together, as many for each worker.

    Parameters
    ----------
    job : PoolJob
        The pool.
    models : list of int
        Numbers of the models that are wanted.
    n_together : int
        Largest size of a group.

    Returns
    -------
    groups : list of list of int
        Those whose training was interrupted come first and as they were. The others are parts of
        the groups of the whole pool, whichever models are wanted.
    """
    groups, left = [], set(models)
    for group in [] if job.states is None else job.states.groups():
        if max(group) < len(job.membership) and left & set(group):
            groups.append(group)
            left -= set(group)
    n_models, n_jobs = len(job.membership), effective_n_jobs(job.n_jobs)
    n_groups = min(n_models, -(-n_models // (n_together * n_jobs)) * n_jobs)
    for part in np.array_split(np.arange(n_models), n_groups):
        groups.append([k for k in part.tolist() if k in left])
    return [group for group in groups if group]


def _part_of(job, models):
    """The job of some of the models, which are counted from 0 in it."""
    seeds = [job.seeds[k] for k in models]
    return job._replace(membership=job.membership[models], seeds=seeds)
