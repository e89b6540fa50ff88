"""Distances to the nearest rows, which separate equal distances from nearly equal ones."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from .._core.matrix import check_container, check_matrix
from .._core.numbers import check_number, show, to_array
from ._gower import GowerEncoder

# Distances that differ by a smaller share than this are the same: sums in another order.
TIE = 1e-9
# Sums of squares of larger numbers overflow.
_LARGEST = 1e150


def as_points(tables, metric, names):
    """Points of several tables, and the metric in which to compare them.

    With ``metric="gower"`` ranges and categories come from all tables together.
    """
    if metric == "gower":
        frames = [as_frame(table, name) for table, name in zip(tables, names)]
        check_columns(frames, names)
        encoder = GowerEncoder().fit(pd.concat(frames, ignore_index=True))
        return [encoder.transform(frame) for frame in frames], "manhattan"
    points = [
        _as_floats(check_matrix(table, input_name=name)) for table, name in zip(tables, names)
    ]
    check_columns(points, names)
    if metric == "euclidean":
        # Squares of large numbers would leave nothing of small differences. A value that occurs
        # is subtracted without rounding from others of its size.
        center = np.quantile(points[0], 0.5, axis=0, method="nearest")
        points = [table - center for table in points]
        largest = max(float(abs(one).max()) for one in points)
        if not largest < _LARGEST:
            raise ValueError(
                f"Values that lie {largest:.3g} apart have no Euclidean distance as a float; scale "
                "the columns."
            )
    return points, metric


def as_frame(table, name):
    check_container(table, name)
    if isinstance(table, pd.DataFrame):
        return table
    cells = None if sparse.issparse(table) else to_array(table, name, "be a table")
    if cells is None or cells.ndim != 2:
        raise ValueError(f"{name} must be a DataFrame or a dense matrix; got {show(table)}.")
    return pd.DataFrame(cells)


def _as_floats(points):
    """Numbers whose differences neither wrap nor overflow; long integers stay exact."""
    is_short = points.dtype.kind in "bu" or points.dtype.itemsize < 8
    return points.astype(np.float64) if is_short else points


def check_columns(tables, names):
    widths = [table.shape[1] for table in tables]
    for width, name in zip(widths, names):
        if width != widths[0]:
            raise ValueError(
                f"{name} has {width} columns and {names[0]} has {widths[0]}; they must be the same."
            )


def find_nearest(rows, others, k, metric, n_jobs=None):
    """The k nearest of ``others`` for each row, nearest first.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Points.
    others : ndarray of shape (m, d) or None
        Points; with None the other rows.
    k : int
        At most m, or n - 1.
    metric : str or callable
        Metric of scikit-learn, by name or as a function.
    n_jobs : int or None
        Processors for metrics that have no path of their own.

    Returns
    -------
    distances : ndarray of shape (n, k)
    places : ndarray of shape (n, k)
    """
    if callable(metric):
        _check_metric(metric, rows[0])
    searched = rows if others is None else others
    index = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=metric, n_jobs=n_jobs)
    distances, places = index.fit(searched).kneighbors(None if others is None else rows)
    if metric != "euclidean":
        return distances, places
    # The search takes distances from products of matrices. Of those that it found the same pair
    # has to have the same distance from either side.
    for column in range(k):
        gap = rows - searched[places[:, column]]
        distances[:, column] = np.sqrt(np.einsum("nd,nd->n", gap, gap))
    order = distances.argsort(axis=1, kind="stable")
    return np.take_along_axis(distances, order, 1), np.take_along_axis(places, order, 1)


def _check_metric(metric, row):
    """Ask a user's function once, for the distance of a row from itself."""
    try:
        distance = metric(row, row)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"metric cannot compare two rows: {reason}") from error
    check_number(distance, "A distance of metric", "a finite number")


def is_farther(distances, than, ties):
    """Whether distances are larger: 1, 0, or what ``ties`` says where they are equal."""
    reach = TIE * than
    return np.where(np.abs(distances - than) <= reach, ties, (distances > than).astype(float))
