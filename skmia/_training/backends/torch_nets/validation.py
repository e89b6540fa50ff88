"""Losses of many nets on their validation sets."""

import copy
import logging
from collections.abc import Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice

import numpy as np
import torch
from torch.func import functional_call, vmap

from ...._core.budget import is_of_memory
from ...groups import describe_training_error
from .batches import select
from .keyed_draws import draws_the_same
from .prepare import plan_batches
from .stack import load_into

_logger = logging.getLogger("skmia")

# Number of rows for which losses are averaged at once, to limit the memory of activations.
_ROWS = 8192


def make_valid_losses(engine, nets, valid, table):
    """Return what computes the validation losses of some nets on rows of a table."""
    kind = ValidLosses
    if engine.at_once and not draws_the_same(table.y.device):
        kind = StackedValidLosses
    return kind(engine, nets, valid, table)


class ValidLosses:
    """Computes the validation losses of nets after an epoch, one net after the other."""

    def __init__(self, engine, nets, valid, table):
        self._nets, self._valid, self._table = nets, valid, table
        self._total_loss = engine.total_loss
        self._n_rows = self._count_rows(_ROWS)

    def _count_rows(self, most):
        """Return the number of rows of a batch; ``most`` if batches have no effect."""
        net = self._nets[0]
        n_rows = net.get_params_for("iterator_valid").get("batch_size", net.batch_size)
        if self._total_loss.is_mean:
            return most
        return max(map(len, self._valid)) if n_rows == -1 else n_rows

    def compute(self, stacked, chosen):
        """Return the loss of each chosen model, and NaN for the others.

        Shapes: stacked (n_models, ...).
        """
        load_into([net.module_ for net in self._nets], stacked)
        parts = [rows.split(self._n_rows) for rows in self._valid]
        with _evaluating(self._nets[0].criterion_):  # which all nets are trained with
            of_nets = [
                [self._measure(net, part) for part in of_net] if is_chosen else []
                for net, of_net, is_chosen in zip(self._nets, parts, chosen, strict=True)
            ]
        # A device is waited for once, not for each loss.
        losses = iter(torch.stack([one for own in of_nets for one in own]).tolist())
        return [
            np.average(list(islice(losses, len(own))), weights=list(map(len, of_net)))
            if own
            else np.nan
            for own, of_net in zip(of_nets, parts, strict=True)
        ]

    def _measure(self, net, rows):
        batch = self._table.take_dense(rows), select(self._table.y, rows)
        return net.validation_step(batch)["loss"].detach()


class StackedValidLosses(ValidLosses):
    """Computes the validation losses of many nets at once.

    If torch cannot vectorize the module as it is for predictions, the nets follow one another.
    """

    def __init__(self, engine, nets, valid, table):
        super().__init__(engine, nets, valid, table)
        self._sizes = [len(rows) for rows in valid]
        widest = self._count_rows(max(nets[0].batch_size, _ROWS // len(nets), 1))
        # The parts of equal size of consecutive nets, as in an epoch of the training.
        self._batches = plan_batches(self._sizes, widest, False)
        self._rows = torch.zeros(len(valid), max(self._sizes), dtype=torch.int64)
        for k, rows in enumerate(valid):
            self._rows[k, : len(rows)] = rows
        self._rows = self._rows.to(table.home)
        self._module, self._is_stacked = None, True

    def compute(self, stacked, chosen):
        if self._is_stacked:
            try:
                losses = self._compute_at_once(stacked, chosen)
                return [loss if ok else np.nan for loss, ok in zip(losses, chosen, strict=True)]
            except Exception as error:
                if is_of_memory(error):
                    raise
                reason = describe_training_error(error)
                _logger.debug("nets are validated one after the other: %s", reason)
                self._is_stacked = False
        return super().compute(stacked, chosen)

    @torch.no_grad()
    def _compute_at_once(self, stacked, chosen):
        totals = torch.zeros(len(self._sizes), dtype=torch.float64, device=self._table.y.device)
        with _evaluating(self._nets[0].criterion_):
            for models, records in (group for groups in self._batches for group in groups):
                if any(chosen[models]):
                    rows = self._rows[models, records]
                    totals[models] += rows.shape[1] * self._measure_all(stacked, models, rows)
        return [total / n for total, n in zip(totals.tolist(), self._sizes, strict=True)]

    def _measure_all(self, stacked, models, rows):
        x, y = self._table.take_dense(rows), select(self._table.y, rows)
        if self._module is None:
            self._module = copy.deepcopy(self._nets[0].module_).eval()
        weights = {name: tensor[models] for name, tensor in stacked.items()}
        out = vmap(partial(_ask_module, self._module), randomness="error")(weights, x)
        return self._total_loss.each(out, y, x, training=False)


def _ask_module(module, weights, x):
    positional, named = ((), x) if isinstance(x, Mapping) else ((x,), None)
    return functional_call(module, weights, positional, named)


@contextmanager
def _evaluating(criterion):
    """Let a criterion compute as for a validation set."""
    is_training = criterion.training
    criterion.eval()
    try:
        yield
    finally:
        criterion.train(is_training)
