"""Moments of a signal over the IN models, or the OUT models, of each record."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

# Number of values per block, so that they and the results fit the cache of a core.
CACHED = 1 << 16

# Smallest number of records per block.
_FEWEST_RECORDS = 64

# Number of models whose mean is the origin of the deviations.
_N_CENTRAL = 32

SMALLEST_SPREAD = 1e-6


class Moments(NamedTuple):
    """Counts, means and sums of squared deviations, each of shape (n_queries, n) or (n,)."""

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @property
    def variance(self):
        """Variance with divisor N, at least 1e-12."""
        return np.maximum(self.squares / np.maximum(self.count, 1), SMALLEST_SPREAD**2)


class Sides(NamedTuple):
    """Moments of the IN and of the OUT models, and what ties the two models of a pair."""

    into: Moments
    out: Moments
    # Sum over pairs of the product of the two models' deviations, of shape (n_queries, n); None if
    # models do not come in complementary pairs.
    product: np.ndarray | None


def compute_moments(shadows, chosen):
    """Compute moments over the chosen models.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    chosen : ndarray of shape (n_estimators, n), dtype bool
        Models that count for each record.

    Returns
    -------
    moments : Moments
    """
    sums = [_sum_chosen(values, chosen) for values in shadows]
    count, *parts = (np.array(part) for part in zip(*sums, strict=True))
    return Moments(count[0].astype(np.int64), *_shift(count, *parts))


def compute_both_moments(shadows, inside, outside):
    """Compute moments over the IN models and over the OUT models.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    inside, outside : ndarray of shape (n_estimators, n), dtype bool
        Models of each side.

    Returns
    -------
    into, out : Moments
    """
    if not are_pairs(inside, outside):
        if np.count_nonzero(inside) + np.count_nonzero(outside) < inside.size:
            return compute_moments(shadows, inside), compute_moments(shadows, outside)
        sums = zip(*(_sum_both(values, inside) for values in shadows), strict=True)
        counts, *parts = (np.stack(part, axis=1) for part in sums)
        means, squares = _shift(counts, *parts)
        return tuple(
            Moments(count[0].astype(np.int64), mean, square)
            for count, mean, square in zip(counts, means, squares, strict=True)
        )
    # With pairs, each side has exactly one model of each pair, so no weights are needed. This
    # halves the work.
    return _compute_pairs(shadows, inside, _sum_pairs)[:2]


def compute_sides(shadows, inside, outside, partners):
    """Compute moments over the IN and the OUT models, and the products over complementary pairs.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    inside, outside : ndarray of shape (n_estimators, n), dtype bool
        Models of each side.
    partners : ndarray of shape (n_estimators,)
        Model drawn in a pair with each; -1 for none.

    Returns
    -------
    sides : Sides
    """
    order = _order_pairs(inside, outside, partners)
    if order is None:
        return Sides(*compute_both_moments(shadows, inside, outside), None)
    if not np.array_equal(order, np.arange(len(inside))):
        shadows, inside = shadows[:, order], inside[order]
    return _compute_pairs(shadows, inside, _sum_pairs_and_products)


def take_records(sides, records):
    """Return the moments of some of the records."""
    into, out = (
        Moments(side.count[records], side.mean[:, records], side.squares[:, records])
        for side in sides[:2]
    )
    return Sides(into, out, None if sides.product is None else sides.product[:, records])


def _order_pairs(inside, outside, partners):
    """Return the models pair after pair, or None if the chosen models are not all in pairs."""
    models = np.arange(len(inside))
    if np.array_equal(partners, models ^ 1) and are_pairs(inside, outside):
        return models
    models = np.flatnonzero((inside | outside).any(axis=1))
    first = models[models < partners[models]]
    order = np.column_stack([first, partners[first]]).ravel()
    if not len(models) or not np.array_equal(np.sort(order), models):
        return None
    return order if are_pairs(inside[order], outside[order]) else None


def _compute_pairs(shadows, inside, add):
    n_pairs = len(inside) // 2
    count = np.full(shadows.shape[2], n_pairs)
    sums = zip(*(add(values, inside) for values in shadows), strict=True)
    center, total, *squares = (np.stack(part, axis=-2) for part in sums)
    means, both = _shift(n_pairs, center, total, squares[0])
    sides = Moments(count, means[0], both[0]), Moments(count, means[1], both[1])
    product = squares[1] - total[0] * total[1] / n_pairs if len(squares) > 1 else None
    return Sides(*sides, product)


def count_models(chosen):
    """Count the chosen models of each record."""
    return np.einsum("kn->n", chosen.view(np.uint8), dtype=np.uint32).astype(np.int64)


def _shift(count, center, total, squares):
    """Turn sums of deviations from a center, and of their squares, into means and squares."""
    rest = total / np.maximum(count, 1)
    return center + rest, np.maximum(squares - rest * total, 0)


def _sum_chosen(values, chosen):
    """Return counts, centers, sums of deviations from the centers, and sums of their squares."""
    n_models, n_records = values.shape
    step = min(n_models, max(1, CACHED // n_records))
    room = np.empty((2, step, n_records), np.result_type(values, np.float32))
    center = _compute_center(values, chosen)
    count, total, squares = np.zeros((3, n_records))
    for models in gen_batches(n_models, step):
        deviations, weight = room[:, : models.stop - models.start]
        deviations[:], weight[:] = values[models], chosen[models]
        deviations -= center
        deviations *= weight
        count += np.einsum("kn->n", weight)
        total += np.einsum("kn->n", deviations)
        squares += np.einsum("kn,kn->n", deviations, deviations)
    return count, center, total, squares


def _sum_both(values, inside):
    """Like :func:`_sum_chosen`, for both sides at once; each result has shape (2, n).

    The code works on bits, because a selection by a mask takes ten times as long.
    """
    n_models, n_records = values.shape
    size = min(n_records, max(_FEWEST_RECORDS, 2 * CACHED // n_models))
    values = values.astype(np.result_type(values, np.float32), copy=False)
    bits = np.dtype(f"i{values.itemsize}")
    room, mask = np.empty((2, n_models, size), values.dtype), np.empty((n_models, size), bits)
    center, total, squares = np.empty((3, 2, n_records))
    for some in gen_batches(n_records, size):
        n_here = some.stop - some.start
        (members, others), is_in = room[:, :, :n_here], mask[:, :n_here]
        np.negative(inside[:, some].view(np.int8), out=is_in)
        into, out = _compute_both_centers(values[:, some], is_in, members)
        center[:, some] = into, out
        np.bitwise_and(is_in, into.view(bits) ^ out.view(bits), out=others.view(bits))
        np.bitwise_xor(others.view(bits), out.view(bits), out=others.view(bits))
        np.subtract(values[:, some], others, out=others)
        np.bitwise_and(others.view(bits), is_in, out=members.view(bits))
        others -= members
        for side, deviations in enumerate((members, others)):
            total[side, some] = np.einsum("kn->n", deviations)
            squares[side, some] = np.einsum("kn,kn->n", deviations, deviations)
    n_in = count_models(inside)
    return np.stack([n_in, n_models - n_in]), center, total, squares


def _compute_both_centers(values, is_in, room):
    """Like :func:`_compute_center`, for both sides, in the precision of the values."""
    for some in (slice(None, None, max(1, len(values) // _N_CENTRAL)), slice(None)):
        few, n_in = values[some], -np.einsum("kn->n", is_in[some])
        members = room[: len(few)]
        np.bitwise_and(few.view(is_in.dtype), is_in[some], out=members.view(is_in.dtype))
        sums = np.einsum("kn->n", few), np.einsum("kn->n", members)
        n_out = len(few) - n_in
        if n_in.all() and n_out.all():
            break
    into, out = sums[1] / np.maximum(n_in, 1), (sums[0] - sums[1]) / np.maximum(n_out, 1)
    return into.astype(values.dtype), out.astype(values.dtype)


def _compute_center(values, chosen):
    """Mean over some of the chosen models of each record, as the origin of deviations.

    With m of n values, it lies within sqrt(n / m) standard deviations of their mean, so single
    precision is enough for the deviations. With a common origin of both sides, the narrower side of
    a memorized record would lose its digits.
    """
    for some in (slice(None, None, max(1, len(values) // _N_CENTRAL)), slice(None)):
        weight = chosen[some].astype(np.result_type(values, np.float32))
        count = np.einsum("kn->n", weight)
        if count.all():
            break
    return np.einsum("kn,kn->n", values[some], weight) / np.maximum(count, 1)


def are_pairs(inside, outside):
    """Whether one of every two consecutive models is IN and the other is OUT, for each record."""
    if len(inside) % 2 or 2 * np.count_nonzero(outside) < outside.size:
        return False
    return (inside[::2] ^ inside[1::2]).all()


def _sum_pairs(values, inside):
    """Like :func:`_sum_chosen` without counts, for the two sides of pairs: each of shape (2, n)."""
    return _sum_pairs_and_products(values, inside, product=False)[:3]


def _sum_pairs_and_products(values, inside, product=True):
    """Like :func:`_sum_pairs`, and the sum of the products of the two deviations, shape (n,)."""
    n_pairs, n_records = len(inside) // 2, values.shape[1]
    step = min(n_pairs, max(1, CACHED // n_records))
    room = np.empty((2, step, n_records), np.result_type(values, np.float32))
    total, squares = np.zeros((2, 2, n_records))
    products = np.zeros(n_records)
    for pairs in gen_batches(n_pairs, step):
        models = slice(2 * pairs.start, 2 * pairs.stop)
        sides = room[:, : pairs.stop - pairs.start]
        sides[0], sides[1] = values[models][::2], values[models][1::2]
        exchange(*sides, inside[models][1::2])
        if pairs.start == 0:
            center = sides.mean(axis=1)
        sides -= center[:, None]
        total += np.einsum("skn->sn", sides)
        squares += np.einsum("skn,skn->sn", sides, sides)
        if product:
            products += np.einsum("kn,kn->n", *sides)
    return center, total, squares, products


def exchange(first, second, where):
    """Exchange the values of two arrays in place where a mask is True.

    The code works on bits, because a selection by a random mask takes ten times as long.
    """
    bits = np.dtype(f"i{first.itemsize}")
    first, second = first.view(bits), second.view(bits)
    change = first ^ second
    change *= where
    first ^= change
    second ^= change
