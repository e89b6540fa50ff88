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


def draw_words(starts, n):
    """Return ``n`` numbers of 32 bits from each start.

    Shapes: starts (n_models,), result (n_models, n).
    """
    counter = torch.arange(1, n // 2 + 2, device=starts.device)
    z = mix_bits(counter.mul_(_GAMMA) + starts.unsqueeze(-1))
    return z.view(torch.int32)[..., :n]


class KeyedDraws:
    """Draws the masks of dropout of many nets at once.

    Parameters
    ----------
    seeds : list of int
        Seed of each net.
    """

    def __init__(self, seeds, device):
        seeds = np.array([seed % 2**64 for seed in seeds], dtype=np.uint64)
        self._keys = mix_bits(torch.from_numpy(seeds.view(np.int64)).clone()).to(device)

    def draw_masks(self, models, n_steps, sites, dtype):
        """Draw the masks of one batch of some nets, which have made numbers of steps.

        Shapes: n_steps (n_chosen,), masks (n_chosen, ...).
        """
        starts = mix_bits(self._keys[models] + n_steps * _GAMMA)
        masks = []
        for place, (p, shape) in enumerate(sites):
            of_site = mix_bits(starts + _as_signed(place + 1))
            words = draw_words(of_site, math.prod(shape))
            # Of the 2^32 numbers from -2^31 on, a share 1 - p is kept.
            limit = min(round((1 - p) * 2**32) - 2**31, 2**31 - 1)
            masks.append((words < limit).reshape(-1, *shape).to(dtype).div_(1 - p))
        return masks


def draws_the_same(device):
    """Whether nets that are trained together draw the same masks and changes as by themselves.

    On other devices Dropout of many nets at once, and changes of batches, which a loader draws on
    the CPU, have the same law.
    """
    return device.type == "cpu"
