"""Values and noise on a public grid of powers of two, where addition is exact.

A double added to a double is rounded, and which sums can occur depends on the exact value (Mironov,
2012). Here the value is rounded to a multiple of a grid that the parameters alone determine, and
noise is added in integers: what the sum shows is what the law of the noise allows.
"""

from fractions import Fraction

import numpy as np

# Steps of the grid to the scale of the noise, as a power of two.
GRID_BITS = 40

# Beyond these the grid or the noise leaves double precision.
_SMALLEST, _LARGEST = np.finfo(np.float64).tiny, 2.0**960

# Integers below this are exact as int64, with room for the noise.
_LARGEST_INTEGER = 2.0**62


def choose_exponents(scales, what):
    """Exponents k of grids ``2**k`` that have 2^39 to 2^40 steps to a scale of noise.

    Parameters
    ----------
    scales : float or ndarray
        Scales of the noise, above 0.
    what : str
        What the scale is, for the message.

    Returns
    -------
    exponents : ndarray of the same shape, dtype int
        They depend on the parameters of a mechanism, never on values.

    Raises
    ------
    ValueError
        If a scale is 0, too small or too large in double precision.
    """
    scales = np.asarray(scales, dtype=np.float64)
    bad = scales[~((scales >= _SMALLEST) & (scales <= _LARGEST))]
    if bad.size:
        raise ValueError(
            f"{what} must be between {_SMALLEST:.3g} and {_LARGEST:.3g} for noise in double "
            f"precision; got {bad[0]:.3g}."
        )
    return np.frexp(scales)[1].astype(int) - GRID_BITS


def count_steps(width, exponent):
    """The most steps by which a value changes on its grid when it changes by at most a width."""
    return int(Fraction(float(width)) / Fraction(2) ** int(exponent)) + 1


def add_on_grid(X, noise, exponents):
    """Round values to the grid and add a number of steps to each.

    Parameters
    ----------
    X : ndarray of shape (n_releases, n_features), dtype float64
        Finite values.
    noise : ndarray of shape (n_releases, n_features), dtype int64
        Steps of the grid.
    exponents : ndarray of shape (n_features,), dtype int
        Of the grid of each column.

    Returns
    -------
    sums : ndarray of shape (n_releases, n_features)
        The sums, rounded to double precision after the addition.
    """
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(X, -exponents))
    is_large = ~(np.abs(steps) < _LARGEST_INTEGER)
    totals = np.where(is_large, 0, steps).astype(np.int64) + noise
    sums = np.ldexp(totals.astype(np.float64), exponents)
    for row, column in np.argwhere(is_large):
        grid = Fraction(2) ** int(exponents[column])
        total = round(Fraction(float(X[row, column])) / grid) + int(noise[row, column])
        sums[row, column] = _as_double(total * grid)
    return sums


def _as_double(value):
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
