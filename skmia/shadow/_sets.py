"""Training sets of the models of a pool that are drawn when they are asked for."""

from numbers import Integral

import numpy as np


class PackedSets:
    """Training sets as bits, unpacked one at a time: the form in which they travel to workers.

    Parameters
    ----------
    sets : sequence of ndarray of shape (n,), dtype bool
        Training sets.
    """

    def __init__(self, sets):
        self._n_records = len(sets[0])
        self._packed = [np.packbits(members) for members in sets]

    def __len__(self):
        return len(self._packed)

    def __getitem__(self, key):
        if isinstance(key, Integral):
            return np.unpackbits(self._packed[key], count=self._n_records).view(bool)
        return PackedSets([self[int(k)] for k in key])


class DrawnSets:
    """Training sets that are drawn when they are asked for, so that few are in memory at a time.

    Parameters
    ----------
    draw : callable
        Takes a seed and returns the training sets of models that are drawn together, of shape
        (n_together, n).
    seeds : list of SeedSequence
        One seed for each draw.
    n_used : int
        Number of models of each draw that belong to the pool.
    """

    def __init__(self, draw, seeds, n_used):
        self._draw, self._seeds, self._n_used = draw, seeds, n_used
        self._last = None, None

    def __len__(self):
        return len(self._seeds) * self._n_used

    def __getitem__(self, key):
        if isinstance(key, Integral):
            if not 0 <= key < len(self):
                raise IndexError(f"there are {len(self)} training sets, none of number {key}")
            number, place = divmod(int(key), self._n_used)
            if self._last[0] != number:
                sets = self._draw(self._seeds[number])[: self._n_used]
                self._last = number, PackedSets(sets)
            return self._last[1][place]
        return PackedSets([self[int(k)] for k in key])

    def __array__(self, dtype=None, copy=None):
        sets = np.empty((len(self), len(self[0])), dtype=bool)
        for k in range(len(self)):
            sets[k] = self[k]
        return sets.astype(dtype or bool, copy=False)
