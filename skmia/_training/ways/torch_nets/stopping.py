"""Early stopping of models that are trained together, each after an epoch of its own."""

from types import SimpleNamespace

import torch
from skorch.history import History

from .callbacks import stoppers_of


class Stopping:
    """Follows the validation losses of many models.

    A model that has stopped stays in the stack, but the weights that it had are kept.

    Parameters
    ----------
    nets : list of NeuralNet
        Models with one EarlyStopping each.
    """

    def __init__(self, nets):
        self._stoppers = [_Stopper(net) for net in nets]
        self.losses, self.kept = [], {}

    @property
    def is_over(self):
        """Whether all models have stopped."""
        return all(self.are_over)

    @property
    def are_over(self):
        """Whether each model has stopped."""
        return [one.is_over for one in self._stoppers]

    def end_epoch(self, stacked, losses):
        """Take the losses after an epoch, and keep the weights of models that need them.

        Parameters
        ----------
        stacked : dict of str to Tensor of shape (n_models, ...)
            Parameters and buffers of all models.
        losses : list of float
            Validation losses of all models that have not stopped.
        """
        if not self.kept:
            self.kept = {name: tensor.clone() for name, tensor in stacked.items()}
        for k in self._record(losses):
            for name, tensor in stacked.items():
                self.kept[name][k] = tensor[k]

    def _record(self, losses):
        """Return the models whose present weights are to be kept."""
        self.losses.append(losses)
        live = [k for k, one in enumerate(self._stoppers) if not one.is_over]
        return [k for k in live if self._stoppers[k].keeps(losses[k])]

    def replay(self, losses):
        """Go on to the end of epochs that were trained before; their losses are known."""
        for of_epoch in losses:
            self._record(of_epoch)

    def restore(self, stacked):
        """Return the weights at the end of the training of each model."""
        rows = [k for k, one in enumerate(self._stoppers) if one.has_kept]
        stacked = {name: tensor.clone() for name, tensor in stacked.items()}
        for name, tensor in stacked.items() if rows else ():
            tensor[rows] = self.kept[name][rows]
        return stacked


class _Stopper:
    """The EarlyStopping of one model, which sees a history of losses and no weights."""

    def __init__(self, net):
        (self._callback,) = stoppers_of(net)
        self._net = SimpleNamespace(history=History(), verbose=0, module_=torch.nn.Identity())
        self._callback.on_train_begin(self._net)
        self.is_over = self.has_kept = False

    def keeps(self, loss):
        """Take the loss after an epoch; return whether the weights are to be kept."""
        history, callback = self._net.history, self._callback
        history.new_epoch()
        history.record("epoch", len(history))
        history.record(callback.monitor, loss)
        try:
            callback.on_epoch_end(self._net)
        except KeyboardInterrupt:  # by which skorch ends a training
            self.is_over = True
        best = callback.best_epoch_ if callback.load_best else 0
        is_kept = best == len(history) or (self.is_over and not best)
        self.has_kept |= is_kept
        return is_kept
