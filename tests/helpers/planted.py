"""A search for unusual numbers in the bytes of a file, which knows nothing of its structure."""

import numpy as np
from scipy import sparse


def find_in_bytes(data, planted, dtypes=("<f8", ">f8")):
    """Which of some numbers occur in bytes, at any place and in either order of bytes."""
    found = set()
    for dtype in map(np.dtype, dtypes):
        wanted = np.unique(np.asarray(planted).astype(dtype))
        for start in range(dtype.itemsize):
            n_bytes = (len(data) - start) // dtype.itemsize * dtype.itemsize
            numbers = np.frombuffer(data[start : start + n_bytes], dtype)
            found.update(numbers[np.isin(numbers, wanted)].tolist())
    return found


def find_in_arrays(state, planted):
    """Which of some numbers occur in the arrays of a state."""
    planted, found = set(np.asarray(planted).tolist()), set()
    for one in state.arrays:
        array = one.array.data if sparse.issparse(one.array) else one.array
        if array.dtype.kind in ("f", "O"):
            found.update(planted.intersection(array.ravel().tolist()))
    return found
