"""Losses that a skorch net computes by itself, whatever its criterion is."""

import copy

import numpy as np
import torch
from torch import nn
from torch.func import vmap

from ..._core.skorch_nets import why_not_probabilities
from ..._core.torch_parts import uncompiled
from ._heads import LogLossHead, ProbabilityHead, SquaredErrorHead

# Criteria whose loss is computed here, without rounding, if they have no other settings.
_PLAIN = (nn.CrossEntropyLoss, nn.NLLLoss, nn.BCEWithLogitsLoss, nn.BCELoss, nn.MSELoss)
_OF_LOGITS = (nn.CrossEntropyLoss, nn.BCEWithLogitsLoss)
_WEIGHTS = ("weight", "pos_weight")


def make_head(net, classes, tail):
    """Return the head of a skorch net.

    Parameters
    ----------
    net : fitted NeuralNet
    classes : ndarray of shape (n_classes,) or None
        None for a regressor.
    tail : tuple of int
        Shape of what the module gives for a record.

    Returns
    -------
    head : object
    """
    criterion = uncompiled(net.criterion_)
    is_plain = type(criterion) in _PLAIN and not _has_own_loss(net) and not _has_weights(criterion)
    if classes is None:
        is_plain = is_plain and isinstance(criterion, nn.MSELoss)
        return SquaredErrorHead() if is_plain else _ValueHead(net, tail)
    if isinstance(criterion, _OF_LOGITS) and net.predict_nonlinearity == "auto":
        return LogLossHead(classes) if is_plain else _LogitHead(net, tail, classes)
    floor = torch.finfo(next(net.module_.parameters()).dtype).eps  # as skorch does
    if is_plain and type(criterion) in (nn.NLLLoss, nn.BCELoss):
        return ProbabilityHead(classes, floor)
    return _ProbabilityHead(net, tail, classes, floor)


def _has_own_loss(net):
    """Whether ``get_loss`` is not skorch's."""
    return not type(net).get_loss.__module__.startswith("skorch.")


def _has_weights(criterion):
    given = [getattr(criterion, name, None) is not None for name in _WEIGHTS]
    return any(given) or bool(getattr(criterion, "label_smoothing", 0))


class _OwnLoss:
    """Loss of each record by ``get_loss`` of a net, and its gradient by autograd.

    Parameters
    ----------
    net : fitted NeuralNet
    tail : tuple of int
        Shape of what the module gives for a record.
    *args : tuple
        For the other base class, which reads outputs.
    """

    def __init__(self, net, tail, *args):
        super().__init__(*args)
        self._net, self._tail = copy.copy(net), tail
        self._parameter = next(net.module_.parameters())

    def loss(self, raw, target):
        """Loss of each record alone, as the net computes it."""
        with torch.no_grad():
            return self._measure(self._as_output(raw), target).double().cpu().numpy()

    def cotangent(self, raw, target):
        """Gradient of the loss with respect to raw."""
        with torch.enable_grad():
            output = self._as_output(raw).requires_grad_()
            total = self._measure(output, target).sum()
            (found,) = torch.autograd.grad(total, output)
        return found.double().cpu().numpy().reshape(raw.shape)

    def _as_output(self, raw):
        values = torch.as_tensor(raw, dtype=self._parameter.dtype, device=self._parameter.device)
        return values.reshape(-1, *self._tail)

    def _measure(self, output, target):
        y = self._as_label(target)

        def measure(row, label):
            return self._net.get_loss(row[None], label[None]).mean()

        try:
            return vmap(measure)(output, y)
        except Exception:  # whatever a loss does that cannot be vectorized
            return torch.stack([measure(*pair) for pair in zip(output, y, strict=True)])

    def _as_label(self, target):
        """Labels as the net was trained with."""
        labels = torch.as_tensor(target if self.classes is None else self.classes[target])
        is_number = self.classes is None or len(self._tail) == 0 or self._tail == (1,)
        labels = labels.to(self._parameter.dtype if is_number else torch.int64)
        return labels.reshape(-1, *(self._tail if is_number else ())).to(self._parameter.device)


class _ValueHead(_OwnLoss, SquaredErrorHead):
    """A regressor with another loss than the squared error."""


class _LogitHead(_OwnLoss, LogLossHead):
    """A classifier whose softmax gives its probabilities, with weights or smoothed labels."""


class _ProbabilityHead(_OwnLoss, ProbabilityHead):
    """A classifier that applies its own nonlinearity, if any, with any loss."""

    def _proba(self, raw):
        with torch.no_grad():
            return self._apply(self._as_output(raw)).double().cpu().numpy()

    def _apply(self, output):
        function = self._net.predict_nonlinearity
        proba = function(output) if callable(function) else output
        proba = proba.reshape(len(output), -1)
        return torch.column_stack([1 - proba, proba]) if proba.shape[1] == 1 else proba

    def logits(self, raw):
        """Log-probabilities."""
        proba = self._proba(raw)
        refusal = why_not_probabilities(self._net, proba)
        if refusal:
            raise ValueError(refusal)
        return np.log(proba + self.floor)

    def pull(self, raw, weights):
        """Gradient of a weighted sum of log-probabilities with respect to raw."""
        with torch.enable_grad():
            output = self._as_output(raw).requires_grad_()
            log_proba = torch.log(self._apply(output) + self.floor)
            total = (log_proba * torch.as_tensor(weights).to(log_proba)).sum()
            (found,) = torch.autograd.grad(total, output)
        return found.double().cpu().numpy().reshape(raw.shape)
