"""Continuous p-values by rank."""

import numpy as np
from scipy import stats

from .._core.moments import SMALLEST_SPREAD, compute_moments

# Weight of the pooled variance as a number of observations, as in the likelihood-ratio attack.
_PRIOR_STRENGTH = 4.0

# Logarithm of the smallest probability in double precision.
_LOWEST = np.log(np.finfo(float).tiny)

# Relative difference, due to rounding, up to which two numbers tie.
_TIE = 1e-6


def estimate_pooled_variance(blocks):
    """Return the variance of the signal of OUT models within records, per query."""
    squares, count = 0.0, 0
    for _, shadows, inside, _ in blocks:
        moments = compute_moments(shadows, ~inside)
        squares = squares + moments.squares.sum(axis=1)
        count += np.maximum(moments.count - 1, 0).sum()
    return np.maximum(squares / max(count, 1), SMALLEST_SPREAD**2)


def smooth_pvalues(target, shadows, outside, pooled):
    """Compute p-values of the hypothesis that the target is one more OUT model.

    If g of n OUT models lie above the target, p lies between g / (n + 1) and (g + 1) / (n + 1). It
    is linear between the two nearest OUT models, and the upper end if the target ties with one.
    Above all OUT models, it falls from 1 / (n + 1) like the upper tail of the predictive Student-t
    distribution of one more model; below all of them, it approaches 1 like the lower tail.

    Parameters
    ----------
    target : ndarray of shape (n_queries, n)
        Signal of the target.
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Signal of the shadow models.
    outside : ndarray of shape (n_estimators, n), dtype bool
        OUT models of each record, at least one.
    pooled : ndarray of shape (n_queries,)
        Variance of the signal within records.

    Returns
    -------
    log_pvalues : ndarray of shape (n_queries, n)
        Natural logarithms of the p-values.
    """
    target = target.astype(np.float64)
    margin = _TIE * np.maximum(1, np.abs(target))
    above = (shadows > (target + margin)[:, None]) & outside
    below = (shadows < (target - margin)[:, None]) & outside
    n_out, n_above = outside.sum(axis=0), above.sum(axis=1)
    n_tied = n_out - n_above - below.sum(axis=1)
    upper = np.where(above, shadows, np.inf).min(axis=1)
    lower = np.where(below, shadows, -np.inf).max(axis=1)
    with np.errstate(invalid="ignore"):
        part = (upper - target) / (upper - lower)
    part = np.where(n_tied > 0, 1 + n_tied, part)
    highest, lowest = ((n_tied == 0) & (n_above == count) for count in (0, n_out))
    law = _predict_one_more(shadows, outside, pooled)
    part[highest] = _compute_fall(stats.t.logsf, target, lower, law, highest)
    part[lowest] = 1 - _compute_fall(stats.t.logcdf, target, upper, law, lowest)
    return np.log(n_above + part) - np.log(n_out + 1)


def _predict_one_more(shadows, outside, pooled):
    """Return location, scale and degrees of freedom of the signal of one more OUT model."""
    moments = compute_moments(shadows, outside)
    dof = _PRIOR_STRENGTH + moments.count - 1
    variance = (moments.squares + _PRIOR_STRENGTH * pooled[:, None]) / dof
    return np.broadcast_arrays(
        moments.mean, np.sqrt(variance * (1 + 1 / moments.count)), dof.astype(np.float64)
    )


def _compute_fall(log_tail, target, nearest, law, where):
    """Return the log ratio of the tails beyond the target and beyond the nearest OUT model."""
    mean, scale, dof = (part[where] for part in law)
    tails = (log_tail((x[where] - mean) / scale, dof) for x in (target, nearest))
    target, nearest = (np.maximum(tail, _LOWEST) for tail in tails)
    return np.exp(np.clip(target - nearest, _LOWEST, 0))
