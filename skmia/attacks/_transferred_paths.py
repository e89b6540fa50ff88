"""Paths from a record to where models that were not trained on it predict another label."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from .._core.asking import query_aligned
from .._core.containers import is_frame, is_tensor, take_rows
from .._core.features import FeatureEncoder
from .._core.label_scores import log_label_scores
from ._margins import as_values, compute_margin, open_boxes

_SMALL = 1e-12
_WHO = "TransferredQueryAttack"


class Walk(NamedTuple):
    """Confidence along the path of each record, and the points of the path.

    What comes after a confidence below the one to walk until is not measured.

    Attributes
    ----------
    confidence : ndarray of shape (n_steps + 1, n)
        Mean probability of the label according to models that were not trained on the record.
    take : callable
        Returns the point of each record at its step, as rows in the container of the features.
    """

    confidence: np.ndarray
    take: object


def measure_confidence(models, outside, rows, y, classes):
    """Mean probability of the labels over the models that are outside of each record."""
    total = np.zeros(len(y))
    for model, chosen in zip(models, outside, strict=True):
        places = np.flatnonzero(chosen)
        if len(places):
            outputs = query_aligned(model, take_rows(rows, places), classes)
            label = outputs.label_index(y[places])
            total[places] += np.exp(log_label_scores(outputs)[np.arange(len(places)), label])
    return total / np.maximum(outside.sum(axis=0), 1)


class SwapSearch:
    """Replaces more and more features by those of records that models give another label.

    Parameters
    ----------
    donors : Records of n records
        Records to take features from.
    predicted : ndarray of shape (n,)
        Label of each donor according to models that were not trained on it.
    n_partners : int
        Number of donors tried for each record, the nearest ones.
    n_steps : int
        Number of steps from the record to the donor.
    random_state : RandomState
        Draws the order of the features for each partner.
    """

    def __init__(self, donors, predicted, n_partners, n_steps, random_state):
        if sparse.issparse(donors.X) or is_tensor(donors.X):
            raise ValueError(
                'search="swap" takes features from an array or a table; got '
                f"{type(donors.X).__name__}."
            )
        self._donors, self._predicted = donors, predicted
        self._n_partners, self._n_steps = n_partners, n_steps
        rng = check_random_state(random_state)
        self._order = rng.uniform(size=(n_partners, *donors.X.shape[1:]))
        self._encoder = FeatureEncoder(donors)
        values = self._encoder.encode(donors)[:, :-1].astype(np.float64)
        with np.errstate(invalid="ignore"):
            known = np.isfinite(values)
            self._mean = np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self._unit = np.maximum(np.nan_to_num(values - self._mean).std(axis=0), _SMALL)

    def _place(self, records):
        """Standardized features; a missing value is the mean."""
        values = self._encoder.encode(records)[:, :-1]
        return np.nan_to_num((values - self._mean) / self._unit)

    def _choose_partners(self, records):
        """Positions of the nearest donors that models give another label than the record's."""
        own, theirs = self._place(records), self._place(self._donors)
        partners = np.zeros((len(records), self._n_partners), dtype=np.intp)
        for label in np.unique(records.y):
            rows = np.flatnonzero(records.y == label)
            others = np.flatnonzero(self._predicted != label)
            if not len(others):
                others = np.arange(len(theirs))
            nearest = NearestNeighbors(n_neighbors=min(self._n_partners, len(others)))
            found = others[nearest.fit(theirs[others]).kneighbors(own[rows])[1]]
            partners[rows] = np.resize(found.T, (self._n_partners, len(rows))).T
        return partners

    def walk(self, records, models, outside, classes, until=0.0):
        """Walk towards all partners at once, and keep the best partner at each step."""
        partners, n = self._choose_partners(records), len(records)
        confidence = np.ones((self._n_steps + 1, n))
        best = np.zeros((self._n_steps + 1, n), dtype=np.intp)
        left = np.arange(n)  # records whose paths have not ended
        for step in range(self._n_steps + 1):
            tried = self._n_partners if step else 1  # all paths begin at the record
            rows, chosen = np.repeat(left, tried), np.tile(np.arange(tried), len(left))
            mixed = self._mix(
                take_rows(records.X, rows), partners[rows, chosen], chosen, np.full(len(rows), step)
            )
            found = measure_confidence(models, outside[:, rows], mixed, records.y[rows], classes)
            found = found.reshape(len(left), tried)
            best[step, left], confidence[step, left] = found.argmin(axis=1), found.min(axis=1)
            left = left[confidence[step, left] >= until]
            if not len(left):
                break

        def take(steps):
            own = best[steps, np.arange(n)]
            return self._mix(records.X, partners[np.arange(n), own], own, steps)

        return Walk(confidence, take)

    def _mix(self, X, partner, chosen, steps):
        """Rows with the features of their partners where these come early in the order."""
        share = (steps / self._n_steps).reshape(-1, *[1] * (len(X.shape) - 1))
        swapped = self._order[chosen] < share
        donors = self._donors.X
        if not is_frame(X):
            return np.where(swapped, donors[partner], X)
        columns = {}
        for j, name in enumerate(X.columns):
            # A column keeps its type, including categories, in a concatenation.
            both = pd.concat([X.iloc[:, j], donors.iloc[:, j]], ignore_index=True)
            place = np.where(swapped[:, j], len(X) + partner, np.arange(len(X)))
            columns[name] = both.iloc[place].reset_index(drop=True)
        return pd.DataFrame(columns)


class GradientSearch:
    """Follows gradients of half of the models that were not trained on the record.

    The other half says how confident such models still are.

    Parameters
    ----------
    n_steps : int
        Number of steps.
    step_size : float
        Length of a step: root mean square of the changes of all features, in units of the scale.
    scale : ndarray
        Unit of each feature.
    bounds : tuple of two floats or None
        Smallest and largest value of a feature.
    """

    def __init__(self, n_steps, step_size, scale, bounds):
        self._n_steps, self._step_size = n_steps, step_size
        self._scale, self._bounds = scale, bounds

    def walk(self, records, models, outside, classes, until=0.0):
        """Walk down the mean margin of the label."""
        is_source = outside & (np.cumsum(outside, axis=0) % 2 == 1)
        values, restore = as_values(records.X, _WHO)
        boxes = open_boxes(records, models, _WHO)
        path, confidence, momentum = [], [], np.zeros(values.shape)
        points = values
        for step in range(self._n_steps + 1):
            path.append(points)
            left = outside & ~is_source
            rows = restore(points)
            confidence.append(measure_confidence(models, left, rows, records.y, classes))
            if (confidence[-1] < until).all():
                break
            if step < self._n_steps:
                points, momentum = self._step(points, momentum, boxes, is_source, records.y)

        def take(steps):
            return restore(np.stack(path)[steps, np.arange(len(values))])

        return Walk(np.array(confidence), take)

    def _step(self, points, momentum, boxes, is_source, y):
        slope = np.zeros(points.shape)
        for box, chosen in zip(boxes, is_source, strict=True):
            rows = np.flatnonzero(chosen & np.isin(y, box.classes))
            if len(rows):
                slope[rows] += compute_margin(box, points[rows], y[rows])[1]
        slope = slope * self._scale
        momentum = momentum + slope / (_mean_size(slope, np.abs) + _SMALL)
        length = np.sqrt(_mean_size(momentum, np.square))
        moved = points - self._step_size * self._scale * momentum / (length + _SMALL)
        if self._bounds is not None:
            moved = np.clip(moved, *self._bounds)
        return moved.astype(points.dtype), momentum


def _mean_size(values, of):
    """Mean over the features of each record, shaped so that it divides them."""
    return of(values).reshape(len(values), -1).mean(axis=1).reshape(-1, *[1] * (values.ndim - 1))
