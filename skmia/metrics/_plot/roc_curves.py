"""The curves of an ROC display, computed from membership and scores."""

from ..._core.checks import check_judged, check_membership_scores
from .._membership import realizable_points
from ..people import check_people, split_people, thinned_sizes


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
        curves[key] = realizable_points(membership, scores)
        sizes[key] = thinned_sizes(scores, membership, sides, curves[key][2])
        counts[key] = tuple(side.n_rows for side in sides)
    totals = {"n_members": n_members, "n_nonmembers": n_nonmembers}
    return {"curves": curves, "sizes": sizes, "counts": counts, **totals}
