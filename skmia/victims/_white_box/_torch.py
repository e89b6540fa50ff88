"""Torch modules in skorch nets."""

import copy
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from torch import nn
from torch.func import vmap

from ..._core.containers import to_numpy
from ..._core.skorch_nets import skorch_classes, why_not_probabilities
from ..._core.torch_parts import list_layer_classes, uncompiled
from ._base import WhiteBox, check_inputs
from ._heads import LogLossHead, ProbabilityHead, SquaredErrorHead
from ._torch_passes import (
    PARAMETER_WAYS,
    LoopPass,
    RulePass,
    TorchPass,
    evaluating,
    first_tensor,
    to_device,
    trained,
    without_fused_attention,
)

# Criteria whose loss is computed here, without rounding, if they have no other settings.
_PLAIN = (nn.CrossEntropyLoss, nn.NLLLoss, nn.BCEWithLogitsLoss, nn.BCELoss, nn.MSELoss)
_OF_LOGITS = (nn.CrossEntropyLoss, nn.BCEWithLogitsLoss)
_WEIGHTS = ("weight", "pos_weight")


def make_head(net, classes, tail):
    criterion = uncompiled(net.criterion_)
    is_plain = type(criterion) in _PLAIN and not _weighs_classes(criterion)
    is_plain &= type(net).get_loss.__module__.startswith("skorch.")
    if classes is None:
        is_plain = is_plain and isinstance(criterion, nn.MSELoss)
        return SquaredErrorHead() if is_plain else _ValueHead(net, tail)
    if isinstance(criterion, _OF_LOGITS) and net.predict_nonlinearity == "auto":
        return LogLossHead(classes) if is_plain else _LogitHead(net, tail, classes)
    floor = torch.finfo(next(net.module_.parameters()).dtype).eps  # as skorch does
    if is_plain and type(criterion) in (nn.NLLLoss, nn.BCELoss):
        return ProbabilityHead(classes, floor)
    return _ProbabilityHead(net, tail, classes, floor)


def _weighs_classes(criterion):
    given = [getattr(criterion, name, None) is not None for name in _WEIGHTS]
    return any(given) or bool(getattr(criterion, "label_smoothing", 0))


class _OwnLoss:
    """Loss of each record by ``get_loss`` of a net, and its gradient by autograd."""

    def __init__(self, net, tail, *args):
        super().__init__(*args)
        self._net, self._tail = copy.copy(net), tail
        self._parameter = next(net.module_.parameters())

    def loss(self, raw, target):
        """Return the loss of each record alone, as the net computes it."""
        with torch.no_grad():
            return self._measure(self._as_output(raw), target).double().cpu().numpy()

    def cotangent(self, raw, target):
        with torch.enable_grad():
            output = self._as_output(raw).requires_grad_()
            total = self._measure(output, target).sum()
            (found,) = torch.autograd.grad(total, output)
        return found.double().cpu().numpy().reshape(raw.shape)

    def _as_output(self, raw):
        values = torch.as_tensor(raw, dtype=self._parameter.dtype, device=self._parameter.device)
        return values.reshape(-1, *self._tail)

    def _measure(self, output, target):
        # Labels as the net was trained with.
        labels = torch.as_tensor(target if self.classes is None else self.classes[target])
        is_number = self.classes is None or self._tail in ((), (1,))
        labels = labels.to(self._parameter.dtype if is_number else torch.int64)
        y = labels.reshape(-1, *(self._tail if is_number else ())).to(self._parameter.device)

        def measure(row, label):
            return self._net.get_loss(row[None], label[None]).mean()

        try:
            return vmap(measure)(output, y)
        except Exception:  # whatever a loss does that cannot be vectorized
            return torch.stack([measure(*pair) for pair in zip(output, y, strict=True)])


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
        proba = self._proba(raw)
        refusal = why_not_probabilities(self._net, proba)
        if refusal:
            raise ValueError(refusal)
        return np.log(proba + self.floor)

    def pull(self, raw, weights):
        with torch.enable_grad():
            output = self._as_output(raw).requires_grad_()
            log_proba = torch.log(self._apply(output) + self.floor)
            total = (log_proba * torch.as_tensor(weights).to(log_proba)).sum()
            (found,) = torch.autograd.grad(total, output)
        return found.double().cpu().numpy().reshape(raw.shape)


# They give what they receive, in other order or with noise.
_SILENT = (nn.Identity, nn.Flatten, nn.Unflatten, *list_layer_classes("dropout"))
_LAST = (nn.Linear, nn.LayerNorm, nn.Embedding, nn.RNNBase, nn.MultiheadAttention)
_SECOND = (
    nn.GroupNorm,
    *list_layer_classes("convolution", "batch norm", "instance norm", "pooling"),
)


def list_leaves(module):
    """Return modules without modules inside, and attention, by name."""
    return {
        name: part
        for name, part in module.named_modules()
        if (isinstance(part, nn.MultiheadAttention) or not any(True for _ in part.children()))
        and not isinstance(part, _SILENT)
    }


class LayerReader:
    """Collects what the leaves of a module give for a batch, in the order they are passed.

    outputs: dict of str to (m, n_units); count: numbers that all leaves gave for a record.
    """

    def __init__(self, module, n_rows, names=None):
        self._leaves = {part: name or "module" for name, part in list_leaves(module).items()}
        self._n_rows, self._names, self._calls = n_rows, names, {}
        self._channels_last = False
        self.outputs, self.count = {}, 0

    @contextmanager
    def listening(self):
        """Context in which the module is called once."""
        handles = [part.register_forward_hook(self._note) for part in self._leaves]
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()

    def _note(self, part, received, output):
        output = first_tensor(output)
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            return
        if output.ndim == 0 or len(output) != self._n_rows:
            return
        self.count += output[:1].numel()
        # Activations keep the places of the channels.
        if isinstance(part, _LAST):
            self._channels_last = True
        elif isinstance(part, _SECOND):
            self._channels_last = False
        call = self._calls[part] = self._calls.get(part, 0) + 1
        name = self._leaves[part] if call == 1 else f"{self._leaves[part]}#{call}"
        if self._names is None or name in self._names:
            self.outputs[name] = self._average(output)

    def _average(self, output):
        if output.ndim > 2:
            channels = output if not self._channels_last else output.movedim(-1, 1)
            output = channels.flatten(2).mean(2)
        # A copy, as the next layer may work in place.
        return to_numpy(output.reshape(len(output), -1).clone())


# What is held at once beside the answer, where the number of rows is left to the white box.
_BYTES, _BYTES_ON_GPU = 2**27, 2**30
_N_TRIED = 3
_NETS = (NeuralNetClassifier, NeuralNetBinaryClassifier, NeuralNetRegressor)


def open_net(net, transformers, chunk_size):
    """Return white box of a skorch net; None when it is of no family that is known."""
    family = next((kind for kind in _NETS if isinstance(net, kind)), None)
    module = getattr(net, "module_", None)
    if family is None or module is None:
        return None
    classes = None if family is NeuralNetRegressor else np.asarray(net.classes_)
    make = partial(make_head, net)
    return TorchBox(net, uncompiled(module), classes, make, transformers, chunk_size)


def open_module(classifier, transformers, chunk_size):
    """Return white box of a module that returns logits of the classes of a classifier."""
    module = uncompiled(classifier.model_)

    def make(classes, tail):
        return LogLossHead(classes)

    return TorchBox(classifier, module, classifier.classes_, make, transformers, chunk_size)


class TorchBox(WhiteBox):
    """A torch module in a skorch net or a FunctionClassifier."""

    def __init__(self, net, module, classes, make, transformers, chunk_size):
        shapes = {name: tuple(weight.shape) for name, weight in trained(module).items()}
        super().__init__(net, transformers, None, classes, shapes, chunk_size)
        self._module, self._make = module, make
        self._way, self._n_values, self._n_rule = None, None, 0

    def _check_inputs(self, inputs):
        inputs = check_inputs(inputs)
        if self._head is None:
            self._learn(inputs[:_N_TRIED])
        return inputs

    def _learn(self, inputs):
        """Find out what the module gives, which only records can tell."""
        reader = LayerReader(self._module, 1, names=())
        with reader.listening(), without_fused_attention(), self._pass(inputs[:1], None) as forward:
            n_columns, tail = forward.raw.shape[1], forward.tail
        self._check_alone(inputs)
        if self.classes is not None:
            self.classes = skorch_classes(self.model, max(2, n_columns))
        elif n_columns != 1:
            raise ValueError(f"White-box access needs one target; the module gives {n_columns}.")
        self._n_values = reader.count + inputs[0].size
        self._head = self._make(self.classes, tail)

    def _check_alone(self, inputs):
        """Check that the answers to records do not depend on what else is asked."""
        if self._chunk_size == 1:
            return
        together, alone = self._ask_raw([inputs]), self._ask_raw(inputs[:, None])
        with np.errstate(invalid="ignore"):  # a net that diverged is reported elsewhere
            difference = abs(together - alone)
        if (difference > self._tolerance() * abs(alone).max()).any():
            raise ValueError(
                "The module's answer to a record depends on the other records of the batch, so "
                "that a single record has no gradient; open it with chunk_size=1."
            )

    def _ask_raw(self, batches):
        answers = []
        for batch in batches:
            with self._pass(batch, None) as forward:
                answers.append(forward.raw)
        return np.concatenate(answers)

    def _rows_at_once(self, inputs, task):
        held = 2 * self._n_values
        if task in ("norms", "parts", "whole"):
            way = self._way or self._choose_way(inputs)
            held = 4 * self._n_values + self._n_rule
            if task == "whole" or way[0] is not RulePass:
                held += 3 * self.n_parameters
        on_gpu = any(parameter.is_cuda for parameter in self._module.parameters())
        return max(1, (_BYTES_ON_GPU if on_gpu else _BYTES) // (4 * held))

    @contextmanager
    def _pass(self, chunk, wrt):
        if wrt == "parameters" and self._way is None:
            self._choose_way(chunk)
        way, plan = self._way if wrt == "parameters" else (TorchPass, None)
        with evaluating(self._module, wrt is not None):
            x = to_device(chunk, self._module)
            if wrt == "inputs":
                if not x.is_floating_point():
                    raise ValueError(
                        f"The inputs are integers ({chunk.dtype}), which have no gradient."
                    )
                x = x.detach().requires_grad_()
            yield way(self._module, plan, x)

    def _choose_way(self, inputs):
        """Return fastest way that gives the gradients of the first records as taken one by one."""
        inputs = inputs[:_N_TRIED]
        expected = self._try(LoopPass, inputs)
        for way in PARAMETER_WAYS:
            try:
                found = self._try(way, inputs)
            except Exception:  # whatever a module does that a way is not made for
                continue
            close = self._tolerance() * torch.linalg.norm(expected)
            if way is LoopPass or torch.dist(found, expected) <= close:
                self._way = way, way.plan(self._module)
                break
        if way is RulePass:
            with self._pass(inputs[:1], "parameters") as forward:
                self._n_rule = forward.count()
        return self._way

    def _try(self, way, inputs):
        """Return the gradients of a few records for a cotangent that has no symmetry."""
        with evaluating(self._module, True):
            forward = way(self._module, way.plan(self._module), to_device(inputs, self._module))
            cotangent = np.cos(np.arange(1, forward.raw.size + 1)).reshape(forward.raw.shape)
            parts = forward.parameter_gradients(cotangent, tuple(self.parameter_shapes))
            return torch.cat([part.reshape(len(part), -1).cpu().double() for part in parts], 1)

    def _tolerance(self):
        parameter = next(self._module.parameters())
        if parameter.device.type != "cpu":
            return 1e-2  # products of matrices may be rounded to ten bits
        return 3 * torch.finfo(parameter.dtype).eps ** 0.5

    def _read_layers(self, chunk, names=None):
        reader = LayerReader(self._module, len(chunk), names)
        with evaluating(self._module, False), without_fused_attention(), reader.listening():
            self._module(to_device(chunk, self._module))
        return reader.outputs
