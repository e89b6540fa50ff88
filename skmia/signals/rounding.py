"""Rounding errors of a loss."""

import numpy as np

from ._confidence import Loss

# Number of roundings that an output may contain, for example from a sum in another order.
_ROUNDINGS = 8


def loss_rounding(outputs, y):
    """Return the difference up to which two losses of a record may differ by rounding only.

    Parameters
    ----------
    outputs : Outputs of n answers
        Probabilities, logits or values.
    y : ndarray of shape (n,)
        Task labels.

    Returns
    -------
    differences : ndarray of shape (n,)
        Differences of the loss, in its units.
    """
    unit = _ROUNDINGS * np.finfo(outputs.values.dtype).eps
    if outputs.kind == "value":
        values = np.asarray(outputs.values, dtype=np.float64)
        return 2 * unit * (np.abs(y) + np.abs(values)) * np.abs(y - values)
    loss = -Loss()(outputs, y)
    if outputs.kind == "proba":
        return unit * (1 + loss)
    # Near 0, the loss of logits is the exponential of a difference, and as exact as the difference.
    return unit * np.abs(outputs.values).max(axis=1) * np.minimum(loss, 1)
