"""Preparation of a net up to its first batch, with the same steps as in ordinary training."""

import copy
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from ...._core.containers import accepting_read_only, is_tensor, take_rows
from ...._core.copies import copy_unfitted
from ...._core.randomness import PROCESS_LOCK, isolated_randomness, seed_estimator
from .batches import RowTable, ask, change, list_row_tensors, without_zeros
from .callbacks import schedulers_of, stoppers_of
from .plan import find_net, why_not_rows


class NetRandomness:
    """Generators of one model: on the CPU, and on its device if that is another.

    Attributes
    ----------
    cpu : torch Generator
        Draws orders of rows, and all numbers of nets on a CPU.
    own : torch Generator
        Draws numbers on the device; the same as ``cpu`` for a CPU.
    """

    # They start from the global generators, in which a model that is trained alone draws.

    def __init__(self, device):
        self.cpu = torch.Generator()
        self.cpu.set_state(torch.default_generator.get_state())
        self.own, self._pairs = self.cpu, [(torch.default_generator, self.cpu)]
        if device.type == "cuda":
            self.own = torch.Generator(device=device)
            self.own.set_state(torch.cuda.get_rng_state(device))
            index = torch.cuda.current_device() if device.index is None else device.index
            self._pairs.append((torch.cuda.default_generators[index], self.own))
        elif device.type != "cpu":
            self.own = torch.Generator(device=device)
            self.own.manual_seed(torch.initial_seed())

    @property
    def generators(self):
        """All generators, without repetition."""
        return [self.cpu] if self.own is self.cpu else [self.cpu, self.own]

    @contextmanager
    def installed(self):
        """Let global generators continue from those of the model, and go back at the end."""
        with PROCESS_LOCK:
            before = [theirs.get_state() for theirs, _ in self._pairs]
            for theirs, ours in self._pairs:
                theirs.set_state(ours.get_state())
            try:
                yield
            finally:
                for (theirs, ours), state in zip(self._pairs, before, strict=True):
                    ours.set_state(theirs.get_state())
                    theirs.set_state(state)


# Arrays per parameter: in the net, in the stack, its gradient, and up to three in the optimizer.
_COPIES = 6
# With early stopping, the weights that are kept, and a copy when they are restored.
_KEPT_COPIES = 2
# Arrays per activation: itself, its gradient, and one kept for the backward pass.
_ACTIVATIONS = 3
_BYTES_ON_CPU = 512 * 2**20


def memory_for(device):
    """Return the bytes that jointly trained models may take: half of the free memory on a GPU."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] // 2
    return _BYTES_ON_CPU


def fits(n_bytes, device):
    """Return whether rows are stored on a device.

    On a GPU they may take half of the free memory.
    """
    return device.type != "cuda" or n_bytes <= memory_for(device)


def bytes_per_model(prepared, table):
    """Return the bytes of one model in training, without the records that all models share."""
    own = prepared.table if table is None else table
    settings = prepared.net.get_params_for("iterator_train")
    batch = settings.get("batch_size", prepared.net.batch_size)
    n_rows = len(prepared.rows)
    batch = n_rows if batch == -1 else min(batch, n_rows)
    weights = sum(p.numel() * p.element_size() for p in prepared.net.module_.parameters())
    model = own.take_dense(prepared.rows[:2])
    gathered = (
        sum(part[0].numel() * part.element_size() for part in list_row_tensors(model)) * batch
    )
    activations = _activation_bytes(prepared.net.module_, model) * batch
    rows = 16 * n_rows  # the order of the batches
    if table is None:
        here = [part for part in own.tensors if part.device == own.y.device]
        rows += sum(2 * part.numel() * part.element_size() for part in here)
    copies = _COPIES
    if prepared.device.type == "cuda":  # a recorded step has memory of its own
        gathered, activations, copies = 2 * gathered, 2 * activations, copies + 1
    copies += _KEPT_COPIES if stoppers_of(prepared.net) else 0
    return max(1, copies * weights + gathered + _ACTIVATIONS * activations + rows)


def _activation_bytes(module, rows):
    """Return the bytes of the outputs of all parts of a module for one record."""
    total = 0

    def count(part, inputs, out):
        nonlocal total
        if isinstance(out, torch.Tensor):
            total += out.numel() * out.element_size()

    probe = copy.deepcopy(module).eval()
    for part in probe.modules():
        part.register_forward_hook(count)
    with torch.no_grad():
        ask(probe, rows)
    return total // len(list_row_tensors(rows)[0])


class BatchOrder:
    """The order of the records of one model, drawn from its own generator.

    An iterated DataLoader always draws a seed, even if it does not use it, and another one for the
    permutation if it shuffles. The seed of the validation set is drawn after the last batch.
    """

    def __init__(self, generator, n_rows, shuffle, has_valid):
        self.generator, self.n_rows = generator, n_rows
        self.shuffle, self.has_valid = shuffle, has_valid

    def _draw_seed(self):
        return torch.empty((), dtype=torch.int64).random_(generator=self.generator).item()

    def begin_epoch(self):
        """Return the seed of the order in the next epoch; None if the records stay in order."""
        self._draw_seed()
        return self._draw_seed() if self.shuffle else None

    def foresee(self):
        """Return the seed of the epoch after this one, if nothing else is drawn before it."""
        generator = torch.Generator()
        generator.set_state(self.generator.get_state())
        twin = BatchOrder(generator, self.n_rows, self.shuffle, self.has_valid)
        twin.end_epoch()
        return twin.begin_epoch()

    def end_epoch(self):
        """Draw the seed that the validation set would draw."""
        if self.has_valid:
            self._draw_seed()


class EpochOrders:
    """Orders of the records of many models in one epoch after the other."""

    def __init__(self, orders, rows, ahead):
        self._orders, self._rows = orders, rows
        self._thread = ThreadPoolExecutor(1) if ahead else None
        self._foreseen = None, None

    def begin_epoch(self):
        """Return rows of the table in the order of the epoch, shape (n_models, n_widest)."""
        seeds = [order.begin_epoch() for order in self._orders]
        foreseen, drawn = self._foreseen
        order = drawn.result() if foreseen == seeds else self._draw(seeds)
        if self._thread is not None:
            later = [order.foresee() for order in self._orders]
            self._foreseen = later, self._thread.submit(self._draw, later)
        return order

    def end_epoch(self):
        """Draw what is drawn after the last batch of an epoch."""
        for order in self._orders:
            order.end_epoch()

    def _draw(self, seeds):
        order = torch.zeros(len(self._rows), max(map(len, self._rows)), dtype=torch.int64)
        for k, (seed, rows) in enumerate(zip(seeds, self._rows, strict=True)):
            order[k, : len(rows)] = rows if seed is None else rows[_permute_rows(len(rows), seed)]
        return order


def _permute_rows(n, seed):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


def plan_batches(n_rows, batch_size, drop_last):
    """Plan the batches of one epoch for models with different numbers of records."""
    batches = []
    n_rows = torch.as_tensor(n_rows)
    widest = int(n_rows.max())
    full = widest if batch_size == -1 else batch_size
    for start in range(0, widest, full):
        sizes = (n_rows - start).clamp(0, full)
        if drop_last and batch_size != -1:
            sizes[sizes < full] = 0
        groups, stops = [], torch.cumsum(torch.unique_consecutive(sizes, return_counts=True)[1], 0)
        first = 0
        for stop in stops.tolist():
            size = int(sizes[first])
            if size:
                groups.append((slice(first, stop), slice(start, start + size)))
            first = stop
        batches.append(groups)
    return batches


def count_batches(batches, n_models):
    """Return the number of batches of each model in an epoch, from :func:`plan_batches`."""
    counts = [0] * n_models
    for groups in batches:
        for models, _ in groups:
            for k in range(models.start, models.stop):
                counts[k] += 1
    return counts


class CannotBatchError(Exception):
    """Raised for a model that cannot be trained with others; its text is the reason."""


class PreparedNet(NamedTuple):
    """A shadow model before its training."""

    model: object  # the net, or the Pipeline with its other steps fitted
    net: object  # initialized net
    table: (
        RowTable | None
    )  # its own rows, after the other steps; None if all models share one table
    rows: torch.Tensor  # rows of the table that it is trained on
    order: BatchOrder
    dtype: torch.dtype | dict  # of the rows that are passed to the net
    warnings: list
    valid: torch.Tensor | None  # rows of the table in the validation set, if they are known
    stream: NetRandomness

    @property
    def device(self):
        """Device on which the net is trained."""
        return torch.device(self.net.device)

    @property
    def signature(self):
        """Properties that two models must have in common to be trained in one program."""
        named = [*self.net.module_.named_parameters(), *self.net.module_.named_buffers()]
        shapes = tuple((name, tuple(tensor.shape), tensor.dtype) for name, tensor in named)
        if self.table is None:
            return shapes, None
        if self.table.columns is not None:
            return shapes, self.table.columns
        return shapes, tuple(
            (tuple(tensor.shape[1:]), tensor.dtype) for tensor in self.table.tensors
        )


def as_table_rows(rows, dtype, device):
    """Return rows as tensors, without a copy if possible."""
    if isinstance(rows, Mapping):
        return {name: as_table_rows(part, dtype[name], device) for name, part in rows.items()}
    with accepting_read_only():
        if not is_tensor(rows):
            rows = np.ascontiguousarray(rows)  # because torch does not support negative strides
        return torch.as_tensor(rows).to(device=device, dtype=dtype)


def make_row_table(net, X, y):
    """Convert rows to the types that a DataLoader of the net would give, without needless zeros."""
    reason = why_not_rows(X)
    if reason:
        raise CannotBatchError(reason)
    with accepting_read_only():
        first = change(lambda part: take_rows(part, slice(2)), X)
        loader = net.get_iterator(net.get_dataset(first, y[:2]), training=False)
        Xb, yb = loader.collate_fn([loader.dataset[i] for i in range(min(2, len(y)))])
    parts = [(f"X[{name!r}]", Xb[name], X[name]) for name in X] if isinstance(X, Mapping) else []
    for name, batch, rows in (*(parts or [("X", Xb, X)]), ("y", yb, y)):
        if not isinstance(batch, torch.Tensor) or batch.shape[1:] != tuple(rows.shape[1:]):
            raise CannotBatchError(f"A batch of {name} is not one tensor.")
    y = as_table_rows(y, yb.dtype, net.device)
    X = _at_home(as_table_rows(X, change(lambda part: part.dtype, Xb), "cpu"), y.device)
    # On a GPU, products with zeros cost less than leaving them out.
    stored = None if isinstance(X, Mapping) or y.device.type != "cpu" else without_zeros(X)
    return RowTable(X, y) if stored is None else RowTable(stored[0], y, stored[1])


def _at_home(X, device):
    """Return rows on a device; if they are too large for it, on the host as they are."""
    n_bytes = sum(part.numel() * part.element_size() for part in list_row_tensors(X))
    return change(lambda part: part.to(device), X) if fits(n_bytes, device) else X


def fit_transformers(model, X, y):
    """Fit all steps of a Pipeline except the net; return the net and its input."""
    net = find_net(model)
    if net is model:
        return net, X
    return net, (model[:-1].fit_transform(X, y) if len(model.steps) > 1 else X)


def _split_validation(net, X, y):
    """Return the positions of training and validation rows, and whether rows are validated."""
    train, valid = net.get_split_datasets(X, y)
    positions, validated = _positions(train, X), _positions(valid, X)
    if positions is None:
        raise CannotBatchError("The train_split of the net returns its own data set.")
    follows = stoppers_of(net) or any(one.monitor == "valid_loss" for one in schedulers_of(net))
    if validated is None and follows:
        raise CannotBatchError("EarlyStopping needs a validation set that is a part of X.")
    return positions, validated, valid is not None


def _positions(dataset, X):
    """Return the positions of rows of X in a data set; None if it has others."""
    if isinstance(dataset, torch.utils.data.Subset) and getattr(dataset.dataset, "X", None) is X:
        return torch.as_tensor(np.asarray(dataset.indices))
    return torch.arange(len(dataset)) if getattr(dataset, "X", None) is X else None


def prepare_net(job, k, shared):
    """Prepare one model for its first batch."""
    model = copy_unfitted(job.estimator)
    seed_estimator(model, job.seeds[k])
    members = np.flatnonzero(job.subsets[k])
    with isolated_randomness(job.seeds[k]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        y = job.data.take_targets(members)
        net, X = fit_transformers(model, take_rows(job.data.tables[0], members), y)
        net.initialize()
        net.check_data(X, y)
        positions, validated, has_valid = _split_validation(net, X, y)
        stream = NetRandomness(torch.device(net.device))
        table = make_row_table(net, X, y) if shared is None else None
    places = torch.arange(len(members)) if shared is None else torch.as_tensor(members)
    rows, valid = places[positions], None if validated is None else places[validated]
    shuffle = bool(net.get_params_for("iterator_train").get("shuffle"))
    order = BatchOrder(stream.cpu, len(rows), shuffle, has_valid)
    caught = [(warning.category, str(warning.message)) for warning in caught]
    dtype = _types_of(shared or table)
    return PreparedNet(model, net, table, rows, order, dtype, caught, valid, stream)


def _types_of(table):
    """Return the type of the rows of a table, or their types by name."""
    if table.columns is not None:
        return table.tensors[0].dtype
    return change(lambda part: part.dtype, table.X)


def augmentation_of(net):
    """Return the Augmentation of the training batches of a net, or None."""
    return net.get_params_for("iterator_train").get("collate_fn")


def count_training_steps(job, prepared):
    """Return the number of steps of single nets in a job, given one of them."""
    net, n_rows = prepared.net, len(prepared.rows)
    size = net.get_params_for("iterator_train").get("batch_size", net.batch_size)
    n_batches = -(-n_rows // size) if size > 0 else 1  # -1 stands for all rows
    return job.n_models * int(net.max_epochs) * n_batches


def shared_table(job):
    """Return the table of all records; None if steps before the net are fitted on them."""
    net = find_net(job.estimator)
    if net is not job.estimator and len(job.estimator.steps) > 1:
        return None
    X = job.data.tables[0]
    net = copy_unfitted(net)
    return make_row_table(net, X, job.data.take_targets())
