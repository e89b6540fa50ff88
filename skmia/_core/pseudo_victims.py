"""Shadow models treated as the victim: how many, which, and compared with the rest of the pool."""

import numpy as np
from sklearn.utils import gen_batches

from .moments import (
    CACHED,
    Moments,
    SideMoments,
    are_pairs,
    compute_both_moments,
    compute_moments,
    compute_sides,
    exchange,
)

# Minimum size of a pool in which a model can be treated as the victim, and of one whose models
# promise a rate. With fewer than 8, the models that remain beside one give scores of another kind
# than all of them. Attacks that learn from the scores refuse fewer; LiRA and RMIA leave it to the
# user, as the guide says.
FEWEST_MODELS, FEWEST_FOR_RATE = 4, 8

# Minimum and maximum number of models that are treated as the victim, and the number of scores
# above which fewer models are. A low rate takes many scores, the median few.
_FEWEST_VICTIMS, MOST_VICTIMS = 4, 16
SCORES_FOR_RATE, SCORES_FOR_MEDIAN = 4_000_000, 200_000

# If a subtraction leaves less than this share of a sum of squares, the rest has lost its digits. It
# is a hundred times the rounding of single precision.
_LEAST_SHARE = 1e-4

# Steps of a sequence that fills the unit square evenly: powers of the inverse of the real root of
# x^3 = x + 1.
_STEPS = 0.7548776662466927, 0.5698402909980532


def count_pseudo_victims(n_records, n_scores=SCORES_FOR_RATE):
    """Return the number of shadow models that are treated as the victim."""
    return int(np.clip(n_scores // max(n_records, 1), _FEWEST_VICTIMS, MOST_VICTIMS))


def choose_evenly(n_models, n_wanted):
    """Choose some of the models of a pool, or all, evenly from the first one to the last one."""
    return np.unique(np.linspace(0, n_models - 1, min(n_models, n_wanted)).astype(int))


def number_pairs(design):
    """Return the number of each model's pair in a design: its first model's number."""
    partners, numbers = design.partners, np.arange(len(design.partners))
    return np.where(partners >= 0, np.minimum(partners, numbers), numbers)


def choose_pairs(design, n_wanted):
    """Choose models as :func:`choose_evenly`, and return them and the number of the pair of each.

    Both models of a pair are taken: what one of them has by chance, the other one lacks.
    """
    pairs = number_pairs(design)
    units = np.unique(pairs)
    in_pairs = (design.partners >= 0).any()
    some = units[choose_evenly(len(units), n_wanted // 2 if in_pairs else n_wanted)]
    models = np.flatnonzero(np.isin(pairs, some))
    return models, pairs[models]


def choose_others(design, inside, columns, models):
    """Choose the model that leaves the pool together with each model treated as the victim.

    The numbers of remaining IN and OUT models must not depend on whether the model was trained on
    the record, because they would reveal it. With complementary pairs, the partner leaves. If the
    number of IN models per record is fixed in the block of the model, any one model of the block on
    the other side leaves. If each training set was drawn independently, no other model has to
    leave.

    Take inside of shape (n_estimators, n), columns of shape (n,), models of shape (n_chosen,);
    return others of shape (n_chosen, n): number of a model, or -1 for none.
    """
    partners = design.partners[models][:, None]
    # Infinite means independent draws, where only the partner is related to the model.
    if np.isinf(design.n_in):
        return partners
    others = np.empty((len(models), inside.shape[1]), dtype=np.intp)
    for block in np.unique(design.blocks[models]):
        here, chosen = np.flatnonzero(design.blocks == block), design.blocks[models] == block
        places = np.searchsorted(here, models[chosen])
        found = _choose_in_block(design, inside[here], columns, places)
        others[chosen] = np.where(found >= 0, here[found], -1)
    return others


def _choose_in_block(design, inside, columns, models):
    if design.n_in + design.n_out == len(inside):
        return _list_next(inside, models)
    return _draw_others(design, inside, columns, models)


def _list_next(inside, models):
    """Return the next model of the other side, starting over after the last model."""
    n_models, n_records = inside.shape
    # From the last model to the first, `into` and `out` hold the nearest following IN and OUT model
    # of each record. The first pass only prepares the wrap-around; the second pass overwrites its
    # results. The code works on bits, because a selection by a mask takes ten times as long.
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
    """Draw one of all models of the other side, including models that the pool does not hold."""
    n_models, n_records = inside.shape
    is_in, n_out = inside[models], n_models - inside.sum(axis=0)
    # The rank of the drawn model among all models of the other side in the whole design; this pool
    # may hold only a part of them. The rank only depends on the model and the column, so repeated
    # calls agree. A rank beyond the models of this pool stands for one elsewhere: then no model
    # leaves.
    share = np.add.outer(models * _STEPS[0], columns * _STEPS[1]) % 1
    rank = (share * np.where(is_in, design.n_out, design.n_in)).astype(np.intp)
    is_here = rank < np.where(is_in, n_out, n_models - n_out)
    # The OUT models of each record, and then its IN models.
    order = np.argsort(inside, axis=0, kind="stable")
    place = np.where(is_here, np.where(is_in, rank, n_out + rank), 0)
    return np.where(is_here, order[place, np.arange(n_records)], -1)


def leave_out_model(moments, values, chosen=True):
    """Compute moments without one model, for each of several models.

    Shapes: values (n_queries, ..., n_left_out, n), chosen (n_left_out, n).

    With n values of mean m and sum of squares S around it, leaving out v gives the mean m - (v - m)
    / (n - 1) and the sum S - (v - m)^2 n / (n - 1). If the model is not chosen, its distance is set
    to 0, so all three remain unchanged.
    """
    count = moments.count - chosen
    divisor = np.maximum(count, 1)
    away = values - moments.mean
    if chosen is not True:
        away *= chosen
    mean = away / -divisor
    mean += moments.mean
    # The sum decreases by the product of the distances to the old mean and to the new mean.
    away *= away
    away *= (divisor + 1) / divisor
    squares = np.subtract(moments.squares, away, out=away)
    return Moments(count, mean, np.maximum(squares, 0, out=squares))


def compare_left_out(compare, shadows, inside, models, others, *, online):
    """Compute scores with each of some models treated as the victim.

    The pool is not read again for each of them: the models that leave are subtracted from the
    moments of all models.

    Take shadows of shape (n_queries, n_estimators, n), inside of shape (n_estimators, n), models of
    shape (n_chosen,), others of shape (n_chosen, n); return scores of shape (n_chosen, n).
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


def leave_sides(sides, shadows, inside, model, other, partners):
    """Compute the moments of both sides without one model and the one that leaves with it.

    Shapes: shadows (n_queries, n_estimators, n), inside (n_estimators, n), other (n,), partners
    (n_estimators,).
    """
    models, others = np.array([model]), other[None]
    both = [_with_axes(side, 1) for side in sides[:2]]
    rest = _leave_both(both, shadows, inside, models, others)
    lost = np.flatnonzero(_are_lost(both, rest))
    count = [np.broadcast_to(side.count, (1, len(inside[0])))[0] for side in rest]
    left = SideMoments(
        *(
            Moments(n, side.mean[:, 0], side.squares[:, 0])
            for n, side in zip(count, rest, strict=True)
        ),
        _leave_product(sides, shadows, inside, model, other),
    )
    if len(lost):
        part = inside[:, lost]
        stays = mark_remaining(part, model, other if len(other) == 1 else other[lost])
        partners = np.where(stays.all(axis=1), partners, -1)
        again = compute_sides(shadows[:, :, lost], part & stays, ~part & stays, partners)
        for side, exact in zip(left[:2], again[:2], strict=True):
            side.mean[:, lost], side.squares[:, lost] = exact.mean, exact.squares
        if left.product is not None:
            left.product[:, lost] = again.product
    return left


def _leave_product(sides, shadows, inside, model, other):
    if sides.product is None:
        return None
    ends = np.stack([shadows[:, model], shadows[:, other[0]]]).astype(np.float64)
    exchange(*ends, ~inside[model])
    n_pairs = sides.into.count
    product = (ends[0] - sides.into.mean) * (ends[1] - sides.out.mean)
    return sides.product - product * n_pairs / np.maximum(n_pairs - 1, 1)


def mark_remaining(inside, model, other):
    """Return which models remain, in the shape of the training sets."""
    stays, gone = np.ones(inside.shape, dtype=bool), np.broadcast_to(other, inside.shape[1])
    stays[model] = False
    stays[gone[gone >= 0], np.flatnonzero(gone >= 0)] = False
    return stays


def part_of(others, records):
    """Return the models that leave for some of the records."""
    return others if others.shape[1] == 1 else others[:, records]


def values_of(values, models):
    """Return the values of one model for each record; any value for a negative number.

    Take values of shape (n_queries, n_estimators, n), models of shape (n_chosen, n); return values
    of shape (n_queries, n_chosen, n).
    """
    if models.shape[1] == 1:
        return values[:, models[:, 0]]
    n_queries, _, n_records = values.shape
    place = np.maximum(models, 0) * n_records + np.arange(n_records)
    return values.reshape(n_queries, -1).take(place, axis=1)


def _leave_both(both, shadows, inside, models, others):
    """Return the moments of both sides without each model and the one that leaves with it."""
    is_in, has_other = inside[models], others >= 0
    into = out = shadows[:, models]
    is_apart = is_alike = np.zeros((len(models), 1), dtype=bool)
    if has_other.any():
        # After exchanging the two models that leave if the first is OUT, `into` holds the one that
        # leaves the IN side, and `out` the one that leaves the OUT side, if they are on different
        # sides.
        into, out = into.copy(), values_of(shadows, others)
        exchange(into, out, ~is_in)
        is_alike = values_of(inside[None], others)[0] == is_in
        is_apart, is_alike = has_other & ~is_alike, has_other & is_alike
    chosen = [True, True] if is_apart.all() else [is_in | is_apart, ~is_in | is_apart]
    rest = [
        None if side is None else leave_out_model(side, values.astype(np.float64), where)
        for side, values, where in zip(both, (into, out), chosen, strict=True)
    ]
    if not is_alike.any():
        return rest
    # A pair of training sets that hold less than half of the records each leaves some out of both.
    # The second model then leaves the side of the first.
    return [
        None if side is None else leave_out_model(side, values.astype(np.float64), where)
        for side, values, where in zip(
            rest, (out, into), (is_alike & is_in, is_alike & ~is_in), strict=True
        )
    ]


def _are_lost(both, rest):
    """Return records whose sum of squares was almost entirely due to a model that left."""
    lost = [
        left.squares < _LEAST_SHARE * side.squares
        for side, left in zip(both, rest, strict=True)
        if side is not None
    ]
    return np.any(lost, axis=tuple(range(lost[0].ndim)))


def _compare_pairs(compare, both, shadows, inside, pairs):
    """Compare both models of pairs; without a pair there is one IN and one OUT model less.

    The rest of the pool is the same for both models, so its moments are computed only once.
    """
    both = [_with_axes(side, 2) for side in both]
    scores, lost = np.empty((len(pairs), 2, shadows.shape[2])), False
    for some in gen_batches(len(pairs), max(1, CACHED // 2 // shadows[:, 0].size)):
        first = 2 * pairs[some]
        second_is_in = inside[first + 1]
        # Place 0 holds the IN model of each record, place 1 the OUT model; scores go back below.
        sides = np.stack([shadows[:, first], shadows[:, first + 1]], axis=1, dtype=np.float64)
        exchange(sides[:, 0], sides[:, 1], second_is_in)
        rest = [side and leave_out_model(side, sides[:, [k]]) for k, side in enumerate(both)]
        lost |= _are_lost(both, rest)
        into_and_out = compare(sides, *rest)
        exchange(*into_and_out, second_is_in)
        scores[some] = into_and_out.swapaxes(0, 1)
    return scores.reshape(2 * len(pairs), -1), lost


def _with_axes(moments, n_axes):
    """Add axes for the models that leave to moments of shape (n_queries, n)."""
    if moments is None:
        return None
    axes = tuple(range(1, 1 + n_axes))
    return Moments(
        moments.count, np.expand_dims(moments.mean, axes), np.expand_dims(moments.squares, axes)
    )
