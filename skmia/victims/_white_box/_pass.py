"""A chunk of inputs on its way through a model."""

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from ..._core.advice import with_advice
from ..._core.containers import as_rows, is_frame, is_tensor, to_numpy
from ..._core.randomness import preserved_randomness


class ForwardPass(ABC):
    """A chunk of m inputs that went through a model once, and the ways back.

    Attributes
    ----------
    raw : ndarray of shape (m, k)
        What the model gave, in float64.
    """

    @abstractmethod
    def input_gradients(self, cotangent):
        """Gradient of the sum of cotangent * raw, (m, k), with respect to each input."""

    @abstractmethod
    def parameter_gradients(self, cotangent, names):
        """The same for the named parameters: yields one array of shape (m, *shape) for each."""

    @abstractmethod
    def squared_norms(self, cotangent):
        """Squared norm, (m,), of the same for all parameters."""


def transform(transformers, X):
    """Rows of any container, as the steps before a model pass them on, as a dense array."""
    X = as_rows(X)
    with preserved_randomness():
        for transformer in transformers:
            with with_advice(transformer, X):
                X = transformer.transform(X)
    if sparse.issparse(X):
        return X.toarray()
    if is_frame(X):
        return X.to_numpy()
    return to_numpy(X) if is_tensor(X) else np.asarray(X)


def split(cotangent):
    """Cotangents of largest entry 1, and what they were divided by.

    Gradients are linear in the cotangent. Those of a confident model would be lost in the range
    of float32.
    """
    scale = abs(cotangent).max(axis=1)
    return cotangent / np.where(scale > 0, scale, 1)[:, None], scale


def parts_of(forward, cotangent, wrt, names=()):
    """Gradients of a forward pass as matrices, in parts of their columns."""
    if wrt == "inputs":
        yield forward.input_gradients(cotangent).reshape(len(cotangent), -1)
    else:
        for part in forward.parameter_gradients(cotangent, names):
            yield part.reshape(len(cotangent), -1)


def scaled(part, scale):
    """Rows times a number of their own, as an array of numpy."""
    part = to_numpy(part) if is_tensor(part) else part
    return part * scale.reshape(-1, *[1] * (part.ndim - 1)).astype(part.dtype)


def join(chunks, n, *shape):
    """Chunks of rows as one array."""
    joined = np.empty((n, *shape))
    for rows, values in chunks:
        joined[rows] = values
    return joined
