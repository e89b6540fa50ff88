"""Optimum of linear models with the squared error."""

from typing import NamedTuple

import numpy as np


class Optimum(NamedTuple):
    """What adds to 0 at the optimum of a linear model, for each of its outputs.

    Attributes
    ----------
    slopes : ndarray of shape (n, n_outputs)
        Derivative of the loss of each candidate by its output.
    pulls : ndarray of shape (n_outputs, n_features)
        Gradient of the penalty.
    error : float
        What the solver may have left of a gradient, at most.
    """

    slopes: np.ndarray
    pulls: np.ndarray
    error: float


def optimum_of_squares(model, X, y, n_rows):
    """Optimum of LinearRegression, Ridge and RidgeCV."""
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    coefficients = np.atleast_2d(model.coef_)
    outputs = X @ coefficients.T + model.intercept_
    slopes = outputs - np.reshape(y, (len(X), -1))
    return Optimum(slopes, alpha * coefficients, 0.0)


def optimum_of_squares_of_classes(model, X, y, n_rows):
    """Optimum of a RidgeClassifier, whose targets are 1 and -1."""
    n_classes = len(model.classes_)
    wanted = y[:, None] == (np.arange(n_classes) if n_classes > 2 else np.array([1]))
    return optimum_of_squares(model, X, np.where(wanted, 1.0, -1.0), n_rows)
