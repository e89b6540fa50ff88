"""Cross-fitting of whole attacks, in audits and games; ``_supervised.py`` has that inside of one.

Each record is scored by an attack that has not learned from it.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from .._core.metric_inputs import get_judged
from .._core.needs import BOTH, NOBODY
from .._core.splits import number_sides, number_units, spread_over_folds
from ._connect import give_population, needs_of

_N_FOLDS = 5


class JudgedRecords(NamedTuple):
    """Scores and predictions of an attack for n records."""

    scores: np.ndarray  # higher means more likely a member
    guesses: np.ndarray  # bool, at the thresholds of the attack; False if it cannot judge
    judged: np.ndarray  # bool, the records that the attack can judge


def learns(attack):
    """Return whether an attack learns from records whose membership is known."""
    return needs_of(attack).known != NOBODY


def judge_records(attack, records):
    """Score and predict records with a fitted attack, or any classifier of records."""
    scores = score(attack, records)
    if hasattr(attack, "offset_"):  # scores say it all, and the victim is queried once
        guesses = scores >= attack.offset_
    else:
        guesses = np.asarray(attack.predict(records)) == 1
    judged = get_judged(attack, records)
    return JudgedRecords(scores, guesses & judged, judged)


def score(attack, records):
    """Score records with a fitted attack, or any classifier of records."""
    for name in ("score_samples", "decision_function", "predict_proba", "predict"):
        if hasattr(attack, name):
            scores = np.asarray(getattr(attack, name)(records), dtype=np.float64)
            return scores[:, 1] if scores.ndim == 2 else scores
    raise TypeError(f"{type(attack).__name__} has no method that scores records.")


def fit_known(attack, records, membership):
    """Fit an attack on records of known membership."""
    known = needs_of(attack).known
    give_population(attack, records[~membership])
    return attack.fit(records, membership.astype(int) if known == BOTH else None)


def cross_fit(attack, records, membership, seed):
    """Score each record by an attack that has learned from other folds.

    Records are split into five folds, or as many as there are members or non-members. Equal records
    and records with the same value of group_by share a fold. The records of a fold are scored by a
    clone that was fitted on the other folds, including its threshold. Clones of different folds may
    score on different scales, so the score of a record is the share of its fold with a lower score;
    ties count half.
    """
    folds = assign_folds(records, membership, seed)
    scores = np.empty(len(records))
    guesses, judged = np.empty((2, len(records)), dtype=bool)
    for fold in range(folds.max() + 1):
        held = folds == fold
        fold_attack = fit_known(clone(attack), records[~held], membership[~held])
        raw, guesses[held], judged[held] = judge_records(fold_attack, records[held])
        scores[held] = (rankdata(raw) - 0.5) / held.sum()
    return JudgedRecords(scores, guesses, judged)


def assign_folds(records, membership, seed):
    """Assign records to folds, stratified by membership; records that belong together share one.

    Records are sorted by content, so that the result does not depend on their order.
    """
    order = np.argsort(records.fingerprint, kind="stable")
    groups = records.fields.get("group_by")
    units = number_units(records.fingerprint[order], None if groups is None else groups[order])
    sides = number_sides(units, membership[order])
    fewest = min(np.sum(sides == 0), np.sum(sides == 1))
    if fewest < 2:
        raise ValueError(
            "Cross-fitting needs at least two members and two non-members that do not belong "
            f"together; got {np.sum(sides == 1)} and {np.sum(sides == 0)}."
        )
    rng = np.random.default_rng(seed)
    folds = np.empty(len(records), dtype=int)
    folds[order] = spread_over_folds(sides, min(_N_FOLDS, fewest), rng)[units]
    return folds
