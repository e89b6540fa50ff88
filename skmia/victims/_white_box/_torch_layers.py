"""What the layers of a torch module give."""

from contextlib import contextmanager

import torch
from torch import nn

from ..._core.containers import to_numpy
from ..._core.torch_parts import layers_of
from ._torch_passes import first_tensor

# They give what they receive, in other order or with noise.
_SILENT = (nn.Identity, nn.Flatten, nn.Unflatten, *layers_of("dropout"))
_LAST = (nn.Linear, nn.LayerNorm, nn.Embedding, nn.RNNBase, nn.MultiheadAttention)
_SECOND = (nn.GroupNorm, *layers_of("convolution", "batch norm", "instance norm", "pooling"))


def list_leaves(module):
    """Modules without modules inside, and attention, by name."""
    return {
        name: part
        for name, part in module.named_modules()
        if (isinstance(part, nn.MultiheadAttention) or not any(True for _ in part.children()))
        and not isinstance(part, _SILENT)
    }


class LayerReader:
    """Collects what the leaves of a module give for a batch.

    Parameters
    ----------
    module : nn.Module
    n_rows : int
        Number of records.
    names : sequence of str, default=None
        Keep these only.

    Attributes
    ----------
    outputs : dict of str to ndarray of shape (m, n_units)
        In the order in which the leaves were passed.
    count : int
        Numbers that all leaves gave for a record.
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
