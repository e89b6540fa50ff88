"""Tables with many columns and few ones: stored, and multiplied, without the zeros."""

from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from .stack import rows_in_whole_registers

# Fewer zeros than this for each one, and products with all of them are as fast; measured.
_LEAST_ZEROS = 5
_FEWEST_COLUMNS = 16


class Columns(NamedTuple):
    """Which columns of a table are stored in which way."""

    binary: tuple  # of 0 and 1
    rest: tuple

    @property
    def width(self):
        """Number of all columns."""
        return len(self.binary) + len(self.rest)


class OneHotRows(NamedTuple):
    """Rows of a table whose binary columns are kept as the positions of their ones.

    Attributes
    ----------
    rest : Tensor of shape (..., n_rest + 1)
        The other columns, then a one, by which a bias is a weight like others.
    ones : Tensor of shape (..., most_ones), dtype int32
        Places among the binary columns; their number fills up a row that has fewer.
    """

    rest: torch.Tensor
    ones: torch.Tensor

    def to_dense(self, columns):
        """The rows as they were."""
        X = self.rest.new_zeros(*self.rest.shape[:-1], len(columns.binary) + 1)
        X.scatter_(-1, self.ones.long(), 1.0)
        X = torch.cat([X[..., :-1], self.rest[..., :-1]], dim=-1)
        order = torch.empty(columns.width, dtype=torch.int64)
        order[torch.tensor((*columns.binary, *columns.rest))] = torch.arange(columns.width)
        return X[..., order]


def without_zeros(X):
    """Rows without the zeros of their binary columns, and the columns; None where few are zeros.

    Parameters
    ----------
    X : Tensor of shape (n, d)

    Returns
    -------
    rows : OneHotRows
    columns : Columns
    """
    if X.ndim != 2 or X.shape[1] < _FEWEST_COLUMNS or not X.is_floating_point():
        return None
    if X.device.type != "cpu":  # where products with zeros cost less than leaving them out
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
    # `row` ascends, so positions minus the position of the row's first entry count its ones from
    # 0.
    ones[row, torch.arange(len(row)) - first] = column.int()
    others = torch.cat([X[:, rest], X.new_ones(len(X), 1)], dim=1)
    return OneHotRows(others, ones), Columns(tuple(binary.tolist()), tuple(rest.tolist()))


def join_rows(tables, columns):
    """The rows of several tables under each other."""
    most = max(table.ones.shape[1] for table in tables)
    missing = [most - table.ones.shape[1] for table in tables]
    ones = [
        F.pad(table.ones, (0, n), value=len(columns.binary)) for table, n in zip(tables, missing)
    ]
    return OneHotRows(torch.cat([table.rest for table in tables]), torch.cat(ones))


class SummedLayer:
    """The first Linear of many perceptrons, on rows without zeros.

    Parameters
    ----------
    weight, bias : str
        Names of its parameters; bias may be None.
    stack : Stack
        All models' parameters; the layer's are replaced by ``names``, laid out as they are read.
    columns : Columns
        Columns of the rows.
    """

    names = ("(ones)", "(rest)")

    def __init__(self, weight, bias, stack, columns):
        self.weight, self.bias, self.columns, self._holders = weight, bias, columns, {}
        W = stack.pop(weight)
        b = torch.zeros_like(W[:, :, 0]) if bias is None else stack.pop(bias)
        W, n_binary = W.transpose(1, 2), len(columns.binary)
        # The last row, of zeros, is what fills up; it is there at least once.
        table = W.new_zeros(len(W), rows_in_whole_registers(n_binary + 1, W.shape[2]), W.shape[2])
        table[:, :n_binary] = W[:, list(columns.binary)]
        stack.add("(ones)", table)
        stack.add("(rest)", torch.cat([W[:, list(columns.rest)], b.unsqueeze(1)], dim=1))

    def restore(self, trained):
        """All parameters, with the layer's parameters as the module has them."""
        table, rest = (trained[name] for name in self.names)
        W = table.new_empty(len(table), self.columns.width, table.shape[2])
        W[:, list(self.columns.binary)] = table[:, : len(self.columns.binary)]
        W[:, list(self.columns.rest)] = rest[:, :-1]
        own = {self.weight: W.transpose(1, 2)}
        if self.bias is not None:
            own[self.bias] = rest[:, -1]
        return own | {name: tensor for name, tensor in trained.items() if name not in self.names}

    def forward(self, trained, rows):
        """Output of the layer, features first, but with the records of a unit apart in memory."""
        table, rest = (trained[name] for name in self.names)
        n_models, n_entries, n_units = table.shape
        # A product of zeros and ones with the weights is a sum of rows of the weights. The tables
        # of all models lie under each other, and each model's places are moved to its own table.
        first = torch.arange(n_models, dtype=torch.int32) * n_entries
        self._entries = (rows.ones + first.view(-1, 1, 1)).flatten(0, 1)
        sums = F.embedding_bag(self._entries, table.flatten(0, 1), mode="sum")
        z = sums.view(n_models, -1, n_units).baddbmm_(rows.rest, rest)
        return z.transpose(1, 2)

    def gradients(self, d, trained, rows):
        """Gradients by name, given the gradient ``d`` of the output of the last ``forward``."""
        d = d.transpose(1, 2).contiguous()
        shape = trained["(ones)"].shape
        rest = torch.bmm(rows.rest.transpose(1, 2), d)
        if self.bias is None:
            rest[:, -1] = 0  # a bias that starts at 0 and never moves
        records, starts = self._where(shape[0] * shape[1])
        ones = F.embedding_bag(records, d.flatten(0, 1), starts, mode="sum").view(shape)
        # The rows that fill up must stay 0, or records with few ones would get something added.
        ones[:, len(self.columns.binary) :] = 0
        return {"(ones)": ones, "(rest)": rest}

    def _where(self, n_entries):
        """For each entry of the table the records that hold it, in a row, and their starts."""
        # The gradient of a row of the table is the sum of d over the records that hold it. From
        # entries by record to records by entry is the transpose of a sparse matrix, rows to
        # columns, which keeps records in order: sums have the same order each time. Its shape is
        # kept; only the positions change from batch to batch.
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
