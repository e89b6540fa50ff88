"""Exact samples of discrete Laplace and normal laws, and of rounded normal numbers, in integers.

A floating-point sampler leaves traces of the exact value in the lowest digits of the noisy one.
Here every probability is a ratio of integers and every decision compares integers, so that the laws
are exactly those that the accounting is about (Canonne, Kamath and Steinke, 2020). The arithmetic
stays below 2^63: scales of up to ``LARGEST_SCALE`` are far from it.

A rounded normal number is ten times as fast: double precision decides where its error cannot
matter, and decimals of any length decide about the others.
"""

import math
import os
from decimal import Decimal, localcontext

import numpy as np
from scipy.special import ndtri

LARGEST_SCALE = 2**52

# Samples that are drawn at once: the rejection loops keep a few arrays of this length.
_CHUNK = 1 << 16


def system_words(n):
    """Random 64-bit words of the operating system, shape (n,)."""
    return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)


def seeded_words(rng):
    """A source of words that a seed repeats, and that therefore hides nothing."""
    return lambda n: rng.integers(0, 2**64, size=n, dtype=np.uint64)


def below(words, limits):
    """Uniform integers from 0 to ``limits - 1``, by rejection.

    Parameters
    ----------
    words : callable
        ``words(n)`` gives n random 64-bit words.
    limits : ndarray of shape (n,), dtype uint64
        At least 1.

    Returns
    -------
    numbers : ndarray of shape (n,), dtype uint64
    """
    masks = limits - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    numbers = words(len(limits)) & masks
    while len(again := np.flatnonzero(numbers >= limits)):
        numbers[again] = words(len(again)) & masks[again]
    return numbers


def _series(succeeds, n):
    """Whether runs of successes end after an even number, of shape (n,).

    With the probability g / k of a success in round k, an even run has the probability
    1 - g + g^2 / 2 - ... = exp(-g). ``succeeds(rows, k)`` plays round k for some rows.
    """
    heads = np.zeros(n, dtype=bool)
    rows, k = np.arange(n), 1
    while len(rows):
        won = succeeds(rows, k)
        heads[rows[~won]] = k % 2 == 1
        rows, k = rows[won], k + 1
    return heads


def exp_coins(words, numerators, denominators):
    """Coins that show heads with probability ``exp(-numerator / denominator)``.

    Parameters
    ----------
    words : callable
    numerators, denominators : ndarray of shape (n,), dtype uint64
        With ``0 <= numerator <= denominator``.

    Returns
    -------
    heads : ndarray of shape (n,), dtype bool
    """
    return _series(
        lambda rows, k: below(words, denominators[rows] * np.uint64(k)) < numerators[rows],
        len(numerators),
    )


def _half_square_coins(words, numerators, denominators):
    """Coins with probability ``exp(-(numerator / denominator)**2 / 2)``, ratios of at most 1."""

    def succeeds(rows, k):
        # A product of three probabilities, as the square itself would leave 64 bits.
        won = below(words, np.full(len(rows), 2 * k, dtype=np.uint64)) < 1
        for _ in range(2):
            won &= below(words, denominators[rows]) < numerators[rows]
        return won

    return _series(succeeds, len(numerators))


def _all_heads(words, counts, numerators, denominators):
    """Whether ``counts`` coins of :func:`exp_coins` all show heads, for each row."""
    heads = np.ones(len(counts), dtype=bool)
    counts = counts.copy()
    while len(rows := np.flatnonzero(heads & (counts > 0))):
        heads[rows] = exp_coins(words, numerators[rows], denominators[rows])
        counts[rows] -= np.uint64(1)
    return heads


def _try_laplace(words, scales):
    """One attempt a row at a discrete Laplace number: magnitudes, signs, and which succeeded."""
    rest = below(words, scales)
    accepted = exp_coins(words, rest, scales)
    whole = np.zeros(len(scales), dtype=np.uint64)
    rows = np.flatnonzero(accepted)
    while len(rows):
        ones = np.ones(len(rows), dtype=np.uint64)
        rows = rows[exp_coins(words, ones, ones)]
        whole[rows] += np.uint64(1)
    magnitudes = rest + scales * whole
    negative = (words(len(scales)) & np.uint64(1)).astype(bool)
    accepted &= ~(negative & (magnitudes == 0))  # or 0 would count twice
    return magnitudes, negative, accepted


def _try_normal(words, scales):
    """The same for a discrete normal number: a Laplace one of the same scale, thinned out."""
    magnitudes, negative, accepted = _try_laplace(words, scales)
    rows = np.flatnonzero(accepted)
    scales = scales[rows]
    # Accepted with probability exp(-x^2 / 2), x = |magnitude - scale| / scale = whole + part.
    away = np.where(magnitudes[rows] > scales, magnitudes[rows] - scales, scales - magnitudes[rows])
    whole, part = away // scales, away % scales
    ones = np.ones(len(rows), dtype=np.uint64)
    kept = _all_heads(words, whole * whole, ones, 2 * ones)
    kept &= _all_heads(words, whole, part, scales)
    kept &= _half_square_coins(words, part, scales)
    accepted[rows] = kept
    return magnitudes, negative, accepted


def _repeat(attempt, words, scales):
    numbers = np.empty(len(scales), dtype=np.int64)
    rows = np.arange(len(scales))
    while len(rows):
        magnitudes, negative, accepted = attempt(words, scales[rows])
        signed = magnitudes.astype(np.int64)
        signed[negative] *= -1
        numbers[rows[accepted]] = signed[accepted]
        rows = rows[~accepted]
    return numbers


def _draw(attempt, scales, shape, words):
    scales = np.broadcast_to(np.asarray(scales, dtype=np.uint64), shape).ravel()
    parts = [
        _repeat(attempt, words, scales[start : start + _CHUNK])
        for start in range(0, len(scales), _CHUNK)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]).reshape(shape)


def discrete_laplace(scales, shape, words=system_words):
    """Draw integers y with probability proportional to ``exp(-|y| / scale)``.

    Parameters
    ----------
    scales : int or array-like of int
        Whole numbers from 1 to ``LARGEST_SCALE``; broadcast to `shape`.
    shape : tuple of int
    words : callable, default=system_words
        Source of randomness.

    Returns
    -------
    noise : ndarray of the given shape, dtype int64
    """
    return _draw(_try_laplace, scales, shape, words)


def discrete_normal(scales, shape, words=system_words):
    """Draw integers y with probability proportional to ``exp(-y**2 / (2 * scale**2))``.

    Parameters
    ----------
    scales : int or array-like of int
        Whole numbers from 1 to ``LARGEST_SCALE``; broadcast to `shape`.
    shape : tuple of int
    words : callable, default=system_words
        Source of randomness.

    Returns
    -------
    noise : ndarray of the given shape, dtype int64
    """
    return _draw(_try_normal, scales, shape, words)


# A hundred times the error of a quantile in double precision, and more than what the missing bits
# of an upper tail of 44 bits or more change in it.
_QUANTILE_ERROR = 2e-13
_FEWEST_BITS = 44

_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534"
    "21170679821480865132823066470938446095505822317253594081284811174502841027019385211055596446"
)


def rounded_normal(scales, shape, words=system_words):
    """Draw normal numbers and round each to the nearest integer.

    The law is exact, tails included. An integer plus such a number is a normal number added to it
    and rounded, so that what holds for normal noise holds for the sum as it stands.

    Parameters
    ----------
    scales : float or array-like of float
        Standard deviations, at least 1; broadcast to `shape`. Above 2**38, every number takes the
        slow way, about 0.1 ms.
    shape : tuple of int
    words : callable, default=system_words
        Source of randomness.

    Returns
    -------
    noise : ndarray of the given shape, dtype float64
        Whole numbers.
    """
    scales = np.broadcast_to(np.asarray(scales, dtype=np.float64), shape).ravel()
    drawn = words(len(scales))
    tails = drawn >> np.uint64(1)
    values = scales * -ndtri((tails + 0.5) * 2.0**-64)
    numbers = np.rint(values)
    in_doubt = tails < np.uint64(1 << _FEWEST_BITS)
    in_doubt |= np.abs(values - numbers) > 0.5 - _QUANTILE_ERROR * scales
    for place in np.flatnonzero(in_doubt):
        numbers[place] = _round_exactly(int(tails[place]), float(scales[place]), words)
    return np.where(drawn & np.uint64(1), -numbers, numbers).reshape(shape)


def _round_exactly(tail, scale, words):
    """Round the number with an upper tail in ``[tail, tail + 1) / 2**64``, by drawing more bits."""
    bits = 64
    while True:
        tail, bits = (tail << 64) | int(words(1)[0]), bits + 64
        if tail < 1 << 100:
            continue
        value = -float(ndtri(math.ldexp(float(tail), -bits))) * scale
        below = math.floor(value)
        if abs(value - below - 0.5) > _QUANTILE_ERROR * scale:
            return round(value)
        digits = int(0.31 * bits) + 40
        limit = _upper_tail(Decimal(below) + Decimal("0.5"), Decimal(scale), digits)
        with localcontext(prec=2 * digits):
            scaled, slack = limit * 2**bits, Decimal(10) ** (int(0.31 * bits) - digits + 10)
            if tail > scaled + slack:
                return below
            if tail + 1 < scaled - slack:
                return below + 1


def _upper_tail(value, scale, digits):
    """Probability that a normal number of a scale exceeds a value, to a number of digits."""
    with localcontext() as context:
        context.prec = digits
        squared = (value / scale) ** 2
        # The terms of the series grow to exp(squared / 2) before they fall, and cancel.
        context.prec = digits + int(squared) + 10
        x = value / scale
        squared = x * x
        term, total, k = x, x, 0
        while abs(term) > Decimal(10) ** -(digits + 5):
            k += 1
            term *= -squared / (2 * k)
            total += term / (2 * k + 1)
        return Decimal("0.5") - total / (2 * _PI).sqrt()
