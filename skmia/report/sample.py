"""Random samples of very many records, for checks that take long for each of them."""

from typing import NamedTuple

import numpy as np

from .groups import OVERALL

# Attacks are repeated on up to 32 shadow models, and groups are compared over all of them.
MOST_REPEATED = 200_000

ALL = slice(None)


class Sample(NamedTuple):
    """Records that a check looks at.

    Attributes
    ----------
    rows : ndarray of shape (k,) or slice
        Their positions in order; ``slice(None)`` if they are all records.
    n_drawn, n_records : int
        Number of these records, and of all records.
    """

    rows: np.ndarray | slice
    n_drawn: int
    n_records: int

    @property
    def is_all(self):
        """Whether nothing was left out."""
        return self.n_drawn == self.n_records

    @property
    def text(self):
        """The size of the sample in words; empty if nothing was left out."""
        if self.is_all:
            return ""
        return f"{self.n_drawn:,} of {self.n_records:,} records, drawn at random"


def draw_sample(n_records, subsets, most, seed):
    """Draw records at random, so that no group is short of records.

    About `most` records are drawn, and further ones of small groups, half as many at most. The draw
    depends on nothing else, so what holds for records that were assigned at random holds for the
    sample.

    Parameters
    ----------
    n_records : int
    subsets : Subsets or list of (scope, group, mask)
        Parts of the records.
    most : int
        Number of records up to which all of them are taken.
    seed : int

    Returns
    -------
    sample : Sample
    """
    if n_records <= most:
        return Sample(ALL, n_records, n_records)
    keys = np.random.default_rng(seed).random(n_records)
    chosen = keys <= _choose_cut(keys, most)
    fewest = most // (2 * len(subsets))
    for scope, _, mask in subsets:
        if scope == OVERALL:
            continue
        own = keys[mask]
        chosen[mask] |= own <= _choose_cut(own, fewest)
    rows = np.flatnonzero(chosen)
    return Sample(rows, len(rows), n_records)


def take_records(records, rows):
    """Return the records of a sample; all of them as they are, for a selection would read X."""
    return records if isinstance(rows, slice) and rows == ALL else records[rows]


def _choose_cut(keys, n_wanted):
    """The key up to which so many records are drawn."""
    if n_wanted >= len(keys):
        return np.inf
    return np.partition(keys, n_wanted - 1)[n_wanted - 1] if n_wanted else -np.inf
