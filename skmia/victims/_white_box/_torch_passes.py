"""Three ways to the gradients of a torch module for each record of a batch.

Each is a :class:`ForwardPass`, constructed as ``way(module, plan, x)`` with ``plan =
way.plan(module)``. A way refuses what it cannot read with an error, in the plan or in the pass.
"""

import warnings

import numpy as np
import torch
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call, grad, vmap

from ..._core.containers import to_numpy
from ._pass import ForwardPass
from ._rules import RulePlan, square
from ._torch_state import without_fused_attention


def first_tensor(output):
    """What a module gives, or the first part of it, as skorch reads it."""
    return output[0] if isinstance(output, tuple | list) else output


def _as_double(values):
    return to_numpy(values).astype(np.float64)


def trained(module):
    """Parameters that are trained, by name."""
    return {name: weight for name, weight in module.named_parameters() if weight.requires_grad}


class TorchPass(ForwardPass):
    """A batch that went through a module once, with the gradient of the inputs only.

    Parameters
    ----------
    module : nn.Module
        Module in evaluation mode.
    plan : object
        What ``plan(module)`` gave.
    x : tensor of shape (m, ...)
        On the device of the module. Its gradient can be asked for where it requires one.
    """

    plan = staticmethod(trained)

    def __init__(self, module, plan, x):
        self._module, self._plan, self._x = module, plan, x
        self._output = first_tensor(self._forward())
        if self._output.ndim > 2 or len(self._output) != len(x):
            raise ValueError(
                "White-box access needs a module that gives one row of numbers for each record; "
                f"{len(x)} records gave an array of shape {tuple(self._output.shape)}."
            )
        self.tail = tuple(self._output.shape[1:])
        self.raw = self._output.detach().reshape(len(x), -1).cpu().double().numpy()

    def _forward(self):
        return self._module(self._x)

    def _as_output(self, cotangent):
        return torch.as_tensor(cotangent).to(self._output).reshape(self._output.shape)

    def input_gradients(self, cotangent):
        (found,) = torch.autograd.grad(self._output, self._x, self._as_output(cotangent))
        return to_numpy(found)

    def parameter_gradients(self, cotangent, names):
        raise NotImplementedError

    def squared_norms(self, cotangent):
        parts = self.parameter_gradients(cotangent, tuple(self._plan))
        return sum(_as_double(square(part.reshape(len(part), -1))) for part in parts)


class RulePass(TorchPass):
    """One backward pass for the whole batch, and a rule for each layer."""

    plan = RulePlan

    def _forward(self):
        self._received, self._edges = {}, {}
        handles = [layer.register_forward_hook(self._note) for layer in self._plan.rules]
        try:
            return self._module(self._x)
        finally:
            for handle in handles:
                handle.remove()

    def _note(self, layer, received, output):
        if layer in self._edges:
            raise NotImplementedError("A layer is passed twice.")
        if len(received) != 1 or len(received[0]) != len(self._x):
            raise NotImplementedError("A layer receives an input that is not one row per record.")
        self._received[layer] = received[0].detach()
        # Not the tensor itself, which an activation may change in place afterwards.
        self._edges[layer] = get_gradient_edge(output)

    def _pull(self, cotangent, layers):
        """What each layer received, and the gradient with respect to what it gave."""
        edges = {layer: self._edges[layer] for layer in layers if layer in self._edges}
        found = torch.autograd.grad(
            self._output, list(edges.values()), self._as_output(cotangent), allow_unused=True
        )
        pulled = dict(zip(edges, found))
        return {layer: (self._received[layer], g) for layer, g in pulled.items() if g is not None}

    def parameter_gradients(self, cotangent, names):
        places = {name: self._plan.places[name] for name in names}
        pulled = self._pull(cotangent, dict.fromkeys(layer for layer, _ in places.values()))
        last, found = None, {}
        for layer, name in places.values():
            if layer is not last:
                rule, last = self._plan.rules[layer], layer
                found = rule.gradients(layer, *pulled[layer]) if layer in pulled else {}
            part = found.get(name)
            if part is None:  # the layer has no influence
                part = self._output.new_zeros(len(self._x), *getattr(layer, name).shape)
            yield part

    def squared_norms(self, cotangent):
        total = np.zeros(len(self._x))
        for layer, (x, g) in self._pull(cotangent, self._plan.rules).items():
            total += _as_double(self._plan.rules[layer].squares(layer, x, g))
        return total

    def count(self):
        """Most numbers that a rule holds for a record beside what goes through the module."""
        pulled = self._pull(np.ones_like(self.raw), self._plan.rules)
        return max(self._plan.rules[layer].count(layer, x, g) for layer, (x, g) in pulled.items())


class VmapPass(TorchPass):
    """The gradient of one record, vectorized over the records by torch."""

    def _forward(self):
        with torch.no_grad():
            return self._module(self._x)

    def parameter_gradients(self, cotangent, names):
        def weigh(parameters, x, weights):
            output = first_tensor(functional_call(self._module, parameters, (x[None],)))
            return (output.reshape(-1) * weights).sum()

        wanted = {name: self._plan[name].detach() for name in names}
        weights = torch.as_tensor(cotangent).to(self._output)
        with without_fused_attention(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="There is a performance drop")
            found = vmap(grad(weigh), in_dims=(None, 0, 0))(wanted, self._x, weights)
        yield from (found[name] for name in names)


class LoopPass(VmapPass):
    """One record after another."""

    def parameter_gradients(self, cotangent, names):
        wanted = [self._plan[name] for name in names]
        weights = torch.as_tensor(cotangent).to(self._output)
        parts = [self._output.new_empty(len(self._x), *weight.shape) for weight in wanted]
        for i in range(len(self._x)):
            output = first_tensor(self._module(self._x[i : i + 1]))
            total = (output.reshape(-1) * weights[i]).sum()
            found = torch.autograd.grad(total, wanted, allow_unused=True)
            for part, gradient in zip(parts, found):
                part[i] = 0 if gradient is None else gradient.to_dense()
        yield from parts


PARAMETER_WAYS = (RulePass, VmapPass, LoopPass)
