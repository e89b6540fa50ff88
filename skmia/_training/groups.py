"""Models that are trained together, a group of them in each task."""

import gc
import sys
from functools import partial
from time import perf_counter

import numpy as np
from joblib import effective_n_jobs

from .ways.one_by_one import train_alone
from .where.joblib import run_on_one_thread


def run_groups(job, models, where, count_together, train_group):
    """Train models in groups and yield what is kept of them.

    The arithmetic is on one thread: with more of them, it would depend on their number how sums are
    rounded. Further processes are what uses further cores.

    Parameters
    ----------
    job : Job
        Job that the models belong to.
    models : iterable of int
        Numbers of the models to train.
    where : Workers
        Runs the groups.
    count_together : callable
        Takes the job of the first model; largest number of models that are trained together.
    train_group : callable
        Takes the job of the models of a group, and returns a list of (number, Kept).

    Yields
    ------
    k, kept : int, Kept
        Each model once.
    """
    models = [int(k) for k in models]
    if not models:
        return
    groups = split_models(job, models, count_together(job.part(models[:1])))
    wanted = set(models)
    train = partial(run_on_one_thread, train_group)
    for results in where.run(train, job, (job.part(group) for group in groups)):
        yield from ((k, kept) for k, kept in results if k in wanted)
        for k, _ in results if job.states is not None else ():
            job.states.drop([k])  # a group that was halved has several states


def split_models(job, models, n_together):
    """Groups of models to be trained together, as many for each worker.

    Parameters
    ----------
    job : Job
        Job that the models belong to.
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
        if max(group) < job.n_models and left & set(group):
            groups.append(group)
            left -= set(group)
    n_models, n_jobs = job.n_models, effective_n_jobs(job.n_jobs)
    n_groups = min(n_models, -(-n_models // (n_together * n_jobs)) * n_jobs)
    for part in np.array_split(np.arange(n_models), n_groups):
        groups.append([k for k in part.tolist() if k in left])
    return [group for group in groups if group]


def is_out_of_memory(error):
    """Whether an error says that there is too little memory for what was tried."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def train_or_halve(job, train, finish):
    """Train a group of models together, in smaller groups if memory is short, else one by one.

    Parameters
    ----------
    job : Job
        Of the group's models only.
    train : callable
        Takes the job; what it returns is handed to ``finish``.
    finish : callable
        Takes what ``train`` returned, the job, the place of a model in it and its share of the
        seconds, and returns a Kept.

    Returns
    -------
    results : list of (int, Kept)
        Those of models that were trained one by one carry a JointTrainingWarning.
    """
    start = perf_counter()
    try:
        trained = train(job)
    except Exception as error:
        reason, is_short = describe(error), is_out_of_memory(error)
    else:
        seconds = (perf_counter() - start) / job.n_models
        try:
            return [(job.number(i), finish(trained, job, i, seconds)) for i in range(job.n_models)]
        except Exception as error:
            if not is_out_of_memory(error):
                raise  # what is wrong with an answer is not better after training one by one
            reason, is_short, trained = describe(error), True, None
    # Not before the exception is gone, which holds what the failed training had allocated.
    _release_memory()
    if not is_short or job.n_models == 1:
        return [(job.number(i), train_alone(job, i, reason)) for i in range(job.n_models)]
    halves = [job.part(part) for part in np.array_split(np.arange(job.n_models), 2)]
    return [model for half in halves for model in train_or_halve(half, train, finish)]


def describe(error):
    """Kind and first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _release_memory():
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
