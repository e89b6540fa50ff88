"""Points of synthetic rows and of reference rows, and distances from them."""

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from .._gower import GowerEncoder
from .._neighbors import as_frame, as_points, check_columns

# Cells of a block of distances.
_BLOCK = 2_000_000
# Metrics of scikit-learn that scipy calls by another name.
_NAMES = {"gower": "cityblock", "manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}


class Space:
    """Synthetic and reference rows as points; other rows have no part in the encoding.

    Parameters
    ----------
    synthetic, reference : DataFrame or array-like
        Rows.
    metric : str or callable
        Metric of scipy, or ``"gower"``.
    bandwidth : float or None
        Width of kernels; if None, the median distance of a reference row from its tenth neighbor.
    n_neighbors : int
        Number of neighbors of scores that have such a number.
    random_state : RandomState instance
        Controls draws.
    """

    names = "The table of synthetic rows", "reference"

    def __init__(self, synthetic, reference, metric, bandwidth, n_neighbors, random_state):
        self.metric, self.n_neighbors, self.random_state = metric, n_neighbors, random_state
        self._encoder = None
        if metric == "gower":
            frames = [as_frame(t, name) for t, name in zip((synthetic, reference), self.names)]
            check_columns(frames, self.names)
            self._encoder = GowerEncoder().fit(pd.concat(frames, ignore_index=True))
        self._frame = synthetic
        self.synthetic, self.reference = self.encode(synthetic), self.encode(reference, 1)
        self.is_categorical = self._encoder is not None and self._encoder.is_categorical_.any()
        self._bandwidth = bandwidth

    def encode(self, X, place=None):
        """Points of a table; ``place`` is its name."""
        name = "The table of records" if place is None else self.names[place]
        if self._encoder is not None:
            frame = as_frame(X, name)
            check_columns((self._frame, frame), (self.names[0], name))
            return self._encoder.transform(frame)
        tables, _ = as_points((self._frame, X), "manhattan", (self.names[0], name))
        return np.asarray(tables[1], dtype=float)

    @property
    def bandwidth(self):
        """Width of kernels, above 0."""
        if self._bandwidth is None:
            k = min(10, len(self.reference) - 1)
            tenth = [np.partition(d, k, axis=1)[:, k] for d in self.iter_from(self.reference)]
            found = float(np.median(np.concatenate(tenth))) if k else 0.0
            # Where more than half of the rows have ten copies, no distance is a scale.
            self._bandwidth = found or 1.0
        return self._bandwidth

    def iter_from(self, points, others=None):
        """Blocks of distances of points from others, by default from the reference."""
        others = self.reference if others is None else others
        metric = (
            _NAMES.get(self.metric, self.metric) if isinstance(self.metric, str) else self.metric
        )
        step = max(1, _BLOCK // len(others))
        for start in range(0, len(points), step):
            yield cdist(points[start : start + step], others, metric)

    def nearest(self, points, others):
        """Distance of each point from the nearest of the others."""
        return np.concatenate([block.min(axis=1) for block in self.iter_from(points, others)])

    def log_kernel(self, distances):
        """Logarithm of the kernel, 0 at distance 0: normal, or exponential in Gower's distance."""
        if self.metric == "gower":
            return -distances / self.bandwidth
        return -((distances / self.bandwidth) ** 2) / 2
