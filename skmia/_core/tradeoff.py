"""Optimal tests between two normal laws that differ in their mean, after sub-sampling.

Without the target, a score has the law N(0, 1); with it, N(shift, 1). A member takes part in the
release with probability `inclusion`; otherwise its score has the first law, too.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erf, log_ndtr, ndtr, ndtri

from .numbers import check_numbers


class SubsamplingEffect(NamedTuple):
    """Effect of sub-sampling on a test: a leakage score m becomes the shift sqrt(m * scale)."""

    inclusion: float
    scale: float


def make_subsampling(sampling_ratio, kind="exact"):
    """Return the exact effect of sub-sampling, or the one that the paper prints.

    Exact: a target is among the rows with the probability ``sampling_ratio``, and if it is, its
    score m has the shift sqrt(m / sampling_ratio). As printed, m is multiplied by the ratio.
    """
    if kind == "exact":
        return SubsamplingEffect(sampling_ratio, 1 / sampling_ratio)
    return SubsamplingEffect(1.0, sampling_ratio)


def check_fpr_fractions(fpr):
    """Return false positive rates as an array of fractions."""
    return check_numbers(fpr, "fpr", "a fraction in [0, 1], not percent", 0, 1)


def check_epsilons(epsilon):
    """Return privacy parameters as an array."""
    return check_numbers(epsilon, "epsilon", "0 or more", 0, np.inf)


def beside(values, others):
    """Return values as a column if they are to be combined with several others."""
    return values if others.ndim == 0 else values[:, np.newaxis]


def power(fpr, shift, inclusion=1.0):
    """Return the true positive rate of the best test at a false positive rate.

    At the rates 0 and 1 the quantile is infinite, too; an infinite shift outweighs it.
    """
    certain = np.isinf(shift)
    detected = ndtr(ndtri(fpr) + np.where(certain, 0, shift))
    detected = np.where(certain, np.where(shift > 0, 1.0, fpr == 1), detected)
    return (1 - inclusion) * fpr + inclusion * detected


def threshold(fpr, shift):
    """Return the threshold of the log-likelihood ratio, in nats, at a false positive rate."""
    certain = np.isinf(shift)
    shift = np.where(certain, 0.0, shift)
    quantiles = -ndtri(fpr)
    with np.errstate(invalid="ignore"):  # 0 * inf, which the other branch replaces
        spread = np.where(np.isinf(quantiles), quantiles, shift * quantiles)
    return np.where(certain, 0.0, spread - shift**2 / 2)


def advantage_of_shift(shift, inclusion):
    """Return largest TPR - FPR over all thresholds, 2 Phi(|shift| / 2) - 1 without sub-sampling."""
    return inclusion * erf(np.abs(shift) / np.sqrt(8))


def _gaussian_profile(epsilon, shift):
    """Smallest delta of two normals, Phi(s/2 - e/s) - exp(e) Phi(-s/2 - e/s), via logarithms."""
    certain, alike = shift == np.inf, shift == 0
    s = np.where(certain | alike, 1.0, shift)
    with np.errstate(over="ignore", invalid="ignore"):
        first = log_ndtr(s / 2 - epsilon / s)
        second = epsilon + log_ndtr(-s / 2 - epsilon / s)
        delta = np.exp(first) * -np.expm1(np.minimum(second - first, 0))
    delta = np.where(np.isneginf(first), 0.0, delta)
    return np.where(certain, 1.0, np.where(alike, 0.0, delta))


def _profile_with(epsilon, shift, inclusion):
    """Return the smallest delta of the law with the target against the law without it.

    This is log(1 + (exp(epsilon) - 1) / inclusion), in a form that does not overflow.
    """
    inside = epsilon + np.log1p((inclusion - 1) * np.exp(-epsilon)) - np.log(inclusion)
    return inclusion * _gaussian_profile(np.maximum(inside, 0), shift)


def _profile_without(epsilon, shift, inclusion):
    """Return the smallest delta of the law without the target against the law with it.

    Beyond this epsilon the mixture exceeds exp(-epsilon) times the law without the target.
    """
    rest = 1 - np.exp(np.minimum(epsilon, 700)) * (1 - inclusion)
    positive = np.where(rest > 0, rest, 1.0)
    outside = np.where(rest > 0, epsilon + np.log(inclusion) - np.log(positive), 0.0)
    return np.where(rest > 0, positive * _gaussian_profile(np.maximum(outside, 0), shift), 0.0)


# Of which law the larger probabilities are: the one with the target, without it, or either.
DIRECTIONS = ("both", "in/out", "out/in")


def privacy_profile(epsilon, shift, inclusion=1.0, direction="both"):
    """Return smallest delta such that the two laws are (epsilon, delta)-close in a direction."""
    if inclusion == 1:
        return _gaussian_profile(epsilon, shift)
    if direction == "in/out":
        return _profile_with(epsilon, shift, inclusion)
    if direction == "out/in":
        return _profile_without(epsilon, shift, inclusion)
    return np.maximum(
        _profile_with(epsilon, shift, inclusion), _profile_without(epsilon, shift, inclusion)
    )


def privacy_budget(delta, shift, inclusion=1.0, direction="both"):
    """Return the smallest epsilon such that the two laws are (epsilon, delta)-close.

    The inverse.
    """
    delta, shift = np.broadcast_arrays(np.asarray(delta, float), np.asarray(shift, float))

    def is_enough(epsilon):
        return privacy_profile(epsilon, shift, inclusion, direction) <= delta

    high = np.where(is_enough(np.zeros(delta.shape)), 0.0, 1.0)
    while (short := ~is_enough(high) & (high < 2.0**1000)).any():
        high = np.where(short, 2 * high, high)
    low = np.where(high > 1, high / 2, 0.0)
    for _ in range(60):
        middle = (low + high) / 2
        enough = is_enough(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    found = np.where(high < 2.0**999, high, np.inf)
    # At a delta of 0 the profile underflows before it is 0.
    most = -np.log1p(-inclusion) if direction == "out/in" and inclusion < 1 else np.inf
    return np.where((delta == 0) & (shift > 0), most, found)
