"""Membership attacks on single rows, with a half of the holdout as the attacker's reference."""

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ..._core.records import Records
from ...metrics import auc_interval
from .._generator_attack import GeneratorAttack
from .._risks._base import permute_rows

# Statistics of GeneratorAttack, by the names of the numbers.
ATTACKS = {
    "membership by distances": "distance_difference",
    "membership by DOMIAS": "domias",
    "membership by Gen-LRA": "gen_lra",
    "membership by a classifier": "classifier",
}


def measure_membership(tables, settings, n_permutations):
    """How much more often a training row has the higher score than a held-out row has.

    Parameters
    ----------
    tables : list of DataFrame
        Training rows, holdout and synthetic rows, whose numbers are not missing.
    settings : dict
        ``confidence_level`` and ``random_state``.
    n_permutations : int

    Returns
    -------
    numbers : dict of str to dict
    """
    real, holdout, made = tables
    rng = np.random.RandomState(settings["random_state"])
    order = rng.permutation(len(holdout))
    known, control = (holdout.iloc[np.sort(part)] for part in np.array_split(order, 2))
    rows = pd.concat([real, control], ignore_index=True)
    records = Records(rows, np.zeros(len(rows)))
    is_train = np.arange(len(rows)) < len(real)
    numbers = {}
    for name, statistic in ATTACKS.items():
        attack = GeneratorAttack(
            Records(made.reset_index(drop=True)),
            statistic=statistic,
            reference=Records(known.reset_index(drop=True)),
            metric="gower",
            random_state=settings["random_state"],
        )
        scores = attack.fit(records).score_samples(records)
        interval = auc_interval(is_train, scores, confidence_level=settings["confidence_level"])
        # The sum of the ranks of the training rows is the statistic of Mann and Whitney.
        ranks = rankdata(scores)
        pvalue = permute_rows(ranks[is_train], ranks[~is_train], n_permutations, rng)
        low, estimate, high = (2 * interval[k] - 1 for k in (1, 0, 2))
        number = {"estimate": estimate, "low": low, "high": high, "pvalue": pvalue}
        number |= dict.fromkeys(("attack", "control", "naive", "pvalue_below"), np.nan)
        numbers[name] = number | {"n_attacks": len(real), "n_controls": len(control)}
    return numbers
