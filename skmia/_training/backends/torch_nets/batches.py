"""Rows of the models, and the batches that are gathered from them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from .stack import rows_in_whole_registers


def change(function, rows, *others):
    """Apply a function to a tensor, or to each tensor by name, and to the same part of others."""
    if isinstance(rows, Mapping):
        return {name: function(part, *(own[name] for own in others)) for name, part in rows.items()}
    return function(rows, *others)


def list_row_tensors(rows):
    """Return the tensors of rows in a list."""
    return list(rows.values()) if isinstance(rows, Mapping) else [rows]


def take_model(rows, k):
    """Return the rows of one model from those of many."""
    return change(lambda part: part[k], rows)


def ask(module, rows):
    """Pass rows to a module, as skorch does."""
    return module(**rows) if isinstance(rows, Mapping) else module(rows)


def as_precise(batch, dtype):
    """Convert a batch of real numbers to another type, if one is given."""
    if dtype is None:
        return batch
    return change(lambda part: part.to(dtype) if part.is_floating_point() else part, batch)


# With fewer zeros than this for each one, dense products are as fast, according to measurements.
_LEAST_ZEROS = 5
_FEWEST_COLUMNS = 16


class ColumnPositions(NamedTuple):
    """Positions of the columns of a table that are stored in each way."""

    binary: tuple  # columns of zeros and ones
    rest: tuple  # all others

    @property
    def width(self):
        """Number of all columns."""
        return len(self.binary) + len(self.rest)


class OneHotRows(NamedTuple):
    """Rows of a table whose binary columns are stored as the positions of their ones.

    Attributes
    ----------
    rest : Tensor of shape (..., n_rest + 1)
        The other columns, and a column of ones, so that a bias is a weight like others.
    ones : Tensor of shape (..., most_ones), dtype int32
        Positions of the ones among the binary columns. Shorter rows are padded with the number of
        binary columns.
    """

    rest: torch.Tensor
    ones: torch.Tensor

    def to_dense(self, columns):
        """Return the dense rows."""
        X = self.rest.new_zeros(*self.rest.shape[:-1], len(columns.binary) + 1)
        X.scatter_(-1, self.ones.long(), 1.0)
        X = torch.cat([X[..., :-1], self.rest[..., :-1]], dim=-1)
        order = torch.empty(columns.width, dtype=torch.int64)
        order[torch.tensor((*columns.binary, *columns.rest))] = torch.arange(columns.width)
        return X[..., order]


def without_zeros(X):
    """Store rows without the zeros of their binary columns; None if too few are zeros.

    Shapes: X (n, d).
    """
    if X.ndim != 2 or X.shape[1] < _FEWEST_COLUMNS or not X.is_floating_point():
        return None
    is_binary = ((X == 0) | (X == 1)).all(0)
    (binary,), (rest,) = is_binary.nonzero(as_tuple=True), (~is_binary).nonzero(as_tuple=True)
    if len(binary) < _FEWEST_COLUMNS:
        return None
    row, column = X[:, binary].nonzero(as_tuple=True)
    counts = torch.bincount(row, minlength=len(X))
    most = max(1, int(counts.max()))
    if len(binary) < _LEAST_ZEROS * most:
        return None
    ones = torch.full((len(X), most), len(binary), dtype=torch.int32)
    first = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    # `row` is sorted, so a position minus the position of the first entry of its row is the place
    # of a one within the row.
    ones[row, torch.arange(len(row)) - first] = column.int()
    others = torch.cat([X[:, rest], X.new_ones(len(X), 1)], dim=1)
    return OneHotRows(others, ones), ColumnPositions(tuple(binary.tolist()), tuple(rest.tolist()))


def join_rows(tables, columns):
    """Concatenate the rows of several tables."""
    most = max(table.ones.shape[1] for table in tables)
    missing = [most - table.ones.shape[1] for table in tables]
    ones = [
        F.pad(table.ones, (0, n), value=len(columns.binary)) for table, n in zip(tables, missing)
    ]
    return OneHotRows(torch.cat([table.rest for table in tables]), torch.cat(ones))


class SummedLayer:
    """The first Linear of many perceptrons, on rows without zeros."""

    names = ("(ones)", "(rest)")

    def __init__(self, weight, bias, stack, columns):
        self.weight, self.bias, self.columns, self._holders = weight, bias, columns, {}
        W = stack.pop(weight)
        b = torch.zeros_like(W[:, :, 0]) if bias is None else stack.pop(bias)
        W, n_binary = W.transpose(1, 2), len(columns.binary)
        # Padded positions point to a row of zeros; there is at least one at the end.
        table = W.new_zeros(len(W), rows_in_whole_registers(n_binary + 1, W.shape[2]), W.shape[2])
        table[:, :n_binary] = W[:, list(columns.binary)]
        stack.add("(ones)", table)
        stack.add("(rest)", torch.cat([W[:, list(columns.rest)], b.unsqueeze(1)], dim=1))

    def restore(self, trained):
        """Return all parameters; the layer's have the form that the module uses."""
        table, rest = (trained[name] for name in self.names)
        W = table.new_empty(len(table), self.columns.width, table.shape[2])
        W[:, list(self.columns.binary)] = table[:, : len(self.columns.binary)]
        W[:, list(self.columns.rest)] = rest[:, :-1]
        own = {self.weight: W.transpose(1, 2)}
        if self.bias is not None:
            own[self.bias] = rest[:, -1]
        return own | {name: tensor for name, tensor in trained.items() if name not in self.names}

    def forward(self, trained, rows):
        """Return the output of the layer, features first, as a transposed view."""
        table, rest = (trained[name] for name in self.names)
        n_models, n_entries, n_units = table.shape
        # A product of zeros and ones with the weights is a sum of rows of the weights. The tables
        # of all models are concatenated, and the positions of each model are shifted to its table.
        first = torch.arange(n_models, dtype=torch.int32) * n_entries
        self._entries = (rows.ones + first.view(-1, 1, 1)).flatten(0, 1)
        sums = F.embedding_bag(self._entries, table.flatten(0, 1), mode="sum")
        z = sums.view(n_models, -1, n_units).baddbmm_(rows.rest, rest)
        return z.transpose(1, 2)

    def gradients(self, d, trained, rows):
        """Return gradients by name, given the gradient ``d`` of the last output."""
        d = d.transpose(1, 2).contiguous()
        shape = trained["(ones)"].shape
        rest = torch.bmm(rows.rest.transpose(1, 2), d)
        if self.bias is None:
            rest[:, -1] = 0  # without a bias, this weight stays at 0
        records, starts = self._where(shape[0] * shape[1])
        ones = F.embedding_bag(records, d.flatten(0, 1), starts, mode="sum").view(shape)
        # The padding rows must stay 0, because they are added to records with few ones.
        ones[:, len(self.columns.binary) :] = 0
        return {"(ones)": ones, "(rest)": rest}

    def _where(self, n_entries):
        """Return the records that hold each entry of the table, concatenated, and their starts.

        The gradient of a row of the table is the sum of d over the records that hold it. To get
        records by entry from entries by record, a sparse matrix is converted from rows to columns.
        This keeps the records in order, so sums are rounded in the same way each time. The matrix
        is reused; only its positions change from batch to batch.
        """
        n_rows, width = self._entries.shape
        if (n_rows, n_entries) not in self._holders:
            starts = np.arange(0, n_rows * width + 1, width, dtype=np.int32)
            parts = np.ones(n_rows * width, np.int8), np.zeros(n_rows * width, np.int32), starts
            holders = sparse.csr_array(parts, shape=(n_rows, n_entries))
            self._holders[n_rows, n_entries] = holders
        holders = self._holders[n_rows, n_entries]
        holders.indices = self._entries.numpy().ravel()
        holders = holders.tocsc()
        return torch.from_numpy(holders.indices), torch.from_numpy(holders.indptr[:-1])


def select(tensor, rows, device=None):
    """Return some rows of a tensor, on a device if one is given."""
    chosen = torch.index_select(tensor, 0, rows.reshape(-1).to(tensor.device))
    return chosen.view(*rows.shape, *tensor.shape[1:]).to(device or tensor.device)


class BatchBuffers:
    """Gathers the rows of batches in memory that each batch of the same size overwrites.

    A new tensor for each batch takes as long as the copy of the rows.
    """

    def __init__(self):
        self._rooms = {}

    def select(self, tensor, rows, device=None):
        """Return some rows of a tensor like the function :func:`select`, until the next call."""
        key, device = (id(tensor), rows.numel()), device or tensor.device
        if key not in self._rooms:
            kind = _DeviceBuffer if tensor.device == device else _DeviceFerry
            self._rooms[key] = kind(tensor, rows.numel(), device)
        chosen = self._rooms[key].gather(tensor, rows.reshape(-1).to(tensor.device))
        return chosen.view(*rows.shape, *tensor.shape[1:])


class _DeviceBuffer:
    """Memory for some rows on the device of the table."""

    def __init__(self, tensor, n_rows, device):
        self._rows = tensor.new_empty(n_rows, *tensor.shape[1:])

    def gather(self, tensor, rows):
        return torch.index_select(tensor, 0, rows, out=self._rows)


class _DeviceFerry:
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


class RowTable(NamedTuple):
    """Rows in the types in which skorch passes them to a net.

    The targets are on the device of the net; so is X, unless it is too large.
    """

    X: torch.Tensor | OneHotRows | dict
    y: torch.Tensor
    columns: ColumnPositions | None = None  # of OneHotRows

    @property
    def tensors(self):
        """All stored tensors."""
        return [*(self.X if self.columns else list_row_tensors(self.X)), self.y]

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
