"""Search in sorted hashes."""

import numpy as np

# Mean number of hashes in a bucket, as a power of 2.
_BITS_IN_BUCKET = 2


class HashIndex:
    """Places of hashes in a sorted array of distinct ones.

    Hashes are evenly spread, so their first bits nearly tell the place. That is several times as
    fast as a binary search.

    Parameters
    ----------
    hashes : ndarray of shape (n,), dtype uint64
        Sorted hashes, at least one.
    """

    def __init__(self, hashes):
        self._hashes = hashes
        n_bits = max(1, len(hashes).bit_length() - _BITS_IN_BUCKET)
        self._shift = np.uint64(64 - n_bits)
        first = np.arange(1 << n_bits, dtype=np.uint64) << self._shift
        self._starts = np.minimum(np.searchsorted(hashes, first), len(hashes) - 1)

    def find(self, wanted):
        """Return the place of the first hash that is not below each wanted one, else the last.

        Parameters
        ----------
        wanted : ndarray of shape (m,), dtype uint64

        Returns
        -------
        places : ndarray of shape (m,)
        """
        hashes, last = self._hashes, len(self._hashes) - 1
        places = self._starts[(wanted >> self._shift).astype(np.intp)]
        rest = np.flatnonzero((hashes[places] < wanted) & (places < last))
        while len(rest):
            place = places[rest] + 1
            places[rest] = place
            rest = rest[(hashes[place] < wanted[rest]) & (place < last)]
        return places
