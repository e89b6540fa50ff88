"""How exact a loss is."""

import numpy as np

from ._confidence import Loss

# Roundings that an answer may have gone through, such as those of a sum in another order.
_ROUNDINGS = 8


def loss_rounding(outputs, y):
    """Difference below which two losses of a record differ by rounding alone.

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
    # Near 0 the loss of logits is the exponential of a difference and as exact as that.
    return unit * np.abs(outputs.values).max(axis=1) * np.minimum(loss, 1)
