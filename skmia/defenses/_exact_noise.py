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
import random
from contextlib import contextmanager
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from .._core.optional import import_optional
from .._core.randomness import preserved_randomness

LARGEST_SCALE = 2**52

# Samples that are drawn at once: the rejection loops keep a few arrays of this length.
_CHUNK = 1 << 16


def system_words(n):
    """Return random 64-bit words of the operating system, shape (n,)."""
    return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)


def seeded_words(rng):
    """Return a source of words that a seed repeats, and that therefore hides nothing."""
    return lambda n: rng.integers(0, 2**64, size=n, dtype=np.uint64)


def below(words, limits):
    """Return uniform integers from 0 to ``limits - 1``, by rejection."""
    masks = limits - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    numbers = words(len(limits)) & masks
    while len(again := np.flatnonzero(numbers >= limits)):
        numbers[again] = words(len(again)) & masks[again]
    return numbers


def _series(succeeds, n):
    """Return whether runs of successes end after an even number, of shape (n,).

    With the probability g / k of a success in round k, an even run has the probability 1 - g + g^2
    / 2 - ... = exp(-g). succeeds(rows, k) plays round k for some rows.
    """
    heads = np.zeros(n, dtype=bool)
    rows, k = np.arange(n), 1
    while len(rows):
        won = succeeds(rows, k)
        heads[rows[~won]] = k % 2 == 1
        rows, k = rows[won], k + 1
    return heads


def exp_coins(words, numerators, denominators):
    """Return coins that show heads with probability ``exp(-numerator / denominator)``."""
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
    """Return whether ``counts`` coins of :func:`exp_coins` all show heads, for each row."""
    heads = np.ones(len(counts), dtype=bool)
    counts = counts.copy()
    while len(rows := np.flatnonzero(heads & (counts > 0))):
        heads[rows] = exp_coins(words, numerators[rows], denominators[rows])
        counts[rows] -= np.uint64(1)
    return heads


def _try_laplace(words, scales):
    """Return one attempt a row at a discrete Laplace number.

    Magnitudes, signs, and which succeeded.
    """
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
    """Return the same for a discrete normal number.

    A Laplace one of the same scale, thinned out.
    """
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


def _repeat_attempts(attempt, words, scales):
    numbers = np.empty(len(scales), dtype=np.int64)
    rows = np.arange(len(scales))
    while len(rows):
        magnitudes, negative, accepted = attempt(words, scales[rows])
        signed = magnitudes.astype(np.int64)
        signed[negative] *= -1
        numbers[rows[accepted]] = signed[accepted]
        rows = rows[~accepted]
    return numbers


def _draw_integer_noise(attempt, scales, shape, words):
    scales = np.broadcast_to(np.asarray(scales, dtype=np.uint64), shape).ravel()
    starts = range(0, len(scales), _CHUNK)
    parts = [_repeat_attempts(attempt, words, scales[start : start + _CHUNK]) for start in starts]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]).reshape(shape)


def discrete_laplace(scales, shape, words=system_words):
    """Draw integers y with probability proportional to ``exp(-|y| / scale)``."""
    return _draw_integer_noise(_try_laplace, scales, shape, words)


def discrete_normal(scales, shape, words=system_words):
    """Draw integers y with probability proportional to ``exp(-y**2 / (2 * scale**2))``."""
    return _draw_integer_noise(_try_normal, scales, shape, words)


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
    """Return probability that a normal number of a scale exceeds a value, to a number of digits."""
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


# A double added to a double is rounded, and which sums can occur depends on the exact value
# (Mironov, 2012). Here the value is rounded to a multiple of a grid that the parameters alone
# determine, and noise is added in integers: what the sum shows is what the law of the noise allows.


# Steps of the grid to the scale of the noise, as a power of two.
GRID_BITS = 40

# Beyond these the grid or the noise leaves double precision.
_SMALLEST, _LARGEST = np.finfo(np.float64).tiny, 2.0**960

# Integers below this are exact as int64, with room for the noise.
_LARGEST_INTEGER = 2.0**62


def choose_exponents(scales, what):
    """Return the exponents k of grids ``2**k`` that have 2^39 to 2^40 steps to a scale of noise."""
    scales = np.asarray(scales, dtype=np.float64)
    bad = scales[~((scales >= _SMALLEST) & (scales <= _LARGEST))]
    if bad.size:
        raise ValueError(
            f"{what} must be between {_SMALLEST:.3g} and {_LARGEST:.3g} for noise in double "
            f"precision; got {bad[0]:.3g}."
        )
    return np.frexp(scales)[1].astype(int) - GRID_BITS


def count_grid_steps(width, exponent):
    """Return most steps by which a value changes on its grid when it changes by at most a width."""
    return int(Fraction(float(width)) / Fraction(2) ** int(exponent)) + 1


def add_on_grid(X, noise, exponents):
    """Round values to the grid and add a number of steps to each.

    Take X, noise of shape (n_releases, n_features), exponents of shape (n_features,); return sums
    of shape (n_releases, n_features).
    """
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(X, -exponents))
    is_large = ~(np.abs(steps) < _LARGEST_INTEGER)
    totals = np.where(is_large, 0, steps).astype(np.int64) + noise
    sums = np.ldexp(totals.astype(np.float64), exponents)
    for row, column in np.argwhere(is_large):
        grid = Fraction(2) ** int(exponents[column])
        total = round(Fraction(float(X[row, column])) / grid) + int(noise[row, column])
        sums[row, column] = _round_to_double(total * grid)
    return sums


def _round_to_double(value):
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# Initial weights come from torch's generator, whose state a short search or the outputs themselves
# reveal. What a guarantee rests on comes from the operating system. That includes what modules draw
# for rows, such as dropout: where one row is missing, all others get other numbers of a stream, and
# a known stream would show more than one row.


# Steps of the grid of noise to its standard deviation, as a power of two.
COIN_BITS = 30

# Noise outside these leaves no room for its grid, for sums, or for squares, in double precision.
_SMALLEST_DEVIATION, _LARGEST_DEVIATION = 1e-150, 1e150


# Words of a Mersenne twister, and bytes in which torch keeps one.
_TWISTER_SIZE, _TORCH_STATE = 624, 5056


class PrivateRandomness:
    """Random numbers that cannot be repeated, unless a seed is given."""

    def __init__(self, seed=None):
        self._words = system_words if seed is None else seeded_words(np.random.default_rng(seed))

    def uniforms(self, n):
        """Return uniform numbers in [0, 1) of 53 bits, shape (n,)."""
        return (self._words(n) >> np.uint64(11)) * 2.0**-53

    def coins(self, n, rate):
        """Return independent coins that show heads with a probability, rounded down, shape (n,)."""
        words = self._words(n)
        limit = int(rate * 2**53) << 11  # exact: a rate in double precision times a power of two
        return np.ones(n, dtype=bool) if limit >> 64 else words < np.uint64(limit)

    @contextmanager
    def for_modules(self):
        """Fresh states of the global generators, which are put back as they were.

        A seed can be found by trying all of them, as far as its bits can be tried: torch and numpy
        make the 624 words of their state of 32 bits. So no state is made of a seed.
        """
        torch = import_optional("torch", "torch")
        with preserved_randomness():
            random.setstate((3, (*self._twister_words().tolist(), _TWISTER_SIZE), None))
            np.random.set_state(("MT19937", self._twister_words().tolist(), _TWISTER_SIZE))  # noqa: NPY002
            generator = torch.default_generator
            seed, words = self._words(1), self._twister_words()
            state = set_twister(generator.get_state().numpy(), seed, words)
            generator.set_state(torch.from_numpy(state))
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                for device in range(torch.cuda.device_count()):
                    torch.cuda.set_rng_state(self._counter_state(torch), device)
            yield

    def _twister_words(self):
        """Return the words of a Mersenne twister, shape (624,)."""
        return (self._words(_TWISTER_SIZE) >> np.uint64(32)).astype(np.uint32)

    def _counter_state(self, torch):
        """Return the state of a generator of a GPU, a key and a counter.

        The counter goes up by fours, and must not come to its end.
        """
        key, counter = self._words(2)
        words = np.array([key, counter >> np.uint64(1) & ~np.uint64(3)])
        return torch.from_numpy(words.view(np.uint8))

    def noise_in_steps(self, scales, grids):
        """Return normal noise rounded to whole steps of grids, dtype float64.

        0 where the scale is.
        """
        noise = np.zeros(len(scales))
        noisy = np.flatnonzero(scales)
        steps = (scales / grids)[noisy]
        noise[noisy] = rounded_normal(steps, steps.shape, self._words)
        return noise


def set_twister(state, seed, words):
    """Return the state of a CPU generator of torch with other words of its Mersenne twister.

    state (5056,) bytes: the seed, from which nothing is drawn unless a module asks for it, the
    numbers of words that are left and used, the words in 64 bits each, normal numbers in store.
    """
    found = state.copy()
    head = found[:24].view(np.int32)
    if len(state) != _TORCH_STATE or head[3] != 1:
        raise RuntimeError("This version of torch keeps the state of its generator in another way.")
    found[:] = 0
    found[:8] = seed.view(np.uint8)
    head[2:4] = 1  # so that the next number is made of all words
    found[24 : 24 + 8 * len(words)] = words.astype(np.uint64).view(np.uint8)
    return found


def choose_grids(scales):
    """Return the powers of two that have 2^29 to 2^30 steps to each scale of noise.

    Contributions and noise that are rounded to it add without error, so that the lowest digits of a
    noisy sum tell nothing of the exact one. Where the scale is 0 the grid is 1.
    """
    scales = np.asarray(scales, dtype=np.float64)
    bad = scales[
        (scales != 0) & ~((scales >= _SMALLEST_DEVIATION) & (scales <= _LARGEST_DEVIATION))
    ]
    if bad.size:
        raise ValueError(
            f"The standard deviation of the noise must be between {_SMALLEST_DEVIATION:.3g} and "
            f"{_LARGEST_DEVIATION:.3g}; got {bad[0]:.3g}."
        )
    grids = np.ldexp(1.0, np.frexp(scales)[1] - COIN_BITS)
    return np.where(scales > 0, grids, 1.0)


def round_to(values, grids):
    """Return the whole steps of grids."""
    return np.rint(values / grids)
