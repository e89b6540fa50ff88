"""The power of an attack against the number of its shadow models."""

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ..model_selection import power_curve

# Number of models treated as the victim, for each number of shadow models.
_N_TARGETS = 8


def measure_power(attack, records):
    """AUC of an attack by the number of its shadow models.

    Parameters
    ----------
    attack : fitted PoolAttack
        Attack with at least 4 shadow models.
    records : Records of n records

    Returns
    -------
    power : list of dict
        ``n_shadows``, the number of models that the attack compares with; ``auc``, its mean AUC
        over ``n_models`` shadow models treated as the victim; ``sd``, the standard deviation over
        them.
    """
    repeated = clone(attack).set_params(shadows=FrozenEstimator(attack.pool_))
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
