"""Power of an attack, measured with shadow models treated as the victim."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.base import clone

from .._core.groups import read_names
from .._core.metric_inputs import check_rate
from .._core.numbers import check_count, check_number, show, to_array
from .._core.pseudo_victims import choose_evenly
from .._core.records import Records
from .._core.validation import check_records
from ..base import (
    PoolAttack,
    check_repeatable,
    compute_auc_of_sorted,
    compute_tpr,
    get_pool,
    list_models,
    score_pseudo_victims,
    sort_sides,
)
from ..metrics import check_resolution

# Group of the records that have no value.
MISSING = "(missing)"


def leave_one_model_out(
    attack: PoolAttack,
    records: Records,
    *,
    models: Sequence[int] | np.ndarray | None = None,
    group: str | None = None,
    max_fprs: Sequence[float] = (0.01, 0.001),
) -> pd.DataFrame:
    """Attack every shadow model of a pool with the others.

    Each model is treated as the victim in turn. Its training set is known, so the power of the
    attack is measured without the victim and its members, once per model. The spread over models
    shows how much victims differ.

    The number of IN models that remain must not reveal membership. In a pool of complementary
    pairs, the model's complement is left out as well. If each record is in a fixed number of
    models, one model of the other side is left out for each record. If the training sets were
    drawn independently, only the model itself is left out.

    Parameters
    ----------
    attack : LiRA, RMIA or CalibratedAttack
        Attack with ``shadows`` set to a fitted pool; the victim is not used. It is cloned.
    records : Records of n records
        Records of the pool.
    models : sequence of int or of bool, default=None
        Models to attack, by number or as a mask. If None, all of them.
    group : str, default=None
        Field of the records; the power is then measured among the records of each of its values,
        and among those without a value as the group ``"(missing)"``.
        Whether they differ is a question for :class:`~skmia.disparity.DisparityTest`, which takes
        the attack and the records.
    max_fprs : sequence of float, default=(0.01, 0.001)
        False positive rates at which the true positive rate is reported.

    Returns
    -------
    power : DataFrame of shape (n_models, 5 + len(max_fprs))
        Columns ``n_members``, ``n_nonmembers``, ``n_unjudged`` (records left out because too few
        models remain to judge them), ``auc``, ``advantage`` (TPR - FPR at the threshold of the
        attack) and one of the form ``tpr_at_fpr_0.01`` for each rate (NaN where the non-members do
        not resolve it), indexed by model, or by (model, group).

    Raises
    ------
    TypeError
        If the attack takes no pool.
    ValueError
        If a record is not in the pool, no record can be judged, the pool has fewer than 4 models,
        or the records have no such field.

    See Also
    --------
    power_curve : Power against the number of shadow models.
    choose_by_power : Compares settings of an attack by this power.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import LiRA
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.model_selection import leave_one_model_out
    >>> records, membership = make_membership_problem(random_state=0)
    >>> pool = ShadowPool(DecisionTreeClassifier(), 8, random_state=0).fit(records)
    >>> power = leave_one_model_out(LiRA(shadows=pool), records, max_fprs=[0.05])
    >>> power.columns.tolist()
    ['n_members', 'n_nonmembers', 'n_unjudged', 'auc', 'advantage', 'tpr_at_fpr_0.05']
    """
    attack, pool = _check_and_query(attack, records)
    subsets, max_fprs = _list_subsets(records, group), _check_fprs(max_fprs)
    models = _read_models(models, len(pool.membership_))
    rows = [
        _measure_pseudo_victims(*(values[mask] for values in row), attack.offset_, max_fprs)
        for row in zip(*score_pseudo_victims(attack, records, models), strict=True)
        for mask in subsets.values()
    ]
    if group is None:
        return pd.DataFrame(rows, index=pd.Index(models, name="model"))
    index = pd.MultiIndex.from_product([models, subsets], names=["model", "group"])
    return pd.DataFrame(rows, index=index)


def _read_models(models, n_models):
    return np.arange(n_models) if models is None else list_models(models, n_models)


def _check_fprs(max_fprs):
    try:
        given = list(max_fprs)
    except TypeError:
        raise ValueError(f"max_fprs must be a sequence of rates; got {show(max_fprs)}.") from None
    return [check_rate(max_fpr, "max_fprs") for max_fpr in given]


def _list_subsets(records, group):
    if group is None:
        return {None: slice(None)}
    values = read_names(records, group)
    missing = pd.isna(values)
    known = pd.Series(values[~missing]).astype(object)
    subsets = {}
    for value in pd.unique(values[~missing]):
        subsets[value] = np.zeros(len(values), dtype=bool)
        subsets[value][~missing] = (known == value).to_numpy(dtype=bool)
    if missing.any():  # with those whose value is this text, as in a report
        subsets[MISSING] = missing | subsets.get(MISSING, missing)
    return subsets


def power_curve(
    attack: PoolAttack,
    records: Records,
    *,
    n_estimators: Sequence[int] | None = None,
    n_targets: int = 16,
    max_fprs: Sequence[float] = (0.01, 0.001),
) -> pd.DataFrame:
    """Return the power of an attack against the number of its shadow models.

    Parameters
    ----------
    attack : LiRA, RMIA or CalibratedAttack
        Attack with ``shadows`` set to a fitted pool. It is cloned.
    records : Records of n records
        Records of the pool.
    n_estimators : sequence of int, default=None
        Numbers of models, from 4 to the size of the pool; even if they come in complementary pairs.
        The first models of the pool are taken. If None, doubled from 4 up.
    n_targets : int, default=16
        Maximum number of models to attack for each number.
    max_fprs : sequence of float, default=(0.01, 0.001)
        False positive rates at which the true positive rate is reported.

    Returns
    -------
    curve : DataFrame
        Columns as in :func:`leave_one_model_out`, indexed by (n_estimators, model). Its grouped
        mean and standard deviation are the curve and the spread between victims. An attack on a
        model has one or two models fewer than ``n_estimators``.

    Raises
    ------
    TypeError
        If the attack takes no pool.
    ValueError
        If a number of models is below 4, above the size of the pool, or splits a pair.

    See Also
    --------
    leave_one_model_out : Power for one number of models.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import RMIA
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.model_selection import power_curve
    >>> records, membership = make_membership_problem(random_state=0)
    >>> pool = ShadowPool(DecisionTreeClassifier(), 16, random_state=0).fit(records)
    >>> curve = power_curve(RMIA(shadows=pool), records, max_fprs=[0.05])
    >>> curve["auc"].groupby("n_estimators").mean().index.tolist()
    [4, 8, 16]
    """
    _, pool = _check_and_query(attack, records)
    most = len(pool.membership_)
    if most < 4:
        raise ValueError(f"A power curve needs a pool of at least 4 models; this one has {most}.")
    if n_estimators is None:
        n_estimators = [4 * 2**i for i in range(most.bit_length()) if 4 * 2**i < most] + [most]
    parts, in_pairs = {}, (pool.design_.partners >= 0).any()
    kind = f"{'even numbers' if in_pairs else 'numbers'} from 4 to {most}"
    check_count(n_targets, "n_targets")
    sizes = np.atleast_1d(to_array(n_estimators, "n_estimators", f"be {kind}"))
    if sizes.ndim != 1 or not len(sizes):
        raise ValueError(f"n_estimators must be {kind}; got {show(n_estimators)}.")
    for size in sizes.tolist():
        check_number(size, "n_estimators", kind, 4, most, whole=True)
        if in_pairs and size % 2:
            raise ValueError(f"n_estimators must be {kind}; got {size}.")
        smaller = clone(attack).set_params(shadows=pool.first(size))
        models = choose_evenly(size, n_targets)
        parts[size] = leave_one_model_out(smaller, records, models=models, max_fprs=max_fprs)
    return pd.concat(parts, names=["n_estimators"])


def _check_and_query(attack, records):
    check_records(records, targets=True)
    check_repeatable(attack)
    records = records.detached()
    pool = get_pool(attack, records)
    attack = clone(attack).set_params(shadows=pool)
    return attack.fit(records), pool


def _measure_pseudo_victims(scores, members, judged, offset, max_fprs):
    """Return area and rates from one sort of each side, a tenth of the time of their ROC curves."""
    member, other = sort_sides(scores, members, judged)
    row = {
        "n_members": len(member),
        "n_nonmembers": len(other),
        "n_unjudged": int(np.count_nonzero(~judged)),
        "auc": np.nan,
        "advantage": np.nan,
    }
    if len(member) and len(other):
        row["auc"] = compute_auc_of_sorted(member, other)
        row["advantage"] = float(np.mean(member >= offset) - np.mean(other >= offset))
    for max_fpr in max_fprs:
        resolved = len(member) and check_resolution(len(other), max_fpr, "ignore")
        row[f"tpr_at_fpr_{max_fpr:g}"] = compute_tpr(member, other, max_fpr) if resolved else np.nan
    return row
