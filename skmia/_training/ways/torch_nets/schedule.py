"""Learning rates and other settings of optimizers that schedules change during the training."""

from types import SimpleNamespace

import torch

from ...._core.randomness import preserved_randomness
from .callbacks import begin, quietly, schedulers_of


class Schedules:
    """Settings of the optimizers of many models of one kind.

    The schedulers are torch's and skorch's. They act on an optimizer without weights. Models
    with equally many batches in an epoch share one, because their settings are equal at all times.

    Parameters
    ----------
    net : NeuralNet
        Any of the models, initialized.
    n_batches : list of int
        Number of batches in an epoch of each model.
    """

    def __init__(self, net, n_batches):
        if not schedulers_of(net):
            n_batches = [0] * len(n_batches)  # all models have the same settings
        self._followers = {n: _Follower(net) for n in set(n_batches)}
        self._of = [self._followers[n] for n in n_batches]

    def __getitem__(self, k):
        """Return the settings of each parameter group of model ``k``."""
        return self._of[k].groups

    def end_batch(self, i):
        """Let the schedulers of all models that have a batch ``i`` act after it."""
        for n_batches, follower in self._followers.items():
            if i < n_batches:
                follower.end_batch()

    def end_epoch(self):
        """Let the schedulers of all models act after an epoch."""
        for follower in self._followers.values():
            follower.end_epoch()

    def skip(self, n_epochs):
        """Go on to the end of some epochs that were trained before."""
        for _ in range(n_epochs):
            for i in range(max(self._followers, default=0)):
                self.end_batch(i)
            self.end_epoch()


class _Follower:
    """The schedulers of one model, on an optimizer without weights."""

    def __init__(self, net):
        self._schedulers = schedulers_of(net)
        self._by_batch = any(one.step_every == "batch" for one in self._schedulers)
        self.groups = net.optimizer_.param_groups
        if not self._schedulers:
            return
        optimizer = _without_weights(net.optimizer_)
        self._net = SimpleNamespace(optimizer_=optimizer, history=[])
        with preserved_randomness():
            begin(self._schedulers, self._net)
        optimizer.step()  # a scheduler warns if it is called before its optimizer
        self.groups = optimizer.param_groups

    def end_batch(self):
        if self._by_batch:
            with quietly():
                for one in self._schedulers:
                    one.on_batch_end(self._net, training=True)

    def end_epoch(self):
        if self._schedulers:
            with quietly():
                for one in self._schedulers:
                    one.on_epoch_end(self._net)


def _without_weights(optimizer):
    """Return an optimizer with the same settings, and one number in each parameter group."""
    groups = [
        {**group, "params": [torch.zeros(1, requires_grad=True)]}
        for group in optimizer.param_groups
    ]
    return type(optimizer)(groups, lr=optimizer.defaults["lr"])
