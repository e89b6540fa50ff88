"""Base class of the ways to compute the gradients of many nets."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial

import torch
from skorch import NeuralNetBinaryClassifier
from torch import nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from .batches import ask, list_row_tensors, take_model
from .plan import overridden
from .stack import ModuleStack, is_active

_BY_LABEL = (nn.CrossEntropyLoss, nn.NLLLoss)
_BY_ELEMENT = (
    nn.BCELoss,
    nn.BCEWithLogitsLoss,
    nn.HuberLoss,
    nn.L1Loss,
    nn.MSELoss,
    nn.SmoothL1Loss,
)


def loss_of(net, out, y, x=None, training=True):
    """Return the loss of a batch of one model; a ``get_loss`` of the user may read ``x``."""
    if isinstance(net, NeuralNetBinaryClassifier):
        out = out.reshape(-1)  # as in its infer method
    return net.get_loss(out, y, X=x, training=training)


class TotalLoss:
    """Sum of the losses of many models on batches of the same size."""

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

    @property
    def is_mean(self):
        """Whether the loss is a mean over records, on which batches have no effect."""
        return self.by_label or self.by_element

    def each(self, out, y, x=None, training=True):
        """Return the loss of each model."""
        places = 0, 0, None if x is None else 0
        return vmap(partial(loss_of, self.net, training=training), places)(out, y, x)

    def _is_mean_of_records(self, out, y):
        if self.by_label:
            return out.ndim == 3
        # With other shapes, the loss would broadcast one record against another.
        own = isinstance(self.net, NeuralNetBinaryClassifier) and out.numel() == y.numel()
        return self.by_element and (out.shape == y.shape or own)


class GradientEngine(ABC):
    """Gradients of the losses of many models at once.

    Attributes
    ----------
    stack : ModuleStack
        Weights of the models.
    takes_sums : bool
        Whether rows are passed without the zeros of their binary columns.
    """

    takes_sums = False
    #: Whether the same kernels compute all steps of the same shape, whatever their numbers are.
    repeats = True
    #: Number of steps after which the others take as long as each other.
    n_first = 0
    #: Whether the module can be asked for many models at once.
    at_once = True
    #: Whether each step writes the losses of its models to ``losses``, a tensor.
    keeps_losses = False
    losses = None

    def __init__(self, nets, labels):
        self.net = nets[0]
        self.total_loss = TotalLoss(self.net, labels)
        self.stack = ModuleStack([net.module_ for net in nets])

    def begin(self):
        """Prepare for steps after the stack may have been changed from outside."""
        return None

    def end(self):
        """Let go of what the modules of the nets share with the stack."""
        return None

    def restore(self):
        """Return the trained parameters of all models by their names in the module."""
        return self.stack.trained

    @abstractmethod
    def sites(self, x):
        """Return probability and shape of each dropout for a batch ``x`` of one model, in order."""

    @abstractmethod
    def gradients(self, models, x, y, masks):
        """Compute the gradients of the loss of each model on its own batch.

        Take x, y of shape (n_chosen, batch, ...), masks of shape (n_chosen, ...); return gradients:
        gradients in the order of stack.trained.
        """


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


def _apply_linear(module, x):
    return _StackedLinear.apply(x, module.weight, module.bias)


class GenericEngine(GradientEngine):
    """Gradients of any module, with the vectorizing transformation of torch."""

    _stacks_linears = True

    def __init__(self, nets, labels):
        super().__init__(nets, labels)
        self.module = copy.deepcopy(self.net.module_).train()
        self._sites, self._masks = {}, None
        for module in self.module.modules():
            if type(module) is nn.Linear and self._stacks_linears:
                module.forward = partial(_apply_linear, module)
            elif is_active(module):
                module.forward = self._drop
            elif type(module) is nn.Dropout and module.p == 0:
                module.forward = nn.Identity().forward

    def _drop(self, x):
        return x * next(self._masks)

    def sites(self, x):
        if not any(map(is_active, self.module.modules())):
            return []
        key = tuple(part.shape for part in list_row_tensors(x))
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
        return _differentiate(loss, leaves)

    def _forward(self, trained, fixed, x, masks):
        self._masks = iter(masks)
        positional, named = ((), x) if isinstance(x, Mapping) else ((x,), None)
        return functional_call(self.module, {**trained, **fixed}, positional, named)


class SeriesEngine(GenericEngine):
    """Gradients of the same modules, computed for one net after the other.

    Convolutions of many nets at once are grouped convolutions, for which the libraries of a GPU may
    only have slow kernels. If the kernels of a whole step are recorded, no time is lost between
    those of one net and those of the next.
    """

    _stacks_linears = False

    def gradients(self, models, x, y, masks):
        trained = self.stack.part(models)
        found = []
        for i, k in enumerate(range(models.start, models.stop)):
            leaves = {name: one[i].detach().requires_grad_() for name, one in trained.items()}
            fixed = {name: stacked[k] for name, stacked in self.stack.fixed.items()}
            own = take_model(x, i)
            out = self._forward(leaves, fixed, own, [mask[i] for mask in masks])
            loss = loss_of(self.net, out, y[i], own)
            found.append((loss.detach(), _differentiate(loss, leaves)))
        losses, gradients = zip(*found, strict=True)
        if self.keeps_losses:
            self.losses = torch.stack(losses)
        return [torch.stack(parts) for parts in zip(*gradients, strict=True)]


def _differentiate(loss, leaves):
    """Return the gradient of each leaf, zeros for those that a loss does not depend on."""
    gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return [
        torch.zeros_like(leaf) if gradient is None else gradient
        for leaf, gradient in zip(leaves.values(), gradients)
    ]


def _note(sites, p, x):
    sites.append((p, tuple(x.shape)))
    return x


class TurnsEngine(GradientEngine):
    """Gradients of any net, each by skorch's own step on its own module.

    It serves nets that torch cannot vectorize over models, or not with profit. What it saves is the
    time that a loader takes to collect single records. The weights of the modules are views of the
    stack while they are trained.
    """

    at_once = False
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
