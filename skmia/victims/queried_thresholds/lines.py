"""Queries along the lines through records in the direction of one column."""

import numpy as np

from ..._core.asking import query_victim

# Sums over trees are taken in any order where they are computed in parallel.
_ROUNDING = 1e-9


class Lines:
    """Answers of a model about rows in which one number is replaced; none is asked for twice.

    Parameters
    ----------
    victim : fitted estimator
    table : Table
    max_queries : int

    Attributes
    ----------
    n_queries : int
        Number of queries so far.
    """

    def __init__(self, victim, table, max_queries):
        self.victim, self.table, self.max_queries = victim, table, max_queries
        self.n_queries, self._known = 0, {}

    @property
    def left(self):
        """Number of queries that may still be made."""
        return self.max_queries - self.n_queries

    def query(self, rows, columns, values):
        """Answers about rows in which one number each is replaced.

        Parameters
        ----------
        rows, columns : ndarray of shape (m,), dtype int
            At most as many as there are queries left.
        values : ndarray of shape (m,)

        Returns
        -------
        answers : ndarray of shape (m, n_outputs)
        """
        # All lines through a row meet in the row itself.
        columns = np.where(self.table.values[rows, columns] == values, -1, columns)
        values = np.where(columns < 0, 0.0, values)
        keys = list(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True))
        new = {key: k for k, key in enumerate(keys) if key not in self._known}
        if new:
            chosen = np.fromiter(new.values(), dtype=np.intp)
            X = self.table.replace(rows[chosen], columns[chosen], values[chosen])
            self._known.update(zip(new, self._ask(X), strict=True))
            self.n_queries += len(new)
        return np.array([self._known[key] for key in keys])

    def _ask(self, X):
        outputs = query_victim(self.victim, X)
        if outputs.kind == "label":
            raise ValueError(
                "Thresholds are found from class probabilities, decision values or the predictions "
                "of a regressor; the victim returns labels."
            )
        return np.asarray(outputs.values, dtype=np.float64).reshape(len(outputs), -1)


def differ(some, others):
    """Whether answers differ by more than rounding."""
    size = np.maximum(np.abs(some), np.abs(others)).max(axis=1)
    return np.abs(some - others).max(axis=1) > _ROUNDING * size
