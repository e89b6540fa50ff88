"""Stored values and rows of each record, with their places and the number expected by chance."""

import numpy as np
import pandas as pd

# Evidence of a value that is stored without the record with probability 1/2, less rounding.
LEAST = 0.999 * np.log(2)


class Ledger:
    """The best evidence of each column of each record, with its place.

    Parameters
    ----------
    views : list of View
    columns : list of list of Column
        Distinct values of the columns of each view.
    n_candidates : int
        Number of records given to ``fit``.
    """

    def __init__(self, views, columns, n_candidates):
        self._views, self._columns, self._unit = views, columns, np.log(n_candidates + 1)
        sizes = [[len(column.values) for column in some] for some in columns]
        self._values = [[np.zeros(size) for size in some] for some in sizes]
        self._value_places = [[np.full(size, -1) for size in some] for some in sizes]
        shape = len(views), len(columns[0][0].inverse)
        self._rows, self._row_places = np.full(shape, -1.0), np.full(shape, -1)
        self._paths, self._entries = [], []

    def enter(self, v, place, hits):
        """Enter the hits of one view in one place."""
        if not hits.n_rows and not hits.n_values:
            return
        number = len(self._paths)
        self._paths.append(place.path)
        self._entries.append((place.path, self._views[v].name, *hits[2:]))
        for k, (found, evidence) in hits.values.items():
            better = evidence > self._values[v][k][found]
            self._values[v][k][found[better]] = evidence[better]
            self._value_places[v][k][found[better]] = number
        if hits.rows is not None:
            better = hits.rows > self._rows[v]
            self._rows[v, better] = hits.rows[better]
            self._row_places[v, better] = number

    def scores(self):
        """Return the score of each record in each view, of shape (n_views, n)."""
        sums = np.zeros(self._rows.shape)
        for v, some in enumerate(self._columns):
            for k, column in enumerate(some):
                sums[v] += self._values[v][k][column.inverse]
        whole = np.array([[(view.n_source + 1) * self._unit] for view in self._views])
        return np.where(self._rows >= 0, whole + self._rows, sums)

    def list_places(self):
        """Tabulate the hits in each place and the number expected by chance."""
        names = ["place", "view", "n_values", "expected_values", "n_rows", "expected_rows"]
        return pd.DataFrame(self._entries, columns=names)

    def list_records(self):
        """Tabulate what was found of each record, in the view with its highest score."""
        scores = self.scores()
        best = scores.argmax(axis=0)
        some = np.flatnonzero(scores.max(axis=0) >= LEAST)
        rows = [(i, *self._describe(best[i], i), scores[best[i], i]) for i in some]
        names = ["record", "place", "view", "columns", "whole_row", "score"]
        frame = pd.DataFrame(rows, columns=names)
        return frame[frame["columns"] != ""].set_index("record")

    def _describe(self, v, i):
        """Return places, view and columns of one record, and whether its whole row is stored."""
        view = self._views[v]
        if self._rows[v, i] >= 0:
            return self._paths[self._row_places[v, i]], view.name, "all", True
        names, places, columns = [*view.columns, "y"], {}, []
        for k, column in enumerate(self._columns[v]):
            value = column.inverse[i]
            if self._values[v][k][value] >= LEAST:
                places[self._paths[self._value_places[v][k][value]]] = True
                columns.append(names[k])
        return ", ".join(places), view.name, ", ".join(columns), False
