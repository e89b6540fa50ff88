"""Log densities of the signal of one more model, given the models of a record."""

import numpy as np
from scipy.special import gammaln

from .moments import SMALLEST_SPREAD, compute_moments

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def log_normal(x, mean, variance):
    """Log density of a normal distribution."""
    density = x - mean
    density *= density
    density /= -2 * variance
    density -= 0.5 * np.log(variance) + _LOG_ROOT_2PI
    return density


def log_student(x, mean, variance, count, prior_strength):
    """Log density of a t distribution; ``variance`` is its squared scale."""
    # There are few distinct counts and many records, so the slow function is tabulated.
    dofs = prior_strength - 1 + np.arange(count.min(), count.max() + 1)
    constants = gammaln((dofs + 1) / 2) - gammaln(dofs / 2) - 0.5 * np.log(dofs * np.pi)
    dof = prior_strength - 1 + count
    density = x - mean
    density *= density
    density /= dof * variance
    np.log1p(density, out=density)
    density *= (dof + 1) / -2
    density += constants[count - count.min()] - 0.5 * np.log(variance)
    return density


def _log_normal_joint(target, shadows, chosen, ridge):
    """Compute the joint log density of all augmentations, with one covariance matrix per record."""
    n_queries = len(target)
    moments = compute_moments(shadows, chosen)
    centered = np.where(chosen, shadows - moments.mean[:, None], 0)
    covariance = np.einsum("qkn,rkn->nqr", centered, centered) / moments.count[:, None, None]
    added = ridge * np.trace(covariance, axis1=1, axis2=2) / n_queries + SMALLEST_SPREAD**2
    covariance += added[:, None, None] * np.eye(n_queries)
    away = (target - moments.mean).T
    distance = np.einsum("nq,nq->n", away, np.linalg.solve(covariance, away[..., None])[..., 0])
    return -0.5 * (distance + np.linalg.slogdet(covariance)[1]) - n_queries * _LOG_ROOT_2PI


def joint_ratio(target, shadows, inside, outside, ridge):
    """Log ratio of the joint densities of all augmentations."""
    into, out = (_log_normal_joint(target, shadows, side, ridge) for side in (inside, outside))
    return into - out
