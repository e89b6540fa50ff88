"""Labelings under permuted membership: of single units, or of bundles of pairs of very many."""

from typing import Any, NamedTuple

import numpy as np

_BLOCK_ELEMENTS = 1 << 22

# Number of permutations of bundles that are drawn at a time.
_N_TOGETHER = 10

# More units than these are permuted in bundles, and the number of the bundles.
MOST_UNITS = 200_000
_N_BUNDLES = 100_000


class Labelings(NamedTuple):
    """The true labeling and permutations of it.

    Attributes
    ----------
    columns : ndarray of shape (n,)
        Column of each record in the bits of a labeling.
    turned : ndarray of shape (n,), dtype bool, or None
        Records that are members where their bit is 0, and not where it is 1; None for none.
    n_columns : int
    blocks : iterator of ndarray of shape (n_labelings, n_columns)
        Bits, the true labeling first.
    """

    columns: np.ndarray
    turned: np.ndarray | None
    n_columns: int
    blocks: Any

    def take(self, rows):
        """Return the columns of some records, and which of them are turned (None for none)."""
        return self.columns[rows], None if self.turned is None else self.turned[rows]


def draw_labelings(units, n_permutations, rng):
    """Draw permutations of the membership of units.

    Very many units are paired at random, each member with a non-member of its block, and the two
    of a pair exchange their membership. Given the pairs, the first and the second of each are
    equally likely to be the member, so all exchanges are equally likely, those in which all pairs
    of a bundle are exchanged together among them. Compared with free permutations, the variance of
    a mean over as many members as non-members is the same, and all records count.

    Parameters
    ----------
    units : Units
        Sorted units.
    n_permutations : int
    rng : numpy Generator

    Returns
    -------
    labelings : Labelings
    """
    n_units = len(units.is_member)
    if n_units <= MOST_UNITS:
        return Labelings(units.places, None, n_units, _draw_labels(units, n_permutations, rng))
    bundles = _bundle_pairs(units, rng)
    blocks = _draw_exchanges(n_permutations, rng)
    return Labelings(bundles[units.places], units.is_member[units.places], _N_BUNDLES + 1, blocks)


def _draw_labels(units, n_permutations, rng):
    """Yield the true labels, and then permutations of them in blocks."""
    yield units.is_member[None].astype(np.float64)
    n_units = len(units.is_member)
    n_whole = int((units.blocks == 0).sum())
    n_members = int(units.is_member[:n_whole].sum())
    # Within a block, members come first; the draw puts its records in random order.
    mixed = units.blocks[n_whole:]
    pattern = units.is_member[n_whole:][np.lexsort([~units.is_member[n_whole:], mixed])]
    step = max(1, _BLOCK_ELEMENTS // n_units)
    for start in range(0, n_permutations, step):
        labels = np.zeros((min(step, n_permutations - start), n_units))
        for row in labels:
            row[rng.choice(n_whole, n_members, replace=False, shuffle=False)] = 1
            if len(mixed):
                row[n_whole + np.argsort(mixed + rng.random(len(mixed)))] = pattern
        yield labels


def _bundle_pairs(units, rng):
    """Bundle of each unit; the last number for units that have no partner."""
    bundles = np.full(len(units.is_member), _N_BUNDLES, dtype=np.int32)
    if not units.n_mixed:
        sides = [np.flatnonzero(units.is_member == side) for side in (True, False)]
        n_pairs = min(map(len, sides))
        for side in sides:
            bundles[rng.permutation(side)[:n_pairs]] = np.arange(n_pairs) % _N_BUNDLES
        return bundles
    n_blocks = int(units.blocks.max()) + 1
    side = 2 * units.blocks + units.is_member
    counts = np.bincount(side, minlength=2 * n_blocks)
    order = np.lexsort([rng.random(len(side)), side])
    place = np.arange(len(side)) - np.repeat(np.cumsum(counts) - counts, counts)
    n_pairs = counts.reshape(-1, 2).min(axis=1)
    block = units.blocks[order]
    pair = (np.cumsum(n_pairs) - n_pairs)[block] + place
    bundles[order] = np.where(place < n_pairs[block], pair % _N_BUNDLES, _N_BUNDLES)
    return bundles


def _draw_exchanges(n_permutations, rng):
    """Yield bits that say which bundles are exchanged: none, and then random ones."""
    yield np.zeros((1, _N_BUNDLES + 1))
    for start in range(0, n_permutations, _N_TOGETHER):
        bits = np.zeros((min(_N_TOGETHER, n_permutations - start), _N_BUNDLES + 1))
        bits[:, :-1] = rng.integers(2, size=(len(bits), _N_BUNDLES), dtype=np.int8)
        yield bits
