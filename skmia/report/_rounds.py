"""Whether groups are exposed unequally, by shadow models in the victim's place."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..disparity import DisparityTest
from ._groups import OVERALL, find_whole_groups
from ._measure import FEWEST

# Models that take the victim's place, one of each complementary pair.
_MOST_ROUNDS = 32

# Pairs of more groups than these are no longer read.
_MOST_GROUPS = 20

_N_SHUFFLES = 999


class Rounds(NamedTuple):
    """Guesses about the records of each model, its training set, and who could be judged.

    All of shape (n_rounds, n) and dtype bool.
    """

    guesses: np.ndarray
    inside: np.ndarray
    judged: np.ndarray


def play_rounds(attack, records):
    """Attack one model of each pair with the others.

    Parameters
    ----------
    attack : fitted PoolAttack
        With 4 shadow models at least.
    records : Records of n records

    Returns
    -------
    rounds : Rounds
    """
    models = np.arange(0, len(attack.pool_.membership_), 2)[:_MOST_ROUNDS]
    shape = len(models), len(records)
    rounds = Rounds(*(np.empty(shape, dtype=bool) for _ in range(3)))
    for rows, scores, inside, judged in attack._score_pseudo_victims(records, models):
        rounds.guesses[:, rows] = scores >= attack.offset_
        rounds.inside[:, rows], rounds.judged[:, rows] = inside, judged
    return rounds


def compare_groups(rounds, records, subsets, confidence_level, seed):
    """Test for each scope of 2 to 20 groups whether they are exposed equally.

    Parameters
    ----------
    rounds : Rounds
    records : Records of n records
    subsets : list of (scope, group, mask)
        As :func:`find_subsets` gives them.
    confidence_level : float
        Of the intervals.
    seed : int
        Of the shuffles.

    Returns
    -------
    tests : list of dict
        ``scope``, ``n_rounds``, ``statistic``, ``df``, ``pvalue`` and ``pvalue_shuffled``,
        ``reject``, ``disparity``, and lists of ``groups``, ``pairs`` and of groups ``left_out``.
    """
    tests = []
    for scope in dict.fromkeys(scope for scope, _, _ in subsets if scope != OVERALL):
        masks = {group: mask for name, group, mask in subsets if name == scope}
        kept = {group: mask for group, mask in masks.items() if _is_large(rounds, mask)}
        if len(masks) > _MOST_GROUPS or len(kept) < 2 or len(rounds.inside) < 2:
            continue
        test = _describe(_test(rounds, kept, confidence_level))
        test["pvalue_shuffled"] = _shuffle(rounds, records, kept, seed)
        level = 1 - confidence_level
        test["reject"] = bool(test["pvalue"] <= level and test["pvalue_shuffled"] <= level)
        left_out = [group for group in masks if group not in kept]
        tests.append({"scope": scope, **test, "left_out": left_out})
    return tests


def _is_large(rounds, mask):
    members, others = _find_sides(rounds, mask)
    return min(members.sum(axis=1).min(), others.sum(axis=1).min()) >= FEWEST


def _find_sides(rounds, mask):
    """Members and others among some records, in each round those that could be judged."""
    inside, judged = rounds.inside[:, mask], rounds.judged[:, mask]
    return inside & judged, ~inside & judged


def _test(rounds, masks, confidence_level):
    table = {group: _find_advantages(rounds, mask) for group, mask in masks.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal groups: no variance, p is NaN
        test = DisparityTest(confidence_level=confidence_level)
        return test.fit(pd.DataFrame(table))


def _find_advantages(rounds, mask):
    guesses = rounds.guesses[:, mask]
    found, accused = (
        (guesses & side).sum(axis=1) / side.sum(axis=1) for side in _find_sides(rounds, mask)
    )
    return found - accused


def _describe(test):
    for frame in (test.group_vulnerability_, test.pairwise_):
        frame[["low", "high"]] = frame[["low", "high"]].clip(-1, 1)  # Student's may lie beyond
    columns = ["group", "other", "difference", "low", "high", "pvalue_adjusted", "reject"]
    means = test.group_vulnerability_.rename_axis("group").reset_index()
    return {
        "n_rounds": test.n_rounds_,
        "statistic": test.statistic_,
        "df": [test.anova_["df"]["groups"], test.anova_["df"]["residual"]],
        "pvalue": test.pvalue_corrected_,
        "disparity": test.disparity_,
        "groups": means[["group", "mean", "low", "high"]].to_dict("records"),
        "pairs": test.pairwise_[columns].to_dict("records"),
    }


def _shuffle(rounds, records, masks, seed):
    """How often groups that are dealt out at random among the records differ as much.

    The rounds share their records, so that any two sets of records differ in the end, for a test
    over rounds. What is compared here is how often the guesses about a record are right.
    """
    codes = np.full(len(records), -1)
    for code, mask in enumerate(masks.values()):
        codes[mask] = code
    units = find_whole_groups(records, codes)
    units = np.arange(len(records)) if units is None else np.unique(units, return_inverse=True)[1]
    n_judged = rounds.judged.sum(axis=0)
    chosen = (codes >= 0) & (n_judged > 0)
    _, units = np.unique(units[chosen], return_inverse=True)
    right = ((rounds.guesses == rounds.inside) & rounds.judged).sum(axis=0)
    right = right[chosen] / n_judged[chosen]
    sizes, sums = np.bincount(units), np.bincount(units, right - right.mean())
    codes = codes[chosen][np.unique(units, return_index=True)[1]]
    rng = np.random.default_rng(seed)
    real = _find_spread(codes, sums, sizes)
    null = [_find_spread(rng.permutation(codes), sums, sizes) for _ in range(_N_SHUFFLES)]
    # What is equal but for the order of a sum counts as equal.
    return (1 + np.sum(np.array(null) >= real * (1 - 1e-9))) / (1 + _N_SHUFFLES)


def _find_spread(codes, sums, sizes):
    totals, counts = np.bincount(codes, sums), np.bincount(codes, sizes)
    return float(np.sum(totals**2 / counts))
