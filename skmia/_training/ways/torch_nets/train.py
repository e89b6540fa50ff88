"""The training loop of many models."""

import numpy as np
import torch

from .averages import Averages
from .callbacks import average_of, clips_of, stoppers_of
from .clipping import clip
from .dropout import draw_masks
from .generic import GenericEngine
from .mlp import MLPEngine, as_chain
from .onehot import OneHotRows, join_rows
from .optimizers import StackedOptimizer
from .order import EpochOrders, count_batches, plan_batches
from .plan import overridden
from .prepare import augmentation_of
from .recorded import RecordedSteps, can_record
from .rows import change, take_model
from .schedule import Schedules
from .stack import load_into
from .stopping import Stopping
from .table import Rooms, Table
from .turns import TurnsEngine
from .valid_losses import ValidLosses

# Number of rows for which losses are averaged at once, to limit the memory of activations.
_ROWS = 8192


def make_engine(prepared, table, generic=False, in_turn=False):
    """Return the way to compute the gradients of some nets."""
    nets = [ready.net for ready in prepared]
    if in_turn:
        return TurnsEngine(nets, table.y, [ready.stream for ready in prepared])
    generic = generic or isinstance(table.X, dict) or "get_loss" in overridden(nets[0])
    chain = None if generic else as_chain(nets[0].module_.train())
    if chain is not None and table.columns is None and table.X.ndim > 2 and not chain.flatten:
        chain = None  # its layers are applied to each step of a sequence
    if chain is None:
        return GenericEngine(nets, table.y)
    # Dropout of the input removes and scales ones, so it needs dense rows. Sums of rows store the
    # biases of a layer with its weights, so both need the same settings.
    is_dense = chain.dropout or len(nets[0].optimizer_.param_groups) > 1
    is_dense = is_dense or augmentation_of(nets[0]) is not None
    return MLPEngine(nets, chain, table.y, None if is_dense else table.columns)


def join_tables(prepared, table):
    """Return one table of the rows of all models, and where the rows of each model begin in it."""
    if table is not None:
        return table, [0] * len(prepared)
    tables = [ready.table for ready in prepared]
    offsets = torch.tensor([0] + [len(own.y) for own in tables]).cumsum(0)
    columns, y = tables[0].columns, torch.cat([own.y for own in tables])
    X, homes = [own.X for own in tables], {own.home for own in tables}
    if columns is not None:
        X = join_rows(X, columns)
    else:
        home = homes.pop() if len(homes) == 1 else "cpu"  # some were too large for the device
        X = change(lambda *parts: torch.cat([part.to(home) for part in parts]), *X)
    return Table(X, y, columns), offsets[:-1].tolist()


def match_groups(net, names):
    """Return the number of the parameter group of each stacked parameter."""
    groups = [{id(p) for p in group["params"]} for group in net.optimizer_.param_groups]
    if len(groups) == 1:
        return [0] * len(names)
    named = dict(net.module_.named_parameters())
    return [next(i for i, own in enumerate(groups) if id(named[name]) in own) for name in names]


def as_precise(batch, dtype):
    """Convert a batch of real numbers to another type, if one is given."""
    if dtype is None:
        return batch
    return change(lambda part: part.to(dtype) if part.is_floating_point() else part, batch)


def _as_bytes(tensor):
    """Return the memory of a contiguous tensor of any type as bytes."""
    return tensor.reshape(-1).view(torch.uint8)


def _stack_states(generators):
    """Return the states of generators as rows; the rows of a device are shorter."""
    states = [generator.get_state().numpy() for generator in generators]
    rows = np.zeros((len(states), max(map(len, states))), dtype=np.uint8)
    for row, state in zip(rows, states, strict=True):
        row[: len(state)] = state
    return rows


class Training:
    """Training of prepared models, which must have one signature.

    Parameters
    ----------
    prepared : list of Prepared
        Models; their weights are written into their modules at the end.
    table : Table or None
        Rows that all models share.
    generic : bool, default=False
        Whether plain perceptrons also use the path for any module.
    dtype : torch dtype or None, default=None
        Type to which batches of real numbers are converted.
    in_turn : bool, default=False
        Whether the gradients of a step are computed for one net after the other.
    """

    def __init__(self, prepared, table, generic=False, dtype=None, in_turn=False):
        self.dtype, self.epoch, self._rooms = dtype, 0, Rooms()
        self.prepared = sorted(prepared, key=lambda ready: len(ready.rows))
        self.table, starts = join_tables(self.prepared, table)
        self.rows = [ready.rows + start for ready, start in zip(self.prepared, starts)]
        self.orders = EpochOrders(
            [ready.order for ready in self.prepared],
            self.rows,
            ahead=self.table.y.device.type != "cpu",
        )
        nets = [ready.net for ready in self.prepared]
        self.net, self.nets = nets[0], nets
        settings = self.net.get_params_for("iterator_train")
        self.batches = plan_batches(
            [len(rows) for rows in self.rows],
            settings.get("batch_size", self.net.batch_size),
            settings.get("drop_last", False),
        )
        self.schedules = Schedules(self.net, count_batches(self.batches, len(nets)))
        follows = "train_loss" in self.schedules.monitored
        self.engine = make_engine(self.prepared, self.table, generic or follows, in_turn)
        self.engine.keeps_losses = follows
        device = self.table.y.device
        records = can_record(self.engine, device)
        self.steps = RecordedSteps(self.engine, device) if records else self.engine
        self.clips = clips_of(self.net)
        self.augmentation = augmentation_of(self.net)
        self.stopping = Stopping(nets) if stoppers_of(self.net) else None
        self.valid_losses = self._make_valid_losses(starts)
        memory = self.engine.stack.memory
        average = average_of(self.net)
        self.averages = None if average is None else Averages(average.decay, memory)
        self.optimizer = StackedOptimizer(
            type(self.net.optimizer_).__name__,
            list(memory.values()),
            self.schedules[0],
            match_groups(self.net, memory),
        )

    def _make_valid_losses(self, starts):
        if not self.stopping and "valid_loss" not in self.schedules.monitored:
            return None
        settings, loss = self.net.get_params_for("iterator_valid"), self.engine.total_loss
        n_rows = settings.get("batch_size", self.net.batch_size)
        if loss.by_label or loss.by_element or n_rows == -1:
            n_rows = _ROWS  # the mean over records does not depend on batches
        valid = [ready.valid + start for ready, start in zip(self.prepared, starts)]
        return ValidLosses(self.nets, valid, n_rows)

    @property
    def n_models(self):
        """Number of models."""
        return len(self.prepared)

    def run(self, n_epochs, n_batches=None, after_epoch=None, show=None):
        """Train up to a total of ``n_epochs`` epochs.

        Parameters
        ----------
        n_epochs : int
            Total number of epochs, including earlier calls.
        n_batches : int, default=None
            Number of batches of each epoch. If None, all batches are used.
        after_epoch : callable, default=None
            Function without arguments that is called after each epoch.
        show : callable, default=None
            Function that shows the progress, see :meth:`Progress.part`.
        """
        while self.epoch < n_epochs and not (self.stopping and self.stopping.is_over):
            order = self.begin_epoch()
            for i in range(len(self.batches[:n_batches])):
                self.step(i, order)
                self.schedules.end_batch(i)
                if show is not None:
                    done = (self.epoch + (i + 1) / len(self.batches)) / n_epochs
                    show(done, "epoch", self.epoch + 1, n_epochs)
            self.orders.end_epoch()
            self._end_epoch(n_batches is None)
            if after_epoch is not None:
                after_epoch()
        self.engine.end()
        stacked = self._stacked() if self.averages is None else self.averages.read(self._stacked)
        if self.stopping:
            stacked = self.stopping.restore(stacked)
        load_into([net.module_ for net in self.nets], stacked)

    def _end_epoch(self, is_whole):
        losses = None
        if self.valid_losses and is_whole:
            stacked = self._stacked()
            over = self.stopping.are_over if self.stopping else [False] * self.n_models
            losses = self.valid_losses.compute(stacked, self.table, [not one for one in over])
            if self.stopping:
                self.stopping.end_epoch(stacked, losses)
        self.schedules.end_epoch(losses, is_whole)
        self.epoch += 1

    def _stacked(self):
        return {**self.engine.restore(), **self.engine.stack.fixed}

    def run_to_end(self, after_epoch, show=None):
        """Run all epochs of the nets."""
        self.run(self.net.max_epochs, after_epoch=after_epoch, show=show)

    def _tensors(self):
        """Return all tensors that an epoch changes in place, by name, and the generators."""
        stack = self.engine.stack
        generators = [one for ready in self.prepared for one in ready.stream.generators]
        named = [*stack.memory.items(), *stack.fixed.items()]
        for name, state in zip(stack.memory, self.optimizer.state, strict=True):
            named += [(f"{name}, {i}", tensor) for i, tensor in enumerate(state)]
        if self.averages is not None:
            named += [(f"{name}, average", one) for name, one in self.averages.tensors.items()]
        return {f"tensor {name}": tensor for name, tensor in named}, generators

    def export_state(self):
        """Return the state of the training as arrays by name."""
        tensors, generators = self._tensors()
        arrays = {name: _as_bytes(tensor).cpu().numpy() for name, tensor in tensors.items()}
        arrays["epoch"], arrays["n_steps"] = np.array(self.epoch), np.array(self.optimizer.n_steps)
        arrays["generators"] = _stack_states(generators)
        if self.schedules.monitored:
            arrays["scheduled"] = np.array(self.schedules.losses).reshape(-1, self.n_models, 2)
        if self.stopping:
            arrays["losses"] = np.array(self.stopping.losses).reshape(-1, self.n_models)
            for name, tensor in self.stopping.kept.items():
                arrays[f"kept {name}"] = _as_bytes(tensor.contiguous()).cpu().numpy()
        return arrays

    def import_state(self, arrays):
        """Continue from the state of a training of the same models."""
        tensors, generators = self._tensors()
        for name, tensor in tensors.items():
            _as_bytes(tensor).copy_(torch.from_numpy(arrays[name]))
        followed = list(arrays.get("scheduled", ()))
        self.schedules.skip(int(arrays["epoch"]) - self.epoch, followed)
        if self.stopping and len(arrays["losses"]):
            self.stopping.replay(arrays["losses"].tolist())
            self.stopping.kept = {name: tensor.clone() for name, tensor in self._stacked().items()}
            for name, tensor in self.stopping.kept.items():
                values = torch.from_numpy(arrays[f"kept {name}"]).view(tensor.dtype)
                tensor.copy_(values.view(tensor.shape))
        self.epoch, self.optimizer.n_steps = int(arrays["epoch"]), arrays["n_steps"].tolist()
        for generator, state in zip(generators, arrays["generators"], strict=True):
            size = len(generator.get_state())
            generator.set_state(torch.from_numpy(state[:size]))

    def begin_epoch(self):
        """Return rows of the table in the order of the epoch, shape (n_models, n_widest)."""
        self.engine.begin()
        return self.orders.begin_epoch().to(self.table.home)

    def step(self, i, order):
        """Make step ``i`` of an epoch, for the models that have as many batches."""
        for models, records in self.batches[i]:
            self._step(models, order[models, records])

    def _step(self, models, rows):
        y = as_precise(self._rooms.select(self.table.y, rows), self.dtype)
        x = self._take(models, rows)
        first = x.rest[0] if isinstance(x, OneHotRows) else take_model(x, 0)
        sites = self.engine.sites(first)
        masks = []
        if sites:
            generators = [ready.stream.own for ready in self.prepared[models]]
            masks = draw_masks(sites, generators, self.engine.stack.dtype)
        gradients = self.steps.gradients(models, x, y, masks)
        for largest, order in self.clips:
            gradients = clip(gradients, largest, order)
        if self.engine.keeps_losses:
            self.schedules.note(models, self.engine.losses, y.shape[1])
        self.optimizer.step(models, gradients, self.schedules)
        if self.averages is not None:
            self.averages.update(models, self.optimizer.n_steps[models.start] == 1)

    def _take(self, models, rows):
        if not self.engine.takes_sums:
            x = self._augment(models, self.table.take_dense(rows, self._rooms.select))
            return as_precise(x, self.dtype)
        rest, ones = self.table.take(rows, self._rooms.select)
        return OneHotRows(as_precise(rest, self.dtype), ones)

    def _augment(self, models, x):
        if self.augmentation is None:
            return x
        changed = [
            self.augmentation.transform(take_model(x, i), ready.stream.own)
            for i, ready in enumerate(self.prepared[models])
        ]
        return change(lambda *parts: torch.stack(parts), *changed)
