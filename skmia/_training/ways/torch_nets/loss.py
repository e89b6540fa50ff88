"""Losses of many models, computed by their nets from the outputs of their modules."""

from functools import partial

import torch
from skorch import NeuralNetBinaryClassifier
from torch import nn
from torch.func import vmap

from .plan import overridden

_BY_LABEL = (nn.CrossEntropyLoss, nn.NLLLoss)
_BY_ELEMENT = (
    nn.BCELoss,
    nn.BCEWithLogitsLoss,
    nn.HuberLoss,
    nn.L1Loss,
    nn.MSELoss,
    nn.SmoothL1Loss,
)


def loss_of(net, out, y, x=None):
    """Return the loss of a batch of one model; a ``get_loss`` of the user may read ``x``."""
    if isinstance(net, NeuralNetBinaryClassifier):
        out = out.reshape(-1)  # as in its infer method
    return net.get_loss(out, y, X=x, training=True)


class TotalLoss:
    """Sum of the losses of many models on batches of the same size.

    Parameters
    ----------
    net : NeuralNet
        Any of the models.
    labels : Tensor
        All targets.
    """

    def __init__(self, net, labels):
        self.net = net
        criterion = net.criterion_
        plain = getattr(criterion, "reduction", None) == "mean" and not list(criterion.buffers())
        plain = plain and "get_loss" not in overridden(net)
        numbers = labels.dtype == torch.int64 and labels.ndim == 1 and int(labels.min()) >= 0
        by_label = type(criterion) in _BY_LABEL and numbers
        self.by_label = plain and by_label and criterion.ignore_index < 0
        self.by_element = plain and type(criterion) in _BY_ELEMENT

    def __call__(self, out, y, x=None):
        if not self._is_mean_of_records(out, y):
            return self.each(out, y, x).sum()
        # One mean over the records of all models is faster than a loss for each model.
        return len(out) * loss_of(self.net, out.flatten(0, 1), y.flatten(0, 1))

    def each(self, out, y, x=None):
        """Return the loss of each model."""
        places = 0, 0, None if x is None else 0
        return vmap(partial(loss_of, self.net), places)(out, y, x)

    def _is_mean_of_records(self, out, y):
        if self.by_label:
            return out.ndim == 3
        # With other shapes, the loss would broadcast one record against another.
        own = isinstance(self.net, NeuralNetBinaryClassifier) and out.numel() == y.numel()
        return self.by_element and (out.shape == y.shape or own)
