"""Memory of one model in joint training."""

import copy

import torch

from .callbacks import stoppers_of
from .rows import ask, list_parts

# Arrays per parameter: in the net, in the stack, its gradient, and up to three in the optimizer.
_COPIES = 6
# With early stopping, the weights that are kept, and a copy when they are restored.
_KEPT_COPIES = 2
# Arrays per activation: itself, its gradient, and one kept for the backward pass.
_ACTIVATIONS = 3
_BYTES_ON_CPU = 512 * 2**20


def memory_for(device):
    """Return the bytes that jointly trained models may take: half of the free memory on a GPU."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] // 2
    return _BYTES_ON_CPU


def fits(n_bytes, device):
    """Whether rows are stored on a device: on a GPU they may take half of the free memory."""
    return device.type != "cuda" or n_bytes <= memory_for(device)


def bytes_per_model(prepared, table):
    """Return the bytes of one model in training, without the records that all models share.

    Parameters
    ----------
    prepared : Prepared
        One of the models.
    table : Table or None
        Rows that all models share.

    Returns
    -------
    n_bytes : int
    """
    own = prepared.table if table is None else table
    settings = prepared.net.get_params_for("iterator_train")
    batch = settings.get("batch_size", prepared.net.batch_size)
    n_rows = len(prepared.rows)
    batch = n_rows if batch == -1 else min(batch, n_rows)
    weights = sum(p.numel() * p.element_size() for p in prepared.net.module_.parameters())
    model = own.take_dense(prepared.rows[:2])
    gathered = sum(part[0].numel() * part.element_size() for part in list_parts(model)) * batch
    activations = _activation_bytes(prepared.net.module_, model) * batch
    rows = 16 * n_rows  # the order of the batches
    if table is None:
        here = [part for part in own.tensors if part.device == own.y.device]
        rows += sum(2 * part.numel() * part.element_size() for part in here)
    if prepared.device.type == "cuda":  # a recorded step has memory of its own
        gathered, activations = 2 * gathered, 2 * activations
    copies = _COPIES + (_KEPT_COPIES if stoppers_of(prepared.net) else 0)
    return max(1, copies * weights + gathered + _ACTIVATIONS * activations + rows)


def _activation_bytes(module, rows):
    """Return the bytes of the outputs of all parts of a module for one record."""
    total = 0

    def count(part, inputs, out):
        nonlocal total
        if isinstance(out, torch.Tensor):
            total += out.numel() * out.element_size()

    probe = copy.deepcopy(module).eval()
    for part in probe.modules():
        part.register_forward_hook(count)
    with torch.no_grad():
        ask(probe, rows)
    return total // len(list_parts(rows)[0])
