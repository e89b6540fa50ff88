"""Networks of one shape as stacked arrays: forward pass, backward pass and loss."""

from itertools import pairwise

import numpy as np
from scipy.special import expit


def _do_nothing(values, delta=None):
    pass


def _relu(values):
    np.maximum(values, 0, out=values)


def _relu_slope(values, delta):
    delta *= values != 0


def _tanh(values):
    np.tanh(values, out=values)


def _tanh_slope(values, delta):
    delta *= 1 - values**2


def _logistic(values):
    expit(values, out=values)


def _logistic_slope(values, delta):
    delta *= values
    delta *= 1 - values


def _softmax(values):
    values -= values.max(axis=-1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=-1, keepdims=True)


_ACTIVATIONS = {
    "identity": (_do_nothing, _do_nothing),
    "relu": (_relu, _relu_slope),
    "tanh": (_tanh, _tanh_slope),
    "logistic": (_logistic, _logistic_slope),
}
_OUTPUTS = {"identity": _do_nothing, "logistic": _logistic, "softmax": _softmax}


def _send_back(delta, coefs, out):
    if delta.shape[2] == 1:  # for an outer product, BLAS and broadcasting take twice as long
        np.einsum("kbo,kho->kbh", delta, coefs, out=out)
    else:
        np.matmul(delta, coefs.swapaxes(1, 2), out=out)


class Stack:
    """The weights of k networks, and buffers for one batch of each.

    All weights of a model are in one row, those with a penalty first, so that an optimizer can
    update them at once.

    Parameters
    ----------
    networks : list of Network
        Networks of one kind.
    batch_size : int
        Largest number of records in a batch.

    Attributes
    ----------
    parameters : ndarray of shape (k, p)
    batch : ndarray of shape (k, batch_size, d)
        Buffer for the records of a batch.
    """

    def __init__(self, networks, batch_size):
        first = networks[0]
        self._widths, self._alpha = first.widths, first.model.alpha
        self._activation, self._slope = _ACTIVATIONS[first.model.activation]
        self._output = _OUTPUTS[first.model.out_activation_]
        self._n_coef = sum(a * b for a, b in pairwise(self._widths))
        self.parameters = np.array(
            [
                np.concatenate(
                    [array.ravel() for array in (*net.model.coefs_, *net.model.intercepts_)]
                )
                for net in networks
            ]
        )
        self._make_room(batch_size)

    def _make_room(self, batch_size):
        k, dtype = len(self.parameters), self.parameters.dtype
        self._values = [np.empty((k, batch_size, width), dtype) for width in self._widths]
        self._deltas = [np.empty_like(values) for values in self._values[1:]]
        self._gradient = np.empty_like(self.parameters)
        self._scratch = np.empty((k, self._n_coef), dtype)
        self.batch = self._values[0]
        self._coefs, self._intercepts = self._split(self.parameters)
        self._coef_grads, self._intercept_grads = self._split(self._gradient)

    def _split(self, rows):
        """Return views of the weights and intercepts of each layer."""
        coefs, intercepts, begin = [], [], 0
        for a, b in pairwise(self._widths):
            coefs.append(rows[:, begin : begin + a * b].reshape(-1, a, b))
            begin += a * b
        for width in self._widths[1:]:
            intercepts.append(rows[:, None, begin : begin + width])
            begin += width
        return coefs, intercepts

    def keep(self, rows):
        """Keep only some of the models."""
        self.parameters = self.parameters[rows]
        self._make_room(self.batch.shape[1])

    def split_row(self, row):
        """Copy the row of one model as a list: the weights of the layers, then their intercepts."""
        coefs, intercepts = self._split(row[None].copy())
        return [coef[0].copy() for coef in coefs] + [
            intercept[0, 0].copy() for intercept in intercepts
        ]

    def penalty(self, rows):
        """Return the penalty of the loss, times the number of records."""
        coefs = self.parameters[rows, : self._n_coef]
        return 0.5 * self._alpha * np.einsum("kp,kp->k", coefs, coefs)

    def forward(self, rows, size):
        """Return the outputs of a slice of the models for the first ``size`` records of a batch."""
        values = self._values[0][rows, :size]
        for i, coefs in enumerate(self._coefs):
            following = self._values[i + 1][rows, :size]
            np.matmul(values, coefs[rows], out=following)
            following += self._intercepts[i][rows]
            (self._activation if i + 1 < len(self._coefs) else self._output)(following)
            values = following
        return values

    def backward(self, rows, size, y):
        """Return the gradient of the loss at the last outputs of :meth:`forward`.

        Parameters
        ----------
        rows : slice
            Models to use.
        size : int
            Number of records of each model.
        y : ndarray of shape (k, size, n_outputs)
            Targets.

        Returns
        -------
        gradient : ndarray of shape (k, p)
            Gradient, which the next call overwrites.
        """
        delta = self._deltas[-1][rows, :size]
        np.subtract(self._values[-1][rows, :size], y, out=delta)
        for i in range(len(self._coefs) - 1, -1, -1):
            values = self._values[i][rows, :size]
            np.matmul(values.swapaxes(1, 2), delta, out=self._coef_grads[i][rows])
            np.sum(delta, axis=1, keepdims=True, out=self._intercept_grads[i][rows])
            if i:
                before, coefs = self._deltas[i - 1][rows, :size], self._coefs[i][rows]
                _send_back(delta, coefs, out=before)
                self._slope(values, before)
                delta = before
        gradient, scratch = self._gradient[rows], self._scratch[rows]
        np.multiply(self.parameters[rows, : self._n_coef], self._alpha, out=scratch)
        gradient[:, : self._n_coef] += scratch
        gradient /= size
        return gradient


def sum_losses(out_activation, answers, y):
    """Sum the losses of the records of one model, without the penalty.

    Parameters
    ----------
    out_activation : {"identity", "logistic", "softmax"}
        Output activation of the model.
    answers, y : ndarray of shape (n, n_outputs)

    Returns
    -------
    loss : float
    """
    if out_activation == "identity":
        return 0.5 * np.sum(np.mean((y - answers) ** 2, axis=1))
    tiny = np.finfo(answers.dtype).eps
    answers = np.clip(answers, tiny, 1 - tiny)
    if out_activation == "logistic":
        answers = np.where(y > 0, answers, 1 - answers)
        return -np.sum(np.log(answers))
    return -np.sum(np.log(answers[y > 0]))
