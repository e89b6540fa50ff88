"""True positive rates for many labelings of the same scores."""

import numpy as np

from ..._core.checks import RATE_TOLERANCE


class TopCounter:
    """Count members among the highest scores, as long as few non-members are among them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Higher means more likely a member.
    places : ndarray of shape (n,)
        Column of each record in the labels of :meth:`compute_tprs`.
    rates : sequence of float
        Largest false positive rates allowed.
    """

    def __init__(self, scores, places, rates):
        order = np.argsort(-scores, kind="stable")
        ordered = scores[order]
        self._columns = places[order]
        # A threshold takes all records of one score, or none.
        self._ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self._rates = np.asarray(rates)

    def compute_tprs(self, labels, n_members):
        """Compute true positive rates.

        Parameters
        ----------
        labels : ndarray of shape (n_labelings, n_columns)
            1 for members, 0 for non-members.
        n_members : ndarray of shape (n_labelings,)
            Number of members.

        Returns
        -------
        tprs : ndarray of shape (n_labelings, n_rates)
            True positive rates; 0 without members.
        """
        n_others = len(self._columns) - n_members
        allowed = np.floor((self._rates + RATE_TOLERANCE) * n_others[:, None])
        false = self._count_false(labels, allowed.max(axis=1))
        ends = self._ends[self._ends < false.shape[1]]
        found = np.zeros(allowed.shape)
        for j in range(len(self._rates)):
            n_runs = (false[:, ends] <= allowed[:, [j]]).sum(axis=1)
            last = ends[np.maximum(n_runs, 1) - 1] if len(ends) else np.zeros(len(false), dtype=int)
            inside = last + 1 - false[np.arange(len(false)), last]
            found[:, j] = np.where(n_runs > 0, inside, 0)
        return found / np.maximum(n_members, 1)[:, None]

    def _count_false(self, labels, allowed):
        """Count non-members among the first 1, 2, ... records until they exceed what is allowed.

        At low rates these are few of the records, so counting all of them would waste time.
        """
        n_records = len(self._columns)
        width = int(min(n_records, 2 * allowed.max() + 100))
        while True:
            false = np.cumsum(labels[:, self._columns[:width]] == 0, axis=1, dtype=np.int32)
            if width == n_records or (false[:, -1] > allowed).all():
                return false
            width = min(n_records, 2 * width)
