"""Outputs of skorch nets."""

import math
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

import numpy as np

from .outputs import Outputs

# A DataLoader takes single records and joins them again, which takes longer than a small net.


# Numbers and records of a batch, at most: the activations of the layers need memory as well.
_NUMBERS, _RECORDS = 1 << 20, 1 << 13

# Difference of outputs, relative to the largest, that may be rounding.
_ROUNDING = 1e-4

_OWN_STEPS = "forward_iter", "get_dataset", "get_iterator"


def forward(net: Any, X: Any) -> Iterator:
    """Yield the outputs of a net for batches of records, as ``net.forward_iter`` does."""
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
    if not _are_close_tensors(whole, ask(X[:size])):
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


def _are_close_tensors(whole, part):
    import torch

    if not isinstance(whole, torch.Tensor):
        return (
            isinstance(whole, tuple)
            and len(whole) == len(part)
            and all(map(_are_close_tensors, whole, part))
        )
    known = part[torch.isfinite(part)] if part.dtype.is_floating_point else part[:0]
    scale = float(known.abs().max()) if known.numel() else 1.0
    first = whole[: len(part)]
    return first.shape == part.shape and torch.allclose(
        first, part, rtol=0, atol=_ROUNDING * max(scale, 1e-30), equal_nan=True
    )


# Probabilities in bfloat16, and therefore the sums of a row, are rounded by up to 0.4%.
_SUM_TOLERANCE = 0.01


def is_skorch(model):
    """Return whether a model is a skorch net or an instance of a subclass."""
    return any(base.__module__.startswith("skorch.") for base in type(model).__mro__)


def gives_logits(model):
    """Whether the module of a skorch net returns logits, which skorch turns into probabilities."""
    criterion = type(getattr(model, "criterion_", None)).__name__
    return (
        is_skorch(model)
        and getattr(model, "predict_nonlinearity", None) == "auto"
        and criterion in ("CrossEntropyLoss", "BCEWithLogitsLoss")
    )


def query_logits(net, X):
    """Query a net for which :func:`gives_logits` is true for its logits."""
    from skorch.utils import to_numpy

    answers = map(to_numpy, forward(net, X))
    parts = [part[0] if isinstance(part, tuple) else part for part in answers]
    if not parts:
        raise ValueError("A net must be queried for at least 1 record; got 0.")
    logits = np.concatenate(parts)
    if logits.ndim == 1 or logits.shape[1] == 1:
        logits = np.column_stack([np.zeros(len(logits), logits.dtype), logits.ravel()])
    return Outputs(logits, skorch_classes(net, logits.shape[1]), "logits")


def skorch_classes(net, n_columns):
    """Return the labels of the columns of a net's outputs.

    Skorch lists the labels of the training rows. Labels are the numbers of the output units, so a
    class that is absent from these rows still has its unit.
    """
    classes = getattr(net, "classes_", ())  # NeuralNet itself knows none
    return np.asarray(classes) if len(classes) == n_columns else np.arange(n_columns)


def query_proba(net, X):
    """Query a net that applies its own nonlinearity for class probabilities."""
    proba = np.asarray(net.predict_proba(X))
    refusal = why_not_probabilities(net, proba)
    if refusal:
        raise ValueError(refusal)
    return Outputs(proba, skorch_classes(net, proba.shape[1]), "proba")


def why_not_probabilities(net, proba):
    """Return why a net's outputs are not class probabilities, and what to do; None if they are."""
    found = _describe_fault(net, proba)
    if found is None:
        return None
    criterion = type(getattr(net, "criterion_", None)).__name__
    if criterion == "NLLLoss":
        return (
            f"The net's answers are not probabilities ({found}). With NLLLoss, skorch takes the "
            "logarithm itself: let the module return probabilities (softmax, not log_softmax), or "
            "let it return logits and use CrossEntropyLoss."
        )
    return (
        f"The net's answers are not probabilities ({found}): skorch knows which function makes "
        "probabilities of the module's output for CrossEntropyLoss, BCEWithLogitsLoss and BCELoss, "
        f"but not for {criterion}. Set the net's predict_nonlinearity to that function, such as "
        "torch.nn.Softmax(dim=-1), or to None if the module returns one probability per class."
    )


def _describe_fault(net, proba):
    if proba.ndim != 2:
        return f"an array of shape {proba.shape}, not one column per class"
    values = proba.astype(np.float64)
    if np.isnan(values).any() or not values.size:
        return None  # Outputs reports these faults
    low, high = values.min(), values.max()
    # Smaller deviations may be rounding, and Outputs refuses those that are too large for it.
    if low < -_SUM_TOLERANCE or high > 1 + _SUM_TOLERANCE:
        return f"they lie between {low:.3g} and {high:.3g}"
    if net.predict_nonlinearity != "auto":
        return None  # the user has declared that they are probabilities
    sums = values.sum(axis=1)
    if np.abs(sums - 1).max() > _SUM_TOLERANCE:
        return f"the probabilities of a record sum to between {sums.min():.3g} and {sums.max():.3g}"
    return None


def why_not_loader(net, n_rows=None):
    """Return why the loader of a net does not suit a training set of n_rows rows, or None."""
    settings = net.get_params_for("iterator_train")
    for name in ("sampler", "batch_sampler"):
        if isinstance(settings.get(name), Iterable):  # no class, which a function calls
            return (
                f"The net has iterator_train__{name}={type(settings[name]).__name__}, which draws "
                "positions in one training set, and each model that is trained here has another "
                "one. Give iterator_train a function f(dataset, **settings) that returns a "
                f"DataLoader with a {name} of this dataset."
            )
    size = settings.get("batch_size", net.batch_size)
    n_trained = None if n_rows is None else _count_trained(net, n_rows)
    if settings.get("drop_last") and n_trained is not None and 0 <= n_trained < size:
        return (
            f"The net would be trained on {n_trained} rows, which fill no batch of {size}, and "
            "iterator_train__drop_last=True drops them, so that it would learn nothing. Give it a "
            "smaller batch_size, or more records."
        )
    return None


def _count_trained(net, n_rows):
    """Return how many rows a validation split leaves; None if that is not known."""
    share = getattr(net.train_split, "cv", None)
    if net.train_split is None:
        return n_rows
    if not isinstance(share, Real):
        return None
    return n_rows - math.ceil(n_rows / share if share >= 1 else n_rows * share)
