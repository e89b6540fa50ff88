"""One group of shadow nets, trained in one program by one process."""

import warnings
from collections import defaultdict
from contextlib import contextmanager
from functools import partial

import torch
from skorch.utils import to_device

from .._groups import describe, fit_alone, is_out_of_memory, train_or_halve
from .._seeding import isolated_randomness
from .._states import StateKeeper, run_from_kept
from .._worker import ask_model, summarise_model
from ._prepare import as_table_rows, prepare, shared_table
from ._train import Training

# Rows that a trained net is asked for at once: bounds its activations.
_ROWS = 8192


def train_group(job, group, generic=False):
    """Train and ask a group of nets.

    The arithmetic is on one thread: with more of them, it would depend on their number how a sum is
    rounded. Processes are what uses further cores.

    Parameters
    ----------
    job : PoolJob
        With the training sets and seeds of the group's models only.
    group : list of int
        Their numbers in the pool.
    generic : bool, default=False
        Whether plain perceptrons too take the path for any module.

    Returns
    -------
    results : list of (int, ShadowResult)
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return train_or_halve(job, group, partial(_train, generic=generic), _finish)
    finally:
        torch.set_num_threads(n_threads)


def _finish(trained, job, i):
    prepared = trained[i]
    if isinstance(prepared, str):  # the reason why only the ordinary path can train it
        return fit_alone(job, i, prepared)
    with isolated_randomness(job.seeds[i]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with _asked_in_bulk(prepared):
            answers = [ask_model(prepared.model, X, job.data.y) for X in job.data.queries]
    caught = prepared.warnings + [(one.category, str(one.message)) for one in caught]
    return summarise_model(answers, job.data.y, job.settings, prepared.model, caught)


def _train(job, group, generic):
    """The models, trained, or for each that cannot be trained with others the reason."""
    table = shared_table(job)
    trained = [_prepare_or_say(job, i, table) for i in range(len(group))]
    stacks = defaultdict(list)
    for one in trained:
        if not isinstance(one, str):
            stacks[one.signature].append(one)
    trainings = [Training(stack, table, generic) for stack in stacks.values()]
    run_from_kept(trainings, StateKeeper(job.states, group))
    return trained


def _prepare_or_say(job, i, table):
    try:
        return prepare(job, i, table)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return describe(error)


@contextmanager
def _asked_in_bulk(prepared):
    """Answer from whole tensors: a DataLoader collects its batches record by record."""
    net = prepared.net

    def forward_iter(X, training=False, device="cpu"):
        net._set_training(False)
        with torch.no_grad():
            for rows in as_table_rows(X, prepared.dtype, "cpu").split(_ROWS):
                yield to_device(net.infer(rows), device)  # which moves them to the net

    net.forward_iter = forward_iter
    try:
        yield
    finally:
        del net.__dict__["forward_iter"]
