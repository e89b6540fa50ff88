"""Training of models in groups, one group per task."""

import gc
import sys
from functools import partial
from time import perf_counter

import numpy as np
from joblib import effective_n_jobs

from .ways.one_by_one import train_alone
from .where.joblib import run_on_one_thread


def run_groups(job, models, where, count_together, train_group):
    """Train models in groups and yield their results.

    The arithmetic runs on one thread, because the rounding of sums would depend on the number of
    threads. Further cores are used by further processes.

    Parameters
    ----------
    job : Job
        Job that the models belong to.
    models : iterable of int
        Numbers of the models to train.
    where : Workers
        Runs the groups.
    count_together : callable
        Takes the job of the first model; returns the largest number of models in a group.
    train_group : callable
        Takes the job of a group of models; returns a list of (number, Kept).

    Yields
    ------
    k, kept : int, Kept
        Number and results of each model, once.
    """
    models = [int(k) for k in models]
    if not models:
        return
    n_together = count_together(job.part(models[:1]))
    groups = split_models(job, models, min(n_together, job.most_together or n_together))
    wanted = set(models)
    train = partial(run_on_one_thread, train_group)
    for results in where.run(train, job, (job.part(group) for group in groups)):
        yield from ((k, kept) for k, kept in results if k in wanted)
        for k, _ in results if job.states is not None else ():
            job.states.drop([k])  # each part of a group that was halved has its own state


def split_models(job, models, n_together):
    """Split models into groups that are trained together, equally many for each worker.

    Parameters
    ----------
    job : Job
        Job that the models belong to.
    models : list of int
        Numbers of the requested models.
    n_together : int
        Largest size of a group.

    Returns
    -------
    groups : list of list of int
        Groups whose training was interrupted come first, unchanged. The others are parts of the
        groups of the whole pool, so that a model is always trained with the same ones.
    """
    groups, left = [], set(models)
    for group in [] if job.states is None else job.states.groups():
        if max(group) < job.n_models and left & set(group):
            groups.append(group)
            left -= set(group)
    n_models, n_jobs = job.n_models, effective_n_jobs(job.n_jobs)
    # A multiple of the number of jobs, so that all workers finish at about the same time.
    n_groups = min(n_models, -(-n_models // (n_together * n_jobs)) * n_jobs)
    for part in np.array_split(np.arange(n_models), n_groups):
        groups.append([k for k in part.tolist() if k in left])
    return [group for group in groups if group]


def is_out_of_memory(error):
    """Whether an error means that there was not enough memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def train_or_halve(job, train, finish):
    """Train a group of models together, in smaller groups if memory is short, else one by one.

    Parameters
    ----------
    job : Job
        Job of the models of the group.
    train : callable
        Takes the job; its result is passed to ``finish``.
    finish : callable
        Takes the result of ``train``, the job, the place of a model in it and the seconds per
        model; returns a Kept.

    Returns
    -------
    results : list of (int, Kept)
        Numbers and results. Results of models that were trained one by one carry a
        JointTrainingWarning.
    """
    start = perf_counter()
    try:
        trained = train(job)
    except Exception as error:
        reason, is_short = describe(error), is_out_of_memory(error)
    else:
        seconds = (perf_counter() - start) / job.n_models
        try:
            return list(_finish_all(job, partial(finish, trained, job), seconds))
        except Exception as error:
            if not is_out_of_memory(error):
                raise  # an invalid output would also be invalid after training one by one
            reason, is_short, trained = describe(error), True, None
    # Only after the except clause: the exception holds references to the allocated memory.
    _release_memory()
    if not is_short or job.n_models == 1:
        return [(job.number(i), train_alone(job, i, reason)) for i in range(job.n_models)]
    halves = [job.part(part) for part in np.array_split(np.arange(job.n_models), 2)]
    return [model for half in halves for model in train_or_halve(half, train, finish)]


def _finish_all(job, finish, seconds):
    for i in range(job.n_models):
        yield job.number(i), finish(i, seconds)
        if job.progress is not None:
            job.progress.show(job.n_models, "answers of model", i + 1, job.n_models)


def describe(error):
    """Class and first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _release_memory():
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
