"""Signals of a model with a training record and without it, on both scales."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

# Smaller residuals count as this value, as in the signal of regressors.
_SMALLEST_RESIDUAL = 1e-12


class Sides(NamedTuple):
    """Signals of each training record; higher means that the model fits it better.

    Attributes
    ----------
    p, phi : tuple of ndarray of shape (n,)
        Signals with the record in the training set, and without it; NaN where none is known.
    """

    p: tuple
    phi: tuple


def sides_of_log_odds(inside, outside):
    """Sides of log odds of the label."""
    return Sides((expit(inside), expit(outside)), (inside, outside))


def sides_of_proba(inside, outside, resolution):
    """Sides of probabilities of the label, whose log odds stay off the ends by a resolution."""
    bounded = [np.clip(side, resolution, 1 - resolution) for side in (inside, outside)]
    return Sides((inside, outside), tuple(map(logit, bounded)))


def sides_of_residuals(inside, outside):
    """Sides of the residuals of a regressor."""
    sizes = [np.abs(side) for side in (inside, outside)]
    logs = [-np.log(np.maximum(size, _SMALLEST_RESIDUAL)) for size in sizes]
    return Sides((-sizes[0], -sizes[1]), tuple(logs))
