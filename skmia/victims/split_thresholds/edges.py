"""Edges of the bins of histogram boosting: what kind they are, column by column."""

import numpy as np

from ..._core.sklearn import (
    read_categorical_columns,
    read_edges_of_boosting,
    read_trees_of_boosting,
)
from ..midpoints import are_midpoints


def list_edges(model, X):
    """Edges of each column, and whether they are midpoints, judged by values of candidates.

    Of a file that was stripped of the edges, those that trees split at: they can be of any kind.
    """
    trees = read_trees_of_boosting(model)
    used = np.concatenate([one.nodes[one.nodes["is_leaf"] == 0] for one in trees])
    edges, kinds, of_categories = [], [], read_categorical_columns(model)
    for j, stored in enumerate(read_edges_of_boosting(model)):
        if of_categories[j]:  # these are codes of categories
            edges.append(np.empty(0))
            kinds.append(False)
            continue
        column = used["num_threshold"][used["feature_idx"] == j]
        edges.append(stored if len(stored) else np.unique(column[np.isfinite(column)]))
        kinds.append(bool(len(stored)) and are_midpoints(stored, X[:, j]))
    return edges, np.array(kinds)
