"""What a model does to the records that resemble a record.

Similar training records raise each other's scores. How far a model is from what is usual on the
neighbors of a record therefore tells what it would be on the record itself if it were no member.
"""

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from .._core.features import FeatureEncoder
from .._core.left_out import choose_others
from ..base import PoolAttack
from ..base._parts import fit_without_threshold
from ._calibrated import CalibratedAttack

# Number of the most similar records that are averaged. Weights fall to 0 at the next one, so that
# rounding does not decide which of two equally similar records counts.
_N_NEIGHBORS = 64

# Total weight below which an average is drawn to 0: neighbors that are all alike tell nothing.
_LEAST_WEIGHT = 0.04

# Maximum number of records among which similar ones are searched, of cells of their features, and
# of similarities that are computed at once.
_MOST_RECORDS = 1 << 13
_MOST_CELLS = 1 << 25
_BLOCK = 1 << 22


class Residual(CalibratedAttack):
    """Signal of a model minus the mean of the IN and the OUT mean, for any signal."""

    def __init__(self, victim=None, shadows=None):
        super().__init__(victim, shadows, reference="midpoint")

    def _reads(self):
        return PoolAttack._reads(self)

    def compute(self, records):
        """Return the residuals of the victim, and of each model without its pair."""
        columns, pool = self.pool_.locate(records), self.pool_
        values, inside = pool.values_at(columns, self._reads()), pool.inside(columns)
        of_victim = self._score(self._victim_values(records), values, inside, ~inside)
        models = np.arange(len(inside))
        others = choose_others(pool.design_, inside, columns, models)
        judged = self._are_judged(inside, inside.sum(axis=0), models, others)
        left = self._score_judged(values, inside, models, others, judged)
        return of_victim, np.where(judged, left, 0)


class _Features:
    """Standardized features as rows of length 1, and labels."""

    def __init__(self, records):
        self._encoder = FeatureEncoder(records)
        X = self._encoder.encode(records)[:, :-1]
        with np.errstate(invalid="ignore"):  # the mean of a column without values is missing
            self._scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)

    def __call__(self, records):
        matrix = self._encoder.encode(records)
        X = self._scaler.transform(matrix[:, :-1].astype(np.float64))
        if not sparse.issparse(X):
            X[~np.isfinite(X)] = 0
        label = matrix[:, [-1]]
        return normalize(X), (label.toarray() if sparse.issparse(label) else label).ravel()


class SimilarRecords:
    """Weighted means over the most similar records of the same class.

    The weight of a record is its cosine similarity minus that of the first one that is not
    averaged.

    Parameters
    ----------
    records : Records of n_known records
        Records among which similar ones are searched.
    """

    def __init__(self, records):
        self._features = _Features(records)
        self._known, self._labels = self._features(records)
        self._fingerprints = records.fingerprint

    def average(self, records, values):
        """Average over the records that are similar to each record, which itself does not count.

        Parameters
        ----------
        records : Records of n records
            Records, known ones or others.
        values : ndarray of shape (n_values, n_known)
            Values of the known records.

        Returns
        -------
        means : ndarray of shape (n_values, n)
            0 where no record is similar.
        """
        means, step = np.zeros((len(values), len(records))), _count_rows(records)
        for start in range(0, len(records), step):
            block = records[start : start + step]
            means[:, start : start + step] = self._average_block(block, values)
        return means

    def _average_block(self, records, values):
        X, labels = self._features(records)
        means, fingerprints = np.zeros((len(values), len(records))), records.fingerprint
        for label in np.unique(labels):
            places, rows = (np.flatnonzero(some == label) for some in (self._labels, labels))
            if not len(places):
                continue
            for part in np.array_split(rows, -(-len(rows) * len(places) // _BLOCK)):
                same = fingerprints[part, None] == self._fingerprints[places]
                weights = _weigh(X[part] @ self._known[places].T, same)
                total = weights.sum(axis=1) + _LEAST_WEIGHT
                means[:, part] = values[:, places] @ weights.T / total
        return means


def _weigh(similarity, same):
    similarity = similarity.toarray() if sparse.issparse(similarity) else similarity
    similarity[same] = 0
    n_known = similarity.shape[1]
    least = 0.0
    if n_known > _N_NEIGHBORS:
        place = n_known - _N_NEIGHBORS - 1
        least = np.maximum(np.partition(similarity, place, axis=1)[:, [place]], 0)
    return np.maximum(similarity - least, 0)


class Surroundings:
    """How far the victim, and each model of a pool, is from what is usual on similar records.

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool of classifiers.
    victim : fitted estimator or None
        If None, the predictions stored with the records are used.
    records : Records of n records
        Records of the pool.
    usable : ndarray of shape (n,), dtype bool
        Which have both IN and OUT models. Similar records are searched among at most 8192 of
        these, which are drawn by their content.
    """

    def __init__(self, pool, victim, records, usable):
        records = _draw(records, usable)
        self._similar, attack = SimilarRecords(records), Residual(victim)
        fit_without_threshold(attack, pool, records)
        self._of_victim, self._of_models = attack.compute(records)

    def of_victim(self, records):
        """Return the mean residual of the victim on similar records, of shape (1, n)."""
        return self._similar.average(records, self._of_victim[None])

    def of_models(self, records):
        """Return the mean residual of each model, without its pair, of shape (n_estimators, n)."""
        return self._similar.average(records, self._of_models)


def _count_rows(records):
    """Return how many records are encoded at once."""
    return max(1, _MOST_CELLS // max(1, int(np.prod(np.shape(records.X)[1:], dtype=np.int64))))


def _draw(records, usable):
    rows = np.flatnonzero(usable)
    n_most = min(_MOST_RECORDS, _count_rows(records))
    if len(rows) > n_most:
        order = np.argsort(records.fingerprint[rows], kind="stable")
        rows = np.sort(rows[order[:n_most]])
    return records[rows]
