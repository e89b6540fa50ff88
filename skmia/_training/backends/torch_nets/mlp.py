"""Plain multilayer perceptrons, with features first and the backward pass written out.

The activations of all models are an array (n_models, n_units, batch). Products with the weights
then read and write along the batch, which is the longer axis if the layers are narrow. Only the
sums that replace a first layer on one-hot columns have the units of a record next to each other,
and the arrays that are combined with them use the same layout.
"""

from functools import partial
from itertools import pairwise
from threading import get_ident
from typing import NamedTuple

import torch
from torch import fx, nn
from torch.nn import functional as F

from ...._core.randomness import PROCESS_LOCK
from ...._core.torch_parts import has_hooks
from .batches import SummedLayer
from .engine import GradientEngine
from .stack import in_whole_registers, is_active

_aten = torch.ops.aten

_FORWARD = {
    "relu": torch.relu_,
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
}
# The slopes of these activations are functions of their outputs, h > 0, 1 - h^2 and h (1 - h), so
# the output may overwrite the input, which is not needed again. Each function takes the gradient of
# the output, which it overwrites, and the output.
_BACKWARD = {
    "relu": lambda d, h: _aten.threshold_backward.grad_input(d, h, 0, grad_input=d),
    "tanh": lambda d, h: _aten.tanh_backward.grad_input(d, h, grad_input=d),
    "sigmoid": lambda d, h: _aten.sigmoid_backward.grad_input(d, h, grad_input=d),
}
# Activations without rounding. Others may round the last numbers of an array, which do not fill a
# register, differently, although stacked models must be rounded like each model alone.
_EXACT = {"relu"}
_MODULES = {nn.ReLU: "relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid"}
_FUNCTIONS = {
    F.relu: "relu",
    torch.relu: "relu",
    torch.tanh: "tanh",
    F.tanh: "tanh",
    torch.sigmoid: "sigmoid",
    F.sigmoid: "sigmoid",
}
_METHODS = {"relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid"}


class LinearLayer(NamedTuple):
    """A Linear and the steps that follow it."""

    weight: str
    bias: str | None
    steps: list  # of ("activation", name) or ("dropout", p)


class LinearChain(NamedTuple):
    """A module that is a sequence of Linears."""

    flatten: bool  # all but the first axis of the input
    dropout: float  # of the input
    layers: list
    tail: list  # functions of each row of the last Linear's output


def _trace_operation(node, modules):
    """Return the operation of a node on its only tensor as a function."""
    rest, kwargs = node.args[1:], node.kwargs
    if node.op == "call_module":
        return modules[node.target]
    if node.op == "call_function":
        return lambda x: node.target(x, *rest, **kwargs)
    return lambda x: getattr(x, node.target)(*rest, **kwargs)


def _activation(node, modules):
    if node.op == "call_module":
        return _MODULES.get(type(modules[node.target]))
    table = _FUNCTIONS if node.op == "call_function" else _METHODS
    plain = len(node.args) == 1 and not any(node.kwargs.values())
    return table.get(node.target) if plain else None


def _is_flatten(node, modules):
    if node.op == "call_module":
        module = modules[node.target]
        return type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)
    return node.target is torch.flatten and node.args[1:] == (1,) and not node.kwargs


class _LocalTracer(fx.Tracer):
    """A tracer that does not affect modules in other threads.

    While torch traces a module, it replaces the call method of all modules of the process.
    """

    def __init__(self):
        super().__init__()
        self._thread = get_ident()

    def call_module(self, module, forward, args, kwargs):
        if get_ident() != self._thread:
            return forward(*args, **kwargs)
        return super().call_module(module, forward, args, kwargs)


def _linked_nodes(module):
    """Return the nodes of the graph of a module if each reads only the previous one, or None."""
    try:
        with PROCESS_LOCK:
            nodes = list(_LocalTracer().trace(module).nodes)
    except Exception:  # for example control flow that depends on the data
        return None
    if [node.op for node in (nodes[0], nodes[-1])] != ["placeholder", "output"]:
        return None
    for before, node in pairwise(nodes):
        if node.all_input_nodes != [before] or not node.args or node.args[0] is not before:
            return None
        if node.op not in ("call_module", "call_function", "call_method", "output"):
            return None
        if any(
            isinstance(argument, fx.Node) for argument in (*node.args[1:], *node.kwargs.values())
        ):
            return None
    return nodes[1:-1]


def as_chain(module):
    """Read a module as a chain of Linears.

    Return chain: None if it is anything else, such as a module with parameters outside its Linears.
    """
    modules = dict(module.named_modules())
    if any(has_hooks(part) or _has_other_weights(part) for part in modules.values()):
        return None  # known without tracing, which takes as long as some steps
    nodes = _linked_nodes(module)
    if nodes is None:
        return None
    nodes = [node for node in nodes if not _does_nothing(node, modules)]
    linear = [i for i, node in enumerate(nodes) if _is_linear(node, modules)]
    if not linear:
        return None
    start = _read_chain_start(nodes[: linear[0]], modules)
    layers = [
        _read_layer(nodes[i:stop], modules)
        for i, stop in zip(linear, [*linear[1:], linear[-1] + 1], strict=True)
    ]
    tail = nodes[linear[-1] + 1 :]
    if start is None or None in layers or any(_is_dropout(node, modules) for node in tail):
        return None
    chain = LinearChain(*start, layers, [_trace_operation(node, modules) for node in tail])
    return chain if _is_whole_chain(chain, module) else None


def _read_chain_start(nodes, modules):
    """Return whether the input is flattened, and its dropout; None if there is anything else."""
    flatten = bool(nodes) and _is_flatten(nodes[0], modules)
    nodes = nodes[flatten:]
    if not nodes:
        return flatten, 0.0
    if len(nodes) == 1 and _is_dropout(nodes[0], modules):
        return flatten, modules[nodes[0].target].p
    return None


def _read_layer(nodes, modules):
    """Return a Linear and the steps up to the next one; None if a step is not supported."""
    name, steps = nodes[0].target, []
    for node in nodes[1:]:
        if _is_dropout(node, modules):
            steps.append(("dropout", modules[node.target].p))
        elif _activation(node, modules):
            steps.append(("activation", _activation(node, modules)))
        else:
            return None
    bias = None if modules[name].bias is None else f"{name}.bias"
    return LinearLayer(f"{name}.weight", bias, steps)


def _is_linear(node, modules):
    return node.op == "call_module" and type(modules[node.target]) is nn.Linear


def _is_dropout(node, modules):
    return node.op == "call_module" and is_active(modules[node.target])


def _does_nothing(node, modules):
    if node.op != "call_module":
        return False
    module = modules[node.target]
    return type(module) is nn.Identity or (type(module) is nn.Dropout and module.p == 0)


def _has_other_weights(part):
    """Return whether a part, without the parts in it, has buffers, or weights and is no Linear."""
    weights = [] if type(part) is nn.Linear else part.parameters(recurse=False)
    return bool([*weights, *part.buffers(recurse=False)])


def _is_whole_chain(chain, module):
    """Return whether the weights of a chain are all that its module has, used once and trained.

    The names of a Linear that is used twice appear twice here, so the lists differ.
    """
    names = [name for layer in chain.layers for name in (layer.weight, layer.bias) if name]
    parameters = dict(module.named_parameters())
    trained = all(parameter.requires_grad for parameter in parameters.values())
    return trained and sorted(names) == sorted(parameters)


class MLPEngine(GradientEngine):
    """Gradients of perceptrons."""

    def __init__(self, nets, chain, labels, columns=None):
        super().__init__(nets, labels)
        self.chain = chain
        self.widths = [len(self.stack.trained[layer.weight][0]) for layer in chain.layers]
        self.summed = None
        if columns is not None:
            weight, bias, _ = chain.layers[0]
            self.summed = SummedLayer(weight, bias, self.stack, columns)
        criterion = self.net.criterion_
        self.is_softmax = (
            self.total_loss.by_label
            and not chain.tail
            and type(criterion) is nn.CrossEntropyLoss
            and criterion.label_smoothing == 0
        )

    @property
    def takes_sums(self):
        return self.summed is not None

    def sites(self, x):
        sites = [(self.chain.dropout, tuple(x.shape))] if self.chain.dropout else []
        for width, layer in zip(self.widths, self.chain.layers):
            sites += [(p, (len(x), width)) for kind, p in layer.steps if kind == "dropout"]
        return sites

    def restore(self):
        trained = super().restore()
        return self.summed.restore(trained) if self.takes_sums else trained

    @torch.no_grad()
    def gradients(self, models, x, y, masks):
        if not self.takes_sums:
            x, masks = self._open(x, masks)
        trained = self.stack.part(models)
        z, inputs, tapes = self._forward(trained, x, masks)
        d = _softmax_head(z, y) if self.is_softmax else self._head(z, y)
        gradients = {}
        for i in range(len(self.chain.layers) - 1, -1, -1):
            layer = self.chain.layers[i]
            if i == 0 and self.takes_sums:
                gradients |= self.summed.gradients(d, trained, x)
                break
            # z = W h + b with records along the last axis: dW = d h', db = the sum of d over
            # records.
            gradients[layer.weight] = torch.bmm(d, inputs[i].transpose(1, 2))
            if layer.bias:
                gradients[layer.bias] = d.sum(2)
            if i:
                d = self._send_back(trained[layer.weight], d, i)
                for backward in reversed(tapes[i - 1]):
                    d = backward(d)
        return [gradients[name] for name in trained]

    def _open(self, x, masks):
        """Return rows in the form for the first Linear, and the remaining masks."""
        if self.chain.flatten:
            x = x.flatten(2)
        if self.chain.dropout:
            first, *masks = masks
            x = x * first.reshape(x.shape)
        return x.transpose(1, 2), masks

    def _send_back(self, weight, d, i):
        """Return the gradient of the input of a layer, in the memory layout of this input.

        The gradient is W' d. Behind a first layer on sums, whose output is a transposed view, it is
        computed as (d' W)', so that in-place steps read both in the same order.
        """
        if i == 1 and self.takes_sums:
            return torch.bmm(d.transpose(1, 2), weight).transpose(1, 2)
        return torch.bmm(weight.transpose(1, 2), d)

    def _forward(self, trained, h, masks):
        """Return the output of the last Linear, the inputs of all, and their backward steps."""
        inputs, tapes, masks = [], [], iter(masks)
        for i, layer in enumerate(self.chain.layers):
            inputs.append(h)
            if i == 0 and self.takes_sums:
                h = self.summed.forward(trained, h)
            elif layer.bias:
                bias = trained[layer.bias].unsqueeze(2)
                h = torch.baddbmm(bias, trained[layer.weight], h)
            else:
                h = torch.bmm(trained[layer.weight], h)
            h, tape = _apply_steps(layer.steps, h, masks)
            tapes.append(tape)
        return h, inputs, tapes

    def _head(self, z, y):
        """Return the gradient of the losses with respect to the output of the last Linear."""
        with torch.enable_grad():
            leaf = z.transpose(1, 2).detach().requires_grad_()
            out = leaf.flatten(0, 1)
            for function in self.chain.tail:
                out = function(out)
            out = out.unflatten(0, leaf.shape[:2])
            (d,) = torch.autograd.grad(self.total_loss(out, y), leaf)
        return d.transpose(1, 2)


def _apply_steps(steps, h, masks):
    """Apply the steps after a Linear to its output, in place; return also the backward steps."""
    tape, is_needed = [], False
    for kind, what in steps:
        if kind == "dropout":
            mask = next(masks).transpose(1, 2)
            h = h * mask
            tape.append(mask.mul)
        else:
            # The backward step of an activation reads its output. Only a second activation directly
            # behind it would overwrite this output: a dropout returns a new tensor, and a Linear
            # does not change its input.
            h, backward = _activate(what, h.clone() if is_needed else h)
            tape.append(backward)
        is_needed = kind == "activation"
    return h, tape


def _activate(name, z):
    """Apply an activation in place; return its output and its backward step."""
    if name in _EXACT:
        h = _FORWARD[name](z)
        return h, partial(_BACKWARD[name], h=h)
    memory, h = in_whole_registers(z)
    _FORWARD[name](memory)

    def backward(d):
        d_memory, d = in_whole_registers(d)
        _BACKWARD[name](d_memory, memory)
        return d

    return h, backward


def _softmax_head(z, y):
    """Return the gradient of the mean cross-entropy with respect to logits, features first.

    The gradient is (softmax - one-hot label) / number of records.
    """
    d = torch.softmax(z, 1)
    label = y.unsqueeze(1)
    d.scatter_add_(1, label, d.new_full((), -1.0).expand(label.shape))
    return d.div_(z.shape[2])
