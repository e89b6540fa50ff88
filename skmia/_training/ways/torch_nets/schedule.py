"""Learning rates and other settings of optimizers that schedules change during the training."""

from types import SimpleNamespace

import numpy as np
import torch
from skorch.history import History

from ...._core.randomness import preserved_randomness
from .callbacks import begin, list_monitored, quietly, schedulers_of

MONITORED = ("train_loss", "valid_loss")


class Schedules:
    """Settings of the optimizers of many models of one kind.

    The schedulers are those of torch and skorch. They act on an optimizer without weights. Models
    with equally many batches in an epoch share one, because their settings are equal at all times,
    unless a schedule follows the losses of each model.

    Parameters
    ----------
    net : NeuralNet
        Any of the models, initialized.
    n_batches : list of int
        Number of batches in an epoch of each model.

    Attributes
    ----------
    monitored : set of str
        Names of the losses that the schedules follow.
    losses : list of ndarray of shape (n_models, 2)
        Losses after each epoch, in the order of ``MONITORED``; NaN where they are not followed.
    numbers : list of int
        Numbers that are equal for models with equal settings.
    """

    def __init__(self, net, n_batches):
        if not schedulers_of(net):
            n_batches = [0] * len(n_batches)  # all models have the same settings
        first = _Follower(net)
        self.monitored, self.losses = first.monitored, []
        keys = [(n, k if self.monitored else 0) for k, n in enumerate(n_batches)]
        self._followers = {key: _Follower(net) for key in dict.fromkeys(keys)}
        self._of = [self._followers[key] for key in keys]
        places = {key: i for i, key in enumerate(self._followers)}
        self.numbers = [places[key] for key in keys]
        self._batches = []

    def __getitem__(self, k):
        """Return the settings of each parameter group of model ``k``."""
        return self._of[k].groups

    def note(self, models, losses, n_rows):
        """Note the losses of some models on a batch of a number of rows."""
        if "train_loss" in self.monitored:
            self._batches.append((models, losses, n_rows))

    def end_batch(self, i):
        """Let the schedulers of all models that have a batch ``i`` act after it."""
        for (n_batches, _), follower in self._followers.items():
            if i < n_batches:
                follower.end_batch()

    def end_epoch(self, valid_losses=None, is_whole=True):
        """Let the schedulers of all models act after an epoch, which may be only its beginning."""
        if not self.monitored or not is_whole:
            self._batches = []
            for follower in self._followers.values():
                follower.end_epoch()
            return
        losses = np.full((len(self._of), len(MONITORED)), np.nan)
        if self._batches:
            losses[:, 0] = self._average()
        if valid_losses is not None:
            losses[:, 1] = valid_losses
        self.replay([losses])

    def _average(self):
        totals, sizes = np.zeros(len(self._of)), np.zeros(len(self._of))
        for models, losses, n_rows in self._batches:
            totals[models] += n_rows * np.array(losses.tolist())
            sizes[models] += n_rows
        self._batches = []
        return totals / np.maximum(sizes, 1)

    def replay(self, losses):
        """Go on by epochs whose losses are known."""
        self.losses += losses
        for of_epoch in losses:
            for k, follower in enumerate(self._of):
                follower.end_epoch(dict(zip(MONITORED, of_epoch[k].tolist(), strict=True)))

    def skip(self, n_epochs, losses=()):
        """Go on to the end of some epochs that were trained before, with the losses of each."""
        for epoch in range(n_epochs):
            for i in range(max((n for n, _ in self._followers), default=0)):
                self.end_batch(i)
            if self.monitored:
                self.replay([losses[epoch]])
            else:
                self.end_epoch()


class _Follower:
    """The schedulers of one model, on an optimizer without weights."""

    def __init__(self, net):
        self._schedulers = schedulers_of(net)
        self._by_batch = any(one.step_every == "batch" for one in self._schedulers)
        self.groups, self.monitored = net.optimizer_.param_groups, set()
        if not self._schedulers:
            return
        optimizer = _without_weights(net.optimizer_)
        self._net = SimpleNamespace(optimizer_=optimizer, history=History())
        with preserved_randomness():
            begin(self._schedulers, self._net)
        optimizer.step()  # a scheduler warns if it is called before its optimizer
        self.groups = optimizer.param_groups
        self.monitored = list_monitored(self._schedulers)

    def end_batch(self):
        if self._by_batch:
            with quietly():
                for one in self._schedulers:
                    one.on_batch_end(self._net, training=True)

    def end_epoch(self, losses=None):
        if losses is not None:
            self._net.history.new_epoch()
            for name, loss in losses.items():
                self._net.history.record(name, loss)
        with quietly():
            for one in self._schedulers:
                if losses is not None or not list_monitored([one]):
                    one.on_epoch_end(self._net)


def _without_weights(optimizer):
    """Return an optimizer with the same settings, and one number in each parameter group."""
    groups = [
        {**group, "params": [torch.zeros(1, requires_grad=True)]}
        for group in optimizer.param_groups
    ]
    return type(optimizer)(groups, lr=optimizer.defaults["lr"])
