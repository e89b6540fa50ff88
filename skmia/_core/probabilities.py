"""Probabilities and logarithms of them, as floats hold them."""

import numpy as np

# Probabilities known only as floats are cut here before a single logarithm is taken of them.
PROBABILITY_FLOOR = 1e-12

# Probabilities may leave [0, 1] by so many roundings: 1.2e-6 in single and double precision.
_ROUNDINGS = 10


def check_answered(values):
    """Refuse a model's answers of shape (n, k) if one of them is NaN."""
    bad = np.isnan(values).any(axis=1)
    if bad.any():
        raise ValueError(
            f"The model answered NaN for {bad.sum()} of {len(values)} records, "
            f"first at position {bad.argmax()}."
        )


def log_sum_exp(z):
    """Logarithm of the sum of exponentials over the last axis; -inf for an empty sum."""
    top = z.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(z - top).sum(axis=-1)) + top[..., 0]


def round_into_bounds(proba):
    """Probabilities with what rounding puts outside [0, 1] moved to the bound.

    Sums of a softmax, and differences such as 1 - p, are off by a few roundings of the type that
    the model computes in, which is single precision at best where a net or a service answers in
    double precision.
    """
    low, high = proba.min(), proba.max()
    if low >= 0 and high <= 1:
        return proba
    eps = np.finfo(np.float32).eps
    if proba.dtype.kind == "f":
        eps = max(eps, np.finfo(proba.dtype).eps)
    tolerance = _ROUNDINGS * float(eps)
    if not (low >= -tolerance and high <= 1 + tolerance):
        raise ValueError(
            f"The model's probabilities must lie in [0, 1]; got values from {low:g} to {high:g}."
        )
    return np.clip(proba, 0, 1)
