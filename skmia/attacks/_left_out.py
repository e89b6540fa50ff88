"""Shadow models in the victim's place, compared with what is left of the pool."""

import numpy as np
from sklearn.utils import gen_batches

from ._moments import CACHED, Moments, are_pairs, exchange, find_both_moments

# Share of a sum of squares below which what is left of it after a subtraction has lost its digits:
# a hundred times what single precision leaves.
_LEAST_SHARE = 1e-4


def find_partners(models, n_models):
    """The complement of each model, trained on the records that the model was not trained on.

    In a pool of an odd number, made elsewhere, the last model has none and leaves with another.
    """
    models = np.asarray(models)
    return np.where(models ^ 1 < n_models, models ^ 1, models - 1)


def leave_out(moments, values, chosen=True):
    """Moments without one model, for each of several models.

    Parameters
    ----------
    moments : Moments
        With it; its arrays broadcast with the values.
    values : ndarray of shape (n_queries, ..., n_left_out, n)
        Evidence of the models to leave out, one at a time.
    chosen : ndarray of shape (n_left_out, n), dtype bool, default=True
        Where the model is among those that the moments are of.

    Returns
    -------
    moments : Moments
        With an axis for the models, but for the count where all of them are chosen.
    """
    count = moments.count - chosen
    divisor = np.maximum(count, 1)
    away = values - moments.mean
    if chosen is not True:
        away *= chosen
    mean = away / -divisor
    mean += moments.mean
    # The sum loses the distances of the value from the mean with it and from that without it.
    away *= away
    away *= (divisor + 1) / divisor
    squares = np.subtract(moments.squares, away, out=away)
    return Moments(count, mean, np.maximum(squares, 0, out=squares))


def compare_left_out(compare, shadows, inside, models):
    """Scores with each of some models, and no longer its partner, in the victim's place.

    There is no pass over the pool for each of them: moments of all models are made less those of
    two.

    Parameters
    ----------
    compare : callable
        ``compare(target, into, out)`` gives scores of shape (..., n) for evidence and moments of
        shapes that broadcast to (n_queries, ..., n).
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Evidence.
    inside : ndarray of shape (n_estimators, n), dtype bool
        Training sets.
    models : ndarray of shape (n_chosen,)
        Which models.

    Returns
    -------
    scores : ndarray of shape (n_chosen, n)
    lost : ndarray of shape (n,), dtype bool
        Records of which a model was nearly all of the spread, so that its rest is but rounding.
    """
    both = find_both_moments(shadows, inside, ~inside)
    if are_pairs(inside, ~inside):
        pairs = np.unique(models // 2)
        scores, lost = _compare_pairs(compare, both, shadows, inside, pairs)
        rows = 2 * np.searchsorted(pairs, models // 2) + models % 2
        if not np.array_equal(rows, np.arange(len(scores))):
            scores = scores[rows]
        return scores, lost
    both = [_with_axes(side, 1) for side in both]
    partners = find_partners(models, len(inside))
    scores, lost = np.empty((len(models), shadows.shape[2])), False
    for some in gen_batches(len(models), max(1, CACHED // shadows[:, 0].size)):
        rest = both
        for left_out in (models[some], partners[some]):
            values, chosen = shadows[:, left_out].astype(np.float64), inside[left_out]
            rest = leave_out(rest[0], values, chosen), leave_out(rest[1], values, ~chosen)
        lost |= _find_lost(both, rest)
        scores[some] = compare(shadows[:, models[some]], *rest)
    return scores, lost


def _find_lost(both, rest):
    """Records whose sum of squares was nearly all of one of the models left out."""
    lost = [
        left.squares < _LEAST_SHARE * side.squares for side, left in zip(both, rest, strict=True)
    ]
    return np.any(lost, axis=tuple(range(lost[0].ndim)))


def _compare_pairs(compare, both, shadows, inside, pairs):
    """The same for both models of pairs, without which there is one IN and one OUT model less.

    The rest of the pool is the same for both models of a pair, so that it is described once.
    """
    both = [_with_axes(side, 2) for side in both]
    scores, lost = np.empty((len(pairs), 2, shadows.shape[2])), False
    for some in gen_batches(len(pairs), max(1, CACHED // 2 // shadows[:, 0].size)):
        first = 2 * pairs[some]
        second_is_in = inside[first + 1]
        sides = np.stack([shadows[:, first], shadows[:, first + 1]], axis=1, dtype=np.float64)
        exchange(sides[:, 0], sides[:, 1], second_is_in)
        rest = [leave_out(side, sides[:, [k]]) for k, side in enumerate(both)]
        lost |= _find_lost(both, rest)
        into_and_out = compare(sides, *rest)
        exchange(*into_and_out, second_is_in)
        scores[some] = into_and_out.swapaxes(0, 1)
    return scores.reshape(2 * len(pairs), -1), lost


def _with_axes(moments, n_axes):
    """Moments of shape (n_queries, n) with axes for the models to leave out."""
    axes = tuple(range(1, 1 + n_axes))
    return Moments(
        moments.count, np.expand_dims(moments.mean, axes), np.expand_dims(moments.squares, axes)
    )
