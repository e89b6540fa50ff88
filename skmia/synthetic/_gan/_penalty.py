"""Bounds of the gradient of the gradient penalty."""

import numpy as np

from ._bounds import SLACK


def penalty_bounds(weights, norm):
    """The largest Frobenius norm of the penalty's gradient, for each layer.

    The penalty of a row is ``(norm(J) - 1)**2``, with J the gradient of the critic with respect to
    the row. For the layer l the bound is ``2 * max(top - 1, 1)`` times the product of the norms of
    all other layers and of the slopes of all hidden ones, and top, the largest ``norm(J)``, is the
    product over all layers.

    Parameters
    ----------
    weights : list of ndarray of shape (n_out, n_in)
        Of each layer of the critic.
    norm : {"spectral", "frobenius"}
        Norm of the matrices. The slopes are diagonal matrices of numbers of at most 1: the spectral
        norm is at most 1, the Frobenius norm at most the root of the width.

    Returns
    -------
    bounds : ndarray of shape (n_layers,)
        Biases are not in it: J does not depend on them but for jumps, and the gradient is 0.
    """
    kind = 2 if norm == "spectral" else None
    norms = np.array([np.linalg.norm(weight, kind) for weight in weights])
    slopes = 1.0 if norm == "spectral" else np.prod([len(layer) ** 0.5 for layer in weights[:-1]])
    others = [np.prod(np.delete(norms, layer)) for layer in range(len(norms))]
    top = np.prod(norms) * slopes
    return 2 * max(top - 1, 1) * np.array(others) * slopes * (1 + SLACK)
