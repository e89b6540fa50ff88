"""Scores from distances to the nearest rows."""

import numpy as np

from .._neighbors import TIE


class DistanceDifference:
    """Distance to the nearest reference row minus the distance to the nearest synthetic row.

    Both tables have as many rows, since distances to the nearest row depend on their number.
    """

    def __init__(self, space):
        n = min(len(space.synthetic), len(space.reference))
        self._space = space
        self._made, self._known = (
            points if len(points) == n else points[space.random_state.permutation(len(points))[:n]]
            for points in (space.synthetic, space.reference)
        )

    def __call__(self, points):
        known, made = (self._space.nearest(points, rows) for rows in (self._known, self._made))
        return known - made


class Neighborhood:
    """Share of the synthetic rows minus share of the reference rows within a radius.

    The radius is the median distance of reference rows from the nearest synthetic row.
    """

    def __init__(self, space):
        self._space = space
        self._radius = float(np.median(space.nearest(space.reference, space.synthetic)))

    def __call__(self, points):
        made, known = (
            np.concatenate(
                [
                    (block <= self._radius * (1 + TIE)).mean(axis=1)
                    for block in self._space.iter_from(points, rows)
                ]
            )
            for rows in (self._space.synthetic, self._space.reference)
        )
        return made - known


class RareCopies:
    """Distance from the reference rows of a record that is a synthetic row; 0 for other records."""

    def __init__(self, space):
        self._space = space
        self._least = TIE * max(float(np.abs(space.synthetic).max()), np.finfo(float).tiny)

    def __call__(self, points):
        made, known = (
            self._space.nearest(points, rows)
            for rows in (self._space.synthetic, self._space.reference)
        )
        return np.where(made <= self._least, known, 0.0)
