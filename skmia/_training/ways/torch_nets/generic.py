"""Gradients of any module whose forward pass torch can vectorize over models."""

import copy
from collections.abc import Mapping
from functools import partial

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from .dropout import is_active
from .engine import Engine
from .rows import ask, list_parts


class _StackedLinear(torch.autograd.Function):
    """A Linear as one batched product; the rule of torch would make several products."""

    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x, weight, bias):
        x, weight, bias = (
            part if part is None else _with_models_first(part, dim, info.batch_size)
            for part, dim in zip((x, weight, bias), in_dims)
        )
        # Features come first, because in a narrow layer the batch is the longer axis.
        rows = x.reshape(len(x), -1, x.shape[-1]).transpose(1, 2)
        if bias is None:
            out = torch.bmm(weight, rows)
        else:
            out = torch.baddbmm(bias.unsqueeze(2), weight, rows)
        return out.transpose(1, 2).reshape(*x.shape[:-1], -1), 0


def _with_models_first(tensor, dim, n_models):
    return tensor.expand(n_models, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _linear(module, x):
    return _StackedLinear.apply(x, module.weight, module.bias)


class GenericEngine(Engine):
    """Gradients of any module, with the vectorizing transformation of torch.

    Parameters
    ----------
    nets : list of NeuralNet
        Nets to train together.
    labels : Tensor
        All targets.
    """

    def __init__(self, nets, labels):
        super().__init__(nets, labels)
        self.module = copy.deepcopy(self.net.module_).train()
        self._sites, self._masks = {}, None
        for module in self.module.modules():
            if type(module) is nn.Linear:
                module.forward = partial(_linear, module)
            elif is_active(module):
                module.forward = self._drop
            elif type(module) is nn.Dropout and module.p == 0:
                module.forward = nn.Identity().forward

    def _drop(self, x):
        return x * next(self._masks)

    def sites(self, x):
        if not any(map(is_active, self.module.modules())):
            return []
        key = tuple(part.shape for part in list_parts(x))
        if key not in self._sites:
            self._sites[key] = self._probe(x)
        return self._sites[key]

    def _probe(self, x):
        """Run one model to record the shapes of the inputs of its dropouts."""
        sites = []
        probe = copy.deepcopy(self.net.module_).train()
        for module in probe.modules():
            if is_active(module):
                module.forward = partial(_note, sites, module.p)
        with torch.no_grad():
            ask(probe, x)
        return sites

    def gradients(self, models, x, y, masks):
        leaves = {
            name: tensor.detach().requires_grad_()
            for name, tensor in self.stack.part(models).items()
        }
        fixed = {name: stacked[models] for name, stacked in self.stack.fixed.items()}
        out = vmap(self._forward, randomness="error")(leaves, fixed, x, masks)
        loss = self.total_loss(out, y, x)
        if self.keeps_losses:
            with torch.no_grad():
                self.losses = self.total_loss.each(out.detach(), y, x)
        gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
        return [
            torch.zeros_like(leaf) if gradient is None else gradient
            for leaf, gradient in zip(leaves.values(), gradients)
        ]

    def _forward(self, trained, fixed, x, masks):
        self._masks = iter(masks)
        positional, named = ((), x) if isinstance(x, Mapping) else ((x,), None)
        return functional_call(self.module, {**trained, **fixed}, positional, named)


def _note(sites, p, x):
    sites.append((p, tuple(x.shape)))
    return x
