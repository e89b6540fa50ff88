"""Rows of the models, and the batches that are gathered from them."""

from typing import NamedTuple

import torch

from .onehot import Columns, OneHotRows
from .rows import change, list_parts


def select(tensor, rows, device=None):
    """Return some rows of a tensor, on a device if one is given."""
    chosen = torch.index_select(tensor, 0, rows.reshape(-1).to(tensor.device))
    return chosen.view(*rows.shape, *tensor.shape[1:]).to(device or tensor.device)


class Rooms:
    """Gathers the rows of batches in memory that each batch of the same size overwrites.

    A new tensor for each batch takes as long as the copy of the rows.
    """

    def __init__(self):
        self._rooms = {}

    def select(self, tensor, rows, device=None):
        """Return some rows of a tensor like the function :func:`select`, until the next call."""
        key, device = (id(tensor), rows.numel()), device or tensor.device
        if key not in self._rooms:
            kind = _Room if tensor.device == device else _Ferry
            self._rooms[key] = kind(tensor, rows.numel(), device)
        chosen = self._rooms[key].gather(tensor, rows.reshape(-1).to(tensor.device))
        return chosen.view(*rows.shape, *tensor.shape[1:])


class _Room:
    """Memory for some rows on the device of the table."""

    def __init__(self, tensor, n_rows, device):
        self._rows = tensor.new_empty(n_rows, *tensor.shape[1:])

    def gather(self, tensor, rows):
        return torch.index_select(tensor, 0, rows, out=self._rows)


class _Ferry:
    """Memory for some rows on a device, and for two batches of them on their way to it.

    A batch is gathered in the memory of the host while the device still computes on the one before.
    """

    def __init__(self, tensor, n_rows, device):
        shape = n_rows, *tensor.shape[1:]
        # Only from memory that cannot be paged out does a copy to a GPU run beside other work.
        pinned = device.type == "cuda"
        self._here = [torch.empty(shape, dtype=tensor.dtype, pin_memory=pinned) for _ in range(2)]
        self._left = [None, None]
        self._there = torch.empty(shape, dtype=tensor.dtype, device=device)

    def gather(self, tensor, rows):
        room, left = self._here[0], self._left[0]
        if left is not None:
            left.synchronize()
        torch.index_select(tensor, 0, rows, out=room)
        self._there.copy_(room, non_blocking=True)
        self._here.reverse()
        self._left = [self._left[1], _mark(self._there.device)]
        return self._there


def _mark(device):
    """Return an event that ends with the work that a GPU was given so far; None elsewhere."""
    if device.type != "cuda":
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event


class Table(NamedTuple):
    """Rows in the types in which skorch passes them to a net.

    The targets are on the device of the net; so is X, unless it is too large.
    """

    X: torch.Tensor | OneHotRows | dict
    y: torch.Tensor
    columns: Columns | None = None  # of OneHotRows

    @property
    def tensors(self):
        """All stored tensors."""
        return [*(self.X if self.columns else list_parts(self.X)), self.y]

    @property
    def home(self):
        """Device that stores X."""
        return self.tensors[0].device

    def take(self, rows, select=select):
        """Return some rows of X in their stored form, on the device of the net."""
        device = self.y.device
        if self.columns is None:
            return change(lambda part: select(part, rows, device), self.X)
        return OneHotRows(*(select(part, rows, device) for part in self.X))

    def take_dense(self, rows, select=select):
        """Return some rows of X in the form for the module, on the device of the net."""
        X = self.take(rows, select)
        return X if self.columns is None else X.to_dense(self.columns)
