"""Losses of linear models, to the second order, and the signals of their outputs."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax


class Curve(NamedTuple):
    """Loss of each record as a function of the outputs of a linear model, to the second order.

    Attributes
    ----------
    slopes : ndarray of shape (n, n_outputs)
        Minus its derivatives: the residual, or label minus probability.
    bends : ndarray of shape (n, n_outputs, n_outputs)
        Its second derivatives.
    """

    slopes: np.ndarray
    bends: np.ndarray


class SquaredLoss:
    """Half of the squared residual of one output; the signal is the output itself."""

    is_quadratic = True  # so that formulas to the second order are exact

    def curve(self, outputs, y):
        """Loss of each record near given outputs."""
        return Curve(y[:, None] - outputs, np.ones((len(y), 1, 1)))

    def signal(self, outputs, y):
        """The number that a model is judged by."""
        return outputs[:, 0]

    def slope(self, outputs, y):
        """Derivatives of the signal by the outputs."""
        return np.ones_like(outputs)


class LogisticLoss:
    """Log loss of labels 0 and 1; the signal is the log odds of the label."""

    is_quadratic = False

    def curve(self, outputs, y):
        """Loss of each record near given outputs."""
        proba = expit(outputs)
        return Curve(y[:, None] - proba, (proba * (1 - proba))[..., None])

    def signal(self, outputs, y):
        """The number that a model is judged by."""
        return np.where(y == 1, outputs[:, 0], -outputs[:, 0])

    def slope(self, outputs, y):
        """Derivatives of the signal by the outputs."""
        return np.where(y == 1, 1.0, -1.0)[:, None]


class SoftmaxLoss:
    """Log loss of the numbers of classes; the signal is the log odds of the label."""

    is_quadratic = False

    def curve(self, outputs, y):
        """Loss of each record near given outputs."""
        proba, label = softmax(outputs, axis=1), np.eye(outputs.shape[1])
        bends = proba[:, :, None] * label - proba[:, :, None] * proba[:, None, :]
        return Curve(label[y] - proba, bends)

    def signal(self, outputs, y):
        """The number that a model is judged by."""
        return outputs[np.arange(len(y)), y] - logsumexp(_others(outputs, y), axis=1)

    def slope(self, outputs, y):
        """Derivatives of the signal by the outputs."""
        return np.eye(outputs.shape[1])[y] - softmax(_others(outputs, y), axis=1)


def _others(outputs, y):
    """Outputs with minus infinity in the place of the label's."""
    rest = outputs.copy()
    rest[np.arange(len(y)), y] = -np.inf
    return rest
