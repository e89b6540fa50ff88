"""The curves of an ROC display, computed from membership and scores."""

import numpy as np

from ..._core.checks import check_judged, check_membership_scores
from .._membership import realizable_points
from ..people import check_people, split_people, thinned_sizes

# A curve of more points than these keeps about so many, evenly on linear and on logarithmic axes:
# neighbors then differ by less than a tenth of a percent, which no figure shows.
_MOST_POINTS = 200_000


def compute_curves(y_true, named, groups, judged):
    """Compute the ROC curve of each attack.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        Membership of all records.
    named : dict of str to array-like of shape (n_records,)
        Scores by name.
    groups : array-like of shape (n_records,) or None
        Person of each record.
    judged : mapping of str to array-like of shape (n_records,) or None
        Records that each attack can judge.

    Returns
    -------
    parameters : dict
        Parameters of :class:`MembershipRocDisplay`.
    """
    curves, sizes, counts = {}, {}, {}
    for key, each in named.items():
        membership, scores = check_membership_scores(y_true, each)
        people = check_people(groups, len(membership))
        n_members, n_nonmembers = int(membership.sum()), int((~membership).sum())
        masks = check_judged(judged, named, len(membership))
        if masks is not None:
            rows = masks[key]
            membership, scores = check_membership_scores(membership[rows], scores[rows])
            people = people[rows]
        sides = split_people(people, membership)
        curves[key] = _thin(realizable_points(membership, scores))
        sizes[key] = thinned_sizes(scores, membership, sides, curves[key][2])
        counts[key] = tuple(side.n_rows for side in sides)
    totals = {"n_members": n_members, "n_nonmembers": n_nonmembers}
    return {"curves": curves, "sizes": sizes, "counts": counts, **totals}


def _thin(curve):
    """Keep some of the points of a very long curve, among them the first and the last."""
    n_points = len(curve[0])
    if n_points <= _MOST_POINTS:
        return curve
    n_each = _MOST_POINTS // 4
    places = [np.arange(n_each), np.linspace(0, n_points - 1, n_each).astype(np.intp)]
    for rates in curve[:2]:
        wanted = np.geomspace(rates[rates > 0][0], 1, n_each)
        places.append(np.searchsorted(rates, wanted, side="right") - 1)
    kept = np.unique(np.concatenate(places))
    return tuple(values[kept] for values in curve)
