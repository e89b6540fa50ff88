"""Noise for vectors whose components are bounded one by one."""

import numpy as np


def unit_scales(widths, shape):
    """Standard deviations that make a Gaussian mechanism with the noise multiplier 1.

    A vector whose components are at most ``widths`` in absolute value, each divided by its standard
    deviation, then has a norm of at most 1.

    Parameters
    ----------
    widths : ndarray of shape (n,)
        Not negative. A component of the width 0 is 0 for every row and gets no noise.
    shape : {"spherical", "proportional", "minimum_trace"}
        The same for all; in proportion to the widths, with as large a sum of variances; the
        smallest sum of variances.

    Returns
    -------
    scales : ndarray of shape (n,)
    """
    if shape == "spherical":
        return np.where(widths > 0, np.linalg.norm(widths), 0.0)
    if shape == "proportional":
        return np.sqrt(np.count_nonzero(widths)) * widths
    return np.sqrt(widths) * np.sqrt(widths.sum())


def share_noise(first, second):
    """Scale the noise of two vectors so that releasing both has the noise multiplier 1.

    Multipliers z of the two, released together, make one of ``(z1**-2 + z2**-2)**-0.5``. Of all
    that make 1, those with the smallest sum of variances are taken.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Standard deviations of either, each with the noise multiplier 1 for itself.

    Returns
    -------
    scales : ndarray of shape (n,)
        Standard deviations of the noise on the sum of the two vectors.
    """
    sizes = np.array([np.linalg.norm(first), np.linalg.norm(second)])
    squares = np.divide(sizes.sum(), sizes, out=np.ones(2), where=sizes > 0)
    return np.sqrt(squares[0] * first**2 + squares[1] * second**2)
