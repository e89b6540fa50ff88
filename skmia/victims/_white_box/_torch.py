"""Torch modules in skorch nets."""

from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor

from ..._core.skorch_nets import skorch_classes
from ..._core.torch_parts import uncompiled
from ._base import WhiteBox
from ._checks import check_inputs
from ._criterion import make_head
from ._heads import LogLossHead
from ._torch_layers import LayerReader
from ._torch_passes import PARAMETER_WAYS, LoopPass, RulePass, TorchPass, trained
from ._torch_state import evaluating, to_device, without_fused_attention

# What is held at once beside the answer, where the number of rows is left to the white box.
_BYTES, _BYTES_ON_GPU = 2**27, 2**30
_N_TRIED = 3
_NETS = (NeuralNetClassifier, NeuralNetBinaryClassifier, NeuralNetRegressor)


def open_net(net, transformers, chunk_size):
    """White box of a skorch net; None when it is of no family that is known."""
    family = next((kind for kind in _NETS if isinstance(net, kind)), None)
    module = getattr(net, "module_", None)
    if family is None or module is None:
        return None
    classes = None if family is NeuralNetRegressor else np.asarray(net.classes_)
    make = partial(make_head, net)
    return TorchBox(net, uncompiled(module), classes, make, transformers, chunk_size)


def open_module(classifier, transformers, chunk_size):
    """White box of a module that returns logits of the classes of a classifier."""
    module = uncompiled(classifier.model_)

    def make(classes, tail):
        return LogLossHead(classes)

    return TorchBox(classifier, module, classifier.classes_, make, transformers, chunk_size)


class TorchBox(WhiteBox):
    """A torch module in a skorch net or a FunctionClassifier.

    Parameters
    ----------
    net : fitted estimator
    module : nn.Module
        Its module.
    classes : ndarray of shape (n_classes,) or None
        None for a regressor.
    make : callable
        Makes the head of the classes and the shape of what the module gives for a record.
    transformers : list of fitted transformers
    chunk_size : int or None
    """

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
        """The fastest way that gives the gradients of the first records as taken one by one."""
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
        """Gradients of a few records for a cotangent that has no symmetry."""
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
