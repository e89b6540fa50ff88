"""Edges of histogram boosting that are midpoints of values, or quantiles."""

import numpy as np

# Rounding of sums of alternating gaps, relative to the range of a column.
_ROUNDING = 1e-9


def are_midpoints(edges, values):
    """Whether all edges of a column can be midpoints of consecutive values of one list.

    A column with at most as many values as bins has an edge between any two of them; else edges are
    quantiles without duplicates. If edges are midpoints, one value determines all
    others. The list is taken to exist if half of it or more is found among the candidates' values.

    Parameters
    ----------
    edges : ndarray of shape (n_edges,)
        Edges in ascending order.
    values : ndarray of shape (n_values,)
        Values of candidates.

    Returns
    -------
    is_chain : bool
    """
    # The k-th value lies sign_k * u + shift_k below the k-th edge, for the same u > 0 of all k.
    gaps, sign = np.diff(edges), (-1.0) ** np.arange(len(edges))
    shift = sign * np.append(0, np.cumsum(gaps * sign[1:]))
    values = np.unique(values)
    scale = edges[-1] - edges[0] + np.abs(edges).max()
    slack = _ROUNDING * scale
    low = max(0.0, np.max(-shift[sign > 0])) - slack
    high = np.min(shift[sign < 0], initial=np.inf) + slack
    place = np.searchsorted(edges, values)
    inside = place < len(edges)
    place, below = place[inside], edges[place[inside]] - values[inside]
    implied = sign[place] * (below - shift[place])
    implied = implied[(implied > low) & (implied < high)]
    if not len(implied):
        return False
    steps = np.unique(np.rint(np.sort(implied) / slack), return_counts=True)
    return bool(steps[1].max() >= len(edges) / 2)
