"""Counts of the bins of histogram boosting, whose edges are quantiles of known order."""

import numpy as np

from ..._core.sklearn import read_categorical_columns, read_edges_of_boosting
from ..midpoints import are_midpoints

# Largest number of rows from which edges are computed; of more rows, a sample is used.
_MOST_BINNED = 200_000


def add_bins(collector, model, X, n_rows):
    """Add how many training rows have values between two edges, for columns of quantiles.

    Parameters
    ----------
    collector : Collector or Further
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    X : ndarray of shape (n_candidates, n_features)
    n_rows : int
        Number of training rows; 0 if it is not known.
    """
    if not 0 < n_rows <= _MOST_BINNED:
        return
    edges, n_bins = read_edges_of_boosting(model), model.max_bins
    # Fewer edges are midpoints of a column with few values, or equal ones were dropped.
    numbers = np.flatnonzero(~read_categorical_columns(model))
    chosen = [j for j in numbers if len(edges[j]) == n_bins - 1]
    # As many can be midpoints of a column with as many values as there are bins. Quantiles leave
    # out missing values, and how many there were is not known.
    known = {
        j: not np.isnan(X[:, j]).any() and not are_midpoints(edges[j], X[:, j]) for j in chosen
    }
    are_values = [np.isin(edges[j], X[:, j]) for j in chosen if known[j]]
    below = _count_below(n_bins, n_rows, min(are_values, key=np.mean, default=0))
    for j in chosen:
        column, missing = X[:, j], np.isnan(X[:, j])
        # Training rows with the value of an edge lie on both sides of it.
        values, counts = np.unique(column[~missing], return_counts=True)
        place = np.minimum(np.searchsorted(values, edges[j]), len(values) - 1)
        shared = np.where(values[place] == edges[j], counts[place], 1)
        beyond = (shared - 1) * n_rows / len(X) / 2
        passed = np.concatenate([[0], below + beyond, [n_rows]])
        variance = np.concatenate([[0], (shared**2 - 1) / 12, [0]])
        coefficients = ~missing * float(known[j])
        nodes = np.searchsorted(edges[j], column)
        collector.add(nodes, coefficients, np.diff(passed), variance[1:] + variance[:-1])


def _count_below(n_bins, n_rows, are_values):
    """Count the training rows up to each edge.

    Newer versions of scikit-learn take quantiles of the inverted distribution function, most of
    which are values. Older ones interpolate, so most are midpoints in a column without ties.

    Parameters
    ----------
    n_bins, n_rows : int
    are_values : ndarray of shape (n_bins - 1,), dtype bool
        Which edges are values of candidates, in the column with the fewest.

    Returns
    -------
    counts : ndarray of shape (n_bins - 1,)
    """
    # The same steps as NumPy, because rounding decides between two values.
    quantiles = np.linspace(0, 100, num=n_bins + 1)[1:-1] / 100
    inverted, interpolated = n_rows * quantiles - 1, (n_rows - 1) * quantiles
    is_new = np.mean((inverted % 1 > 0) == are_values) >= np.mean(
        (interpolated % 1 == 0) == are_values
    )
    if is_new:
        return np.floor(inverted) + np.where(inverted % 1 > 0, 2, 1)
    return np.floor(interpolated) + 1
