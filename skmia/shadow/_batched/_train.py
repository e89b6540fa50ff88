"""The training loop of many models."""

import torch

from ._dropout import draw_masks
from ._generic import GenericEngine
from ._mlp import MLPEngine, find_chain
from ._optimizers import StackedOptimizer
from ._order import plan_batches
from ._prepare import Table


def make_engine(nets, table, generic=False):
    """The fastest way to compute the gradients of some nets."""
    chain = None if generic else find_chain(nets[0].module_.train())
    if chain is not None and table.X.ndim > 2 and not chain.flatten:
        chain = None  # its layers are applied to each step of a sequence
    return GenericEngine(nets, table.y) if chain is None else MLPEngine(nets, chain, table.y)


def join_tables(prepared, table):
    """One table of all models' rows, and the rows of each model in it."""
    if table is not None:
        return table, [one.rows for one in prepared]
    offsets = torch.tensor([0] + [len(one.table.y) for one in prepared]).cumsum(0)
    joined = Table(*(torch.cat(parts) for parts in zip(*(one.table for one in prepared))))
    return joined, [one.rows + offset for one, offset in zip(prepared, offsets)]


def as_precise(batch, dtype):
    """A batch of real numbers in another type; integers, and all where there is none, as it is."""
    return batch.to(dtype) if dtype is not None and batch.is_floating_point() else batch


class Training:
    """Training of prepared models, which must have one signature.

    Parameters
    ----------
    prepared : list of Prepared
        The models; weights are written into their modules at the end.
    table : Table or None
        Rows that all models share.
    generic : bool, default=False
        Whether the path for any module is taken for plain perceptrons too.
    dtype : torch dtype or None, default=None
        Type to which batches of real numbers are converted.
    """

    def __init__(self, prepared, table, generic=False, dtype=None):
        self.dtype = dtype
        self.prepared = sorted(prepared, key=lambda one: len(one.rows))
        self.table, self.rows = join_tables(self.prepared, table)
        nets = [one.net for one in self.prepared]
        self.net, self.nets = nets[0], nets
        self.engine = make_engine(nets, self.table, generic)
        stack = self.engine.stack
        self.optimizer = StackedOptimizer(self.net.optimizer_, list(stack.trained.values()))
        settings = self.net.get_params_for("iterator_train")
        self.batches = plan_batches(
            [len(rows) for rows in self.rows],
            settings.get("batch_size", self.net.batch_size),
            settings.get("drop_last", False),
        )

    def run(self, n_epochs, n_batches=None):
        """Train, by the first ``n_batches`` of each epoch only where that is given."""
        for _ in range(n_epochs):
            order = self._begin_epoch()
            for groups in self.batches[:n_batches]:
                for models, records in groups:
                    self._step(models, order[models, records])
            for one in self.prepared:
                one.order.end_epoch()
        for k, net in enumerate(self.nets):
            self.engine.stack.load_into(k, net.module_)

    def _begin_epoch(self):
        """Rows of the table in the order of the epoch, shape (n_models, n_widest)."""
        order = torch.zeros(len(self.rows), max(map(len, self.rows)), dtype=torch.int64)
        for k, (one, rows) in enumerate(zip(self.prepared, self.rows)):
            positions = one.order.begin_epoch()
            order[k, : len(rows)] = rows if positions is None else rows[positions]
        return order.to(self.table.X.device)

    def _step(self, models, rows):
        x, y = (self._take(part, rows) for part in self.table)
        sites = self.engine.sites(x[0])
        masks = []
        if sites:
            generators = [one.order.generator for one in self.prepared[models]]
            masks = draw_masks(sites, generators, self.engine.stack.dtype)
        self.optimizer.step(models, self.engine.gradients(models, x, y, masks))

    def _take(self, part, rows):
        batch = part.index_select(0, rows.reshape(-1)).view(*rows.shape, *part.shape[1:])
        return as_precise(batch, self.dtype)
