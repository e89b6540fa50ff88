"""Linear models and perceptrons of scikit-learn, as dense layers."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor

from ..._core.numbers import refuse_first
from ._base import ForwardPass, WhiteBox, check_inputs
from ._heads import LogLossHead, SquaredErrorHead

# What is held at once beside the answer, where the number of rows is left to the white box.
_BYTES = 2**26

# Each activation, and its derivative as a function of its value.
_ACTIVATIONS = {
    "identity": (lambda z: z, lambda a: 1.0),
    "logistic": (expit, lambda a: a * (1 - a)),
    "tanh": (np.tanh, lambda a: 1 - a**2),
    "relu": (lambda z: np.maximum(z, 0), lambda a: a > 0),
}


class LayerWeights(NamedTuple):
    """Weights of shape (n_outputs, n_inputs) and intercepts of shape (n_outputs,) or None."""

    weights: np.ndarray
    bias: np.ndarray | None
    weights_name: str
    bias_name: str


class DenseBox(WhiteBox):
    """A model of dense layers with one activation between them, computed in float64."""

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

    Shapes: chunk (m, n_features).
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
        """Return the gradient with respect to what each layer gives before its activation."""
        deltas = [cotangent]
        for layer, values in zip(self._layers[:0:-1], self.values[:0:-1]):
            deltas.append(deltas[-1] @ layer.weights * self._derivative(values))
        return deltas[::-1]


NAMES = "LogisticRegression, LinearRegression, Ridge, MLPClassifier and MLPRegressor"
FAMILIES = (LogisticRegression, LinearRegression, Ridge, MLPClassifier, MLPRegressor)


def open_sklearn(model, transformers, chunk_size):
    """Return white box of a model of scikit-learn; None when it is of no family that is known."""
    refuse_first(_list_obstacles(model))
    if isinstance(model, LogisticRegression):
        return _open_linear(model, transformers, LogLossHead(model.classes_), chunk_size)
    if isinstance(model, LinearRegression | Ridge):
        return _open_linear(model, transformers, SquaredErrorHead(), chunk_size)
    if isinstance(model, MLPClassifier | MLPRegressor):
        return _open_perceptron(model, transformers, chunk_size)
    return None


def _list_obstacles(model):
    """Yield why the gradients of a model are not known: another loss, or several targets."""
    if isinstance(model, LogisticRegression):
        # Older versions of scikit-learn have further models under this name.
        n_classes, chosen = len(model.classes_), getattr(model, "multi_class", "deprecated")
        if n_classes > 2 and (chosen == "ovr" or model.solver == "liblinear"):
            yield (
                "White-box access of LogisticRegression needs the softmax of all classes; this one "
                "is fitted one-vs-rest."
            )
        if n_classes == 2 and chosen == "multinomial":
            yield (
                "White-box access of LogisticRegression with two classes needs one logit; this one "
                'is fitted with multi_class="multinomial".'
            )
    elif isinstance(model, LinearRegression | Ridge):
        n_targets = len(model.coef_) if model.coef_.ndim > 1 else 1
        if n_targets > 1:
            yield f"White-box access needs one target; the model has {n_targets}."
    elif isinstance(model, MLPClassifier):
        if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
            yield "White-box access needs one label per record; the model has several."
    elif isinstance(model, MLPRegressor):
        loss = getattr(model, "loss", "squared_error")
        if model.n_outputs_ > 1 or loss != "squared_error":
            yield (
                "White-box access of MLPRegressor needs one target and the squared error; the "
                f"model has {model.n_outputs_} and loss={loss!r}."
            )


def _open_linear(model, transformers, head, chunk_size):
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    bias = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    layer = LayerWeights(coef, bias if model.fit_intercept else None, "coef_", "intercept_")
    return DenseBox(model, transformers, head, [layer], "identity", chunk_size)


def _open_perceptron(model, transformers, chunk_size):
    is_classifier = isinstance(model, MLPClassifier)
    head = LogLossHead(model.classes_) if is_classifier else SquaredErrorHead()
    layers = [
        LayerWeights(
            W.T.astype(np.float64), b.astype(np.float64), f"coefs_[{i}]", f"intercepts_[{i}]"
        )
        for i, (W, b) in enumerate(zip(model.coefs_, model.intercepts_))
    ]
    return DenseBox(model, transformers, head, layers, model.activation, chunk_size)
