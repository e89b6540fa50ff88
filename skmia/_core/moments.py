"""Moments of a signal over the IN models, or the OUT models, of each record."""

from typing import NamedTuple

import numpy as np

from .moment_sums import sum_both, sum_chosen, sum_pairs

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
    # models do not come in complementary pairs, NaN for a record for which they do not.
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
    sums = [sum_chosen(values, chosen) for values in shadows]
    count, *parts = (np.array(part) for part in zip(*sums, strict=True))
    return Moments(count[0].astype(np.int64), *_shift(count, *parts))


def compute_both_moments(shadows, inside, outside):
    """Compute moments over the IN models and over the OUT models.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    inside, outside : ndarray of shape (n_estimators, n), dtype bool
        Models of each side. If ``outside`` is None, the models that are not IN are OUT.

    Returns
    -------
    into, out : Moments
    """
    if not are_pairs(inside, outside):
        if outside is not None and not _are_all(inside, outside):
            return compute_moments(shadows, inside), compute_moments(shadows, outside)
        sums = zip(*(sum_both(values, inside) for values in shadows), strict=True)
        counts, *parts = (np.stack(part, axis=1) for part in sums)
        means, squares = _shift(counts, *parts)
        return tuple(
            Moments(count[0].astype(np.int64), mean, square)
            for count, mean, square in zip(counts, means, squares, strict=True)
        )
    # With pairs, each side has exactly one model of each pair, so no weights are needed. This
    # halves the work.
    return _compute_pairs(shadows, inside, product=False)[:2]


def compute_sides(shadows, inside, outside, partners):
    """Compute moments over the IN and the OUT models, and the products over complementary pairs.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    inside, outside : ndarray of shape (n_estimators, n), dtype bool
        Models of each side. If ``outside`` is None, the models that are not IN are OUT.
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
    return _compute_pairs(shadows, inside, product=True)


def compute_sides_of_each(shadows, inside, partners):
    """Compute moments and products over pairs, also if the models of some records are not in pairs.

    Parameters
    ----------
    shadows : ndarray of shape (n_queries, n_estimators, n)
        Values of a signal.
    inside : ndarray of shape (n_estimators, n), dtype bool
        IN models of each record; the others are OUT.
    partners : ndarray of shape (n_estimators,)
        Model drawn in a pair with each; -1 for none.

    Returns
    -------
    sides : Sides
        With NaN as the product of records whose models are not in pairs.
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


def take_records(sides, records):
    """Return the moments of some records; products only if the models of all are in pairs."""
    into, out = (
        Moments(side.count[records], side.mean[:, records], side.squares[:, records])
        for side in sides[:2]
    )
    product = None if sides.product is None else sides.product[:, records]
    return Sides(into, out, None if product is None or np.isnan(product).any() else product)


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
    means, both = _shift(n_pairs, center, total, squares[0])
    sides = Moments(count, means[0], both[0]), Moments(count, means[1], both[1])
    product = squares[1] - total[0] * total[1] / n_pairs if len(squares) > 1 else None
    return Sides(*sides, product)


def _shift(count, center, total, squares):
    """Turn sums of deviations from a center, and of their squares, into means and squares."""
    rest = total / np.maximum(count, 1)
    return center + rest, np.maximum(squares - rest * total, 0)


def are_pairs(inside, outside=None):
    """Whether one of every two consecutive models is IN and the other is OUT, for each record."""
    if len(inside) % 2 or (outside is not None and not _are_all(inside, outside)):
        return False
    return np.not_equal(inside[::2], inside[1::2]).all()


def _are_all(inside, outside):
    """Whether each model is on one of the sides."""
    return np.count_nonzero(inside) + np.count_nonzero(outside) == inside.size
