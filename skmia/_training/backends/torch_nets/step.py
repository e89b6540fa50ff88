"""One step of many nets, as a function of tensors that can be recorded on a GPU."""

from functools import partial
from typing import Any, NamedTuple

import torch

from .batches import BatchBuffers, OneHotRows, as_precise, change, list_row_tensors, take_model
from .callbacks import average_of, clips_of
from .changed_batches import BatchChanges
from .cuda_graphs import RecordedSteps
from .keyed_draws import KeyedDraws, draws_the_same, find_place
from .optimizers import StackedOptimizer
from .prepare import augmentation_of


class StackedAverages:
    """The averages of :class:`WeightAverage` for stacked weights.

    Shapes: memory (n_models, ...).
    """

    def __init__(self, decay, memory):
        self._decay, self._memory = decay, memory
        self.tensors = {name: torch.zeros_like(tensor) for name, tensor in memory.items()}

    def update(self, models, is_first):
        """Average the weights of some models after a step."""
        for name, average in self.tensors.items():
            weights = self._memory[name][models]
            average[models].lerp_(weights, 1.0 if is_first else 1 - self._decay)

    def read(self, restore):
        """Return what a function of the stack gives while the stack holds the averages."""
        before = {name: tensor.clone() for name, tensor in self._memory.items()}
        try:
            for name, tensor in self._memory.items():
                tensor.copy_(self.tensors[name])
            return {name: tensor.clone() for name, tensor in restore().items()}
        finally:
            for name, tensor in self._memory.items():
                tensor.copy_(before[name])


def clip(gradients, largest, order):
    """Scale the gradients of each model whose norm is too large.

    The same arithmetic as in torch.nn.utils.clip_grad_norm_.

    Take gradients of shape (n_models, ...); return gradients of shape (n_models, ...).
    """
    if not gradients:
        return gradients
    parts = [torch.linalg.vector_norm(g.flatten(1), order, dim=1) for g in gradients]
    norm = torch.linalg.vector_norm(torch.stack(parts, 1), order, dim=1)
    factor = (largest / (norm + 1e-6)).clamp(max=1.0)
    return [g * factor.view(-1, *[1] * (g.ndim - 1)) for g in gradients]


class StepInputs(NamedTuple):
    """What a step reads that differs from the step before.

    Attributes
    ----------
    rows : Tensor of shape (n_chosen, batch) or None
        Rows of the table, if the step itself gathers them.
    x, y : Tensor of shape (n_chosen, batch, ...) or None
        The batch of each model, if it was gathered before.
    """

    rows: Any = None
    x: Any = None
    y: Any = None

    @property
    def tensors(self):
        """All tensors in order."""
        given = (part for part in self if part is not None)
        return [tensor for part in given for tensor in list_row_tensors(part)]

    @property
    def n_rows(self):
        """Number of rows of the batch of each model."""
        return (self.y if self.rows is None else self.rows).shape[1]

    def copy(self):
        """Return inputs in memory of their own."""
        return StepInputs(*(None if part is None else change(torch.clone, part) for part in self))


def match_groups(net, names):
    """Return the number of the parameter group of each stacked parameter."""
    groups = [{id(p) for p in group["params"]} for group in net.optimizer_.param_groups]
    if len(groups) == 1:
        return [0] * len(names)
    named = dict(net.module_.named_parameters())
    return [next(i for i, own in enumerate(groups) if id(named[name]) in own) for name in names]


def draw_masks_in_order(sites, generators, dtype):
    """Draw the masks of one batch in the order in which the modules of a net draw them.

    Each net draws from the generator that it would have alone. Return masks of shape (n_models,
    ...).
    """
    device = generators[0].device
    masks = [torch.empty(len(generators), *shape, dtype=dtype, device=device) for _, shape in sites]
    for k, generator in enumerate(generators):
        for (p, _), mask in zip(sites, masks, strict=True):
            mask[k].bernoulli_(1 - p, generator=generator)
    return [mask.div_(1 - p) for (p, _), mask in zip(sites, masks, strict=True)]


class JointStep:
    """Makes steps of many nets: batch, masks, gradients, clipping, optimizer and averages.

    Attributes
    ----------
    n_made : Tensor of shape (n_models,), dtype int64
        Numbers of steps that the models have made, on their device.
    """

    # On a GPU, the kernels of the whole step are recorded. Numbers of Python that are passed to a
    # kernel are recorded with it, so those that change (learning rate, number of the step) are then
    # in tensors. If a schedule changes other settings of the optimizer, such as a momentum, the
    # recording ends before the optimizer.

    def __init__(self, prepared, table, engine, schedules, dtype, is_recorded):
        net, memory, device = prepared[0].net, engine.stack.memory, table.y.device
        self.engine, self.table, self.schedules = engine, table, schedules
        self._dtype, self._rooms = dtype, BatchBuffers()
        self._clips, average = clips_of(net), average_of(net)
        self.averages = None if average is None else StackedAverages(average.decay, memory)
        self._is_whole = is_recorded and engine.stack.dtype == torch.float32
        self._is_whole = self._is_whole and schedules.change_rates_alone()
        self.n_made = torch.zeros(len(prepared), dtype=torch.int64, device=device)
        self._generators = [ready.stream.own for ready in prepared]
        is_keyed, augmentation = not draws_the_same(device), augmentation_of(net)
        seeds = [generator.initial_seed() for generator in self._generators]
        self._draws = KeyedDraws(seeds, device) if is_keyed else None
        self._changes = None
        if augmentation is not None:
            self._changes = BatchChanges(augmentation, self._generators, is_keyed)
        self.optimizer = StackedOptimizer(
            type(net.optimizer_).__name__,
            list(memory.values()),
            schedules,
            match_groups(net, memory),
            self.n_made if self._is_whole else None,
        )
        self._recorded = RecordedSteps(self, device) if is_recorded else None

    @property
    def n_first(self):
        """Number of steps after which the others take as long as each other."""
        return 0 if self._recorded is None else self._recorded.n_first

    @property
    def can_repeat(self):
        """Whether what was recorded is still what a step does."""
        return not (self._is_whole and self.schedules.changed_others)

    @property
    def state(self):
        """All tensors that what is recorded changes in place."""
        tensors = list(self.engine.stack.fixed.values())
        if self._is_whole:
            tensors += [self.n_made, *self.engine.stack.memory.values()]
            tensors += [tensor for state in self.optimizer.state for tensor in state]
            tensors += [] if self.averages is None else self.averages.tensors.values()
        return tensors

    def take_inputs(self, models, rows):
        """Return the inputs of a step on rows of the table.

        The rows are gathered here if functions of the user change them, which are not recorded, or
        if they are moved to another device.
        """
        if self._changes is None and self.table.home == self.table.y.device:
            return StepInputs(rows)
        return StepInputs(None, *self._gather(rows, partial(self._change, models)))

    def make(self, models, inputs):
        """Make a step of some models."""
        if self._is_whole:
            self.optimizer.take_rates()
        if self._recorded is None:
            gradients = self.compute(models, inputs)
        else:
            gradients = self._recorded.compute(models, inputs)
        if not self._is_whole:
            self._update(models, gradients)
        self.optimizer.count_step(models)
        if self.engine.keeps_losses:
            self.schedules.note(models, self.engine.losses, inputs.n_rows)

    def compute(self, models, inputs):
        """Compute the gradients of some models; make the whole step if all of it is recorded."""
        x, y = inputs.x, inputs.y
        if inputs.rows is not None:
            x, y = self._gather(inputs.rows)
        gradients = self.engine.gradients(models, x, y, self._draw_masks(models, x))
        for largest, order in self._clips:
            gradients = clip(gradients, largest, order)
        if self._is_whole:
            self._update(models, gradients)
        return gradients

    def _change(self, models, x):
        if self._changes is None:
            return x
        starts = self._find_starts(models)
        return self._changes.change(models, x, None if starts is None else find_place(starts, -1))

    def _gather(self, rows, change_rows=lambda x: x):
        y = as_precise(self._rooms.select(self.table.y, rows), self._dtype)
        if not self.engine.takes_sums:
            x = change_rows(self.table.take_dense(rows, self._rooms.select))
            return as_precise(x, self._dtype), y
        rest, ones = self.table.take(rows, self._rooms.select)
        return OneHotRows(as_precise(rest, self._dtype), ones), y

    def _draw_masks(self, models, x):
        """Draw the masks of Dropout: on a CPU as each net alone would, elsewhere by keys."""
        sites = self.engine.sites(x.rest[0] if isinstance(x, OneHotRows) else take_model(x, 0))
        if not sites:
            return []
        if self._draws is None:
            return draw_masks_in_order(sites, self._generators[models], self.engine.stack.dtype)
        return self._draws.draw_masks(self._find_starts(models), sites, self.engine.stack.dtype)

    def _find_starts(self, models):
        """Return where the keyed draws of the next step of some models start."""
        return None if self._draws is None else self._draws.find_starts(models, self.n_made[models])

    def _update(self, models, gradients):
        self.optimizer.step(models, gradients)
        if self.averages is not None:
            self.averages.update(models, self.optimizer.n_steps[models.start] == 0)
        if self._is_whole or self._draws is not None:
            self.n_made[models].add_(1)
