"""Training of one group of nets by one process."""

from collections import defaultdict
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

import torch
from skorch.utils import to_device

from ...groups import describe, is_out_of_memory, train_or_halve
from ...job import Trained, keep
from ...states import StateKeeper, run_from_kept
from ..one_by_one import train_alone
from .device_rows import DeviceRows, rows_for
from .plan import find_net
from .prepare import count_rows, count_steps, prepare, shared_table
from .products import fast_products, is_worth_measuring, list_shapes, measure
from .rows import change, list_parts
from .train import Training

# Number of rows for which a trained net is queried at once, to limit the memory of activations.
_ROWS = 8192


class _Group(NamedTuple):
    """Models that were trained together, or reasons why not, and rows to ask them about."""

    models: list
    rows: DeviceRows


def train_group(job, generic=False, fast=False, in_turn=False):
    """Train and query a group of nets.

    The arithmetic runs on one thread, because the rounding of sums would depend on the number of
    threads. Further cores are used by further processes.

    Parameters
    ----------
    job : Job
        Job of the models of the group.
    generic : bool, default=False
        Whether plain perceptrons also use the path for any module.
    fast : bool, default=False
        Whether products in single precision use the other kernel of torch.
    in_turn : bool, default=False
        Whether the gradients of a step are computed for one net after the other.

    Returns
    -------
    results : list of (int, Kept)
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return train_or_halve(
            job, partial(_train, generic=generic, fast=fast, in_turn=in_turn), _finish
        )
    finally:
        torch.set_num_threads(n_threads)


def _finish(trained, job, i, seconds):
    prepared = trained.models[i]
    if isinstance(prepared, str):  # the reason why the net cannot be trained with others
        return train_alone(job, i, prepared)
    asking = partial(_asked_in_bulk, prepared, trained.rows)
    caught, model = prepared.warnings, prepared.model
    with job.randomness(i):
        return keep(job, Trained(job, i, model, seconds, caught=caught, asking=asking))


def _train(job, generic, fast, in_turn):
    """Train the models; a model that cannot be trained with others is replaced by the reason."""
    table = shared_table(job)
    trained = [_prepare_or_say(job, i, table) for i in range(job.n_models)]
    stacks = defaultdict(list)
    for model in trained:
        if not isinstance(model, str):
            stacks[model.signature].append(model)
    trainings = [Training(stack, table, generic, in_turn=in_turn) for stack in stacks.values()]
    first = next(iter(stacks.values()))[0] if stacks else None
    with fast_products(first.net, count_rows(first)) if fast and first else nullcontext():
        run_from_kept(trainings, StateKeeper(job.states, job.numbers), job.progress)
    return _Group(trained, rows_for(job, torch.device(find_net(job.estimator).device)))


def measure_products(job):
    """Measure another kernel of matrix products on the shapes of a job, if it may save time.

    Returns
    -------
    measured : Measured or None
    """
    try:
        first = prepare(job, 0, shared_table(job))
    except Exception:  # the training of this model raises the error again
        return None
    n_rows, n_steps = count_rows(first), count_steps(job, first)
    shapes = list_shapes(first.net, n_rows)
    return measure(shapes) if is_worth_measuring(first.net, shapes, n_steps) else None


def _prepare_or_say(job, i, table):
    if job.progress is not None:
        job.progress.show(0, "preparation of model", i + 1, job.n_models)
    try:
        return prepare(job, i, table)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return describe(error)


@contextmanager
def _asked_in_bulk(prepared, rows):
    """Let a net predict from whole tensors, because a DataLoader collects single records slowly."""
    net = prepared.net

    def forward_iter(X, training=False, device="cpu"):
        whole = rows.get(X, prepared.dtype)
        for start in range(0, len(list_parts(whole)[0]), _ROWS):
            part = change(lambda one, places=slice(start, start + _ROWS): one[places], whole)
            # The evaluation step moves the rows to the device of the net.
            yield to_device(net.evaluation_step((part, None), training=training), device)

    net.forward_iter = forward_iter
    try:
        yield
    finally:
        del net.__dict__["forward_iter"]
