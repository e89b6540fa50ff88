"""Rows that are in the training data and in the held-out data, beyond what the data have anyway."""

from typing import NamedTuple

import numpy as np

from .._core.hashing import mark_shared_prints

# An audit is refused if more than this share of the smaller side is also on the other; fewer copies
# are judged by the check "duplicates".
_MANY = 0.5

# A value that more rows than this have is a value of a coarse table, and says nothing of two files.
_MOST_COPIES = 20

# Standard deviations by which pairs across the sides exceed those of sides dealt at random.
_N_DEVIATIONS = 6.0

# With fewer distinct rows, equal counts on both sides can be chance.
_FEWEST_DISTINCT = 20


class SharedRows(NamedTuple):
    """Rows of each side that are also on the other one."""

    n_train: int
    n_held_out: int
    n_shared_train: int
    n_shared_held_out: int

    def describe(self, train="the training data", held_out="the held-out data"):
        """Return what is shared, in a sentence without its period."""
        n, m = self.n_shared_held_out, self.n_held_out
        if n == m and self.n_shared_train == self.n_train:
            same = f"the same {n:,} rows" if m == self.n_train else "the same rows"
            return f"{train} and {held_out} hold {same}, so none of them is held out"
        if n == m:
            return f"all {m:,} rows of {held_out} are also among the {self.n_train:,} of {train}"
        if self.n_shared_train == self.n_train:
            return f"all {self.n_train:,} rows of {train} are also among the {m:,} of {held_out}"
        return (
            f"{n:,} of the {m:,} rows of {held_out} are also among the {self.n_train:,} of {train}"
        )


def find_shared_rows(prints, membership):
    """Find out by hashes of rows whether two sides were made of the same rows.

    Tables of few values have copies by nature, on one side as often as across both. So pairs of
    equal rows across the sides are compared with those of rows that are dealt at random.

    Return shared: None if few rows are on both sides, or no more than by nature.
    """
    membership = np.asarray(membership, dtype=bool)
    is_shared, sides = mark_shared_prints(prints, membership), (membership, ~membership)
    among = [int(np.count_nonzero(is_shared[side])) for side in sides]
    sizes = [int(np.count_nonzero(side)) for side in sides]
    smaller = int(np.argmin(sizes))
    if not min(sizes) or among[smaller] <= _MANY * sizes[smaller]:
        return None
    shared = SharedRows(sizes[0], sizes[1], *among)
    counts = [np.unique(np.asarray(prints[side]), return_counts=True) for side in sides]
    is_equal = all(np.array_equal(*pair) for pair in zip(*counts, strict=True))
    if is_equal and len(counts[0][0]) >= _FEWEST_DISTINCT:
        return shared
    return shared if _exceeds_chance(*_pair_counts(counts), sizes) else None


def _pair_counts(counts):
    """Return the numbers of copies of each distinct row on each side."""
    distinct = np.union1d(counts[0][0], counts[1][0])
    paired = np.zeros((2, len(distinct)))
    for side, (values, numbers) in enumerate(counts):
        paired[side, np.searchsorted(distinct, values)] = numbers
    return paired


def _exceeds_chance(inside, outside, sizes):
    copies = inside + outside
    kept = (copies >= 2) & (copies <= _MOST_COPIES)
    c, share = copies[kept], sizes[0] / sum(sizes)
    if len(c) < _FEWEST_DISTINCT // 2:
        return False
    both = share * (1 - share)
    mean = c * (c - 1) * both
    # Second moment of k (c - k) for k of a binomial distribution, by its factorial moments.
    square = c * (c - 1) * both + (c * (c - 1) * (c - 2)) * both
    square += c * (c - 1) * (c - 2) * (c - 3) * both**2
    excess = float((inside[kept] * outside[kept] - mean).sum())
    return excess > _N_DEVIATIONS * float(np.sqrt(np.maximum(square - mean**2, 0).sum()) + 1e-12)


_CURE = "Give held-out rows of the same population that the model was not trained on"


def refuse_shared_rows(records, membership):
    """Refuse sides that are made of the same rows, before anything is trained."""
    shared = find_shared_rows(records.fingerprint, membership)
    if shared is not None:
        told = shared.describe()
        raise ValueError(f"{told[0].upper()}{told[1:]}. {_CURE}.")
