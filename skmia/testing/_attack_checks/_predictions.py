"""What the numbers of an attack mean: scores, thresholds, guesses."""

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from ..._core.metric_inputs import get_judged
from ..._core.query import query_victim
from ._helpers import (
    BATCH,
    AnsweringClassifier,
    asks_fitted,
    asks_fitted_each_way,
    expect,
    expect_close,
    fresh,
    get_collaborator,
)

_N_SINGLE = 5


@asks_fitted
def check_attack_classes(attack, records, membership):
    """The classes are 0 and 1."""
    classes = attack.classes_
    expect(np.array_equal(classes, [0, 1]), f"classes_ must be [0, 1]; got {classes}.")


@asks_fitted_each_way
def check_attack_scores_are_finite(attack, records, membership):
    """There is one finite score per record."""
    _expect_finite(attack, records)
    holds = np.ndim(attack.offset_) == 0 and np.isfinite(attack.offset_)
    expect(holds, f"offset_ must be a finite number; got {attack.offset_!r}.")


@asks_fitted
def check_attack_can_judge(attack, records, membership):
    """Which records it can judge is told by a mask, record by record."""
    if not hasattr(attack, "can_judge"):
        return
    judged = np.asarray(attack.can_judge(records))
    expect(
        judged.shape == (len(records),) and judged.dtype == bool,
        f"can_judge must return {len(records)} booleans; got shape {judged.shape} and dtype "
        f"{judged.dtype}.",
    )
    some = np.arange(len(records))[::2]
    holds = np.array_equal(attack.can_judge(records[some]), judged[some])
    expect(holds, "can_judge must not depend on the other records that are asked about.")


def _expect_finite(attack, records):
    scores = np.asarray(attack.score_samples(records))
    holds = scores.shape == (len(records),) and scores.dtype.kind == "f"
    expect(holds, f"score_samples must return {len(records)} floats; got shape {scores.shape}.")
    bad = ~np.isfinite(scores)
    expect(not bad.any(), f"Scores must be finite; {bad.sum()} of {len(bad)} are not.")


class _CertainVictim(AnsweringClassifier):
    """A victim that gives its predicted class the probability 1."""

    __reduce_ex__ = BaseEstimator.__reduce_ex__  # it has a file

    def predict_proba(self, X):
        proba = self.victim.predict_proba(X)
        return np.eye(proba.shape[1])[proba.argmax(axis=1)]


def check_attack_certain_victim(attack, records, membership):
    """Probabilities of exactly 0 and 1 give finite scores."""
    victim = get_collaborator(attack, "victim")
    if victim is None or query_victim(victim, records[:1].X).kind != "proba":
        return
    certain = FrozenEstimator(_CertainVictim(victim))
    attack = fresh(attack).set_params(victim=certain).fit(records, membership)
    _expect_finite(attack, records)


@asks_fitted_each_way
def check_attack_decision_function(attack, records, membership):
    """The decision function is the score above the threshold."""
    above, judged = attack.score_samples(records) - attack.offset_, get_judged(attack, records)
    found = attack.decision_function(records)
    claim = "decision_function must be score_samples - offset_"
    expect_close(np.where(judged, found, above), above, claim)
    expect(
        np.all(found[~judged] < 0),
        "decision_function must be below 0 for records that the attack cannot judge.",
    )


@asks_fitted_each_way
def check_attack_predict(attack, records, membership):
    """A record is a member where it can be judged and its score reaches the threshold."""
    guesses = attack.predict(records)
    holds = guesses.shape == (len(records),) and np.isin(guesses, attack.classes_).all()
    expect(holds, f"predict must return one of {attack.classes_} per record; got {guesses}.")
    expected = attack.score_samples(records) >= attack.offset_
    expected &= get_judged(attack, records)
    expect(
        np.array_equal(guesses == 1, expected),
        "predict must be 1 where score_samples >= offset_ and the attack can judge, else 0; it "
        f"differs for {np.sum((guesses == 1) != expected)} of {len(records)} records.",
    )


def _compute_advantage(membership, guesses, weights):
    member = membership == 1
    tpr = np.average(guesses[member], weights=weights[member])
    return tpr - np.average(guesses[~member], weights=weights[~member])


@asks_fitted_each_way
def check_attack_score_is_advantage(attack, records, membership):
    """The score of an attack is the true minus the false positive rate of its guesses."""
    guesses, ones = attack.predict(records), np.ones(len(records))
    weights = np.random.default_rng(0).uniform(1, 2, len(records))
    for weight, given in ((ones, {}), (weights, {"sample_weight": weights})):
        expect_close(
            attack.score(records, membership, **given),
            _compute_advantage(membership, guesses, weight),
            "score must be the membership advantage TPR - FPR of predict",
        )


@asks_fitted
def check_attack_offset_is_best(attack, records, membership):
    """With membership, no other threshold has a higher advantage on the same records."""
    scores, ones = attack.score_samples(records), np.ones(len(records))
    judged = get_judged(attack, records)
    best = max(
        _compute_advantage(membership, judged & (scores >= threshold), ones)
        for threshold in [*scores, np.inf]
    )
    claim = "With membership, offset_ must be the threshold of the highest balanced accuracy"
    expect_close(attack.score(records, membership), best, claim)


# Chance with which an attack without power may fail.
_FALSE_ALARM = 1e-4


@asks_fitted_each_way
def check_attack_scores_point_to_members(attack, records, membership):
    """Members do not score lower than others, by more than chance explains."""
    scores, member = attack.score_samples(records), membership == 1
    if len(np.unique(scores)) < 2:
        return
    n_pairs = member.sum() * (~member).sum()
    below = mannwhitneyu(scores[member], scores[~member], alternative="less", method="asymptotic")
    expect(
        below.pvalue > _FALSE_ALARM,
        "A higher score must mean more likely a member; members score lower than non-members (AUC "
        f"{below.statistic / n_pairs:.2f}, p = {below.pvalue:.1g}).",
    )


@asks_fitted
def check_attack_predict_proba(attack, records, membership):
    """Where there are probabilities, they sum to 1 and rise with the score."""
    if not hasattr(attack, "predict_proba"):
        return
    proba = attack.predict_proba(records)
    expect_close(proba.shape, (len(records), 2), "predict_proba must have one column per class")
    expect_close(proba.sum(axis=1), np.ones(len(records)), "Probabilities must sum to 1")
    expect((proba >= 0).all(), "Probabilities must not be negative.")
    ordered = proba[np.argsort(attack.score_samples(records), kind="stable"), 1]
    holds = (np.diff(ordered) >= -1e-7).all()
    expect(holds, "The probability of membership must not fall where the score rises.")


@asks_fitted
def check_attack_permutation(attack, records, membership):
    """Permuted records have permuted scores."""
    order = np.random.default_rng(0).permutation(len(records))
    permuted, scores = attack.score_samples(records[order]), attack.score_samples(records)
    claim = "The scores of permuted records must be the permuted scores"
    expect_close(permuted, scores[order], claim, relative=BATCH)


@asks_fitted
def check_attack_one_record(attack, records, membership):
    """A record alone has the score that it has among others."""
    scores, guesses = attack.score_samples(records), attack.predict(records)
    claim = "A record alone must have the {} that it has among others"
    for k in range(min(_N_SINGLE, len(records))):
        single = records[k]
        score = attack.score_samples(single)
        expect_close(score, scores[k : k + 1], claim.format("score"), relative=BATCH)
        is_clear = abs(score[0] - attack.offset_) > BATCH * abs(score[0])
        holds = not is_clear or attack.predict(single)[0] == guesses[k]
        expect(holds, f"{claim.format('guess')}; record {k} has another.")


@asks_fitted
def check_attack_subset(attack, records, membership):
    """Some records, in any order and with repeats, have the scores that they have among all."""
    rows = np.random.default_rng(0).integers(len(records), size=max(2, len(records) // 2))
    some, among_all = attack.score_samples(records[rows]), attack.score_samples(records)[rows]
    claim = "Some of the records must have the scores that they have among all"
    expect_close(some, among_all, claim, relative=BATCH)
