"""Dense networks of scikit-learn, from none to many hidden layers, in closed form."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ._base import WhiteBox
from ._checks import check_inputs
from ._pass import ForwardPass

# What is held at once beside the answer, where the number of rows is left to the white box.
_BYTES = 2**26

# Each activation, and its derivative as a function of its value.
_ACTIVATIONS = {
    "identity": (lambda z: z, lambda a: 1.0),
    "logistic": (expit, lambda a: a * (1 - a)),
    "tanh": (np.tanh, lambda a: 1 - a**2),
    "relu": (lambda z: np.maximum(z, 0), lambda a: a > 0),
}


class Layer(NamedTuple):
    """Weights of shape (n_outputs, n_inputs) and intercepts of shape (n_outputs,) or None."""

    weights: np.ndarray
    bias: np.ndarray | None
    weights_name: str
    bias_name: str


class DenseBox(WhiteBox):
    """A model of dense layers with one activation between them, computed in float64.

    Parameters
    ----------
    model : fitted estimator
    transformers : list of fitted transformers
    head : LogLossHead or SquaredErrorHead
    layers : list of Layer
    activation : {"identity", "logistic", "tanh", "relu"}
        Activation of the hidden layers.
    chunk_size : int or None
    """

    def __init__(self, model, transformers, head, layers, activation, chunk_size):
        shapes = {}
        for layer in layers:
            shapes[layer.weights_name] = layer.weights.shape
            if layer.bias is not None:
                shapes[layer.bias_name] = layer.bias.shape
        super().__init__(model, transformers, head, head.classes, shapes, chunk_size)
        self._layers, self._activation = layers, activation

    def _check_inputs(self, inputs):
        inputs, n_features = check_inputs(inputs), self._layers[0].weights.shape[1]
        if inputs.shape[1:] != (n_features,):
            raise ValueError(
                f"The model takes inputs of {n_features} features; got shape {inputs.shape}."
            )
        return inputs

    def _rows_at_once(self, inputs, task):
        sizes = [layer.weights.size for layer in self._layers]
        held = {"parts": max(sizes), "whole": sum(sizes)}.get(task, 0)
        widths = inputs.shape[1] + sum(len(layer.weights) for layer in self._layers)
        return max(1, _BYTES // (8 * 3 * (widths + held)))

    @contextmanager
    def _pass(self, chunk, wrt):
        yield DensePass(chunk, self._layers, self._activation)

    def _read_layers(self, chunk, names=None):
        forward = DensePass(chunk, self._layers, self._activation)
        hidden = {f"hidden_{i + 1}": values for i, values in enumerate(forward.values[1:])}
        found = {**hidden, "output": forward.raw}
        return found if names is None else {name: found[name] for name in names}


class DensePass(ForwardPass):
    """Inputs and activations of all layers.

    Parameters
    ----------
    chunk : ndarray of shape (m, n_features)
    layers : list of Layer
    activation : str
    """

    def __init__(self, chunk, layers, activation):
        self._layers = layers
        activate, self._derivative = _ACTIVATIONS[activation]
        self.values = [chunk.astype(np.float64)]  # what each layer receives
        for layer in layers:
            z = self.values[-1] @ layer.weights.T
            if layer.bias is not None:
                z += layer.bias
            self.values.append(activate(z) if layer is not layers[-1] else z)
        self.raw = self.values.pop()

    def input_gradients(self, cotangent):
        return self._pull(cotangent)[0] @ self._layers[0].weights

    def parameter_gradients(self, cotangent, names):
        found = {}
        for layer, values, delta in zip(self._layers, self.values, self._pull(cotangent)):
            found[layer.weights_name] = (delta, values)
            found[layer.bias_name] = (delta, None)
        for name in names:
            delta, values = found[name]
            yield delta if values is None else delta[:, :, None] * values[:, None, :]

    def squared_norms(self, cotangent):
        norms = np.zeros(len(cotangent))
        for layer, values, delta in zip(self._layers, self.values, self._pull(cotangent)):
            # The gradient of the weights is an outer product.
            size = np.square(values).sum(axis=1) + (layer.bias is not None)
            norms += np.square(delta).sum(axis=1) * size
        return norms

    def _pull(self, cotangent):
        """Gradient with respect to what each layer gives before its activation."""
        deltas = [cotangent]
        for layer, values in zip(self._layers[:0:-1], self.values[:0:-1]):
            deltas.append(deltas[-1] @ layer.weights * self._derivative(values))
        return deltas[::-1]
