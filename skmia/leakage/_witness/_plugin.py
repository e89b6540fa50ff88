"""Total variation between the observed frequencies of discrete features."""

import numpy as np

from ._base import Witness, balanced_posterior


def number_rows(X):
    """Number the distinct rows of a matrix from 0, in lexicographic order.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite numbers.

    Returns
    -------
    codes : ndarray of shape (n,)
        Equal for equal rows.
    """
    codes = np.zeros(len(X), dtype=np.int64)
    # Column by column: a sort of integers is ten times as fast as one of rows.
    for column in X.T:
        _, values = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (values.max() + 1) + values, return_inverse=True)
    return codes


class PluginWitness(Witness):
    """Half the sum of the absolute differences of two frequencies."""

    def learn(self, X, members, rng):
        codes = number_rows(X)
        self._cells = X[np.unique(codes, return_index=True)[1]]
        shares = [
            np.bincount(codes[side], minlength=len(self._cells)) / side.sum()
            for side in (members, ~members)
        ]
        self._posterior = balanced_posterior(*shares)
        return self

    def posterior(self, X):
        # Known cells and new rows are numbered together; rows of no known cell keep one half.
        n_cells = len(self._cells)
        codes = number_rows(np.concatenate([self._cells, X]))
        answers = np.full(codes.max() + 1, 0.5)
        answers[codes[:n_cells]] = self._posterior
        return answers[codes[n_cells:]]

    def estimate(self, X, labelings, rng):
        codes = number_rows(X)
        everyone = np.bincount(codes)
        n_members = labelings[0].sum()
        inside = np.array([np.bincount(codes[row], minlength=len(everyone)) for row in labelings])
        outside = everyone - inside
        gaps = inside / n_members - outside / (len(X) - n_members)
        return np.abs(gaps).sum(axis=1) / 2
