"""Which record is which column of a pool."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._core.hashing import DigestIndex, describe_types, find_copies
from .._core.moments import cut
from .._core.numbers import are_consecutive
from .._core.records import get_features, order_by_names


def take_columns(values, columns):
    """Take columns, the last axis, of an array; contiguous columns are not copied."""
    if columns[0] >= 0 and are_consecutive(columns):
        return np.asarray(values[..., columns[0] : columns[0] + len(columns)])
    return np.asarray(values.take(columns, axis=-1))


def find_smallest_hashes(hashes, n):
    """Return the first place of each of the n smallest distinct hashes, in their order."""
    if n < len(hashes):  # sorting all of them takes as long as two reads of the signals
        few = np.flatnonzero(hashes <= np.partition(hashes, n - 1)[n - 1])
        if len(first := np.unique(hashes[few], return_index=True)[1]) == n:
            return few[first]
    return np.unique(hashes, return_index=True)[1][:n]


@dataclass(frozen=True, eq=False)
class RecordColumns:
    """Which record is which column of a pool, by the content of the records."""

    digests: np.ndarray  # (2, n)
    types: str  # of the columns of X and of y
    copies: np.ndarray  # (2, n_copies): columns of records of which an equal one is before, and it
    # Fingerprints, in increasing order, and columns of further records, see with_relatives.
    relatives: tuple[np.ndarray, np.ndarray] | None = None
    names: np.ndarray | None = None  # of the columns of X, if they are named by text

    @classmethod
    def of(cls, records):
        """Return the columns of a pool of these records, in their order."""
        types = describe_types(records.X, records.y)
        names = get_features(records)[1]
        return cls(records.digests, types, find_copies(records.fingerprint), names=names)

    @cached_property
    def _index(self):
        return DigestIndex(self.digests)

    def part(self, columns):
        """Return some of the columns."""
        digests = take_columns(self.digests, columns)
        return replace(self, digests=digests, copies=find_copies(digests[0]))

    def locate(self, records):
        """Return the column of each record, shape (n,); -1 for a record that is not in the pool."""
        records = order_by_names(records, self.names)
        digests, own = records.digests, self.digests
        # Usually they are neighboring records of the pool in the same order: no search is needed.
        start = (digests.ctypes.data - own.ctypes.data) // own.itemsize  # in one piece of memory
        if not np.may_share_memory(own, digests) or not 0 <= start < own.shape[1]:
            start = int(np.argmax(own[0] == digests[0, 0])) if len(records) else 0
        stop = start + len(records)
        if stop > own.shape[1] or not np.array_equal(own[:, start:stop], digests):
            return self._index.find(digests)
        columns = records._list_positions()
        columns += start
        some = slice(*np.searchsorted(self.copies[0], [start, stop]))
        columns[self.copies[0, some] - start] = self.copies[1, some]
        return columns

    def find_homes(self, records, columns):
        """Return the columns whose training sets count, given the columns of the records."""
        if self.relatives is None:
            return columns
        prints, homes = self.relatives
        records = order_by_names(records, self.names)
        position = np.minimum(np.searchsorted(prints, records.fingerprint), len(prints) - 1)
        known = (prints[position] == records.fingerprint) & (columns < 0)
        return np.where(known, homes[position], columns)

    def draw(self, n_records, usable):
        """Draw usable columns by the content of their records, each record once, in order.

        They have the smallest hashes, which are random.
        """
        columns = np.empty(0, np.intp)
        for rows in cut(len(usable)):
            columns = np.append(columns, rows.start + np.flatnonzero(usable[rows]))
            columns = columns[find_smallest_hashes(self.digests[0, columns], n_records)]
        return np.sort(columns)

    def how_to_know(self, records):
        """Return what to do so that a pool holds some records, in one sentence."""
        types = describe_types(records.X, records.y)
        if types != self.types:
            return f"they hold {types}, but the pool holds {self.types}, and types must agree."
        return (
            "fit the pool on all records, or pass an unfitted one or shadows=16, which an attack "
            "trains on the Records that its folds are slices of, and a game on its reference "
            "records alone; models that were trained on none of the records suffice with "
            'online=False and store="models".'
        )
