"""How far two distributions are from each other, by formulas that keep their digits."""

import numpy as np


def renyi_divergence(log_p, log_q, alpha):
    r"""Rényi divergence :math:`D_\alpha(p \| q)` along the last axis, in nats.

    The formula uses the deviation from 1, which keeps its digits for orders close to 0.
    """
    excess = np.expm1(alpha * (log_p - log_q))
    excess *= np.exp(log_q)
    return np.log1p(excess.sum(axis=-1)) / (alpha - 1)


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
    # 2 arcsinh(sqrt(x / 2)) is arccosh(1 + x), which would lose a small x.
    half = (gap**2 / 2 + spread**2) / (4 * stds[0] * stds[1])
    return 2 * np.sqrt(2) * np.linalg.norm(np.arcsinh(np.sqrt(half)), axis=-1)
