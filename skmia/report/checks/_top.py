"""True positive rates for many labelings of the same scores."""

import numpy as np

from ..._core.checks import RATE_TOLERANCE

# Number of counts, of four bytes, that are held at a time.
_MOST_COUNTS = 1 << 21

# Up to this number, all records are kept in order.
_MOST_KEPT = 1 << 17


class TopCounter:
    """Count members among the highest scores, as long as few non-members are among them.

    Parameters
    ----------
    load : callable
        Returns the scores of the records, and their column in the labels of :meth:`compute_tprs`
        with which of them are turned, as :meth:`Labelings.take` returns them.
    rates : sequence of float
        Largest false positive rates allowed.
    """

    def __init__(self, load, rates):
        self._load, self._rates = load, np.asarray(rates)
        self._n_records = len(load()[0])
        # More records come into play where members take the highest places; all are sorted then.
        n_likely = int(4 * self._rates.max(initial=0) * self._n_records)
        self._sort(min(self._n_records, max(_MOST_KEPT, n_likely)))

    def _sort(self, n_kept):
        """Keep the columns of the highest scores, and where runs of equal ones end."""
        scores, (columns, turned) = self._load()
        order = np.argsort(-scores, kind="stable")
        ordered = scores[order]
        # A threshold takes all records of one score, or none.
        ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self._ends = ends[: np.searchsorted(ends, n_kept)].copy()
        kept = order[:n_kept]
        self._columns, self._turned = columns[kept], None if turned is None else turned[kept]

    def compute_tprs(self, labels, n_members):
        """Compute true positive rates.

        Parameters
        ----------
        labels : ndarray of shape (n_labelings, n_columns)
            Bits of :class:`Labelings`.
        n_members : ndarray of shape (n_labelings,)
            Number of members.

        Returns
        -------
        tprs : ndarray of shape (n_labelings, n_rates)
            True positive rates; 0 without members.
        """
        n_others = self._n_records - n_members
        allowed = np.floor((self._rates + RATE_TOLERANCE) * n_others[:, None])
        false = self._count_false(labels, allowed.max(axis=1))
        if false is None:
            middle = len(labels) // 2
            halves = slice(None, middle), slice(middle, None)
            return np.concatenate([self.compute_tprs(labels[i], n_members[i]) for i in halves])
        ends = self._ends[: np.searchsorted(self._ends, false.shape[1])]
        found = np.zeros(allowed.shape)
        for j in range(len(self._rates)):
            n_runs = (false[:, ends] <= allowed[:, [j]]).sum(axis=1)
            last = ends[np.maximum(n_runs, 1) - 1] if len(ends) else np.zeros(len(false), dtype=int)
            inside = last + 1 - false[np.arange(len(false)), last]
            found[:, j] = np.where(n_runs > 0, inside, 0)
        return found / np.maximum(n_members, 1)[:, None]

    def _count_false(self, labels, allowed):
        """Count non-members among the first 1, 2, ... records until they exceed what is allowed.

        At low rates these are few of the records, so counting all of them would waste time. None if
        the counts of so many labelings would take too much memory.
        """
        n_records, bits = self._n_records, labels.astype(bool)
        width = int(min(n_records, 2 * allowed.max() + 100))
        while len(bits) == 1 or len(bits) * width <= _MOST_COUNTS:
            if width > len(self._columns):
                self._sort(n_records)
            turned = self._turned if self._turned is None else self._turned[:width]
            is_member = bits[:, self._columns[:width]]
            is_false = ~is_member if turned is None else is_member == turned
            false = np.cumsum(is_false, axis=1, dtype=np.int32)
            if width == n_records or (false[:, -1] > allowed).all():
                return false
            width = min(n_records, 2 * width)
        return None
