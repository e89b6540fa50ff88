"""A chunk of inputs on its way through a model."""

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from ..._core.containers import is_frame, is_tensor, to_numpy


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


def as_array(X):
    """Rows of any container as a dense array."""
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


def parts_of(one, cotangent, wrt, names=()):
    """Gradients of a forward pass as matrices, in parts of their columns."""
    if wrt == "inputs":
        yield one.input_gradients(cotangent).reshape(len(cotangent), -1)
    else:
        for part in one.parameter_gradients(cotangent, names):
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
