"""Probabilities and their logarithms in floating point."""

import numpy as np
from scipy.special import expit, logit, logsumexp

# Probabilities that are only known as floats are clipped here before their logarithm is taken.
PROBABILITY_FLOOR = 1e-12

# Share by which probabilities of 32 bits may miss a sum of 1.
_ROUNDED_SUM = 1e-5

# Number of roundings by which probabilities may leave [0, 1]; 1.2e-6 in single and double precision
# alike.
_ROUNDINGS = 10


def check_answered(values):
    """Refuse outputs of shape (n, k) if any of them is NaN."""
    bad = np.isnan(values).any(axis=1)
    if bad.any():
        raise ValueError(
            f"The model returned NaN for {bad.sum()} of {len(values)} records, "
            f"first at position {bad.argmax()}."
        )


def check_sums(proba, name):
    """Refuse distributions along the last axis whose probabilities do not sum to 1."""
    off = np.ravel(np.abs(proba.sum(axis=-1) - 1))
    if (off > _ROUNDED_SUM).any():
        worst = np.ravel(proba.sum(axis=-1))[off.argmax()]
        raise ValueError(f"{name} must sum to 1 along the last axis; got a sum of {worst:.6g}.")


def log_sum_exp(z):
    """Compute the log of the sum of exponentials over the last axis; -inf for an empty sum."""
    top = z.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(z - top).sum(axis=-1)) + top[..., 0]


def posterior_of(ratios, prior=0.5):
    """Return the probability of the first of two hypotheses, from log likelihood ratios for it."""
    return expit(ratios + logit(prior))


def as_columns(member):
    """Return probabilities of the classes 0 and 1, of shape (n, 2), from the column of class 1."""
    return np.column_stack([1 - member, member])


def round_into_bounds(proba):
    """Clip probabilities that lie outside [0, 1] because of rounding.

    A softmax, and differences such as 1 - p, are off by a few roundings of the type in which the
    model computes. This may be single precision even if the outputs are in double precision.
    """
    low, high = proba.min(), proba.max()
    if low >= 0 and high <= 1:
        return proba
    eps = np.finfo(np.float32).eps
    if proba.dtype.kind == "f":
        eps = max(eps, np.finfo(proba.dtype).eps)
    tolerance = _ROUNDINGS * float(eps)
    if not (low >= -tolerance and high <= 1 + tolerance):
        cure = " Take the softmax of logits or of log-probabilities." if low < 0 else ""
        if cure and (np.abs(proba.sum(axis=-1) - 1) <= tolerance).all():
            cure = " As rows sum to 1, set negative ones to 0 and divide each row by its sum."
        if 0 <= low and 1 < high <= 100:
            cure = " Divide percent by 100."
        raise ValueError(
            f"The model's probabilities must lie in [0, 1]; got values from {low:g} to {high:g}."
            f"{cure}"
        )
    return np.clip(proba, 0, 1)


def renyi_divergence_of_logs(log_p, log_q, alpha):
    r"""Return the Rényi divergence :math:`D_\alpha(p \| q)` along the last axis, in nats.

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

    Shapes: means, stds (..., d).
    """
    gap, spread = means[0] - means[1], stds[0] - stds[1]
    scale = 2 * np.sqrt(stds[0]) * np.sqrt(stds[1])
    # 2 arcsinh(sqrt(x / 2)) is arccosh(1 + x), which would lose a small x.
    root = np.hypot(gap / scale / np.sqrt(2), spread / scale)
    return 2 * np.sqrt(2) * np.linalg.norm(np.arcsinh(root), axis=-1)
