"""Linear models: the record's own pull on its output, taken away."""

import numpy as np

from ..._core.linear_influence import LinearInfluence
from .sides import sides_of_log_odds, sides_of_residuals


def leave_out_of_linear(model, X, y):
    """Answers of a fitted linear model, and of the same after a Newton step without the record.

    Parameters
    ----------
    model : LinearModel
        Fitted.
    X, y
        Training records as it reads them.

    Returns
    -------
    sides : Sides
    """
    loss, outputs = model.loss, model.outputs(X)
    curve = loss.curve(outputs, y)
    influence = LinearInfluence(X, curve, 1.0, model.penalty)
    without = outputs + influence.move(influence.leverage(X), curve, -np.ones(len(X)))
    if loss.is_quadratic:
        return sides_of_residuals(y - outputs[:, 0], y - without[:, 0])
    return sides_of_log_odds(loss.signal(outputs, y), loss.signal(without, y))
