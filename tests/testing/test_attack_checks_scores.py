"""Attacks whose numbers, or whose answers to bad input, are wrong are found."""

from types import SimpleNamespace

import numpy as np
import pytest
from attack_checks import find_checks

from skmia.attacks import ThresholdAttack
from skmia.testing import check_attack, make_attack_problem
from skmia.testing._attack_checks import _predictions

pytestmark = pytest.mark.contract


class OtherClasses(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        self.classes_ = np.array(["out", "in"])
        return self


class ScoresWithNaN(ThresholdAttack):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return np.where(scores == scores.max(), np.nan, scores)


class ScoresWithInfinity(ThresholdAttack):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return np.where(scores == scores.max(), np.inf, scores)


class JudgesTheFirst(ThresholdAttack):
    def can_judge(self, records):
        return np.arange(len(records)) < 10


class TakesLogarithmsOfZero(ThresholdAttack):
    def _score_samples(self, records):
        with np.errstate(divide="ignore"):
            confidence = self.victim.predict_proba(records.X).max(axis=1)
            return np.log(np.maximum(1.5 - confidence, 0.5) - 0.5 + 1e-3 * (confidence < 1))


class ForgetsTheOffset(ThresholdAttack):
    def decision_function(self, records):
        return self.score_samples(records)


class PredictsTheOtherWayRound(ThresholdAttack):
    def predict(self, records):
        return 1 - super().predict(records)


class ScoresByAccuracy(ThresholdAttack):
    def score(self, records, membership, sample_weight=None):
        return np.mean(self.predict(records) == membership)


class ThresholdsAnywhere(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        self.offset_ = float(np.quantile(self.score_samples(records), 0.9))
        return self


class ProbabilitiesFallWithTheScore(ThresholdAttack):
    def predict_proba(self, records):
        member = 1 / (1 + np.exp(self.score_samples(records)))
        return np.column_stack([1 - member, member])


class ProbabilitiesOverOne(ThresholdAttack):
    def predict_proba(self, records):
        member = np.exp(self.score_samples(records))
        return np.column_stack([member, member])


class RanksWithinTheBatch(ThresholdAttack):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return np.searchsorted(np.sort(scores), scores).astype(float)


class DependsOnTheOrder(ThresholdAttack):
    def _score_samples(self, records):
        return super()._score_samples(records) + np.arange(len(records))


class TakesAMatrix(ThresholdAttack):
    def score_samples(self, records):
        return np.zeros(len(records))


class FailsWithoutASentence(ThresholdAttack):
    def score_samples(self, records):
        assert records.y is not None
        return super().score_samples(records)


class TakesAnyMembership(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records)
        if membership is not None:
            self.offset_ = float(self.score_samples(records)[np.asarray(membership) == 1].mean())
        return self


class TakesUnknownLabels(ThresholdAttack):
    def _score_samples(self, records):
        labels = np.where(np.isin(records.y, self.victim.classes_), records.y, "spam")
        answers = self.victim.predict_proba(records.X)
        return answers[np.arange(len(records)), np.searchsorted(self.victim.classes_, labels)]


class ReadsBooleansOnly(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        if membership is not None and np.asarray(membership).dtype == bool:
            self.offset_ += 1.0
        return self


class NeedsManyRecords(ThresholdAttack):
    def _fit(self, records, membership):
        if len(records) < 60:
            raise ValueError("This attack needs 60 records.")
        super()._fit(records, membership)


class CentersOnTheBatch(ThresholdAttack):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return scores - scores.mean()


class TakesNoRecords(ThresholdAttack):
    def score_samples(self, records):
        return super().score_samples(records) if len(records) else np.empty(0)


class NeedsAKeyword(ThresholdAttack):
    def fit(self, records, membership=None, *, reference):
        return super().fit(records, membership)


class SaysThatItNeedsMembership(ThresholdAttack):
    def fit(self, records, membership=None):
        return super().fit(
            records, np.arange(len(records)) % 2 if membership is None else membership
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class ScoresTheOtherWayRound(ThresholdAttack):
    def _score_samples(self, records):
        return -super()._score_samples(records)


BROKEN = [
    (OtherClasses, "check_attack_classes"),
    (ScoresWithNaN, "check_attack_scores_are_finite"),
    (ScoresWithInfinity, "check_attack_scores_are_finite"),
    (JudgesTheFirst, "check_attack_can_judge"),
    (TakesLogarithmsOfZero, "check_attack_certain_victim"),
    (ForgetsTheOffset, "check_attack_decision_function"),
    (PredictsTheOtherWayRound, "check_attack_predict"),
    (ScoresByAccuracy, "check_attack_score_is_advantage"),
    (ThresholdsAnywhere, "check_attack_offset_is_best"),
    (ScoresTheOtherWayRound, "check_attack_scores_point_to_members"),
    (ProbabilitiesFallWithTheScore, "check_attack_predict_proba"),
    (ProbabilitiesOverOne, "check_attack_predict_proba"),
    (RanksWithinTheBatch, "check_attack_one_record"),
    (DependsOnTheOrder, "check_attack_permutation"),
    (TakesAMatrix, "check_attack_refuses_a_matrix"),
    (FailsWithoutASentence, "check_attack_refuses_no_labels"),
    (TakesAnyMembership, "check_attack_refuses_bad_membership"),
    (TakesUnknownLabels, "check_attack_refuses_an_unknown_label"),
    (ReadsBooleansOnly, "check_attack_membership_forms"),
    (NeedsManyRecords, "check_attack_in_cross_val_predict"),
    (CentersOnTheBatch, "check_attack_subset"),
    (TakesNoRecords, "check_attack_refuses_no_records"),
    (NeedsAKeyword, "check_attack_in_pipeline"),
    (NeedsManyRecords, "check_attack_in_grid_search"),
    (NeedsManyRecords, "check_attack_in_stacking"),
    (NeedsManyRecords, "check_attack_in_calibration"),
    (RanksWithinTheBatch, "check_attack_subset"),
    (SaysThatItNeedsMembership, "check_attack_refuses_no_membership"),
]

CHECKS = find_checks()


def is_turned(scores, n_members=30):
    """Return whether scores of members, and then of others, are found to point the other way."""
    attack = SimpleNamespace(score_samples=lambda records: scores)
    membership = (np.arange(len(scores)) < n_members).astype(int)
    try:
        _predictions.check_attack_scores_point_to_members(attack, None, membership)
    except AssertionError:
        return True
    return False


def test_scores_that_point_nowhere_pass_whatever_chance_makes_of_them():
    rng = np.random.default_rng(0)
    assert not any(is_turned(rng.normal(size=60)) for _ in range(300))
    assert not any(is_turned(rng.integers(3, size=60), n) for n in rng.integers(1, 60, 100))
    assert not is_turned(np.zeros(60))


@pytest.mark.parametrize("auc, is_found", [(0.21, True), (0.23, False), (1.0, False)])
def test_scores_of_60_records_point_the_other_way_below_an_auc_of_0_22(auc, is_found):
    # Each pair with one of the members above all others is ordered, and a part of those of one.
    n_above, n_pairs = divmod(round(900 * auc), 30)
    members = np.r_[np.full(n_above, 31.0), np.zeros(30 - n_above)]
    members[n_above : n_above + 1] = n_pairs + 0.5
    assert is_turned(np.r_[members, np.arange(1.0, 31)]) == is_found


@pytest.mark.parametrize("broken, name", BROKEN)
def test_a_broken_promise_is_found(broken, name):
    victim, _, records, membership = make_attack_problem()  # of its own, as some change it
    others = {other: "not asked here" for other in CHECKS if other != name}
    with pytest.raises(AssertionError, match=rf"^{broken.__name__}, {name}: \S+ \S+"):
        check_attack(broken(victim), records, membership, expected_failed_checks=others)


def test_each_of_these_checks_finds_something():
    modules = ("_predictions", "_input", "_tools")
    names = {one.name for one in CHECKS.values() if one.function.__module__.endswith(modules)}
    assert names == {name for _, name in BROKEN}
