"""Moments of the evidence over the shadow models that saw, or did not see, each record."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

# Numbers handled at once: beyond it, fresh memory for each step costs more than the arithmetic.
_CACHED = 1 << 16

SMALLEST_SPREAD = 1e-6


class Moments(NamedTuple):
    """Counts, means and sums of squared deviations, each of shape (n_queries, n) or (n,)."""

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @property
    def std(self):
        """Standard deviation with divisor N, at least 1e-6."""
        return np.maximum(np.sqrt(self.squares / np.maximum(self.count, 1)), SMALLEST_SPREAD)


def find_moments(shadows, chosen):
    """Moments over the chosen models.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Evidence.
    chosen : ndarray of shape (n_estimators, n), dtype bool
        Models that count for each record.

    Returns
    -------
    moments : Moments
    """
    count = count_models(chosen)
    divisor = np.maximum(count, 1)
    weight = chosen.astype(np.float32)
    mean = np.einsum("qkn->qn", shadows * weight) / divisor.astype(np.float32)
    deviations = (shadows - mean[:, None]) * weight
    return Moments(count, *_correct_mean(divisor, mean, deviations))


def find_both_moments(shadows, inside, outside):
    """Moments over the IN models and over the OUT models.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Evidence.
    inside, outside : ndarray of shape (n_estimators, n), dtype bool
        Models of each side.

    Returns
    -------
    into, out : Moments
    """
    n_in, n_out = count_models(inside), count_models(outside)
    if (n_in + n_out < len(inside)).any():  # some models are left out of account
        return find_moments(shadows, inside), find_moments(shadows, outside)
    shape = (2, 2, len(shadows), shadows.shape[2])
    means_and_squares = np.empty(shape)
    divisors = np.maximum(n_in, 1), np.maximum(n_out, 1)
    for rows in gen_batches(shadows.shape[2], max(1, _CACHED // len(inside))):
        means_and_squares[..., rows] = _describe_sides(
            shadows[:, :, rows], inside[:, rows], *(divisor[rows] for divisor in divisors)
        )
    (mean_in, squares_in), (mean_out, squares_out) = means_and_squares
    return Moments(n_in, mean_in, squares_in), Moments(n_out, mean_out, squares_out)


def count_models(chosen):
    """Number of chosen models of each record."""
    return np.einsum("kn->n", chosen.view(np.uint8), dtype=np.uint32).astype(np.int64)


def _describe_sides(shadows, inside, divide_in, divide_out):
    """Means and sums of squared deviations inside and outside, of a few records."""
    weight = inside.astype(np.float32)
    one_side = shadows * weight
    total_in = np.einsum("qkn->qn", one_side)
    mean_in = total_in / divide_in.astype(np.float32)
    mean_out = (np.einsum("qkn->qn", shadows) - total_in) / divide_out.astype(np.float32)
    # Squares are never subtracted: next to a wide side nothing would be left of a narrow one.
    other_side = shadows - mean_out[:, None]
    one_side -= mean_in[:, None] * weight
    np.subtract(1, weight, out=weight)
    other_side *= weight
    return (
        _correct_mean(divide_in, mean_in, one_side),
        _correct_mean(divide_out, mean_out, other_side),
    )


def _correct_mean(divisor, mean, deviations):
    """Mean and sum of squares from deviations around a rounded mean.

    Deviations are small, so that single precision keeps their squares; their own mean is what the
    rounded one lacked.
    """
    rest = np.einsum("qkn->qn", deviations).astype(np.float64) / divisor
    squares = np.einsum("qkn,qkn->qn", deviations, deviations)
    return mean + rest, np.maximum(squares - divisor * rest**2, 0)


def leave_out(moments, values, chosen):
    """Moments without one model, for each of several models.

    Parameters
    ----------
    moments : Moments
        With it.
    values : ndarray of shape (n_queries, n_left_out, n)
        Evidence of the models to leave out, one at a time.
    chosen : ndarray of shape (n_left_out, n), dtype bool
        Where the model is among those that the moments are of.

    Returns
    -------
    moments : Moments
        Of shape (n_queries, n_left_out, n), the count (n_left_out, n).
    """
    count = moments.count - chosen
    divisor = np.maximum(count, 1)
    away = np.where(chosen, values - moments.mean, 0)
    mean = moments.mean - away / divisor
    squares = moments.squares - away * np.where(chosen, values - mean, 0)
    return Moments(count, mean, np.maximum(squares, 0))


def chosen_values(values, chosen, n_each):
    """The first ``n_each`` chosen values of each record, shape (n_queries, n_each, n)."""
    order = np.argsort(~chosen, axis=0, kind="stable")[:n_each]
    return np.take_along_axis(values, order[None], axis=1)
