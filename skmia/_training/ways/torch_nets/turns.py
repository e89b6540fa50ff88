"""Gradients of many nets, one net after the other in each step."""

import torch

from .engine import Engine
from .rows import take_model


class TurnsEngine(Engine):
    """Gradients of any net, each by skorch's own step on its own module.

    It serves nets that torch cannot vectorize over models, or not with profit. What it saves is the
    time that a loader takes to collect single records. The weights of the modules are views of the
    stack while they are trained.

    Parameters
    ----------
    nets : list of NeuralNet
        Nets to train together.
    labels : Tensor
        All targets.
    streams : list of Stream
        Random generators of the nets.
    """

    repeats = False  # the module and its net are Python code that may do anything

    def __init__(self, nets, labels, streams):
        super().__init__(nets, labels)
        self.nets, self.streams = nets, streams

    def sites(self, x):
        return []  # the modules draw their masks themselves

    def begin(self):
        stacked = {**self.stack.trained, **self.stack.fixed}
        for k, net in enumerate(self.nets):
            for name, tensor in _name_tensors(net.module_):
                tensor.data = stacked[name][k]

    def end(self):
        for net in self.nets:
            for _, tensor in _name_tensors(net.module_):
                tensor.data = tensor.data.clone()
                tensor.grad = None

    def gradients(self, models, x, y, masks):
        found = [
            self._gradients_of(k, take_model(x, i), y[i])
            for i, k in enumerate(range(models.start, models.stop))
        ]
        losses, gradients = zip(*found, strict=True)
        if self.keeps_losses:
            self.losses = torch.stack(losses)
        return [torch.stack(parts) for parts in zip(*gradients, strict=True)]

    def _gradients_of(self, k, x, y):
        net = self.nets[k]
        named = dict(net.module_.named_parameters())
        trained = [named[name] for name in self.stack.trained]
        for parameter in trained:
            parameter.grad = None
        with self.streams[k].installed():
            step = net.train_step_single((x, y))
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        return step["loss"].detach(), gradients


def _name_tensors(module):
    return [*module.named_parameters(), *module.named_buffers()]
