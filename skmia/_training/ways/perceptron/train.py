"""Joint training of perceptrons, each with its own order of records and its own end."""

import json
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...._core.sklearn import continue_shuffles, give_optimizer, has_stalled, note_loss
from .optimizers import make_optimizer
from .stack import Stack, sum_losses


def batch_size_of(model, n_rows):
    """Return the number of records in a full batch."""
    return min(200 if model.batch_size == "auto" else int(model.batch_size), n_rows)


def plan_batches(n_rows, full):
    """Plan the batches of one epoch for models with different numbers of records.

    Parameters
    ----------
    n_rows : list of int
        Training records of each model, in ascending order.
    full : int
        Records of a full batch.

    Returns
    -------
    batches : list of (slice, slice)
        Models that have a batch of the same size, and the places of its records in their orders.
    """
    batches = []
    for start in range(0, n_rows[-1], full):
        sizes = np.clip(np.subtract(n_rows, start), 0, full)
        for size in np.unique(sizes[sizes > 0]).tolist():
            first, stop = np.searchsorted(sizes, [size, size + 1]).tolist()
            batches.append((slice(first, stop), slice(start, start + size)))
    return batches


class Training:
    """Training of networks until each has ended.

    Parameters
    ----------
    networks : list of Network
        Networks of one kind. Their models are fitted in place, and their records are released.
    """

    def __init__(self, networks):
        # Sorted, so that models with a batch of the same size are a slice of the stack.
        self._networks = sorted(networks, key=lambda network: len(network.X))
        self._live = list(self._networks)
        self._settings = model = networks[0].model
        n_rows = len(self._live[-1].X)
        self._full = batch_size_of(model, n_rows)
        self._stack = Stack(self._live, self._full)
        self._optimizer = make_optimizer(model, self._stack.parameters)
        shape = len(networks), n_rows, networks[0].widths[-1]
        self._y, self._answers = (np.zeros(shape, networks[0].X.dtype) for _ in range(2))
        for network in self._live:
            network.order, network.model.t_ = np.arange(len(network.X)), 0
        self._batches = self._plan()

    def _plan(self):
        return plan_batches([len(network.X) for network in self._live], self._full)

    @property
    def n_models(self):
        """Number of models."""
        return len(self._networks)

    def run_to_end(self, after_epoch=lambda: None, show=None):
        """Run all epochs.

        Parameters
        ----------
        after_epoch : callable
            Function without arguments that is called after each epoch.
        show : callable, default=None
            Function that shows the progress, see :meth:`Progress.part`.
        """
        with np.errstate(all="ignore"):  # models that diverge are detected when training has ended
            while self._live:
                self._run_epoch()
                ended = np.array([self._ends(network) for network in self._live])
                if ended.any():
                    self._take_out(ended)
                after_epoch()
                if show is not None and self._live:
                    model = self._live[0].model
                    show(model.n_iter_ / model.max_iter, "epoch", model.n_iter_, model.max_iter)

    def export_state(self):
        """Return the state of the training as arrays by name."""
        rows = {id(network): row for row, network in enumerate(self._live)}
        live = [self._stack.parameters, *self._optimizer.arrays()]
        parts = [
            network.ending or [part[rows[id(network)]] for part in live]
            for network in self._networks
        ]
        arrays = {
            f"array {i}": np.stack(arrays_of_part)
            for i, arrays_of_part in enumerate(zip(*parts, strict=True))
        }
        orders = [net.order for net in self._networks if net.ending is None]
        arrays["orders"] = np.concatenate([*orders, []]).astype(np.int64)
        arrays["facts"] = np.array(json.dumps([network.facts() for network in self._networks]))
        return arrays

    def import_state(self, arrays):
        """Continue from the state of a training of the same networks."""
        for i, own in enumerate([self._stack.parameters, *self._optimizer.arrays()]):
            own[...] = arrays[f"array {i}"]
        facts, start = json.loads(str(arrays["facts"])), 0
        for network, own in zip(self._networks, facts, strict=True):
            network.set_facts(own)
            if not own["ended"]:
                stop = start + len(network.order)
                network.order, start = arrays["orders"][start:stop], stop
        ended = np.array([fact["ended"] for fact in facts])
        if ended.any():
            self._take_out(ended)

    def _run_epoch(self):
        for row, network in enumerate(self._live):
            if self._settings.shuffle:
                drawn = np.arange(len(network.order))
                continue_shuffles(network.model, drawn)
                network.order = network.order[drawn]
            np.take(network.y, network.order, axis=0, out=self._y[row, : len(network.y)])
        n_rows = [len(network.X) for network in self._live]
        penalty = np.zeros(len(n_rows))
        for rows, records in self._batches:
            self._step(rows, records, penalty)
        for row, network in enumerate(self._live):
            n = n_rows[row]
            activation = network.model.out_activation_
            loss = sum_losses(activation, self._answers[row, :n], self._y[row, :n])
            self._record(network.model, float(loss + penalty[row]) / n, n)

    def _step(self, rows, records, penalty):
        size = records.stop - records.start
        for network, room in zip(self._live[rows], self._stack.batch[rows], strict=True):
            # Indices are always valid; mode="clip" lets numpy write to `out` without a buffer.
            np.take(network.X, network.order[records], axis=0, out=room[:size], mode="clip")
        penalty[rows] += self._stack.penalty(rows)
        self._answers[rows, records] = self._stack.forward(rows, size)
        gradient = self._stack.backward(rows, size, self._y[rows, records])
        self._optimizer.step(rows, self._stack.parameters[rows], gradient)

    def _record(self, model, loss, n_rows):
        model.n_iter_ += 1
        model.t_ += int(n_rows)
        note_loss(model, loss)

    def _ends(self, network):
        model = network.model
        if has_stalled(model):
            return True
        network.reached_limit = model.n_iter_ == model.max_iter
        return network.reached_limit

    def _take_out(self, ended):
        for row in np.flatnonzero(ended):
            network = self._live[row]
            model, split = network.model, self._stack.split_row
            parts = [self._stack.parameters, *self._optimizer.arrays()]
            network.ending = [part[row].copy() for part in parts]
            weights = split(self._stack.parameters[row])
            model.coefs_ = weights[: model.n_layers_ - 1]
            model.intercepts_ = weights[model.n_layers_ - 1 :]
            give_optimizer(model, self._optimizer.export(row, split))
            network.X = network.y = network.order = None
        self._live = [net for net, out in zip(self._live, ended, strict=True) if not out]
        if self._live:
            self._stack.keep(~ended)
            self._optimizer.keep(~ended)
            self._batches = self._plan()
            self._y, self._answers = self._y[~ended], self._answers[~ended]


def warn_of_end(network):
    """Give the warnings that scikit-learn would give in its loop over the epochs."""
    model, n_rows = network.model, network.model.t_ // network.model.n_iter_
    if model.batch_size != "auto" and model.batch_size > n_rows:
        warnings.warn(
            "Got `batch_size` less than 1 or larger than sample size. It is going to be clipped",
            stacklevel=2,
        )
    if network.reached_limit:
        warnings.warn(
            f"Stochastic Optimizer: Maximum iterations ({model.max_iter}) reached and the "
            "optimization hasn't converged yet.",
            ConvergenceWarning,
            stacklevel=2,
        )
