"""Power of attacks on shadow models treated as the victim, and settings chosen by it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._core.metric_inputs import RATE_TOLERANCE, check_rate
from .._core.numbers import show
from .._core.pseudo_victims import choose_pairs, count_pseudo_victims
from .._core.query import unwrap
from .._core.records import Records
from .._core.sklearn import validate_params_of
from .._core.validation import check_records
from ._pool_attack import (
    PoolAttack,
    TooFewModelsError,
    check_repeatable,
    get_pool,
)

# False positive rate at which the power is reported if the AUC decides.
_USUAL_RATE = 0.01

# Number of records for each false positive that a rate allows of one model and fold: of a model's
# records half are non-members, and a stack deals them into four folds.
_RECORDS_OF_A_RATE = 16

# Rates to choose by; with fewer records than the largest one needs the AUC varies less.
_LEAST_RATE, _LARGEST_RATE = 0.001, 0.02


class PowerChoice(NamedTuple):
    """Settings of an attack that were chosen by its power.

    Attributes
    ----------
    params : dict
        Settings of the candidate with the highest power; of equal ones, the first.
    power : DataFrame of shape (n_candidates, n_params + 4)
        The settings of each candidate and, as means over the shadow models that were treated as the
        victim, ``auc`` and ``tpr_at_fpr_0.01`` (or another rate), each followed by its
        ``..._standard_error`` over these models, the two of a pair taken as one.
    """

    params: dict
    power: pd.DataFrame


def choose_by_power(
    attack: PoolAttack | Mapping[str, PoolAttack],
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    records: Records,
    *,
    criterion: float | Literal["auto", "roc_auc"] = "auto",
) -> PowerChoice:
    """Choose an attack, or its settings, by its power on shadow models treated as the victim.

    Up to 16 shadow models are treated as the victim, each attacked with the rest of the pool as in
    :func:`leave_one_model_out`. Their training sets are known, so neither the victim nor its
    members are used, and the results of the chosen attack need no correction for the choice.

    Parameters
    ----------
    attack : LiRA, RMIA, CalibratedAttack or StackedAttack, or dict of str to attack
        Attack with ``shadows`` set to a fitted pool, or several by name. It is cloned. Several
        attacks may have different pools, such as one with augmentations and one without, if their
        models have the same training sets, as with the same ``random_state``.
    grid : dict of str to sequence, or sequence of such dicts
        Settings to try of each attack, as for :class:`~sklearn.model_selection.ParameterGrid`; an
        empty dict to compare attacks as they are.
    records : Records of n records
        Records of the pool; others are left out.
    criterion : "auto", "roc_auc" or float, default="auto"
        What is compared: the AUC, or the TPR at this FPR. ``"auto"`` is the lowest FPR that the
        records resolve: 16 divided by their number, at least 0.001. With fewer than 800 records it
        is the AUC.

    Returns
    -------
    choice : PowerChoice
        The chosen settings ``params`` and the ``power`` of all candidates. Of several attacks, the
        name is the setting ``"attack"``.

    Raises
    ------
    TypeError
        If an attack takes no pool.
    ValueError
        If the pool lacks what a candidate reads, such as a temperature; if it has fewer than 4
        models; if no model was trained on some of the records and not on others; or if the models
        of two pools have different training sets.

    See Also
    --------
    leave_one_model_out : Power of one setting, model by model.
    sklearn.model_selection.GridSearchCV : Chooses by known members of the victim.

    Notes
    -----
    The candidates are compared with two models fewer than the pool has, because each model leaves
    together with its complement. In a pool of 4 models they are chosen for 2 models.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import LiRA
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.model_selection import choose_by_power
    >>> records, _ = make_membership_problem(random_state=0)
    >>> pool = ShadowPool(RandomForestClassifier(10), 8, random_state=0).fit(records)
    >>> attack = LiRA(shadows=pool)
    >>> choice = choose_by_power(attack, {"online": [True, False]}, records)
    >>> choice.params
    {'online': True}
    >>> choice.power.columns.tolist()[:3]
    ['online', 'auc', 'auc_standard_error']

    Attacks of different classes:

    >>> from skmia.attacks import RMIA, CalibratedAttack
    >>> attacks = {"LiRA": attack, "RMIA": RMIA(shadows=pool)}
    >>> attacks["calibrated"] = CalibratedAttack(shadows=pool)
    >>> choose_by_power(attacks, {}, records).power["attack"].tolist()
    ['LiRA', 'RMIA', 'calibrated']
    """
    records = check_records(records, targets=True).detached()
    attacks = dict(attack) if isinstance(attack, Mapping) else {None: attack}
    pools = _get_pools(attacks, records)
    pool = next(iter(pools.values()))
    known = pool.locate(records) >= 0
    if isinstance(criterion, str) and criterion == "auto":
        criterion = choose_criterion(int(known.sum()))
    if isinstance(criterion, str) and not _is_auc(criterion):
        raise ValueError(
            "criterion must be 'auto', 'roc_auc' or a false positive rate in [0, 1]; got "
            f"{criterion!r}."
        )
    rate = _USUAL_RATE if _is_auc(criterion) else check_rate(criterion, "criterion")
    # What the victim answered is of no use here, and no attack can read it by accident.
    records = (records if known.all() else records[known])._without("outputs")
    _check_training_sets(pools, records)
    if not isinstance(grid, Mapping | Sequence):
        raise TypeError(f"grid must be a dict, or a sequence of dicts; got {show(grid)}.")
    settings = [(name, params) for name in attacks for params in ParameterGrid(grid)]
    if not settings:
        raise ValueError(
            "grid must hold at least one setting, or be an empty dict to try attacks as they are; "
            f"got {show(grid)}."
        )
    if any({"shadows", "victim"} & params.keys() for _, params in settings):
        raise ValueError(
            "grid must leave shadows and victim out, as all settings of an attack are compared on "
            "its pool; compare pools as several attacks: {'one': LiRA(shadows=one), ...}."
        )
    models, units = choose_pairs(pool.design_, count_pseudo_victims(len(records)))
    figures = [
        measure_models(
            clone(attacks[name]).set_params(**params, shadows=pools[name], victim=None),
            records,
            models,
            rate,
        )
        for name, params in settings
    ]
    shown = [params if name is None else {"attack": name, **params} for name, params in settings]
    decisive = 0 if _is_auc(criterion) else 1
    return compare_by_power(shown, np.array(figures), units, rate, decisive)


def _get_pools(attacks, records):
    """Return the fitted pool of each attack; the same pool of several is fitted once."""
    if not attacks:
        raise ValueError("attack must be an attack or name at least one; got an empty mapping.")
    pools, fitted = {}, {}
    for name, attack in attacks.items():
        check_repeatable(attack)
        own = unwrap(attack.shadows)
        key = name if isinstance(own, int) else id(own)
        if key not in fitted:
            fitted[key] = get_pool(attack, records)
        pools[name] = fitted[key]
    return pools


def _check_training_sets(pools, records):
    """Refuse pools whose models are not comparable one by one."""
    (first, pool), *others = pools.items()
    inside = None
    for name, other in others:
        if other is pool:
            continue
        inside = pool.inside(pool.locate(records)) if inside is None else inside
        columns = other.locate(records)
        if (columns < 0).any() or not np.array_equal(other.inside(columns), inside):
            raise ValueError(
                f"The shadow models of {first!r} and {name!r} have different training sets, so "
                "they are not the same models treated as the victim; fit both pools on the same "
                "records, with as many models and the same random_state."
            )


def choose_criterion(n_records):
    """Return the lowest FPR that the records of a pool resolve, or ``"roc_auc"`` if none."""
    rate = max(_LEAST_RATE, _RECORDS_OF_A_RATE / max(n_records, 1))
    return rate if rate <= _LARGEST_RATE else "roc_auc"


def _is_auc(criterion):
    return isinstance(criterion, str) and criterion == "roc_auc"


def measure_models(attack, records, models, rate):
    """Measure the power of an attack on some models of its pool, treated as the victim.

    Return power of shape (n_models, 2): AUC and TPR at the rate; NaN for a model without members or
    without non-members.
    """
    validate_params_of(attack)
    if not len(records):
        return np.full((len(models), 2), np.nan)
    attack._fit_shadows(records)
    return measure_pseudo_victims(score_pseudo_victims(attack, records, models), [rate])


def measure_pseudo_victims(scored, rates):
    """Measure power from scores, membership and judged records of models treated as the victim.

    Return power of shape (n_models, 1 + n_rates): AUC, and TPR at each rate; NaN for a model
    without members or without non-members.
    """
    found = np.full((len(scored[0]), 1 + len(rates)), np.nan)
    for k, parts in enumerate(zip(*scored, strict=True)):
        members, others = sort_sides(*parts)
        if len(members) and len(others):
            tprs = (compute_tpr(members, others, rate) for rate in rates)
            found[k] = compute_auc_of_sorted(members, others), *tprs
    return found


def compare_by_power(settings, figures, units, rate, decisive=0):
    """Choose settings by their power on several models treated as the victim.

    Shapes: figures (n_candidates, n_models, 2), units (n_models,).
    """
    usable = ~np.isnan(figures).any(axis=(0, 2))
    if not usable.any():
        raise TooFewModelsError(
            "The power of an attack cannot be measured: none of the shadow models that can be "
            "treated as the victim was trained on some of these records and not on others."
        )
    figures, units = figures[:, usable], units[usable]
    means = figures.mean(axis=1)
    # The errors of the two models of a pair are related.
    by_pair = np.array([figures[:, units == unit].mean(axis=1) for unit in np.unique(units)])
    errors = np.full(means.shape, np.nan)
    if len(by_pair) > 1:
        errors = by_pair.std(axis=0, ddof=1) / np.sqrt(len(by_pair))
    power = pd.DataFrame(settings)
    for k, name in enumerate(("auc", f"tpr_at_fpr_{rate:g}")):
        power[name], power[f"{name}_standard_error"] = means[:, k], errors[:, k]
    return PowerChoice(settings[int(np.argmax(means[:, decisive]))], power)


def score_pseudo_victims(attack, records, models):
    """Return scores, membership and which records are judged, each of shape (n_models, n)."""
    shape = len(models), len(records)
    scores, inside, judged = np.empty(shape), np.empty(shape, dtype=bool), np.empty(shape, bool)
    for rows, *some in attack.score_left_out(records, models):
        scores[:, rows], inside[:, rows], judged[:, rows] = some
    return scores, inside, judged


def sort_sides(scores, members, judged):
    """Return the sorted scores of the members and of the non-members that are judged."""
    return np.sort(scores[members & judged]), np.sort(scores[~members & judged])


def compute_auc_of_sorted(members, others):
    """Return the area from sorted scores of both sides, in a tenth of the time of the ROC curve.

    Pairs that the attack puts in order, ties counting one half.
    """
    won = np.searchsorted(others, members, "left") + np.searchsorted(others, members, "right")
    return won.mean() / (2 * len(others))


def compute_tpr(members, others, max_fpr):
    """Return the share of the members above the highest non-member that must not be flagged."""
    n_allowed = int((max_fpr + RATE_TOLERANCE) * len(others))
    if n_allowed >= len(others):
        return 1.0
    cut = others[len(others) - 1 - n_allowed]
    return 1 - np.searchsorted(members, cut, side="right") / len(members)
