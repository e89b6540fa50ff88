"""Curves and the most exposed records, which the page shows with the numbers."""

import numpy as np
from sklearn.metrics import roc_auc_score

from ..metrics import membership_roc_curve
from ..metrics._intervals import check_people, effective_sizes, split_people
from ..metrics._operating_point import count_points, tpr_limits

# Number of points that are kept of a curve; more would not be visible.
MOST_POINTS = 120
MOST_EXPOSED = 20


def compute_curves(scores, membership, confidence_level, groups=None, judged=None):
    """Compute ROC curves, thinned evenly on logarithmic axes, each with a pointwise band.

    Parameters
    ----------
    scores : dict of str to ndarray of shape (n,)
        Scores of each attack, the best one first.
    membership : ndarray of shape (n,), dtype bool
        True membership of each record.
    confidence_level : float
        Confidence level of the pointwise intervals of the TPR.
    groups : array-like of shape (n,), default=None
        Person of each record. If None, all records are independent.
    judged : dict of str to ndarray of shape (n,), default=None
        Records that each attack can judge. If None, all records.

    Returns
    -------
    curves : list of dict
        ``attack``, ``fpr``, ``tpr``, ``low``, ``high``.
    """
    tail = (1 - confidence_level) / 2
    people = check_people(groups, len(membership))
    curves = []
    for attack, values in scores.items():
        rows = list_judged(judged, attack, membership)
        if not len(rows):
            continue
        values, truth = values[rows], membership[rows]
        sides = split_people(people[rows], truth)
        n_members, n_nonmembers = (side.n_rows for side in sides)
        fpr, tpr, thresholds = membership_roc_curve(truth, values)
        kept = _thin(fpr, n_nonmembers)
        thresholds = thresholds[kept]
        counts = count_points(fpr, tpr, n_members, n_nonmembers)
        fpr, tpr = fpr[kept], tpr[kept]
        parts = values[truth], values[~truth]
        sizes = [effective_sizes(*pair, thresholds) for pair in zip(parts, sides)]
        low, high = tpr_limits(counts, fpr, tail, sizes=sizes)
        lists = _as_lists(fpr=fpr, tpr=tpr, low=low, high=high)
        curves.append({"attack": attack} | lists)
    return curves


def _thin(fpr, n_nonmembers):
    """Places of points at evenly spaced log rates, from one false positive to all."""
    wanted = np.geomspace(1 / n_nonmembers, 1, MOST_POINTS)
    places = np.searchsorted(fpr, wanted * (1 + 1e-9), side="right") - 1
    places = np.unique(places)
    return places[fpr[places] > 0]


def _as_lists(**arrays):
    return {name: [round(float(value), 6) for value in array] for name, array in arrays.items()}


def list_judged(judged, attack, membership):
    """Positions of the records that an attack can judge; none if all are on one side."""
    rows = np.arange(len(membership)) if judged is None else np.flatnonzero(judged[attack])
    sides = membership[rows]
    return rows if sides.any() and not sides.all() else rows[:0]


def list_exposed(scores, membership, record_ids, judged=None):
    """List the members with the highest scores of the first attack, of those that it can judge.

    Returns
    -------
    exposed : list of dict
        ``record``, its ``position``, ``attack``, ``score`` and ``n_above``, the number of
        non-members that score at least as high.
    """
    if not scores:
        return []
    attack, values = next(iter(scores.items()))
    rows = list_judged(judged, attack, membership)
    members, others = rows[membership[rows]], rows[~membership[rows]]
    top = members[np.argsort(-values[members], kind="stable")[:MOST_EXPOSED]]
    others = np.sort(values[others])
    above = len(others) - np.searchsorted(others, values[top], side="left")
    return [
        {
            "record": record_ids[row],
            "position": int(row),
            "attack": attack,
            "score": values[row],
            "n_above": int(count),
        }
        for row, count in zip(top, above)
    ]


def rank_attacks(scores, membership, judged=None):
    """Sort the scores by the AUC of their attack, the largest first."""

    def measure(attack):
        rows = list_judged(judged, attack, membership)
        return roc_auc_score(membership[rows], scores[attack][rows]) if len(rows) else -1.0

    return {name: scores[name] for name in sorted(scores, key=measure, reverse=True)}
