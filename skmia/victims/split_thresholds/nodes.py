"""Which candidates each threshold was chosen among, sorted by their values."""

from typing import NamedTuple

import numpy as np


class Columns:
    """Columns of a table, each sorted; the k-th value of column j has the place j n + k.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        Of the precision in which the values are compared.
    n_candidates : int
        The rows that are candidates come first. The others are judged beside them, and each counts
        for itself alone.
    """

    def __init__(self, X, n_candidates):
        self.n, self.X, self.n_candidates = len(X), X, n_candidates
        order = np.argsort(X, axis=0, kind="stable").T
        self._sorted = np.take_along_axis(X.T, order, axis=1).astype(np.float64)
        self.ranks = np.empty_like(order)
        np.put_along_axis(self.ranks, order, np.arange(self.n)[None], axis=1)
        self.n_present = np.isfinite(self._sorted).sum(axis=1)
        # By place: the value, whose it is, and how many other candidates have the same.
        self.values, self.rows = self._sorted.ravel(), order.ravel()
        self.alike = np.concatenate(
            [self._count_alike(*one) for one in zip(self._sorted, order, strict=True)]
        )

    def _count_alike(self, column, order):
        new = np.ones(len(column), dtype=bool)
        new[1:] = column[1:] != column[:-1]
        value = np.cumsum(new) - 1
        return np.maximum(np.bincount(value, order < self.n_candidates)[value] - 1, 0)

    def locate_splits(self, features, thresholds):
        """Number of values of a column up to a threshold."""
        splits = np.empty(len(features), dtype=np.intp)
        for j in np.unique(features):
            column, chosen = self._sorted[j, : self.n_present[j]], features == j
            splits[chosen] = np.searchsorted(column, thresholds[chosen], side="right")
        return splits


class Nodes(NamedTuple):
    """What some thresholds were chosen among.

    Attributes
    ----------
    places : ndarray
        One segment of places in the sorted columns for each threshold, in ascending order.
    starts, splits, stops : ndarray of shape (n_thresholds,), dtype int
        Each segment, and in it the first value above the threshold.
    thresholds : ndarray of shape (n_thresholds,)
    features : ndarray of shape (n_thresholds,), dtype int
    """

    places: np.ndarray
    starts: np.ndarray
    splits: np.ndarray
    stops: np.ndarray
    thresholds: np.ndarray
    features: np.ndarray


def read_nodes(tree, columns, chosen=None):
    """Candidates at each inner node of a tree of scikit-learn, sorted by what it splits on.

    ``chosen`` are the columns that the tree was given, all by default.
    """
    chosen = np.arange(columns.X.shape[1]) if chosen is None else np.asarray(chosen)
    node, row = _climb(tree, tree.apply(columns.X[:, chosen]))
    features = chosen[np.maximum(tree.feature, 0)]
    rank = columns.ranks[features[node], row]
    # A split of missing values from all others has no finite threshold.
    used = (rank < columns.n_present[features][node]) & np.isfinite(tree.threshold)[node]
    # A rank says which row it is: one sort of integers does all.
    key = np.sort(node[used] * columns.n + rank[used])
    cuts = np.arange(tree.node_count) * columns.n
    cuts = cuts + columns.locate_splits(features, tree.threshold)
    bounds = np.searchsorted(key, np.arange(tree.node_count + 1) * columns.n)
    inner = np.flatnonzero(np.diff(bounds))
    node = np.repeat(np.arange(tree.node_count), np.diff(bounds))
    return Nodes(
        key + (features - np.arange(tree.node_count))[node] * columns.n,
        bounds[inner],
        np.searchsorted(key, cuts[inner]),
        bounds[inner + 1],
        tree.threshold[inner],
        features[inner],
    )


def _climb(tree, leaves):
    """All pairs of an inner node and a row that came through it, from the leaf of each row.

    ``decision_path`` does not follow missing values in the oldest scikit-learn.
    """
    parent = np.full(tree.node_count, -1)
    inner = np.flatnonzero(tree.children_left >= 0)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    node, row = parent[leaves], np.arange(len(leaves))
    nodes, rows = [], []
    while len(row):
        above = node >= 0
        row, node = row[above], node[above]
        nodes.append(node)
        rows.append(row)
        node = parent[node]
    return np.concatenate(nodes), np.concatenate(rows)


def read_edges(features, thresholds, columns):
    """All candidates, for thresholds that were chosen among all training rows."""
    features, thresholds = np.asarray(features, dtype=np.intp), np.asarray(thresholds)
    starts = features * columns.n
    return Nodes(
        np.arange(columns.values.size),
        starts,
        starts + columns.locate_splits(features, thresholds),
        starts + columns.n_present[features],
        thresholds,
        features,
    )


def drop_repeated(nodes, columns):
    """Leave out thresholds that were chosen twice among the same candidates."""
    names = np.zeros(columns.n, dtype=np.int64)
    n_candidates = columns.n_candidates
    names[:n_candidates] = np.random.default_rng(0).integers(2**63, size=n_candidates)
    # Sums wrap around, and so do their differences.
    total = np.append(0, np.cumsum(names[columns.rows[nodes.places]]))
    among = total[nodes.stops] - total[nodes.starts]
    same = np.rec.fromarrays([nodes.features, nodes.thresholds, among])
    _, first = np.unique(same, return_index=True)
    return Nodes(nodes.places, *(part[first] for part in nodes[1:]))


def join(nodes):
    """Nodes of several trees, joined."""
    shift = np.cumsum([0] + [len(one.places) for one in nodes[:-1]])
    moved = [
        part._replace(starts=part.starts + s, splits=part.splits + s, stops=part.stops + s)
        for part, s in zip(nodes, shift, strict=True)
    ]
    return Nodes(*(np.concatenate(part) for part in zip(*moved, strict=True)))
