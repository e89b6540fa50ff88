"""Shadow models treated as the victim, compared with what is left of the pool."""

import numpy as np
from sklearn.utils import gen_batches

from .moments import CACHED, Moments, are_pairs, compute_both_moments, compute_moments, exchange

# Share of a sum of squares below which what is left of it after a subtraction has lost its digits:
# a hundred times what single precision leaves.
_LEAST_SHARE = 1e-4

# Steps of a sequence that fills the unit interval evenly, and two of them the square: powers of the
# inverse of the real root of x^3 = x + 1.
_STEPS = 0.7548776662466927, 0.5698402909980532


def choose_others(design, inside, columns, models):
    """The model that leaves the pool together with each model treated as the victim.

    The number of IN and of OUT models that are left must not depend on whether the model was
    trained on the record, or it would tell so. With complementary pairs that is the case without
    the partner. Where the number of IN models of a record is fixed, it is without one model of the
    other side, whichever. Where each training set was drawn independently, no other model leaves.

    Parameters
    ----------
    design : Design
        Design of the training sets of the pool.
    inside : ndarray of shape (n_estimators, n), dtype bool
        Training sets, of a block of records.
    columns : ndarray of shape (n,)
        Columns of these records in the pool; what is chosen depends on nothing else.
    models : ndarray of shape (n_chosen,)
        Which models.

    Returns
    -------
    others : ndarray of shape (n_chosen, n) or (n_chosen, 1)
        Number of a model, or -1 for none.
    """
    partners = design.partners[models][:, None]
    # Infinite: independent draws, where only a partner's side says something about the model's
    # side.
    if np.isinf(design.n_in):
        return partners
    if design.n_in + design.n_out == len(inside):
        return _list_next(inside, models)
    return _draw_others(design, inside, columns, models)


def _list_next(inside, models):
    """The next model of the other side, after the last one the first again."""
    n_models, n_records = inside.shape
    # From the last model to the first, `into` and `out` hold the nearest following IN and OUT model
    # of each record. The first pass only sets them for the wrap-around; the second one overwrites
    # what it stored.
    # On bits, as a choice by a mask takes ten times as long.
    is_in = -inside.view(np.int8).astype(np.int32)
    into, out, change = np.zeros((3, n_records), dtype=np.int32)
    following = np.empty((n_models, n_records), dtype=np.int32)
    for k in 2 * list(range(n_models - 1, -1, -1)):
        np.bitwise_xor(into, out, out=change)
        np.bitwise_and(change, is_in[k], out=change)
        np.bitwise_xor(into, change, out=following[k])
        for side, mask in ((into, is_in[k]), (out, ~is_in[k])):
            np.bitwise_xor(side, k, out=change)
            np.bitwise_and(change, mask, out=change)
            np.bitwise_xor(side, change, out=side)
    return following[models]


def _draw_others(design, inside, columns, models):
    """One of all models of the other side, those included that the pool does not hold."""
    n_models, n_records = inside.shape
    is_in, n_out = inside[models], n_models - inside.sum(axis=0)
    # One rank among all models of the other side in the whole design, of which this pool is a part.
    # It depends on the model and the column only, so that equal calls choose alike. A rank beyond
    # the models that are here stands for one elsewhere: then none leaves this pool.
    share = np.add.outer(models * _STEPS[0], columns * _STEPS[1]) % 1
    rank = (share * np.where(is_in, design.n_out, design.n_in)).astype(np.intp)
    is_here = rank < np.where(is_in, n_out, n_models - n_out)
    # The OUT models of each record, and then its IN models.
    order = np.argsort(inside, axis=0, kind="stable")
    place = np.where(is_here, np.where(is_in, rank, n_out + rank), 0)
    return np.where(is_here, order[place, np.arange(n_records)], -1)


def leave_out(moments, values, chosen=True):
    """Moments without one model, for each of several models.

    Parameters
    ----------
    moments : Moments
        With it; its arrays broadcast with the values.
    values : ndarray of shape (n_queries, ..., n_left_out, n)
        Signal of the models to leave out, one at a time.
    chosen : ndarray of shape (n_left_out, n), dtype bool, default=True
        Where the model is among those that the moments are of.

    Returns
    -------
    moments : Moments
        With an axis for the models, but for the count where all of them are chosen.
    """
    # With n values of mean m and sum of squares S around it, leaving out v gives the mean
    # m - (v - m) / (n - 1) and the sum S - (v - m)^2 n / (n - 1). Where the model is not chosen,
    # its distance is set to 0, and all three stay as they are.
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


def compare_left_out(compare, shadows, inside, models, others, *, online=True):
    """Scores with each of some models treated as the victim.

    No pass over the pool is made for each of them: moments of all models are made less those of
    the models that leave.

    Parameters
    ----------
    compare : callable
        ``compare(target, into, out)`` gives scores of shape (..., n) for values and moments of
        shapes that broadcast to (n_queries, ..., n).
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    inside : ndarray of shape (n_estimators, n), dtype bool
        Training sets.
    models : ndarray of shape (n_chosen,)
        Which models.
    others : ndarray of shape (n_chosen, n) or (n_chosen, 1)
        Who leaves with them, as :func:`choose_others` gives it.
    online : bool, default=True
        Whether the IN models are compared with; ``into`` is None where they are not.

    Returns
    -------
    scores : ndarray of shape (n_chosen, n)
    lost : ndarray of shape (n,), dtype bool
        Mark records whose spread is almost entirely due to one model: the rest is only rounding.
    """
    if online:
        both = compute_both_moments(shadows, inside, ~inside)
    else:
        both = None, compute_moments(shadows, ~inside)
    in_pairs = others.shape[1] == 1 and np.array_equal(others[:, 0], models ^ 1)
    if in_pairs and are_pairs(inside, ~inside):
        pairs = np.unique(models // 2)
        scores, lost = _compare_pairs(compare, both, shadows, inside, pairs)
        rows = 2 * np.searchsorted(pairs, models // 2) + models % 2
        if not np.array_equal(rows, np.arange(len(scores))):
            scores = scores[rows]
        return scores, lost
    both = [_with_axes(side, 1) for side in both]
    scores, lost = np.empty((len(models), shadows.shape[2])), False
    for some in gen_batches(len(models), max(1, CACHED // shadows[:, 0].size)):
        rest = _leave_both(both, shadows, inside, models[some], others[some])
        lost |= _are_lost(both, rest)
        scores[some] = compare(shadows[:, models[some]], *rest)
    return scores, lost


def part_of(others, records):
    """Who leaves, for some of the records."""
    return others if others.shape[1] == 1 else others[:, records]


def values_of(values, models):
    """Values of a model for each record; any where there is none.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_estimators, n)
        Values of all models.
    models : ndarray of shape (n_chosen, n) or (n_chosen, 1)
        Numbers of models, negative for none.

    Returns
    -------
    values : ndarray of shape (n_queries, n_chosen, n)
    """
    if models.shape[1] == 1:
        return values[:, models[:, 0]]
    n_queries, _, n_records = values.shape
    place = np.maximum(models, 0) * n_records + np.arange(n_records)
    return values.reshape(n_queries, -1).take(place, axis=1)


def _leave_both(both, shadows, inside, models, others):
    """Moments of both sides without some models, and for each without the one that leaves too."""
    is_in, has_other = inside[models], others >= 0
    into = out = shadows[:, models]
    if has_other.any():
        # The model and its other are on different sides: exchanged where the model is OUT, `into`
        # holds the one that leaves the IN side, and `out` the one that leaves the OUT side.
        into, out = into.copy(), values_of(shadows, others)
        exchange(into, out, ~is_in)
    chosen = [True, True] if has_other.all() else [is_in | has_other, ~is_in | has_other]
    return [
        None if side is None else leave_out(side, values.astype(np.float64), where)
        for side, values, where in zip(both, (into, out), chosen, strict=True)
    ]


def _are_lost(both, rest):
    """Records whose sum of squares was nearly all of one of the models left out."""
    lost = [
        left.squares < _LEAST_SHARE * side.squares
        for side, left in zip(both, rest, strict=True)
        if side is not None
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
        # In place 0 the IN model of each record, in place 1 the OUT model; scores go back below.
        sides = np.stack([shadows[:, first], shadows[:, first + 1]], axis=1, dtype=np.float64)
        exchange(sides[:, 0], sides[:, 1], second_is_in)
        rest = [side and leave_out(side, sides[:, [k]]) for k, side in enumerate(both)]
        lost |= _are_lost(both, rest)
        into_and_out = compare(sides, *rest)
        exchange(*into_and_out, second_is_in)
        scores[some] = into_and_out.swapaxes(0, 1)
    return scores.reshape(2 * len(pairs), -1), lost


def _with_axes(moments, n_axes):
    """Moments of shape (n_queries, n) with axes for the models to leave out."""
    if moments is None:
        return None
    axes = tuple(range(1, 1 + n_axes))
    return Moments(
        moments.count, np.expand_dims(moments.mean, axes), np.expand_dims(moments.squares, axes)
    )
