"""Whether groups are exposed unequally, measured on shadow models treated as the victim."""

import warnings

import numpy as np

from ..disparity import DisparityTest, GroupGuesses
from ..disparity.guesses import number_people
from .groups import OVERALL
from .measure import FEWEST

# The pairs of more groups than these make a table that is too long to read.
_MOST_GROUPS = 20


def compare_groups(rounds, records, subsets, confidence_level, seed):
    """Test for each scope with 2 to 20 groups whether they are exposed equally.

    Parameters
    ----------
    rounds : Rounds
    records : Records of n records
    subsets : list of (scope, group, mask)
        Parts of the records, as returned by :func:`list_subsets`.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).
    seed : int
        Random seed of the permutations.

    Returns
    -------
    tests : list of dict
        ``scope``, ``n_rounds``, ``statistic``, ``pvalue``, ``n_permutations``, ``reject``,
        ``disparity``, the analysis of variance (``anova_statistic``, ``anova_df``,
        ``anova_pvalue``), and lists of ``groups``, ``pairs`` and of groups ``left_out``.
    """
    tests = []
    for scope in dict.fromkeys(scope for scope, _, _ in subsets if scope != OVERALL):
        masks = {group: mask for name, group, mask in subsets if name == scope}
        kept = {group: mask for group, mask in masks.items() if _is_large(rounds, mask)}
        if len(masks) > _MOST_GROUPS or len(kept) < 2 or len(rounds.guesses) < 2:
            continue
        test = _test(rounds, records, kept, confidence_level, seed)
        left_out = [group for group in masks if group not in kept]
        tests.append({"scope": scope, **_describe(test), "left_out": left_out})
    return tests


def _is_large(rounds, mask):
    membership = rounds.membership[:, mask]
    sides = ((membership == side).sum(axis=1).min() for side in (0, 1))
    return min(sides) >= FEWEST


def _test(rounds, records, masks, confidence_level, seed):
    groups = np.full(len(records), None)
    for group, mask in masks.items():
        groups[mask] = group
    chosen = groups != None  # noqa: E711 - elementwise
    groups = groups[chosen].astype(str)
    guesses = GroupGuesses(
        rounds.guesses[:, chosen],
        rounds.membership[:, chosen],
        groups,
        number_people(records[chosen], groups),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal groups: no variance, p is NaN
        return DisparityTest(confidence_level=confidence_level, random_state=seed).fit(guesses)


def _describe(test):
    for frame in (test.group_vulnerability_, test.pairwise_):
        frame[["low", "high"]] = frame[["low", "high"]].clip(-1, 1)  # Student's may lie beyond
    columns = ["group", "other", "difference", "low", "high", "pvalue_adjusted", "reject"]
    means = test.group_vulnerability_.rename_axis("group").reset_index()
    return {
        "n_rounds": test.n_rounds_,
        "statistic": test.statistic_,
        "pvalue": test.pvalue_,
        "n_permutations": test.n_permutations_,
        "reject": test.reject_,
        "disparity": test.disparity_,
        "anova_statistic": test.anova_statistic_,
        "anova_df": [test.anova_["df"]["groups"], test.anova_["df"]["residual"]],
        "anova_pvalue": test.anova_pvalue_corrected_,
        "groups": means[["group", "mean", "low", "high"]].to_dict("records"),
        "pairs": test.pairwise_[columns].to_dict("records"),
    }
