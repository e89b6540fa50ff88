"""Training of one group of nets by one process."""

from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from skorch.utils import to_device

from ...._core.budget import is_of_memory
from ...groups import (
    StateKeeper,
    describe_training_error,
    run_from_kept,
    train_or_halve,
)
from ...job import TrainedModel, keep
from ..backend import train_alone
from .batches import change, list_row_tensors
from .plan import find_net
from .precision import multiplying
from .prepare import as_table_rows, prepare_net, shared_table
from .train import NetTraining


class DeviceRows:
    """Moves rows to a device once, instead of once for each model."""

    def __init__(self, tables, device, room):
        self._tables = [X for X in tables if isinstance(X, np.ndarray)]
        self._device, self._room, self._kept = device, room, {}

    def get(self, X, dtype):
        """Return rows as tensors, on the device if they are rows of the job and there is room."""
        if not isinstance(X, np.ndarray) or not any(
            np.may_share_memory(X, t) for t in self._tables
        ):
            return as_table_rows(X, dtype, "cpu")
        # Views of the same memory have the same values, as records are not changed.
        key = X.__array_interface__["data"][0], X.shape, X.strides, X.dtype.str, dtype
        if key not in self._kept:
            rows = as_table_rows(X, dtype, "cpu")
            n_bytes = rows.numel() * rows.element_size()
            if n_bytes > self._room:
                return rows
            self._room -= n_bytes
            self._kept[key] = rows.to(self._device)
        return self._kept[key]


def rows_for(job, device):
    """Return the rows of a job for a device; on a CPU none are kept, as none are moved."""
    room = torch.cuda.mem_get_info(device)[0] // 4 if device.type == "cuda" else 0
    return DeviceRows(job.data.tables, device, room)


# Number of rows for which a trained net is queried at once, to limit the memory of activations.
_ROWS = 8192


class _NetGroup(NamedTuple):
    """Models that were trained together, or reasons why not, and rows to ask them about."""

    models: list
    rows: DeviceRows


def train_group(job, precision=None, **settings):
    """Train and query a group of nets, with settings of :class:`NetTraining`.

    The arithmetic runs on one thread, because the rounding of sums would depend on the number of
    threads. Further cores are used by further processes.
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with multiplying(precision):
            return train_or_halve(job, partial(_train_nets, settings), _finish_net)
    finally:
        torch.set_num_threads(n_threads)


def _finish_net(trained, job, i, seconds):
    prepared = trained.models[i]
    if isinstance(prepared, str):  # the reason why the net cannot be trained with others
        return train_alone(job, i, prepared)
    asking = partial(_asked_in_bulk, prepared, trained.rows)
    caught, model = prepared.warnings, prepared.model
    with job.randomness(i):
        return keep(job, TrainedModel(job, i, model, seconds, caught=caught, asking=asking))


def _train_nets(settings, job):
    """Train the models; a model that cannot be trained with others is replaced by the reason."""
    table = shared_table(job)
    trained = [_prepare_or_say(job, i, table) for i in range(job.n_models)]
    stacks = defaultdict(list)
    for model in trained:
        if not isinstance(model, str):
            stacks[model.signature].append(model)
    trainings = [NetTraining(stack, table, **settings) for stack in stacks.values()]
    run_from_kept(trainings, StateKeeper(job.states, job.numbers), job.progress)
    return _NetGroup(trained, rows_for(job, torch.device(find_net(job.estimator).device)))


def _prepare_or_say(job, i, table):
    if job.progress is not None:
        job.progress.show(0, "preparation of model", i + 1, job.n_models)
    try:
        return prepare_net(job, i, table)
    except Exception as error:
        if is_of_memory(error):
            raise
        return describe_training_error(error)


@contextmanager
def _asked_in_bulk(prepared, rows):
    """Let a net predict from whole tensors, because a DataLoader collects single records slowly."""
    net = prepared.net

    def forward_iter(X, training=False, device="cpu"):
        whole = rows.get(X, prepared.dtype)
        for start in range(0, len(list_row_tensors(whole)[0]), _ROWS):
            part = change(lambda one, places=slice(start, start + _ROWS): one[places], whole)
            # The evaluation step moves the rows to the device of the net.
            yield to_device(net.evaluation_step((part, None), training=training), device)

    net.forward_iter = forward_iter
    try:
        yield
    finally:
        del net.__dict__["forward_iter"]
