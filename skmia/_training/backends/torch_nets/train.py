"""The training loop of many models."""

from itertools import islice
from types import SimpleNamespace

import numpy as np
import torch
from skorch.history import History

from ...._core.randomness import preserved_randomness
from .batches import RowTable, change, join_rows
from .callbacks import begin, list_monitored, quietly, schedulers_of, stoppers_of
from .cuda_graphs import can_record
from .engine import GenericEngine, SeriesEngine, TurnsEngine
from .mlp import MLPEngine, as_chain
from .plan import overridden
from .prepare import EpochOrders, augmentation_of, count_batches, plan_batches
from .stack import load_into
from .step import JointStep
from .validation import make_valid_losses

MONITORED = ("train_loss", "valid_loss")


class OptimizerSchedules:
    """Settings of the optimizers of many models of one kind.

    Attributes
    ----------
    monitored : set of str
        Names of the losses that the schedules follow.
    losses : list of ndarray of shape (n_models, 2)
        Losses after each epoch, in the order of ``MONITORED``; NaN where they are not followed.
    numbers : list of int
        Numbers that are equal for models with equal settings.
    """

    # The schedulers are those of torch and skorch. They act on an optimizer without weights. Models
    # with equally many batches in an epoch share one, because their settings are equal at all
    # times, unless a schedule follows the losses of each model.

    def __init__(self, net, n_batches):
        self._net, self.n_batches = net, n_batches
        if not schedulers_of(net):
            n_batches = [0] * len(n_batches)  # all models have the same settings
        first = _SchedulerFollower(net)
        self.monitored, self.losses = first.monitored, []
        keys = [(n, k if self.monitored else 0) for k, n in enumerate(n_batches)]
        self._followers = {key: _SchedulerFollower(net) for key in dict.fromkeys(keys)}
        self._of = [self._followers[key] for key in keys]
        places = {key: i for i, key in enumerate(self._followers)}
        self.numbers = [places[key] for key in keys]
        self._batches = []

    def __getitem__(self, k):
        """Return the settings of each parameter group of model ``k``."""
        return self._of[k].groups

    def list_rates(self):
        """Return the learning rate of each parameter group, for each of :attr:`numbers`."""
        return [[group["lr"] for group in one.groups] for one in self._followers.values()]

    def change_rates_alone(self):
        """Return whether a schedule changes no setting but the learning rate in a few steps."""
        trial = _SchedulerFollower(self._net)
        for _ in range(2):
            for _ in range(2):
                trial.end_batch()
            trial.end_epoch(dict.fromkeys(MONITORED, 1.0) if self.monitored else None)
        return not trial.changed_others

    @property
    def changed_others(self):
        """Whether a schedule has changed a setting other than the learning rate."""
        return any(one.changed_others for one in self._followers.values())

    def note(self, models, losses, n_rows):
        """Note the losses of some models on a batch of a number of rows."""
        if "train_loss" in self.monitored:
            self._batches.append((models, losses, n_rows))

    def end_batch(self, i):
        """Let the schedulers of all models that have a batch ``i`` act after it."""
        for (n_batches, _), follower in self._followers.items():
            if i < n_batches:
                follower.end_batch()

    def end_epoch(self, valid_losses=None, is_whole=True):
        """Let the schedulers of all models act after an epoch, which may be only its beginning."""
        if not self.monitored or not is_whole:
            self._batches = []
            for follower in self._followers.values():
                follower.end_epoch()
            return
        losses = np.full((len(self._of), len(MONITORED)), np.nan)
        if self._batches:
            losses[:, 0] = self._average()
        if valid_losses is not None:
            losses[:, 1] = valid_losses
        self.replay([losses])

    def _average(self):
        totals, sizes = np.zeros(len(self._of)), np.zeros(len(self._of))
        # A device is waited for once, not for each batch.
        read = iter(torch.cat([losses for _, losses, _ in self._batches]).tolist())
        for models, losses, n_rows in self._batches:
            totals[models] += n_rows * np.array(list(islice(read, len(losses))))
            sizes[models] += n_rows
        self._batches = []
        return totals / np.maximum(sizes, 1)

    def replay(self, losses):
        """Go on by epochs whose losses are known."""
        self.losses += losses
        for of_epoch in losses:
            for k, follower in enumerate(self._of):
                follower.end_epoch(dict(zip(MONITORED, of_epoch[k].tolist(), strict=True)))

    def skip(self, n_epochs, losses=()):
        """Go on to the end of some epochs that were trained before, with the losses of each."""
        for epoch in range(n_epochs):
            for i in range(max((n for n, _ in self._followers), default=0)):
                self.end_batch(i)
            if self.monitored:
                self.replay([losses[epoch]])
            else:
                self.end_epoch()


class _SchedulerFollower:
    """The schedulers of one model, on an optimizer without weights."""

    def __init__(self, net):
        self._schedulers = schedulers_of(net)
        self._by_batch = any(one.step_every == "batch" for one in self._schedulers)
        self.groups, self.monitored = net.optimizer_.param_groups, set()
        self.changed_others = False
        if not self._schedulers:
            return
        optimizer = _without_weights(net.optimizer_)
        self._net = SimpleNamespace(optimizer_=optimizer, history=History())
        with preserved_randomness():
            begin(self._schedulers, self._net)
        optimizer.step()  # a scheduler warns if it is called before its optimizer
        self.groups = optimizer.param_groups
        self.monitored = list_monitored(self._schedulers)
        self._others = _list_other_settings(self.groups)

    def end_batch(self):
        if self._by_batch:
            with quietly():
                for one in self._schedulers:
                    one.on_batch_end(self._net, training=True)
            self._note_changes()

    def end_epoch(self, losses=None):
        if losses is not None:
            self._net.history.new_epoch()
            for name, loss in losses.items():
                self._net.history.record(name, loss)
        with quietly():
            for one in self._schedulers:
                if losses is not None or not list_monitored([one]):
                    one.on_epoch_end(self._net)
        self._note_changes()

    def _note_changes(self):
        if self._schedulers and not self.changed_others:
            self.changed_others = _list_other_settings(self.groups) != self._others


def _list_other_settings(groups):
    """Return the settings of parameter groups that are not learning rates."""
    rates = {"params", "lr", "initial_lr", "max_lr", "min_lr"}
    return [{name: one for name, one in group.items() if name not in rates} for group in groups]


def _without_weights(optimizer):
    """Return an optimizer with the same settings, and one number in each parameter group."""
    groups = [
        {**group, "params": [torch.zeros(1, requires_grad=True)]}
        for group in optimizer.param_groups
    ]
    return type(optimizer)(groups, lr=optimizer.defaults["lr"])


class JointStopping:
    """Follows the validation losses of many models.

    A model that has stopped stays in the stack, but the weights that it had are kept.
    """

    def __init__(self, nets):
        self._stoppers = [_EarlyStopper(net) for net in nets]
        self.losses, self.kept = [], {}

    @property
    def is_over(self):
        """Whether all models have stopped."""
        return all(self.are_over)

    @property
    def are_over(self):
        """Whether each model has stopped."""
        return [one.is_over for one in self._stoppers]

    def end_epoch(self, stacked, losses):
        """Take the losses after an epoch, and keep the weights of models that need them.

        Shapes: stacked (n_models, ...).
        """
        if not self.kept:
            self.kept = {name: tensor.clone() for name, tensor in stacked.items()}
        chosen = self._record(losses)
        for name, tensor in stacked.items() if chosen else ():
            self.kept[name][chosen] = tensor[chosen]

    def _record(self, losses):
        """Return the models whose present weights are to be kept."""
        self.losses.append(losses)
        live = [k for k, one in enumerate(self._stoppers) if not one.is_over]
        return [k for k in live if self._stoppers[k].keeps(losses[k])]

    def replay(self, losses):
        """Go on to the end of epochs that were trained before; their losses are known."""
        for of_epoch in losses:
            self._record(of_epoch)

    def restore(self, stacked):
        """Return the weights at the end of the training of each model."""
        rows = [k for k, one in enumerate(self._stoppers) if one.has_kept]
        stacked = {name: tensor.clone() for name, tensor in stacked.items()}
        for name, tensor in stacked.items() if rows else ():
            tensor[rows] = self.kept[name][rows]
        return stacked


class _EarlyStopper:
    """The EarlyStopping of one model, which sees a history of losses and no weights."""

    def __init__(self, net):
        (self._callback,) = stoppers_of(net)
        self._net = SimpleNamespace(history=History(), verbose=0, module_=torch.nn.Identity())
        self._callback.on_train_begin(self._net)
        self.is_over = self.has_kept = False

    def keeps(self, loss):
        """Take the loss after an epoch; return whether the weights are to be kept."""
        history, callback = self._net.history, self._callback
        history.new_epoch()
        history.record("epoch", len(history))
        history.record(callback.monitor, loss)
        try:
            callback.on_epoch_end(self._net)
        except KeyboardInterrupt:  # by which skorch ends a training
            self.is_over = True
        best = callback.best_epoch_ if callback.load_best else 0
        is_kept = best == len(history) or (self.is_over and not best)
        self.has_kept |= is_kept
        return is_kept


def make_engine(prepared, table, generic=False, in_turn=False, in_series=False):
    """Return the way to compute the gradients of some nets."""
    nets = [ready.net for ready in prepared]
    if in_turn:
        return TurnsEngine(nets, table.y, [ready.stream for ready in prepared])
    if in_series:
        return SeriesEngine(nets, table.y)
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
    return RowTable(X, y, columns), offsets[:-1].tolist()


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


class NetTraining:
    """Training of prepared models, which must have one signature."""

    def __init__(self, prepared, table, generic=False, dtype=None, in_turn=False, in_series=False):
        self.epoch = 0
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
        self.schedules = OptimizerSchedules(self.net, count_batches(self.batches, len(nets)))
        follows = "train_loss" in self.schedules.monitored
        self.engine = make_engine(self.prepared, self.table, generic or follows, in_turn, in_series)
        self.engine.keeps_losses = follows
        is_recorded = can_record(self.engine, self.table.y.device)
        self.joint_step = JointStep(
            self.prepared, self.table, self.engine, self.schedules, dtype, is_recorded
        )
        self.optimizer, self.averages = self.joint_step.optimizer, self.joint_step.averages
        self.stopping = JointStopping(nets) if stoppers_of(self.net) else None
        self.valid_losses = self._make_valid_losses(starts)

    def _make_valid_losses(self, starts):
        if not self.stopping and "valid_loss" not in self.schedules.monitored:
            return None
        valid = [ready.valid + start for ready, start in zip(self.prepared, starts)]
        return make_valid_losses(self.engine, self.nets, valid, self.table)

    @property
    def n_models(self):
        """Number of models."""
        return len(self.prepared)

    def run(self, n_epochs, n_batches=None, after_epoch=None, show=None):
        """Train up to a total of ``n_epochs`` epochs."""
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
            losses = self.valid_losses.compute(stacked, [not one for one in over])
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
        self.joint_step.n_made.copy_(torch.from_numpy(arrays["n_steps"]))
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
            inputs = self.joint_step.take_inputs(models, order[models, records])
            self.joint_step.make(models, inputs)
