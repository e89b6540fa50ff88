"""Shadow models that are trained together, a group of them in each process."""

import gc
import sys

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from ..exceptions import JointTrainingWarning
from ..utils._tasks import delayed
from ._backends import run_on_one_thread, run_tasks, use_one_job
from ._worker import fit_shadow


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
        for k, _ in results if job.states is not None else ():
            job.states.drop([k])  # a group that was halved has several states


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


def is_out_of_memory(error):
    """Whether an error says that there is too little memory for what was tried."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def train_or_halve(job, group, train, finish):
    """Train a group of models together, in smaller groups if memory is short, else one by one.

    Parameters
    ----------
    job : PoolJob
        With the training sets and seeds of the group's models only.
    group : list of int
        Their numbers in the pool.
    train : callable
        Takes job and group; what it returns is handed to ``finish``.
    finish : callable
        Takes what ``train`` returned, the job and the place of a model in it, and returns a
        ShadowResult.

    Returns
    -------
    results : list of (int, ShadowResult)
        Those of models that were trained one by one carry a JointTrainingWarning.
    """
    try:
        trained = train(job, group)
    except Exception as error:
        reason, is_short = describe(error), is_out_of_memory(error)
    else:
        try:
            return [(k, finish(trained, job, i)) for i, k in enumerate(group)]
        except Exception as error:
            if not is_out_of_memory(error):
                raise  # what is wrong with an answer is no better after training one by one
            reason, is_short, trained = describe(error), True, None
    # Not before the exception is gone, which holds what the failed training had allocated.
    _release_memory()
    if not is_short or len(group) == 1:
        return [(k, fit_alone(job, i, reason)) for i, k in enumerate(group)]
    parts = np.array_split(np.arange(len(group)), 2)
    halves = [(_part_of(job, part), [group[i] for i in part]) for part in parts]
    return [one for half in halves for one in train_or_halve(*half, train, finish)]


def describe(error):
    """Kind and first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def fit_alone(job, i, reason):
    """Train a model by itself, because training it with others failed."""
    result = fit_shadow(job.estimator, job.data, job.membership[i], job.seeds[i], job.settings)
    result.warnings.append((JointTrainingWarning, f"joint training failed ({reason})"))
    return result


def _release_memory():
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
