"""Training of one group of nets by one process."""

from collections import defaultdict
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from time import thread_time
from typing import NamedTuple

import numpy as np
import torch
from skorch.utils import to_device
from torch import nn

from ...groups import StateKeeper, describe, is_out_of_memory, run_from_kept, train_or_halve
from ...job import Trained, keep
from ..way import train_alone
from .plan import find_net
from .prepare import as_table_rows, count_rows, count_steps, prepare, shared_table
from .table import change, list_parts
from .train import Training


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


# `torch.set_float32_matmul_precision("medium")` allows products in bfloat16. On many processors
# torch only takes another kernel that computes in single precision, in less than half of the time.
# It depends on the processor and the version, so both the error and the time are measured.


# Largest share of the time that makes another kernel worth a change of the last digits. It is about
# a half where the kernel is faster, so the choice does not depend on the noise of a measurement.
_MOST_TIME = 2 / 3

# Largest error, relative to the sum of the absolute terms of a product, and as a multiple of that
# of the usual kernel. Products in bfloat16 are a hundred times worse.
_LARGEST_ERROR, _LARGEST_RATIO = 5e-6, 8

# Number of operations of a product that is measured, of measurements, and of operations of all
# trainings below which the gain is less than the time to measure it.
_N_OPERATIONS, _N_ROUNDS, _FEWEST_OPERATIONS = 1e8, 5, 1e11

_USUAL, _OTHER = "highest", "medium"


class Measured(NamedTuple):
    """Largest relative error of products with another kernel, and its share of the usual time."""

    error: float
    usual_error: float
    time: float

    def __str__(self):
        return (
            f"products in single precision take {self.time:.2f} of the time with another kernel "
            f"(set_float32_matmul_precision({_OTHER!r})); their largest relative error is "
            f"{self.error:.0e}, with the usual one {self.usual_error:.0e}"
        )

    @property
    def are_single(self):
        """Whether the products are in single precision."""
        return self.error <= min(_LARGEST_ERROR, _LARGEST_RATIO * max(self.usual_error, 1e-7))

    @property
    def are_faster(self):
        """Whether the time is worth the change of the last digits."""
        return self.time <= _MOST_TIME


class Shape(NamedTuple):
    """Rows, common length and columns of a product, and which of its factors are transposed."""

    rows: int
    length: int
    columns: int
    left_transposed: bool
    right_transposed: bool

    def draw(self, n_models, generator):
        """Draw two factors for each of some models."""
        left = torch.randn(n_models, *self._order(0, self.left_transposed), generator=generator)
        right = torch.randn(n_models, *self._order(1, self.right_transposed), generator=generator)
        return (
            left.transpose(1, 2) if self.left_transposed else left,
            right.transpose(1, 2) if self.right_transposed else right,
        )

    def _order(self, start, transposed):
        order = self[start : start + 2]
        return order[::-1] if transposed else order

    @property
    def n_operations(self):
        """Number of operations for one model."""
        return 2.0 * self.rows * self.length * self.columns


def list_shapes(net, n_rows):
    """Return the products of a step of training of the Linears of a net, as it computes them."""
    linears = [module for module in net.module_.modules() if type(module) is nn.Linear]
    shapes = []
    for i, module in enumerate(linears):
        wide, narrow, first = module.out_features, module.in_features, i == 0
        shapes.append(Shape(wide, narrow, n_rows, False, first))
        shapes.append(Shape(wide, n_rows, narrow, False, not first))
        if not first:
            shapes.append(Shape(narrow, wide, n_rows, True, False))
    return tuple(shapes)


def count_operations(shapes, n_steps):
    """Return the number of operations of the products of all steps of all models."""
    return n_steps * sum(shape.n_operations for shape in shapes)


def is_worth_measuring(net, shapes, n_steps):
    """Whether another kernel may save time: on a CPU, in single precision, in a long training."""
    # Where the user has set a precision for the process, it stays.
    parameters = [*net.module_.parameters()]
    return (
        bool(shapes)
        and str(net.device) == "cpu"
        and all(parameter.dtype == torch.float32 for parameter in parameters)
        and torch.get_float32_matmul_precision() == _USUAL
        and count_operations(shapes, n_steps) >= _FEWEST_OPERATIONS
    )


@lru_cache(maxsize=64)
def measure(shapes):
    """Measure error and time of products with the other kernel, once in a process."""
    factors = _draw_factors(shapes, _N_OPERATIONS)
    times = dict.fromkeys((_USUAL, _OTHER), np.inf)
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _time(factors, times)
    finally:
        torch.set_num_threads(n_threads)
    usual, other = (_measure_error(factors, kernel) for kernel in times)
    return Measured(other, usual, times[_OTHER] / times[_USUAL])


def _time(factors, times):
    """Write the shortest of some times with each kernel."""
    for _ in range(_N_ROUNDS):
        for kernel in times:
            with products_by(kernel):
                start = thread_time()
                for pair in factors:
                    torch.bmm(*pair)
                times[kernel] = min(times[kernel], thread_time() - start)


def _draw_factors(shapes, n_operations):
    """Draw factors of products of as many models as take some operations, at most 64."""
    generator = torch.Generator().manual_seed(0)
    return [
        shape.draw(int(np.clip(n_operations / shape.n_operations, 1, 64)), generator)
        for shape in dict.fromkeys(shapes)
    ]


def _measure_error(factors, kernel):
    errors = []
    for left, right in factors:
        with products_by(kernel):
            product = torch.bmm(left[:1], right[:1])[0].double()
        left, right = left[0].double(), right[0].double()
        errors.append(((product - left @ right).abs() / (left.abs() @ right.abs())).max())
    return float(max(errors))


@contextmanager
def products_by(kernel):
    """Set the kernel of the process; the caller must hold the lock of what belongs to it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(kernel)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def fast_products(net, n_rows):
    """Return the context of trainings with the other kernel, unless it is imprecise here."""
    # Models can be trained on another processor than that on which the kernel was chosen.
    factors = _draw_factors(list_shapes(net, n_rows), 0)
    errors = [_measure_error(factors, kernel) for kernel in (_OTHER, _USUAL)]
    return products_by(_OTHER if Measured(*errors, 0).are_single else _USUAL)


# Number of rows for which a trained net is queried at once, to limit the memory of activations.
_ROWS = 8192


class _Group(NamedTuple):
    """Models that were trained together, or reasons why not, and rows to ask them about."""

    models: list
    rows: DeviceRows


def train_group(job, generic=False, fast=False, in_turn=False):
    """Train and query a group of nets."""
    # The arithmetic runs on one thread, because the rounding of sums would depend on the number of
    # threads. Further cores are used by further processes.
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
    """Measure another kernel of matrix products on the shapes of a job, if it may save time."""
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
