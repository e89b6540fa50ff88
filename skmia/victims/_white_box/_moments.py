"""Statistics of the entries of long vectors that come in parts."""

import numpy as np

from ..._core.containers import is_tensor, to_numpy

STATISTICS = ("l1", "l2", "linf", "mean", "skewness", "kurtosis", "min_abs")

# Numbers that are looked at together: in double precision they stay in the cache.
_BLOCK, _BLOCK_ON_GPU = 2**16, 2**26


def summarize(parts, scale):
    """Statistics of the entries of each row of a matrix whose columns come in parts.

    Central moments are taken part by part and merged, so that none is the difference of large
    numbers (Pébay, 2008).

    Parameters
    ----------
    parts : iterable of ndarray or torch tensor, each of shape (m, n_columns)
        At least one.
    scale : ndarray of shape (m,)
        Positive factor of each row, or 0.

    Returns
    -------
    statistics : ndarray of shape (m, 7)
        Of the rows times the scale, as named by ``STATISTICS``.
    """
    total = None
    for part in parts:
        for block in _cut(part):
            found = _measure(block)
            total = found if total is None else _merge(total, found)
    n, mean, squares, cubes, fourths, l1, top, bottom = total
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.sqrt(n) * cubes / squares**1.5
        kurtosis = n * fourths / squares**2 - 3
    spread = squares > n * (1e-14 * mean) ** 2  # else the deviations are rounding
    shapes = [np.where(spread, value, 0.0) for value in (skewness, kurtosis)]
    l2 = np.sqrt(squares + n * mean**2)
    sizes = [scale * value for value in (l1, l2, top, mean)]
    return np.column_stack([*sizes, *shapes, scale * bottom])


def _cut(part):
    """Blocks of columns, as tensors only where they are on a GPU."""
    on_gpu = is_tensor(part) and part.is_cuda
    part = to_numpy(part) if is_tensor(part) and not on_gpu else part
    step = max(1, (_BLOCK_ON_GPU if on_gpu else _BLOCK) // len(part))
    for start in range(0, part.shape[1], step):
        yield part[:, start : start + step]


def _measure(block):
    """Count, mean, sums of the powers of deviations, sum and extremes of the absolute values."""
    x = block.double() if is_tensor(block) else block.astype(np.float64)
    mean, size = x.mean(1), abs(x)
    x = x - mean[:, None]
    square = x * x
    found = (
        mean,
        square.sum(1),
        _dot(square, x),
        _dot(square, square),
        size.sum(1),
        size.amax(1) if is_tensor(size) else size.max(1),
        size.amin(1) if is_tensor(size) else size.min(1),
    )
    return x.shape[1], *(to_numpy(array) if is_tensor(array) else array for array in found)


def _dot(a, b):
    return (a * b).sum(1) if is_tensor(a) else np.einsum("ij,ij->i", a, b)


def _merge(a, b):
    n_a, mean_a, squares_a, cubes_a, fourths_a, l1_a, top_a, bottom_a = a
    n_b, mean_b, squares_b, cubes_b, fourths_b, l1_b, top_b, bottom_b = b
    n, d = n_a + n_b, mean_b - mean_a
    share = n_a * n_b / n
    cubes = (
        cubes_a
        + cubes_b
        + d**3 * share * (n_a - n_b) / n
        + 3 * d * (n_a * squares_b - n_b * squares_a) / n
    )
    fourths = (
        fourths_a
        + fourths_b
        + d**4 * share * (n_a**2 - n_a * n_b + n_b**2) / n**2
        + 6 * d**2 * (n_a**2 * squares_b + n_b**2 * squares_a) / n**2
        + 4 * d * (n_a * cubes_b - n_b * cubes_a) / n
    )
    return (
        n,
        mean_a + d * n_b / n,
        squares_a + squares_b + d**2 * share,
        cubes,
        fourths,
        l1_a + l1_b,
        np.maximum(top_a, top_b),
        np.minimum(bottom_a, bottom_b),
    )
