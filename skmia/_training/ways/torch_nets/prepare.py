"""Preparation of a net up to its first batch, with the same steps as in ordinary training."""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from sklearn.base import clone

from ...._core.containers import accepting_read_only, is_tensor, take_rows
from ...._core.randomness import isolated_randomness, seed_estimator
from .callbacks import schedulers_of, stoppers_of
from .memory import fits
from .onehot import without_zeros
from .order import BatchOrder
from .plan import find_net, why_not_rows
from .rows import change, list_parts
from .streams import Stream
from .table import Table

# Largest number of rows of a batch of all rows.
_ROWS = 8192


class CannotBatchError(Exception):
    """Raised for a model that cannot be trained with others; its text is the reason."""


class Prepared(NamedTuple):
    """A shadow model before its training."""

    model: object  # the net, or the Pipeline with its other steps fitted
    net: object  # initialized net
    table: Table | None  # its own rows, after the other steps; None if all models share one table
    rows: torch.Tensor  # rows of the table that it is trained on
    order: BatchOrder
    dtype: torch.dtype | dict  # of the rows that are passed to the net
    warnings: list
    valid: torch.Tensor | None  # rows of the table in the validation set, if they are known
    stream: Stream

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


def make_table(net, X, y):
    """Convert rows to the types that a DataLoader of the net would give, without needless zeros.

    Raises
    ------
    CannotBatchError
        If the DataLoader does not return one tensor of X and one of y.
    """
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
    return Table(X, y) if stored is None else Table(stored[0], y, stored[1])


def _at_home(X, device):
    """Return rows on a device; if they are too large for it, on the host as they are."""
    n_bytes = sum(part.numel() * part.element_size() for part in list_parts(X))
    return change(lambda part: part.to(device), X) if fits(n_bytes, device) else X


def fit_transformers(model, X, y):
    """Fit all steps of a Pipeline except the net; return the net and its input."""
    net = find_net(model)
    if net is model:
        return net, X
    return net, (model[:-1].fit_transform(X, y) if len(model.steps) > 1 else X)


def _split(net, X, y):
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


def prepare(job, k, shared):
    """Prepare one model for its first batch.

    Parameters
    ----------
    job : Job
        Job that the models belong to.
    k : int
        Number of the model.
    shared : Table or None
        Rows that all models share, if there are any.

    Returns
    -------
    prepared : Prepared

    Raises
    ------
    CannotBatchError
        If the model cannot be trained with others.
    """
    model = clone(job.estimator)
    seed_estimator(model, job.seeds[k])
    members = np.flatnonzero(job.subsets[k])
    with isolated_randomness(job.seeds[k]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        y = job.data.y[members]
        net, X = fit_transformers(model, take_rows(job.data.tables[0], members), y)
        net.initialize()
        net.check_data(X, y)
        positions, validated, has_valid = _split(net, X, y)
        stream = Stream(torch.device(net.device))
        table = make_table(net, X, y) if shared is None else None
    places = torch.arange(len(members)) if shared is None else torch.as_tensor(members)
    rows, valid = places[positions], None if validated is None else places[validated]
    shuffle = bool(net.get_params_for("iterator_train").get("shuffle"))
    order = BatchOrder(stream.cpu, len(rows), shuffle, has_valid)
    caught = [(warning.category, str(warning.message)) for warning in caught]
    dtype = _types_of(shared or table)
    return Prepared(model, net, table, rows, order, dtype, caught, valid, stream)


def _types_of(table):
    """Return the type of the rows of a table, or their types by name."""
    if table.columns is not None:
        return table.tensors[0].dtype
    return change(lambda part: part.dtype, table.X)


def augmentation_of(net):
    """Return the Augmentation of the training batches of a net, or None."""
    return net.get_params_for("iterator_train").get("collate_fn")


def count_rows(prepared):
    """Return the number of rows of a batch, which may be set to more than all rows."""
    net = prepared.net
    size = net.get_params_for("iterator_train").get("batch_size", net.batch_size)
    return max(1, min(size if size > 0 else _ROWS, len(prepared.rows)))


def count_steps(job, prepared):
    """Return the number of steps of single nets in a job, given one of them."""
    n_batches = -(-len(prepared.rows) // count_rows(prepared))
    return job.n_models * int(prepared.net.max_epochs) * n_batches


def shared_table(job):
    """Return the table of all records; None if steps before the net are fitted on them."""
    net = find_net(job.estimator)
    if net is not job.estimator and len(job.estimator.steps) > 1:
        return None
    X = job.data.tables[0]
    net = clone(net)
    return make_table(net, X, job.data.y)
