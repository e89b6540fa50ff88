"""Losses of many models on their validation sets, which stopping and schedules follow."""

import numpy as np

from .stack import load_into
from .table import select


class ValidLosses:
    """Computes the validation losses of nets after an epoch.

    Parameters
    ----------
    nets : list of NeuralNet
        Models.
    valid : list of Tensor
        Rows of the table in the validation set of each model.
    n_rows : int
        Number of rows of a batch, in which losses are averaged.
    """

    def __init__(self, nets, valid, n_rows):
        self._nets, self._valid, self._n_rows = nets, valid, n_rows

    def compute(self, stacked, table, chosen):
        """Return the loss of each chosen model, and NaN for the others.

        Parameters
        ----------
        stacked : dict of str to Tensor of shape (n_models, ...)
            Parameters and buffers of all models.
        table : Table
            Rows of all models.
        chosen : list of bool
            Models whose loss is needed.
        """
        load_into([net.module_ for net in self._nets], stacked)
        return [
            self._measure(net, rows, table) if is_chosen else np.nan
            for net, rows, is_chosen in zip(self._nets, self._valid, chosen, strict=True)
        ]

    def _measure(self, net, rows, table):
        losses, sizes = [], []
        for part in rows.split(self._n_rows):
            batch = table.take_dense(part), select(table.y, part)
            losses.append(net.validation_step(batch)["loss"].item())
            sizes.append(len(part))
        return np.average(losses, weights=sizes)
