"""Numbers of each attack over target models, with intervals, and what follows from them."""

import numpy as np
import pandas as pd
from scipy import stats

from ..._core.checks import RATE_TOLERANCE
from ..._core.pvalues import adjust_pvalues
from ...metrics import Interval, operating_point
from .attacks import BOTH

# Controls are checked at this level at least, so that few games are lost to a chance finding.
CONTROL_LEVEL = 0.99


def estimate_mean(values, level, chance):
    """Mean over targets with Student's interval, and the p-value of the hypothesis of chance.

    If all targets have the same value, the p-value is the one of the sign test.

    Returns
    -------
    interval : Interval
    pvalue : float
    """
    n, mean = len(values), float(values.mean())
    if np.ptp(values) == 0:  # the mean of equal values may be rounded to another one
        mean = float(values[0])
        return Interval(mean, mean, mean), 1.0 if mean == chance else 2.0 ** (1 - n)
    error = float(values.std(ddof=1)) / np.sqrt(n)
    law = stats.t(n - 1)
    reach = error * float(law.ppf((1 + level) / 2))
    pvalue = 2 * float(law.sf(abs(mean - chance) / error))
    return Interval(mean, mean - reach, mean + reach), pvalue


def estimate_tpr(separation, level, max_fpr):
    """TPR over the records of all targets at one threshold, with an interval.

    The limits are the wider ones of the jackknife, which leaves one target out at a time, and of
    the interval for independent records: the jackknife does not see how uncertain few records are,
    and the other one does not see that targets differ.
    """
    inside, scores, targets = separation.inside, separation.scores, separation.targets
    point = operating_point(
        inside, scores, max_fpr, confidence_level=level, on_unresolvable="ignore"
    )
    left_out = _leave_targets_out(inside, scores, targets, max_fpr)
    n = len(left_out)
    error = np.std(left_out, ddof=1) * (n - 1) / np.sqrt(n)
    reach = error * float(stats.t(n - 1).ppf((1 + level) / 2))
    low, high = max(point.tpr - reach, 0.0), min(point.tpr + reach, 1.0)
    return Interval(point.tpr, min(low, point.tpr_low), max(high, point.tpr_high))


def _leave_targets_out(inside, scores, targets, max_fpr):
    """TPR without each of the targets, as ``tpr_at_fpr_score`` would give it; sorts once."""
    order = np.argsort(-scores, kind="stable")
    inside, scores, targets = inside[order], scores[order], targets[order]
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    rates = []
    for target in np.unique(targets):
        stays = targets != target
        above = [np.cumsum(stays & side) for side in (inside, ~inside)]
        tpr, realized = (count[ends] / count[-1] for count in above)
        rates.append(tpr[realized <= max_fpr + RATE_TOLERANCE].max(initial=0.0))
    return np.array(rates)


def describe(separation, level, max_fpr):
    """AUC and TPR of an attack over all targets, in the columns of a table."""
    auc, pvalue = estimate_mean(separation.aucs, level, 0.5)
    tpr = estimate_tpr(separation, level, max_fpr)
    return {
        "auc": auc.estimate,
        "auc_low": max(auc.low, 0.0),
        "auc_high": min(auc.high, 1.0),
        "pvalue": pvalue,
        "tpr": tpr.estimate,
        "tpr_low": float(tpr.low),
        "tpr_high": float(tpr.high),
    }


def tabulate(separations, level, max_fpr):
    """Table of the attacks, a row each, with adjusted p-values and evidence.

    What an attacker finds who has both models is a row, but not among the tests together.
    """
    table = pd.DataFrame([describe(each, level, max_fpr) for each in separations.values()])
    table.index = pd.Index(list(separations), name="attack")
    headline = table.index != BOTH
    adjusted = table["pvalue"].to_numpy(copy=True)
    adjusted[headline] = adjust_pvalues(adjusted[headline], "holm", 1 - level)[1]
    table.insert(4, "pvalue_adjusted", adjusted)
    found = np.where(table["auc"] > 0.5, "leak", "reversed")
    table["evidence"] = np.where(adjusted <= 1 - level, found, "none")
    return table


def check_controls(noop, retrain, level):
    """Table of the controls: nothing forgotten must be found, retraining must not.

    Retraining counts as found in either direction.
    """
    level = max(level, CONTROL_LEVEL)
    table = pd.concat({"no-op": noop, "retraining": retrain}, names=["control", "attack"])
    headline = table.index.get_level_values("attack") != BOTH
    n_attacks = int(headline.sum()) // 2
    is_sure = table["pvalue"] <= (1 - level) / np.where(headline, n_attacks, 1)
    is_retrained = table.index.get_level_values("control") == "retraining"
    found = is_sure & ((table["auc"] > 0.5) | is_retrained)
    return table.drop(columns=["pvalue_adjusted", "evidence"]).assign(found=found)


def conclude(attacks, controls):
    """Evidence of a game in one word: leak, reversed, none or unknown."""
    attacks, controls = attacks.drop(BOTH, errors="ignore"), controls["found"].unstack("control")
    controls = controls.drop(BOTH, errors="ignore").any()
    if controls["retraining"]:
        return "unknown"
    for word in ("leak", "reversed"):
        if (attacks["evidence"] == word).any():
            return word
    return "none" if controls["no-op"] else "unknown"


def compare_retained(retained, level):
    """AUC of the retained records before and after, and the change, with its p-value."""
    before, after = retained["before"].aucs, retained["after"].aucs
    numbers = {"before": (before, 0.5), "after": (after, 0.5), "change": (after - before, 0.0)}
    rows = {}
    for name, (values, chance) in numbers.items():
        interval, pvalue = estimate_mean(values, level, chance)
        rows[name] = [*interval, pvalue]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["auc", "low", "high", "pvalue"])


def judge(measured, max_fpr, level):
    """Tables, evidence and number of records that do not count."""
    tables = {name: tabulate(each, level, max_fpr) for name, each in measured.forgotten.items()}
    controls = check_controls(tables["before"], tables["retrained"], level)
    aucs = {
        (state, name): separation.aucs
        for state, attacks in measured.forgotten.items()
        for name, separation in attacks.items()
    }
    aucs |= {(state, "retained"): each.aucs for state, each in measured.retained.items()}
    aucs = pd.DataFrame(aucs).rename_axis(index="target", columns=["state", "attack"])
    return {
        "evidence": conclude(tables["after"], controls),
        "attacks": tables["after"],
        "controls": controls,
        "retained": compare_retained(measured.retained, level),
        "aucs": aucs,
        "n_unjudged": measured.n_unjudged,
    }
