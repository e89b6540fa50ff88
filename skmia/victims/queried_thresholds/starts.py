"""Where searches for thresholds begin: near the values of the rows themselves."""

import numpy as np

from ..._core.numbers import show

# Number of distinct values between a row's own and the first one that it is queried with.
_REACH = 16
# A column is searched if it has at least this share of distinct values.
_LEAST_DISTINCT = 0.25


def choose_columns(table, columns):
    """Places of the columns that are searched.

    Raises
    ------
    ValueError
        If a column is unknown or holds no numbers, or none has many distinct values.
    """
    n_distinct = [len(np.unique(one[np.isfinite(one)])) for one in table.values.T]
    if columns is None:
        places = [j for j, n in enumerate(n_distinct) if n >= _LEAST_DISTINCT * len(table.values)]
        places = [j for j in places if n_distinct[j] > 1]
        if not places:
            raise ValueError(
                "No numeric column has at least a quarter as many distinct values as there are "
                f"records ({len(table.values)}), so thresholds would not say whose values they "
                f"were computed from; the most is {max(n_distinct, default=0)}."
            )
        return places
    if isinstance(columns, str) or not np.iterable(columns):
        raise ValueError(f"columns must be a list of columns of X; got {show(columns)}.")
    places = sorted({_find(name, table.names) for name in columns})
    for j in places:
        if n_distinct[j] < 2:
            raise ValueError(
                f"columns must hold numbers, and different ones; {show(table.names[j])} does not."
            )
    if not places:
        raise ValueError("columns must name at least one column; got none.")
    return places


def _find(name, names):
    try:
        return names.index(name)
    except (TypeError, ValueError):  # unknown, or nothing that can be compared with a name
        raise ValueError(
            f"columns must name columns of X; got {show(name)}, and X has {show(names)}."
        ) from None


class Starts:
    """Intervals beside the value of each row, in random order, the near ones of all rows first.

    Parameters
    ----------
    table : Table
    columns : dict of int to Column
    rng : RandomState
    """

    def __init__(self, table, columns, rng):
        self._parts = self._draw(table.values, columns, rng)
        self._waiting = None

    def take(self, n):
        """Take the next n intervals at most; None if there is none, or n is below 1.

        Returns
        -------
        intervals : tuple of ndarray of shape (n,), or None
            Rows, columns, lower and upper ends.
        """
        if n < 1:
            return None
        while self._waiting is None or not len(self._waiting[0]):
            self._waiting = next(self._parts, None)
            if self._waiting is None:
                return None
        taken = tuple(part[:n] for part in self._waiting)
        self._waiting = tuple(part[n:] for part in self._waiting)
        return taken

    def _draw(self, values, columns, rng):
        n, order = len(values), rng.permutation(len(values))
        places = np.array(list(columns))
        turns = np.array([rng.permutation(places) for _ in range(n)]).reshape(n, -1)
        near = 0
        most = max(len(one.values) for one in columns.values())
        while near < most:
            far = 2 * near + _REACH
            for turn in turns.T:
                yield self._go(values, columns, order, turn[order], near, far)
            near = far

    def _go(self, values, columns, rows, chosen, near, far):
        """Intervals from the near-th to the far-th value below and above a row's own."""
        ends = np.full((2, 2, len(rows)), np.nan)
        for j, column in columns.items():
            mine = np.flatnonzero((chosen == j) & np.isfinite(values[rows, j]))
            own = np.searchsorted(column.values, values[rows[mine], j])
            last = len(column.values) - 1
            for side, sign in enumerate((-1, 1)):
                for end, step in enumerate((near, far)):
                    ends[side, end, mine] = column.values[np.clip(own + sign * step, 0, last)]
        lower, upper = np.sort(ends, axis=1).transpose(1, 2, 0).reshape(2, -1)
        some = lower < upper
        return np.repeat(rows, 2)[some], np.repeat(chosen, 2)[some], lower[some], upper[some]
