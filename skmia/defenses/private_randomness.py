"""Coins and noise of private training, apart from the random numbers of everything else.

Initial weights come from torch's generator, whose state a short search or the outputs themselves
reveal. What a guarantee rests on comes from the operating system. That includes what modules
draw for rows, such as dropout: where one row is missing, all others get other numbers of a stream,
and a known stream would show more than one row.
"""

import random
from contextlib import contextmanager

import numpy as np

from .._core.optional import import_optional
from .._core.randomness import preserved_randomness
from ._exact_noise import rounded_normal, seeded_words, system_words

# Steps of the grid of noise to its standard deviation, as a power of two.
GRID_BITS = 30

# Noise outside these leaves no room for its grid, for sums, or for squares, in double precision.
_SMALLEST, _LARGEST = 1e-150, 1e150


class PrivateRandomness:
    """Random numbers that cannot be repeated, unless a seed is given.

    Parameters
    ----------
    seed : int or None
        Seed. If None, the operating system is the source. With a seed, the result is not private.
    """

    def __init__(self, seed=None):
        self._words = system_words if seed is None else seeded_words(np.random.default_rng(seed))

    def uniforms(self, n):
        """Uniform numbers in [0, 1) of 53 bits, shape (n,)."""
        return (self._words(n) >> np.uint64(11)) * 2.0**-53

    def coins(self, n, rate):
        """Independent coins that show heads with a probability, rounded down, shape (n,)."""
        words = self._words(n)
        limit = int(rate * 2**53) << 11  # exact: a rate in double precision times a power of two
        return np.ones(n, dtype=bool) if limit >> 64 else words < np.uint64(limit)

    @contextmanager
    def for_modules(self):
        """Fresh states of the global generators, which are put back as they were."""
        torch = import_optional("torch", "torch")
        seeds = [int(word) >> 32 for word in self._words(3)]
        with preserved_randomness():
            random.seed(seeds[0])
            np.random.seed(seeds[1])  # noqa: NPY002
            torch.default_generator.manual_seed(seeds[2])
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                torch.cuda.manual_seed_all(seeds[2])
            yield

    def noise_in_steps(self, scales, grids):
        """Normal noise rounded to whole steps of grids, dtype float64; 0 where the scale is."""
        noise = np.zeros(len(scales))
        noisy = np.flatnonzero(scales)
        steps = (scales / grids)[noisy]
        noise[noisy] = rounded_normal(steps, steps.shape, self._words)
        return noise


def choose_grids(scales):
    """Powers of two that have 2^29 to 2^30 steps to each scale of noise.

    Contributions and noise that are rounded to it add without error, so that the lowest digits of a
    noisy sum tell nothing of the exact one. Where the scale is 0 the grid is 1.

    Raises
    ------
    ValueError
        If a scale is so small or so large that its grid leaves double precision.
    """
    scales = np.asarray(scales, dtype=np.float64)
    bad = scales[(scales != 0) & ~((scales >= _SMALLEST) & (scales <= _LARGEST))]
    if bad.size:
        raise ValueError(
            f"The standard deviation of the noise must be between {_SMALLEST:.3g} and "
            f"{_LARGEST:.3g}; got {bad[0]:.3g}."
        )
    grids = np.ldexp(1.0, np.frexp(scales)[1] - GRID_BITS)
    return np.where(scales > 0, grids, 1.0)


def round_to(values, grids):
    """Whole steps of grids."""
    return np.rint(values / grids)
