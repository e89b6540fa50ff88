"""Weights of many models, stacked parameter by parameter."""

import torch
from torch import nn

from ...._core.torch_parts import list_layer_classes


def is_active(module):
    """Return whether a module is a Dropout that draws random numbers."""
    return type(module) is nn.Dropout and 0 < module.p < 1


def has_convolutions(module):
    """Return whether a module has convolutions."""
    return any(isinstance(part, list_layer_classes("convolution")) for part in module.modules())


# Count of numbers in the two widest registers of a processor, the step of the loops of torch.
_LANES = 32


class ModuleStack:
    """Parameters and buffers of modules of one architecture.

    Attributes
    ----------
    trained : dict of str to Tensor of shape (n_models, ...)
        Parameters that the optimizer changes.
    memory : dict of str to Tensor of shape (n_models, ...)
        Padded rows; the trained parameters are views of their beginning.
    fixed : dict of str to Tensor of shape (n_models, ...)
        Frozen parameters, and buffers, which the forward pass may change.
    """

    # Loops over an array process whole registers; the remaining numbers are computed in another
    # way, which may round differently. Here, the part of each model fills whole registers, so its
    # numbers do not depend on the models that it is trained with.

    def __init__(self, modules):
        named = [{**dict(m.named_parameters()), **dict(m.named_buffers())} for m in modules]
        self.trained, self.memory, self.fixed, self._parts = {}, {}, {}, {}
        for name, first in named[0].items():
            stacked = torch.stack([state[name].detach() for state in named])
            if first.requires_grad:
                self.add(name, stacked)
            else:
                self.fixed[name] = stacked

    def add(self, name, values):
        """Add a parameter that is trained."""
        self.memory[name], self.trained[name] = in_whole_registers(values)

    def pop(self, name):
        """Remove a parameter and return it."""
        del self.memory[name]
        return self.trained.pop(name)

    def part(self, models):
        """Return the trained parameters of a slice of the models."""
        key = models.start, models.stop
        if key not in self._parts:
            self._parts[key] = {name: tensor[models] for name, tensor in self.trained.items()}
        return self._parts[key]

    @property
    def dtype(self):
        """Type of the trained parameters."""
        return next(iter(self.trained.values())).dtype


def in_whole_registers(values):
    """Pad the values of several models so that the part of each model fills whole registers.

    Take values of shape (n_models, ...); return memory of shape (n_models, n); values of shape
    (n_models, ...).
    """
    shape = values.shape
    rows = values.contiguous().view(shape[0], -1)
    n = rows.shape[1]
    if n % _LANES:
        memory = rows.new_zeros(len(rows), -(-n // _LANES) * _LANES)
        memory[:, :n] = rows
        rows = memory
    return rows, rows[:, :n].view(shape)


def rows_in_whole_registers(n_rows, width):
    """Return the smallest number of rows, at least ``n_rows``, that fill whole registers."""
    while n_rows * width % _LANES:
        n_rows += 1
    return n_rows


def load_into(modules, stacked):
    """Copy to each module its row of the stacked parameters and buffers."""
    for k, module in enumerate(modules):
        named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        with torch.no_grad():
            for name, tensor in stacked.items():
                named[name].copy_(tensor[k])
