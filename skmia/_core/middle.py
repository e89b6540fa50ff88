"""The middle values of numbers that are read piece by piece."""

import numpy as np

_BITS = 16


def compute_middle(pieces, n_values):
    """Return the two middle values of single-precision numbers; they are equal if n is odd.

    The numbers are counted by the upper and then by the lower half of their bits, so two passes
    find the values exactly.

    Parameters
    ----------
    pieces : callable
        Returns an iterator over arrays of dtype float32 that hold all numbers; called repeatedly.
    n_values : int
        Number of values.

    Returns
    -------
    middle : ndarray of shape (2,), dtype float32
    """
    return np.array([_find(pieces, rank) for rank in ((n_values - 1) // 2, n_values // 2)])


def _find(pieces, rank):
    upper, rank = _locate((_sortable(piece) >> _BITS for piece in pieces()), rank)
    inside = (_sortable(piece) for piece in pieces())
    mask = np.uint32((1 << _BITS) - 1)
    lower, _ = _locate((keys[keys >> _BITS == upper] & mask for keys in inside), rank)
    key = np.array([(upper << _BITS) | lower], dtype=np.uint32)
    return np.where(key >> 31, key ^ np.uint32(1 << 31), ~key).view(np.float32)[0]


def _locate(parts, rank):
    """Return the bin that holds the value of a rank, and its rank within the bin."""
    counts = np.zeros(1 << _BITS, dtype=np.int64)
    for part in parts:
        counts += np.bincount(part, minlength=1 << _BITS)
    found = int(np.searchsorted(np.cumsum(counts), rank, side="right"))
    return found, rank - int(counts[:found].sum())


def _sortable(values):
    """Map numbers to integers of the same order."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
