"""Linear discriminant analysis: means, covariance and priors without the record."""

import numpy as np
from scipy.special import logsumexp

from ..._core.factor import SMALLEST_RCOND
from .sides import sides_of_log_odds


def why_not_discriminant(model, n_records):
    """Why the formulas do not hold for a fitted LinearDiscriminantAnalysis, or None."""
    if model.shrinkage is not None or model.covariance_estimator is not None:
        return "its covariance is shrunk or estimated by another estimator"
    if model.priors is not None:
        return "its priors are given"
    return None


def leave_out_of_discriminant(model, X, y):
    """Log odds of the label, with and without the record, exact.

    Parameters
    ----------
    model : fitted LinearDiscriminantAnalysis
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
        Numbers of the classes.

    Returns
    -------
    sides : Sides
    """
    n, n_classes = len(X), len(model.classes_)
    sizes = np.bincount(y, minlength=n_classes)
    means = np.array([X[y == k].mean(axis=0) for k in range(n_classes)])
    residuals = X - means[y]
    precision = _invert(residuals.T @ residuals)
    degrees = _count_degrees(model, means, precision)
    away = X[:, None] - means
    reach = away @ precision
    distance = np.einsum("nkd,nkd->nk", away, reach)
    inside = -degrees / 2 * distance + np.log(sizes)
    rows = np.arange(n)
    # A class of one record has no mean without it.
    held = np.where(sizes[y] > 1, sizes[y], np.nan)
    share = held / (held - 1)
    cross = np.einsum("nd,nkd->nk", residuals, reach)
    own = cross[rows, y]
    away_own = share[:, None] * cross[rows, y][:, None]
    cross[rows, y], distance[rows, y] = away_own[:, 0], share**2 * distance[rows, y]
    distance += share[:, None] * cross**2 / (1 - share * own)[:, None]
    counts = np.tile(sizes.astype(float), (n, 1))
    counts[rows, y] = held - 1
    outside = (1 - degrees) / 2 * distance + np.log(counts)
    return sides_of_log_odds(_log_odds(inside, y), _log_odds(outside, y))


def _invert(scatter):
    """Pseudo-inverse, as constant and dependent features take no part."""
    scale = np.sqrt(np.diag(scatter))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    kept = values > SMALLEST_RCOND * values.max()
    vectors = vectors[:, kept] / scale[:, None]
    return (vectors / values[kept]) @ vectors.T


def _count_degrees(model, means, precision):
    """Number that the solver has divided the scatter within classes by; it differs by version."""
    apart = (means[1:] - means[0]) @ precision
    found = model.coef_ if len(means) == 2 else model.coef_[1:] - model.coef_[0]
    return float(np.sum(found * apart) / np.sum(apart**2))


def _log_odds(scores, y):
    rest = scores.copy()
    rest[np.arange(len(y)), y] = -np.inf
    return scores[np.arange(len(y)), y] - logsumexp(rest, axis=1)
