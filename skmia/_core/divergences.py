"""How far two distributions are from each other, by formulas that keep their digits."""

import numpy as np
from scipy.special import logsumexp


def renyi_divergence(log_p, log_q, alpha):
    r"""Rényi divergence :math:`D_\alpha(p \| q)` along the last axis, in nats.

    The formula uses the deviation of the sum from 1, which keeps its digits for orders close to 0
    and, with p and q exchanged, for those close to 1. Probabilities may be 0.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if alpha == 1:
            return _sum_known(np.exp(log_p) * (log_p - log_q))
        base, order = (log_q, alpha) if alpha <= 0.5 else (log_p, alpha - 1)
        power = order * (log_p - log_q)
        excess = _sum_known(np.exp(base) * np.expm1(power))
        if not (np.abs(excess) < 0.5).all():
            exponents = base + power
            exponents = np.where(np.isnan(exponents), -np.inf, exponents)
            logs = np.where(np.abs(excess) < 0.5, np.log1p(excess), logsumexp(exponents, axis=-1))
            return logs / (alpha - 1)
    return np.log1p(excess) / (alpha - 1)


def _sum_known(terms):
    """Sum over the last axis, in which what a side excludes (0 times infinity) counts as 0."""
    total = terms.sum(axis=-1)
    if np.isnan(total).any():
        return np.where(np.isnan(terms), 0.0, terms).sum(axis=-1)
    return total


def fisher_rao_of_probabilities(p, q):
    """Compute the Fisher-Rao distance of discrete distributions along the last axis.

    The formula uses the difference, which keeps its digits if the two are close.
    """
    chord = np.linalg.norm(np.sqrt(p) - np.sqrt(q), axis=-1)
    return 4 * np.arcsin(np.minimum(chord / 2, 1))


def fisher_rao_of_normals(means, stds):
    """Compute the Fisher-Rao distance of normal distributions with diagonal covariance.

    Parameters
    ----------
    means, stds : pair of ndarray of shape (..., d)
        Means and standard deviations of the two distributions.
    """
    gap, spread = means[0] - means[1], stds[0] - stds[1]
    scale = 2 * np.sqrt(stds[0]) * np.sqrt(stds[1])
    # 2 arcsinh(sqrt(x / 2)) is arccosh(1 + x), which would lose a small x.
    root = np.hypot(gap / scale / np.sqrt(2), spread / scale)
    return 2 * np.sqrt(2) * np.linalg.norm(np.arcsinh(root), axis=-1)
