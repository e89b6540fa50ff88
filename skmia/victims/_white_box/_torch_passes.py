"""Three ways to the gradients of a torch module for each record of a batch.

Each is a :class:`ForwardPass`, constructed as ``way(module, plan, x)`` with ``plan =
way.plan(module)``. A way refuses what it cannot read with an error, in the plan or in the pass.
"""

import warnings
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call, grad, vmap

from ..._core.containers import accepting_read_only, to_numpy
from ..._core.randomness import preserved_randomness
from ._base import ForwardPass

# A rule takes a layer, what it received, x of shape (m, ...), and the gradient with respect to what
# it gave, g of shape (m, ...), for m records. It has one method for the gradients themselves and
# one for the sum of their squares, which often takes less than the gradients.


class LayerRule:
    """Gradients of one kind of layer: of its weights, and of a bias added at each position."""

    def weights(self, layer, x, g):
        """Gradient of the weights, (m, *shape)."""
        raise NotImplementedError

    def weights_squares(self, layer, x, g):
        """Return the sum of the squares of all entries of this gradient, (m,)."""
        return square(self.weights(layer, x, g).flatten(1))

    def bias(self, layer, g):
        """Gradient of the bias, (m, *shape)."""
        raise NotImplementedError

    def gradients(self, layer, x, g):
        """Return one array of shape (m, *shape) for each parameter that is trained, by its name."""
        found = {}
        if _is_trained(layer, "weight"):
            found["weight"] = self.weights(layer, x, g)
        if _is_trained(layer, "bias"):
            found["bias"] = self.bias(layer, g)
        return found

    def squares(self, layer, x, g):
        """Return the sum of the squares of all entries, (m,)."""
        total = self.weights_squares(layer, x, g) if _is_trained(layer, "weight") else 0
        if _is_trained(layer, "bias"):
            total = total + square(self.bias(layer, g).flatten(1))
        return total

    def count(self, layer, x, g):
        """Return numbers held for a record beside what goes in and comes out."""
        return sum(parameter.numel() for parameter in layer.parameters())


def _is_trained(layer, name):
    parameter = getattr(layer, name, None)
    return parameter is not None and parameter.requires_grad


class _LinearRule(LayerRule):
    def _factors(self, x, g):
        return tuple(factor.reshape(len(x), -1, factor.shape[-1]) for factor in (g, x))

    def weights(self, layer, x, g):
        outer, inner = self._factors(x, g)
        return outer.mT @ inner

    def weights_squares(self, layer, x, g):
        outer, inner = self._factors(x, g)
        return _square_product(outer.mT, inner)

    def bias(self, layer, g):
        return g.reshape(len(g), -1, g.shape[-1]).sum(1)


class _ConvolutionRule(LayerRule):
    """Convolutions, as products with the patches of the input that each position sees."""

    def weights(self, layer, x, g):
        outer, patches = self._factors(layer, x, g)
        shape = len(x), len(layer.weight), *layer.kernel_size, layer.weight.shape[1]
        return (outer @ patches).reshape(shape).movedim(-1, 2)

    def weights_squares(self, layer, x, g):
        factors = self._factors(layer, x, g)
        found = _square_product(*(factor.flatten(0, 1) for factor in factors))
        return found.reshape(len(x), -1).sum(1)

    def bias(self, layer, g):
        return g.flatten(2).sum(2)

    def count(self, layer, x, g):
        return super().count(layer, x, g) + self._factors(layer, x[:1], g[:1])[1].numel()

    def _factors(self, layer, x, g):
        """Return gradients (m, groups, n_out, length) and patches (m, groups, length, k * n_in)."""
        padding = _padding_of(layer)
        if any(padding):
            mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
            x = F.pad(x, padding, mode)
        # With the channels last a patch is copied in long runs.
        x = x.movedim(1, -1).contiguous()
        (first, *steps, last), n_in = x.stride(), layer.weight.shape[1]
        shape = (len(x), *g.shape[2:], *layer.kernel_size, layer.groups, n_in)
        patches = x.as_strided(
            shape,
            (
                first,
                *(step * stride for step, stride in zip(steps, layer.stride)),
                *(step * dilation for step, dilation in zip(steps, layer.dilation)),
                n_in * last,
                last,
            ),
        ).movedim(-2, 1)
        length = g[0, 0].numel()
        return (
            g.reshape(len(x), layer.groups, -1, length),
            patches.reshape(len(x), layer.groups, length, -1),
        )


def _padding_of(layer):
    """Places before and after each axis of the input, the last axis first, as ``F.pad`` asks."""
    if layer.padding == "valid":
        return []
    if layer.padding == "same":
        wider = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size)]
        sides = [(width // 2, width - width // 2) for width in wider]
    else:
        sides = [(width, width) for width in layer.padding]
    return [width for pair in reversed(sides) for width in pair]


class _AffineRule(LayerRule):
    """Normalizations: y = x_normalized * weight + bias."""

    def __init__(self, normalize, channels_last=False):
        self._normalize, self._channels_last = normalize, channels_last

    def weights(self, layer, x, g):
        return self._sum(layer, g * self._normalize(layer, x))

    def bias(self, layer, g):
        return self._sum(layer, g)

    def _sum(self, layer, values):
        if self._channels_last:
            return values.reshape(len(values), -1, *layer.weight.shape).sum(1)
        return values.reshape(*values.shape[:2], -1).sum(2)


class _EmbeddingRule(LayerRule):
    def _rows(self, layer, x, g):
        """Return words of each position, and the gradient of the row of each; 0 for the padding."""
        ids = x.reshape(len(x), -1)
        counts = ids != (-1 if layer.padding_idx is None else layer.padding_idx)
        return ids, g.reshape(len(x), -1, g.shape[-1]) * counts[..., None]

    def weights(self, layer, x, g):
        ids, rows = self._rows(layer, x, g)
        found = rows.new_zeros(len(x), *layer.weight.shape)
        return found.scatter_add_(1, ids[..., None].expand_as(rows), rows)

    def weights_squares(self, layer, x, g):
        ids, rows = self._rows(layer, x, g)
        # Positions with the same word share a row of the gradient.
        same = ids[:, :, None] == ids[:, None, :]
        return ((rows @ rows.mT) * same).sum((1, 2)).clamp_min(0)


def square(part):
    """Return the sum of the squares of each row of a matrix."""
    return torch.linalg.vector_norm(part, dim=1).square()


def _square_product(outer, inner):
    """Return sum of the squares of outer (m, o, l) @ inner (m, l, k), whichever way takes less."""
    (n_out, length), k = outer.shape[1:], inner.shape[2]
    if length == 1:
        return square(outer.flatten(1)) * square(inner.flatten(1))
    if length * (n_out + k) < n_out * k:
        return ((outer.mT @ outer) * (inner @ inner.mT)).sum((1, 2)).clamp_min(0)
    return square((outer @ inner).flatten(1))


_BATCH_NORM = _AffineRule(
    lambda layer, x: F.batch_norm(x, layer.running_mean, layer.running_var, eps=layer.eps)
)
_LAYER_NORM = _AffineRule(
    lambda layer, x: F.layer_norm(x, layer.normalized_shape, eps=layer.eps), channels_last=True
)
_RULES = {
    nn.Linear: _LinearRule(),
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d), _ConvolutionRule()),
    **dict.fromkeys((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d), _BATCH_NORM),
    nn.LayerNorm: _LAYER_NORM,
    nn.GroupNorm: _AffineRule(lambda layer, x: F.group_norm(x, layer.num_groups, eps=layer.eps)),
    nn.Embedding: _EmbeddingRule(),
}


class RulePlan:
    """Rule of each layer that has parameters to train, and the place of each parameter."""

    def __init__(self, module):
        self.rules, self.places, owners = {}, {}, []
        for prefix, layer in module.named_modules():
            for name, parameter in layer.named_parameters(recurse=False):
                if not parameter.requires_grad:
                    continue
                if type(layer) not in _RULES:
                    raise NotImplementedError(f"{type(layer).__name__} has no rule.")
                self.rules[layer] = _RULES[type(layer)]
                self.places[f"{prefix}.{name}" if prefix else name] = layer, name
                owners.append(id(parameter))
        if len(owners) > len(set(owners)):
            raise NotImplementedError("A parameter belongs to several layers.")


@contextmanager
def evaluating(module, with_gradients):
    """Put a module into evaluation mode; mode, buffers and random states are put back."""
    modes = [(part, part.training) for part in module.modules()]
    buffers = [
        (part, name, buffer, buffer.clone())
        for part, _ in modes
        for name, buffer in part.named_buffers(recurse=False, remove_duplicate=False)
    ]
    try:
        with ExitStack() as stack:
            stack.enter_context(preserved_randomness())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.set_grad_enabled(with_gradients))
            module.eval()
            yield
    finally:
        for part, mode in modes:
            part.training = mode
        for home, name, buffer, values in buffers:
            setattr(home, name, buffer)
            if not torch.equal(buffer, values):
                with torch.no_grad():
                    buffer.copy_(values)


@contextmanager
def without_fused_attention():
    """Context in which attention is computed by operations that can be vectorized."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:  # torch 2.2, where modules with attention are read record by record
        yield
        return
    enabled = torch.backends.mha.get_fastpath_enabled()
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def to_device(inputs, module):
    """Return inputs as a tensor; floating-point numbers in the precision of the module."""
    parameter = next((weight for weight in module.parameters() if weight.is_floating_point()), None)
    with accepting_read_only():
        x = torch.as_tensor(inputs)
    if parameter is None:
        return x
    return x.to(parameter.device, parameter.dtype if x.is_floating_point() else x.dtype)


def first_tensor(output):
    """Return what a module gives, or the first part of it, as skorch reads it."""
    return output[0] if isinstance(output, tuple | list) else output


def _as_double_array(values):
    return to_numpy(values).astype(np.float64)


def trained(module):
    """Return parameters that are trained, by name."""
    return {name: weight for name, weight in module.named_parameters() if weight.requires_grad}


class TorchPass(ForwardPass):
    """A batch that went through a module once, with the gradient of the inputs only.

    Shapes: x (m, ...).
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
        return sum(_as_double_array(square(part.reshape(len(part), -1))) for part in parts)


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
        """Return what each layer received, and the gradient with respect to what it gave."""
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
            total += _as_double_array(self._plan.rules[layer].squares(layer, x, g))
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
