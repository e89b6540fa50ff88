"""Queries of a skorch net in large batches, cut from one array.

A DataLoader takes single records and joins them again, which takes longer than a small net.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

# Numbers and records of a batch, at most: the activations of the layers need memory as well.
_NUMBERS, _RECORDS = 1 << 20, 1 << 13

# Difference of outputs, relative to the largest, that may be rounding.
_ROUNDING = 1e-4

_OWN_STEPS = "forward_iter", "get_dataset", "get_iterator"


def forward(net: Any, X: Any) -> Iterator:
    """Yield the outputs of a net for batches of records, as ``net.forward_iter`` does.

    Parameters
    ----------
    net : NeuralNet
        Fitted net.
    X : array-like of n records
        Records to query.

    Returns
    -------
    batches : iterator
    """
    size = _get_batch_size(net, X)
    return net.forward_iter(X) if size is None else _forward_in_bulk(net, X, size)


def _forward_in_bulk(net, X, size):
    import torch
    from skorch.utils import to_device

    def ask(rows):
        tensor = rows if isinstance(rows, torch.Tensor) else torch.as_tensor(np.array(rows))
        return to_device(net.evaluation_step((tensor, None), training=False), "cpu")

    step = max(size, min(_RECORDS, _NUMBERS // max(1, int(np.prod(X.shape[1:])))))
    whole = ask(X[:step])
    # The answer to a record may depend on its batch, or be random.
    if not _agree(whole, ask(X[:size])):
        yield from net.forward_iter(X)
        return
    yield whole
    for start in range(step, len(X), step):
        yield ask(X[start : start + step])


def _get_batch_size(net, X):
    """Return the size of the batches of a net whose records are rows of one array, else None."""
    import skorch
    from torch.utils.data import DataLoader

    usual = skorch.NeuralNet
    settings = net.get_params_for("iterator_valid")
    size = settings.pop("batch_size", net.batch_size)
    if (
        any(name in vars(net) for name in _OWN_STEPS)
        or any(getattr(type(net), name) is not getattr(usual, name) for name in _OWN_STEPS)
        or net.iterator_valid is not DataLoader
        or settings
        or net.dataset is not skorch.dataset.Dataset
        or net.get_params_for("dataset")
        or not _is_table(X)
        or not 0 < size < len(X)
    ):
        return None
    return size


def _is_table(X):
    import torch

    if isinstance(X, torch.Tensor):
        return X.ndim > 1
    return isinstance(X, np.ndarray) and X.ndim > 1 and X.dtype.kind in "biuf"


def _agree(whole, part):
    import torch

    if not isinstance(whole, torch.Tensor):
        return (
            isinstance(whole, tuple) and len(whole) == len(part) and all(map(_agree, whole, part))
        )
    scale = float(part.abs().max()) if part.numel() and part.dtype.is_floating_point else 1.0
    first = whole[: len(part)]
    return first.shape == part.shape and torch.allclose(
        first, part, rtol=0, atol=_ROUNDING * max(scale, 1e-30), equal_nan=True
    )
