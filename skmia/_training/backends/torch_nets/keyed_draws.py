"""Random numbers of many nets at once, as functions of the key of a net and of counters.

A generator of torch draws for one net at a time. One generator for all nets would draw for them at
once, but the numbers of a net would then depend on the nets that it is trained with. Here, the
numbers of a net depend on its own seed, the number of steps that it has made, and the place where
they are used. They are computed by operations on integers, which give the same numbers on all
devices and can be recorded with the other kernels of a step.

The numbers are those of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014): a bijection of 64 bits, applied to a sequence of equal steps.
"""

import math

import numpy as np
import torch


def _as_signed(number):
    """Return a number of 64 bits as torch stores it."""
    return int(np.uint64(number).view(np.int64))


_GAMMA = _as_signed(0x9E3779B97F4A7C15)
_ROUNDS = (30, _as_signed(0xBF58476D1CE4E5B9)), (27, _as_signed(0x94D049BB133111EB))
_LAST = 31


def mix_bits(z):
    """Mix the bits of numbers of 64 bits, in place."""
    for shift, factor in _ROUNDS:
        z.bitwise_xor_(_shift_down(z, shift)).mul_(factor)
    return z.bitwise_xor_(_shift_down(z, _LAST))


def _shift_down(z, shift):
    # torch shifts copies of the sign in from above, and not zeros.
    return (z >> shift).bitwise_and_((1 << (64 - shift)) - 1)


def draw_longs(starts, n):
    """Return ``n`` numbers of 64 bits from each start.

    Shapes: starts (...), result (..., n).
    """
    counter = torch.arange(1, n + 1, device=starts.device)
    return mix_bits(counter.mul_(_GAMMA) + starts.unsqueeze(-1))


def draw_words(starts, n):
    """Return ``n`` numbers of 32 bits from each start.

    Shapes: starts (...), result (..., n).
    """
    return draw_longs(starts, -(-n // 2)).view(torch.int32)[..., :n]


class KeyedDraws:
    """Numbers of many nets that depend on the net and its step alone.

    Parameters
    ----------
    seeds : list of int
        Seed of each net.
    """

    def __init__(self, seeds, device):
        seeds = np.array([seed % 2**64 for seed in seeds], dtype=np.uint64)
        self._keys = mix_bits(torch.from_numpy(seeds.view(np.int64)).clone()).to(device)

    def find_starts(self, models, n_steps):
        """Return where the numbers of some nets start at the step after ``n_steps`` others.

        Shapes: n_steps (n_chosen,), result (n_chosen,).
        """
        return mix_bits(self._keys[models] + n_steps * _GAMMA)

    @staticmethod
    def draw_masks(starts, sites, dtype):
        """Draw the masks of one batch.

        Shapes: starts (n_chosen,), masks (n_chosen, ...).
        """
        masks = []
        for place, (p, shape) in enumerate(sites):
            words = draw_words(find_place(starts, place), math.prod(shape))
            # Of the 2^32 numbers from -2^31 on, a share 1 - p is kept.
            limit = min(round((1 - p) * 2**32) - 2**31, 2**31 - 1)
            masks.append((words < limit).reshape(-1, *shape).to(dtype).div_(1 - p))
        return masks


def find_place(starts, place):
    """Return where the numbers of one place of a step start."""
    return mix_bits(starts + (place + 1))


def draws_the_same(device):
    """Whether nets that are trained together draw the same masks and changes as by themselves.

    On other devices Dropout of many nets at once, and changes of batches, which a loader draws on
    the CPU, have the same law.
    """
    return device.type == "cpu"
