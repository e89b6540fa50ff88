"""Moments of the evidence over the shadow models that saw, or did not see, each record."""

from typing import NamedTuple

import numpy as np

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
    count = chosen.sum(axis=0)
    divisor = np.maximum(count, 1)
    weight = chosen.astype(np.float32)
    mean = np.einsum("qkn->qn", shadows * weight).astype(np.float64) / divisor
    # Deviations from a rounded mean are small, so that single precision keeps their squares.
    mean = mean.astype(np.float32)
    deviations = (shadows - mean[:, None]) * weight
    rest = np.einsum("qkn->qn", deviations)
    return _assemble(count, divisor, mean, rest, np.einsum("qkn,qkn->qn", deviations, deviations))


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
    n_in, n_out = inside.sum(axis=0), outside.sum(axis=0)
    if (n_in + n_out < len(inside)).any():  # some models are left out of account
        return find_moments(shadows, inside), find_moments(shadows, outside)
    # Both means in two passes: one side is what the other leaves of the total.
    weight = inside.astype(np.float32)
    divide_in, divide_out = np.maximum(n_in, 1), np.maximum(n_out, 1)
    total_in = np.einsum("qkn,kn->qn", shadows, weight)
    mean_in = (total_in / divide_in).astype(np.float32)
    mean_out = ((np.einsum("qkn->qn", shadows) - total_in) / divide_out).astype(np.float32)
    deviations = shadows - mean_out[:, None]
    deviations -= (mean_in - mean_out)[:, None] * weight
    # Squares are never subtracted: next to a wide side nothing would be left of a narrow one.
    deviations_in = deviations * weight
    deviations -= deviations_in
    rest_in, rest_out = (np.einsum("qkn->qn", one) for one in (deviations_in, deviations))
    squares_in, squares_out = (
        np.einsum("qkn,qkn->qn", one, one) for one in (deviations_in, deviations)
    )
    return (
        _assemble(n_in, divide_in, mean_in, rest_in, squares_in),
        _assemble(n_out, divide_out, mean_out, rest_out, squares_out),
    )


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


def _assemble(count, divisor, mean, rest, squares):
    """Moments from deviations around a rounded mean, whose own mean is what it lacked."""
    rest = rest.astype(np.float64) / divisor
    return Moments(count, mean + rest, np.maximum(squares - divisor * rest**2, 0))


def chosen_values(values, chosen, n_each):
    """The first ``n_each`` chosen values of each record, shape (n_queries, n_each, n)."""
    order = np.argsort(~chosen, axis=0, kind="stable")[:n_each]
    return np.take_along_axis(values, order[None], axis=1)
