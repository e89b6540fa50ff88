"""All values of a column from the points halfway between them."""

import numpy as np

# Digits after the point of columns whose values are rebuilt.
_MOST_DECIMALS = 3
_SLACK = 1e-6  # of a step of the grid


def rebuild_values(middles):
    """Reconstruct values from all middles between neighbors, if only one set of values fits.

    The first value determines all others, each the mirror image of the one before at the middle
    between them. Values of so many digits leave a few first values, and most often one, for which
    all others are in order.

    Parameters
    ----------
    middles : ndarray of shape (n,)
        Sorted.

    Returns
    -------
    values : ndarray of shape (n + 1,) or None
        None if none or several fit.
    """
    decimals = _count_decimals(2 * middles)
    if decimals is None or len(middles) < 2:
        return None
    step = 10.0**-decimals
    # The gap g below the first middle leaves gaps a_k +- g below the others, all above 0.
    signs = (-1.0) ** np.arange(len(middles))
    offsets = _alternate(np.diff(middles, prepend=middles[0]))
    low = np.max(np.where(signs > 0, -offsets, 0), initial=0)
    ups = np.append(offsets[signs < 0], np.inf)
    high = np.min(ups)
    if not np.isfinite(high) or (high - low) / step > 2**31:
        return None
    ends = (middles[0] - high) / step, (middles[0] - low) / step
    first = np.arange(np.ceil(ends[0] + _SLACK), np.floor(ends[1] - _SLACK) + 1)
    if len(first) != 1:
        return None
    gap = middles[0] - first[0] * step
    below = middles - (offsets + signs * gap)
    values = np.append(below, 2 * middles[-1] - below[-1])
    return np.round(values, decimals) + 0.0


def snap(values, precision):
    """Values that were rounded on the way, on the grid of decimals that all of them are close to.

    Parameters
    ----------
    values : ndarray of shape (n,)
    precision : float
        How close, as a share of the step of the grid.
    """
    for digits in range(_MOST_DECIMALS + 1):
        near = np.round(values, digits)
        if np.all(np.abs(near - values) <= precision * 10.0**-digits):
            return near + 0.0
    return values


def _alternate(steps):
    """Sums with alternating signs: a_k = steps_k - a_{k-1}, from 0."""
    signs = (-1.0) ** np.arange(len(steps))
    return signs * np.cumsum(signs * steps)


def _count_decimals(values):
    for digits in range(_MOST_DECIMALS + 1):
        if np.allclose(np.round(values, digits), values, rtol=0, atol=_SLACK * 10.0**-digits):
            return digits
    return None
