"""Hashes are found where a binary search finds them."""

import numpy as np
import pytest

from skmia._core.hashing import HashIndex


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("largest", [2**64, 2**63, 2**50, 2**10])
def test_places_are_those_of_a_binary_search(n, largest):
    rng = np.random.default_rng(n)
    hashes = np.unique(rng.integers(largest, size=n, dtype=np.uint64))
    others = rng.integers(2**64, size=200, dtype=np.uint64)
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    wanted = np.concatenate([rng.permutation(hashes), others, ends, hashes[:1] - np.uint64(1)])
    np.testing.assert_array_equal(
        HashIndex(hashes).find(wanted), np.searchsorted(hashes[:-1], wanted)
    )
