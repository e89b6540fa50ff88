"""The attack on one victim, repeated with shadow models in the victim's place."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ..attacks._pool_attack import PoolAttack
from ..disparity import DisparityTest
from ..model_selection import leave_one_model_out, power_curve
from ._groups import OVERALL
from ._measure import FEWEST

# Models that take the victim's place: for each number of shadow models, and for the test.
_N_TARGETS = 8
_MOST_ROUNDS = 32

# Pairs of more groups than these are no longer read.
_MOST_GROUPS = 20


def choose_attack(fitted, scores_by_rank):
    """The attack that ranks best among those that shadow models can repeat, or None."""
    names = [name for name in scores_by_rank if isinstance(fitted[name], PoolAttack)]
    return names[0] if names else None


def measure_power(attack, pool, records):
    """AUC of an attack by the number of its shadow models.

    Parameters
    ----------
    attack : PoolAttack
        Its settings are taken.
    pool : ShadowPool
        Of 4 models at least.
    records : Records of n records

    Returns
    -------
    power : list of dict
        ``n_shadows``, the number of models that the attack compares with; ``auc``, its mean over
        ``n_models`` shadow models in the victim's place; ``sd``, the standard deviation over them.
    """
    repeated = clone(attack).set_params(shadows=FrozenEstimator(pool))
    curve = power_curve(repeated, records, n_targets=_N_TARGETS, max_fprs=())
    rows = curve["auc"].groupby("n_estimators").agg(["mean", "std", "count"])
    return [
        {
            "n_shadows": int(size) - 2,
            "auc": row["mean"],
            "sd": row["std"],
            "n_models": int(row["count"]),
        }
        for size, row in rows.iterrows()
    ]


def compare_groups(attack, pool, records, subsets, confidence_level):
    """Test whether the groups of each scope are exposed equally, by shadow models as victims.

    One model of each complementary pair takes part.

    Parameters
    ----------
    attack : PoolAttack
        Its settings are taken.
    pool : ShadowPool
    records : Records of n records
    subsets : list of (scope, group, mask)
        As :func:`find_subsets` gives them.
    confidence_level : float
        Of the intervals.

    Returns
    -------
    tests : list of dict
        For each scope of 2 to 20 groups: ``scope``, ``n_rounds``, ``statistic``, ``df``,
        ``pvalue``, ``reject``, ``disparity``, and lists of ``groups``, ``pairs`` and of groups
        ``left_out``.
    """
    repeated = clone(attack).set_params(shadows=FrozenEstimator(pool))
    models = np.arange(0, len(pool.membership_), 2)[:_MOST_ROUNDS]
    tests = []
    for scope in dict.fromkeys(scope for scope, _, _ in subsets if scope != OVERALL):
        masks = {group: mask for name, group, mask in subsets if name == scope}
        if len(masks) > _MOST_GROUPS:
            continue
        names = np.empty(len(records), dtype=object)
        for group, mask in masks.items():
            names[mask] = group
        grouped = records.with_fields(skmia_scope=names)
        power = leave_one_model_out(
            repeated, grouped, models=models, group="skmia_scope", max_fprs=()
        )
        test = _test(power, list(masks), confidence_level)
        if test is not None:
            tests.append({"scope": scope, **test})
    return tests


def _test(power, groups, confidence_level):
    fewest = power[["n_members", "n_nonmembers"]].min(axis=1).groupby("group").min()
    kept = [group for group in groups if fewest[group] >= FEWEST]
    table = power["advantage"].unstack("group")[kept]
    if table.shape[1] < 2 or len(table) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal groups: no variance, p is NaN
        test = DisparityTest(confidence_level=confidence_level).fit(table)
    columns = ["group", "other", "difference", "low", "high", "pvalue_adjusted", "reject"]
    means = test.group_vulnerability_.rename_axis("group").reset_index()
    return {
        "n_rounds": test.n_rounds_,
        "statistic": test.statistic_,
        "df": [test.anova_["df"]["groups"], test.anova_["df"]["residual"]],
        "pvalue": test.pvalue_corrected_,
        "reject": bool(test.pvalue_corrected_ <= 1 - confidence_level),
        "disparity": test.disparity_,
        "groups": means[["group", "mean", "low", "high"]].to_dict("records"),
        "pairs": test.pairwise_[columns].to_dict("records"),
        "left_out": [group for group in groups if group not in kept],
    }
