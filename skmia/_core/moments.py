"""Moments of a signal over the IN models, or the OUT models, of each record."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

# Sums are taken element by element over records, so the place of a record does not change them.
# Loops in Python run over blocks that fit the cache of a core.


# Number of values per block, so that they and the results fit the cache of a core.
CACHED = 1 << 16

# Numbers of records and of models in a block of sums where there are many: a few blocks fit the
# cache of a core. The models of a block are added up in the precision of the values.
_N_RECORDS, _N_MODELS = 1 << 11, 1 << 5

# Number of values that numpy buffers: rows that are shorter it would copy. Bytes of a cache line.
_N_BUFFERED, _LINE = 1 << 11, 64

# Number of models whose mean is the origin of the deviations.
_N_CENTRAL = 32

# Rows of a table with an entry for each record that are worked on at once.
_BLOCK_ROWS = 1 << 20

# Number of models among which a member is sought for all records at once.
_N_SOUGHT = 4

# Largest sum of models in a byte.
_MOST_IN_BYTE = 255

# If a subtraction leaves less than this share of a sum of squares, the sum is computed again around
# another origin. It leaves five digits of single precision.
_LEAST_SHARE = 0.03


def cut(n, size=None):
    """Yield slices of ``range(n)``, of as many rows as are worked on at once without a size.

    gen_batches of scikit-learn validates its parameters, which takes longer than a small block.
    """
    size = _BLOCK_ROWS if size is None else size
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def count_models(chosen):
    """Count the chosen models of each record."""
    count = np.zeros(chosen.shape[1], dtype=np.int64)
    for models in cut(len(chosen), _MOST_IN_BYTE):
        count += np.add.reduce(chosen[models].view(np.uint8), axis=0, dtype=np.uint8)
    return count


@contextmanager
def _without_copies():
    """Let numpy work on the rows of a block where they are."""
    before = np.setbufsize(_N_BUFFERED)
    try:
        yield
    finally:
        np.setbufsize(before)


@_without_copies()
def sum_chosen(values, chosen):
    """Sum over the chosen models of each record.

    Shapes: values, chosen (n_estimators, n).
    """
    count, center = count_models(chosen), _compute_center(values, chosen)
    total, squares = np.zeros((2, values.shape[1]))
    for models, records, room in _iter_moment_blocks(values, 1):
        deviations = np.subtract(values[models, records], center[records], out=room[0])
        _keep_where(deviations, chosen[models, records], deviations)
        total[records] += np.add.reduce(deviations, axis=0)
        squares[records] += np.add.reduce(np.square(deviations, out=deviations), axis=0)
    return count, center, total, squares


def _iter_moment_blocks(values, n_rooms):
    """Yield models, records and scratch arrays of each block."""
    n_models, n_records = values.shape
    step = min(n_models, _N_MODELS)
    width = max(1, min(n_records, _N_RECORDS * _N_MODELS // max(1, step)))
    room = _allocate_aligned((n_rooms, step, width), np.result_type(values, np.float32))
    for records in cut(n_records, width):
        for models in cut(n_models, step):
            n_rows, n_columns = models.stop - models.start, records.stop - records.start
            yield models, records, room[:, :n_rows, :n_columns]


def _allocate_aligned(shape, dtype):
    """Return an array that begins at a line of the cache."""
    n_bytes = np.prod(shape) * dtype.itemsize
    room = np.empty(n_bytes + _LINE, np.uint8)
    return room[-room.ctypes.data % _LINE :][:n_bytes].view(dtype).reshape(shape)


def _sum_sides(sides, out):
    """Sum two sides and their squares over models; the squares take the place of the sides."""
    np.add.reduce(sides, axis=1, out=out[:2])
    np.square(sides, out=sides)
    np.add.reduce(sides, axis=1, out=out[2:4])


def _compute_center(values, chosen):
    """Return the mean over some of the chosen models of each record, as the origin of deviations.

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


@_without_copies()
def sum_both(values, inside):
    """Sum over the IN and over the OUT models of each record.

    Both sides have the signal of an IN model as their origin, which saves half of the work. Where
    that takes the digits of a side, because it is much narrower than its distance or than the other
    side, the sums are taken again with an origin of its own.

    Take values, inside of shape (n_estimators, n); return count, center, total, squares of shape
    (2, n).
    """
    n_models, n_records = values.shape
    n_in = count_models(inside)
    count, center = np.stack([n_in, n_models - n_in]), np.empty((2, n_records))
    origin = _take_member(values, inside)
    center[:] = origin
    sums = np.zeros((4, n_records))
    for models, records, sides in _iter_moment_blocks(values, 2):
        np.subtract(values[models, records], origin[records], out=sides[1])
        _keep_where(sides[1], inside[models, records], sides[0])
        parts = np.empty((4, sides.shape[2]), sides.dtype)
        _sum_sides(sides, parts)
        sums[:, records] += parts
    total, squares = sums[:2], sums[2:]
    least = _LEAST_SHARE * squares
    for sums in (total, squares):
        sums[1] -= sums[0]
    least += total**2 / np.maximum(count, 1)
    lost = np.flatnonzero((squares < least).any(axis=0))
    if len(lost):
        part = values[:, lost]
        for side, chosen in enumerate((inside[:, lost], ~inside[:, lost])):
            again = sum_chosen(part, chosen)[1:]
            for sums, exact in zip((center, total, squares), again, strict=True):
                sums[side, lost] = exact
    return count, center, total, squares


def _take_member(values, inside):
    """Return the value of an IN model of each record, or of any model where there is none.

    It is exact for models that agree, where a rounded mean would leave a spread.
    """
    member, is_in = values[0].astype(np.result_type(values, np.float32)), inside[0].copy()
    rows = np.empty_like(member)
    for k in range(1, min(_N_SOUGHT, len(values))):
        rows[:] = values[k]
        exchange(member, rows, inside[k] & ~is_in)
        is_in |= inside[k]
    lacking = np.flatnonzero(~is_in)
    if len(lacking):
        first = inside[:, lacking].argmax(axis=0)
        member[lacking] = values[first, lacking]
    return member


@_without_copies()
def sum_pairs(values, inside, product):
    """Sum over the two sides of complementary pairs; each has one model of each pair.

    Take values, inside of shape (n_estimators, n); return center, total, squares of shape (2, n).
    """
    n_records = values.shape[1]
    center, sums = np.zeros((2, n_records)), np.zeros((4 + product, n_records))
    for pairs, records, room in _iter_moment_blocks(values[::2], 3):
        sides, change = room[:2], room[2]
        sides[0], sides[1] = values[::2][pairs, records], values[1::2][pairs, records]
        _exchange_where(*sides, inside[1::2][pairs, records], change)
        if pairs.start == 0:
            origin = np.add.reduce(sides, axis=1, keepdims=True) / sides.shape[1]
            center[:, records] = origin[:, 0]
        sides -= origin
        parts = np.empty((len(sums), sides.shape[2]), sides.dtype)
        if product:
            np.einsum("kn,kn->n", *sides, out=parts[4])
        _sum_sides(sides, parts)
        sums[:, records] += parts
    return (center, sums[:2], sums[2:4], sums[4]) if product else (center, sums[:2], sums[2:4])


def exchange(first, second, where):
    """Exchange the values of two arrays in place where a mask is True."""
    _exchange_where(first, second, where, np.empty(first.shape, first.dtype))


def _exchange_where(first, second, where, change):
    # A selection by a random mask takes ten times as long as these operations on bits.
    first, second, change = map(_view_bits, (first, second, change))
    np.bitwise_xor(first, second, out=change)
    change *= where.view(np.int8)
    first ^= change
    second ^= change


def _keep_where(values, where, out):
    """Copy values where a mask is True, and 0 elsewhere."""
    np.multiply(_view_bits(values), where.view(np.int8), out=_view_bits(out))


def _view_bits(array):
    return array.view(np.dtype(f"i{array.itemsize}"))


SMALLEST_SPREAD = 1e-6


def power_of_two_near(values):
    """Return the power of two next to the mean size of values; 1 if all are 0.

    Values that are divided by it keep their digits.
    """
    size = np.mean(np.abs(values), dtype=np.float64)
    return float(2.0 ** np.rint(np.log2(size))) if 0 < size < np.inf else 1.0


class Moments(NamedTuple):
    """Counts, means and sums of squared deviations, each of shape (n_queries, n) or (n,)."""

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @property
    def variance(self):
        """Variance with divisor N, at least 1e-12."""
        return np.maximum(self.squares / np.maximum(self.count, 1), SMALLEST_SPREAD**2)


class SideMoments(NamedTuple):
    """Moments of the IN and of the OUT models, and what ties the two models of a pair."""

    into: Moments
    out: Moments
    # Sum over pairs of the product of the two models' deviations, of shape (n_queries, n); None if
    # models do not come in complementary pairs, NaN for a record for which they do not.
    product: np.ndarray | None


def compute_moments(shadows, chosen):
    """Compute moments over the chosen models.

    Shapes: shadows (n_queries, n_estimators, n), chosen (n_estimators, n).
    """
    sums = [sum_chosen(values, chosen) for values in shadows]
    count, *parts = (np.array(part) for part in zip(*sums, strict=True))
    return Moments(count[0].astype(np.int64), *_shift_to_center(count, *parts))


def compute_both_moments(shadows, inside, outside):
    """Compute moments over the IN models and over the OUT models.

    Shapes: shadows (n_queries, n_estimators, n), inside, outside (n_estimators, n).
    """
    if not are_pairs(inside, outside):
        if outside is not None and not _are_all(inside, outside):
            return compute_moments(shadows, inside), compute_moments(shadows, outside)
        sums = zip(*(sum_both(values, inside) for values in shadows), strict=True)
        counts, *parts = (np.stack(part, axis=1) for part in sums)
        means, squares = _shift_to_center(counts, *parts)
        return tuple(
            Moments(count[0].astype(np.int64), mean, square)
            for count, mean, square in zip(counts, means, squares, strict=True)
        )
    # With pairs, each side has exactly one model of each pair, so no weights are needed. This
    # halves the work.
    return _compute_pairs(shadows, inside, product=False)[:2]


def compute_sides(shadows, inside, outside, partners):
    """Compute moments over the IN and the OUT models, and the products over complementary pairs.

    Shapes: shadows (n_queries, n_estimators, n), inside, outside (n_estimators, n), partners
    (n_estimators,).
    """
    order = _order_pairs(inside, outside, partners)
    if order is None:
        return SideMoments(*compute_both_moments(shadows, inside, outside), None)
    if not np.array_equal(order, np.arange(len(inside))):
        shadows, inside = shadows[:, order], inside[order]
    return _compute_pairs(shadows, inside, product=True)


def compute_sides_of_each(shadows, inside, partners):
    """Compute moments and products over pairs, also if the models of some records have none.

    Take shadows of shape (n_queries, n_estimators, n), inside of shape (n_estimators, n), partners
    of shape (n_estimators,); return SideMoments with NaN as the product of records whose models are
    not in pairs.
    """
    sides = compute_sides(shadows, inside, None, partners)
    if sides.product is not None or (partners < 0).any():
        return sides
    paired = np.flatnonzero((inside != inside[partners]).all(axis=0))
    some = compute_sides(shadows[:, :, paired], inside[:, paired], None, partners)
    if some.product is None:
        return sides
    product = np.full(sides.into.mean.shape, np.nan)
    product[:, paired] = some.product
    for whole, part in zip(sides[:2], some[:2], strict=True):
        whole.mean[:, paired], whole.squares[:, paired] = part.mean, part.squares
    return sides._replace(product=product)


def take_moments(sides, records):
    """Return the moments of some records; products only if the models of all are in pairs."""
    into, out = (
        Moments(side.count[records], side.mean[:, records], side.squares[:, records])
        for side in sides[:2]
    )
    product = None if sides.product is None else sides.product[:, records]
    return SideMoments(into, out, None if product is None or np.isnan(product).any() else product)


def _order_pairs(inside, outside, partners):
    """Return the models pair after pair, or None if the chosen models are not all in pairs."""
    models = np.arange(len(inside))
    if np.array_equal(partners, models ^ 1) and are_pairs(inside, outside):
        return models
    if (partners < 0).all():
        return None
    if outside is not None:
        models = np.flatnonzero((inside | outside).any(axis=1))
    first = models[models < partners[models]]
    order = np.column_stack([first, partners[first]]).ravel()
    if not len(models) or not np.array_equal(np.sort(order), models):
        return None
    chosen = None if outside is None else outside[order]
    return order if are_pairs(inside[order], chosen) else None


def _compute_pairs(shadows, inside, product):
    n_pairs = len(inside) // 2
    count = np.full(shadows.shape[2], n_pairs)
    sums = zip(*(sum_pairs(values, inside, product) for values in shadows), strict=True)
    center, total, *squares = (np.stack(part, axis=-2) for part in sums)
    means, both = _shift_to_center(n_pairs, center, total, squares[0])
    sides = Moments(count, means[0], both[0]), Moments(count, means[1], both[1])
    product = squares[1] - total[0] * total[1] / n_pairs if len(squares) > 1 else None
    return SideMoments(*sides, product)


def _shift_to_center(count, center, total, squares):
    """Turn sums of deviations from a center, and of their squares, into means and squares."""
    rest = total / np.maximum(count, 1)
    mean = center + rest
    rest *= total
    np.subtract(squares, rest, out=rest)
    return mean, np.maximum(rest, 0, out=rest)


def are_pairs(inside, outside=None):
    """Whether one of every two consecutive models is IN and the other is OUT, for each record."""
    if len(inside) % 2 or (outside is not None and not _are_all(inside, outside)):
        return False
    bits = inside.view(np.uint8)
    return np.not_equal(bits[::2], bits[1::2]).all()


def _are_all(inside, outside):
    """Return whether each model is on one of the sides."""
    return np.count_nonzero(inside) + np.count_nonzero(outside) == inside.size
