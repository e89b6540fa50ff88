"""Scores of attacks that distinguish one side of the records of a target model from another."""

import numpy as np
from sklearn.metrics import roc_auc_score

from ..._core.moments import Sides, compute_both_moments
from ..._core.normal_law import NormalLaw
from ...metrics.auc import placements
from .draws import NEVER


def score_population(values, sides, n_shadows, side):
    """One rule for all records: a better fit means that the model was trained on the record.

    Returns
    -------
    scores : ndarray of shape (n_targets, n)
    judged : ndarray of shape (n,), dtype bool
    """
    targets = values[n_shadows:]
    return targets, np.ones(targets.shape[1], dtype=bool)


def score_ulira(values, sides, n_shadows, side):
    """Log ratio of two laws per record: of shadow models on one side, and of those without it.

    Records for which no shadow model is on one of the two sides are not judged.

    Returns
    -------
    scores : ndarray of shape (n_targets, n)
        0 for records that are not judged.
    judged : ndarray of shape (n,), dtype bool
    """
    shadows = sides[:n_shadows]
    inside, outside = shadows == side, shadows == NEVER
    judged = inside.any(axis=0) & outside.any(axis=0)
    scores = np.zeros((len(values) - n_shadows, len(judged)))
    if not judged.any():
        return scores, judged
    taken = values[:, judged]
    law = NormalLaw(shrinks=True)
    moments = compute_both_moments(taken[None, :n_shadows], inside[:, judged], outside[:, judged])
    both = Sides(*moments, None)
    laws = law.describe(both, law.fit(both))
    for row, target in zip(scores, taken[n_shadows:], strict=True):
        row[judged] = law.log_ratio(target[None], laws)[0]
    return scores, judged


ATTACKS = {"population": score_population, "ulira": score_ulira}
# Name of the attack of those who have the model before as well as after. It also finds what exact
# unlearning has removed, so it is not evidence against a way of forgetting.
BOTH = "both"


class Separation:
    """How well scores separate one side of the records of each target from those never seen.

    In the AUC each unit counts the same, however many records it has. Units are what is drawn, and
    their numbers are fixed, so that the expected AUC is 0.5 where nothing is left to find; if
    records counted the same, it would not be, as large units change the share that they are in.

    Parameters
    ----------
    scores : ndarray of shape (n_targets, n)
        Scores, higher for the side.
    sides : ndarray of shape (n_targets, n), dtype int8
        Sides of the records.
    side : int
        Side that is to be found.
    judged : ndarray of shape (n,), dtype bool
        Records that count.
    units : ndarray of shape (n,), default=None
        Unit of each record. If None, each record is a unit.

    Attributes
    ----------
    targets, inside, scores : ndarray of shape (n_judged,)
        Number of the target, whether it is on the side, and score, of the records of all targets.
    aucs : ndarray of shape (n_targets,)
        AUC of each target.
    """

    def __init__(self, scores, sides, side, judged, units=None):
        self.judged, parts, aucs = judged, [], []
        weights = _weigh(judged, units)
        for target, (values, places) in enumerate(zip(scores, sides, strict=True)):
            rows = np.flatnonzero(judged & ((places == side) | (places == NEVER)))
            inside = places[rows] == side
            if inside.all() or not inside.any():
                raise ValueError(
                    "The shadow models are too few to judge records of each target model; increase "
                    "n_estimators or forget."
                )
            parts.append((np.full(len(rows), target), inside, values[rows]))
            aucs.append(_compute_auc(inside, values[rows], weights[rows]))
        self.targets, self.inside, self.scores = map(np.concatenate, zip(*parts, strict=True))
        self.aucs = np.array(aucs)


def _weigh(judged, units):
    """Weights with which all units that are judged count the same."""
    if units is None:
        return np.ones(len(judged))
    sizes = np.bincount(units[judged], minlength=units.max() + 1)
    return 1 / np.maximum(sizes, 1)[units]


def _compute_auc(inside, scores, weights):
    if (weights == weights[0]).all():
        return placements(inside, scores)[0].mean()
    return roc_auc_score(inside, scores, sample_weight=weights)
