"""Bandwidths of Gaussian kernels."""

import numpy as np


def spread(values):
    """Standard deviation or interquartile range over 1.34 of each column, the smaller one.

    Where the interquartile range is 0 it is the standard deviation.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, d)
        Sample.

    Returns
    -------
    spread : ndarray of shape () or (d,)
        0 where a column has one value only.
    """
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    deviation = values.std(axis=0, ddof=1)
    low, high = np.percentile(values, [25, 75], axis=0)
    quartiles = (high - low) / 1.34
    smaller = np.where(quartiles > 0, np.minimum(deviation, quartiles), deviation)
    # Of equal values the deviation is rounding of their mean.
    return np.where(np.ptp(values, axis=0) > 0, smaller, 0.0)


def has_spread(X, members):
    """Whether each feature takes several values among members, and among non-members."""
    return all((spread(X[side]) > 0).all() for side in (members, ~members))


def check_spread(X, members):
    """Refuse features that have one value only for all members or for all non-members.

    Raises
    ------
    ValueError
        If a feature has one value only on one side.
    """
    for side, name in ((members, "members"), (~members, "non-members")):
        constant = np.flatnonzero(spread(X[side]) == 0)
        if len(constant):
            raise ValueError(
                f"A kernel density needs values that differ, and feature {constant[0]} has one "
                f"value for all {side.sum()} {name}; use method='plugin' for discrete features or "
                "method='neighbors' otherwise."
            )
