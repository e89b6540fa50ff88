"""Gradients of the parameters of single layers for each record of a batch.

A rule takes a layer, what it received, x of shape (m, ...), and the gradient with respect to what
it gave, g of shape (m, ...), for m records. It has one method for the gradients themselves and one
for the sum of their squares, which often takes less than the gradients.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Rule:
    """Gradients of one kind of layer."""

    def gradients(self, layer, x, g):
        """One array of shape (m, *shape) for each parameter that is trained, by its name."""
        raise NotImplementedError

    def squares(self, layer, x, g):
        """Sum of the squares of all entries, (m,)."""
        found = self.gradients(layer, x, g).values()
        return sum(square(part.flatten(1)) for part in found)

    def count(self, layer, x, g):
        """Numbers held for a record beside what goes in and comes out."""
        return sum(parameter.numel() for parameter in layer.parameters())


class _WeightRule(Rule):
    """Layers with weights, whose gradient is computed, and a bias added at each position."""

    def weights(self, layer, x, g):
        """Gradient of the weights, (m, *shape)."""
        raise NotImplementedError

    def weights_squares(self, layer, x, g):
        """Sum of its squares."""
        return square(self.weights(layer, x, g).flatten(1))

    def bias(self, g):
        """Gradient of the bias."""
        raise NotImplementedError

    def gradients(self, layer, x, g):
        found = {}
        if layer.weight.requires_grad:
            found["weight"] = self.weights(layer, x, g)
        if layer.bias is not None and layer.bias.requires_grad:
            found["bias"] = self.bias(g)
        return found

    def squares(self, layer, x, g):
        total = self.weights_squares(layer, x, g) if layer.weight.requires_grad else 0
        if layer.bias is not None and layer.bias.requires_grad:
            total = total + square(self.bias(g))
        return total


class _Linear(_WeightRule):
    def _factors(self, x, g):
        return tuple(factor.reshape(len(x), -1, factor.shape[-1]) for factor in (g, x))

    def weights(self, layer, x, g):
        outer, inner = self._factors(x, g)
        return outer.mT @ inner

    def weights_squares(self, layer, x, g):
        outer, inner = self._factors(x, g)
        return _square_product(outer.mT, inner)

    def bias(self, g):
        return g.reshape(len(g), -1, g.shape[-1]).sum(1)


class _Conv(_WeightRule):
    """Convolutions, as products with the patches of the input that each position sees."""

    def weights(self, layer, x, g):
        outer, patches = self._factors(layer, x, g)
        shape = len(x), len(layer.weight), *layer.kernel_size, layer.weight.shape[1]
        return (outer @ patches).reshape(shape).movedim(-1, 2)

    def weights_squares(self, layer, x, g):
        factors = self._factors(layer, x, g)
        found = _square_product(*(factor.flatten(0, 1) for factor in factors))
        return found.reshape(len(x), -1).sum(1)

    def bias(self, g):
        return g.flatten(2).sum(2)

    def count(self, layer, x, g):
        return super().count(layer, x, g) + self._factors(layer, x[:1], g[:1])[1].numel()

    def _factors(self, layer, x, g):
        """Gradients (m, groups, n_out, length) and patches (m, groups, length, k * n_in)."""
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


class _Affine(Rule):
    """Normalizations: y = x_normalized * weight + bias."""

    def __init__(self, normalize, channels_last=False):
        self._normalize, self._channels_last = normalize, channels_last

    def gradients(self, layer, x, g):
        found = {}
        if layer.weight is not None and layer.weight.requires_grad:
            found["weight"] = self._sum(layer, g * self._normalize(layer, x))
        bias = getattr(layer, "bias", None)
        if bias is not None and bias.requires_grad:
            found["bias"] = self._sum(layer, g)
        return found

    def _sum(self, layer, values):
        if self._channels_last:
            return values.reshape(len(values), -1, *layer.weight.shape).sum(1)
        return values.reshape(*values.shape[:2], -1).sum(2)


class _Embedding(Rule):
    def gradients(self, layer, x, g):
        if not layer.weight.requires_grad:
            return {}
        ids, rows = x.reshape(len(x), -1), g.reshape(len(x), -1, g.shape[-1])
        rows = rows * self._counts(layer, ids)[..., None]
        found = rows.new_zeros(len(x), *layer.weight.shape)
        return {"weight": found.scatter_add_(1, ids[..., None].expand_as(rows), rows)}

    def squares(self, layer, x, g):
        if not layer.weight.requires_grad:
            return 0
        ids, rows = x.reshape(len(x), -1), g.reshape(len(x), -1, g.shape[-1])
        rows = rows * self._counts(layer, ids)[..., None]
        # Positions with the same word share a row of the gradient.
        same = ids[:, :, None] == ids[:, None, :]
        return ((rows @ rows.mT) * same).sum((1, 2)).clamp_min(0)

    def _counts(self, layer, ids):
        return ids != (-1 if layer.padding_idx is None else layer.padding_idx)


def square(part):
    """Sum of the squares of each row of a matrix."""
    return torch.linalg.vector_norm(part, dim=1).square()


def _square_product(outer, inner):
    """Sum of the squares of outer (m, o, l) @ inner (m, l, k), whichever way takes less."""
    (n_out, length), k = outer.shape[1:], inner.shape[2]
    if length == 1:
        return square(outer.flatten(1)) * square(inner.flatten(1))
    if length * (n_out + k) < n_out * k:
        return ((outer.mT @ outer) * (inner @ inner.mT)).sum((1, 2)).clamp_min(0)
    return square((outer @ inner).flatten(1))


def _batch_normalized(layer, x):
    return F.batch_norm(x, layer.running_mean, layer.running_var, eps=layer.eps)


def _layer_normalized(layer, x):
    return F.layer_norm(x, layer.normalized_shape, eps=layer.eps)


def _group_normalized(layer, x):
    return F.group_norm(x, layer.num_groups, eps=layer.eps)


_BATCH_NORM = _Affine(_batch_normalized)
_RULES = {
    nn.Linear: _Linear(),
    nn.Conv1d: _Conv(),
    nn.Conv2d: _Conv(),
    nn.Conv3d: _Conv(),
    nn.BatchNorm1d: _BATCH_NORM,
    nn.BatchNorm2d: _BATCH_NORM,
    nn.BatchNorm3d: _BATCH_NORM,
    nn.LayerNorm: _Affine(_layer_normalized, channels_last=True),
    nn.GroupNorm: _Affine(_group_normalized),
    nn.Embedding: _Embedding(),
}


class RulePlan:
    """Rule of each layer that has parameters to train.

    Parameters
    ----------
    module : nn.Module

    Attributes
    ----------
    rules : dict of layer to Rule
    places : dict of str to (layer, str)
        Layer of each parameter, and its name there.

    Raises
    ------
    NotImplementedError
        If a layer has no rule or a parameter belongs to several.
    """

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
