"""A witness for each group of records."""

import numpy as np


class GroupedWitness:
    """The witness of an attacker who knows the group of each record.

    Parameters
    ----------
    make : callable
        Function that returns a new Witness.
    """

    def __init__(self, make):
        self._make = make

    @staticmethod
    def _list_parts(members, groups):
        """Rows of each group that has both members and non-members."""
        parts = {group: np.flatnonzero(groups == group) for group in np.unique(groups)}
        return {g: rows for g, rows in parts.items() if 0 < members[rows].sum() < len(rows)}

    def learn(self, X, members, groups, rng):
        """Learn the region of each group that has members and non-members."""
        self._witnesses = {
            group: self._make().learn(X[rows], members[rows], rng)
            for group, rows in self._list_parts(members, groups).items()
        }
        return self

    def posterior(self, X, groups):
        """Probability of membership of each row; one half where its group is unknown."""
        posterior = np.full(len(X), 0.5)
        for group, witness in self._witnesses.items():
            rows = np.flatnonzero(groups == group)
            if len(rows):
                posterior[rows] = witness.posterior(X[rows])
        return posterior

    def estimate(self, X, members, groups, n_permutations, rng):
        """Estimates for the truth and for shuffles within the groups.

        Returns
        -------
        estimates : ndarray of shape (n_groups, 1 + n_permutations)
            In [0, 1]; NaN for groups without members or without non-members.
        """
        estimates = np.full((groups.max() + 1, 1 + n_permutations), np.nan)
        for group, rows in self._list_parts(members, groups).items():
            witness = self._make()
            witness.check(X[rows], members[rows])
            labelings = np.tile(members[rows], (1 + n_permutations, 1))
            rng.permuted(labelings[1:], axis=1, out=labelings[1:])
            estimates[group] = np.clip(witness.estimate(X[rows], labelings, rng), 0, 1)
        return estimates
