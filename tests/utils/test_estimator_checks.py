"""The checks themselves: sound attacks pass, and each broken promise is found."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from skmia.attacks import LiRA, ThresholdAttack
from skmia.base import BaseAttack
from skmia.utils._attack_checks import ATTACK_CHECKS
from skmia.utils.estimator_checks import (
    check_attack,
    make_attack_problem,
    parametrize_with_attack_checks,
)
from skmia.victims import CallableVictim

pytestmark = pytest.mark.contract

PROBLEM = make_attack_problem()


class Sound(ThresholdAttack):
    """Passes; each broken attack below changes one thing."""

    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None):
        self.victim = victim
        self.signal = signal
        self.mean_train_loss = mean_train_loss


class WorksInInit(Sound):
    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None):
        self.victim = victim
        self.signal = signal
        self.mean_train_loss = mean_train_loss
        self.cache = {}


class ChangesAParameterInInit(Sound):
    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None):
        self.victim = victim
        self.signal = signal
        self.mean_train_loss = mean_train_loss or 0.3


class ValidatesNothing(Sound):
    _parameter_constraints = {"mean_train_loss": "no_validation"}

    def _fit(self, records, membership):
        pass

    def _score_samples(self, records):
        return ThresholdAttack(self.victim).fit(records).score_samples(records)

    def _natural_offset(self, records):
        return 0.0


class IsNoClassifier(Sound):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        return tags


class ReturnsNothing(Sound):
    def fit(self, records, membership=None):
        super().fit(records, membership)


class OverwritesAParameter(Sound):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        self.mean_train_loss = 0.3
        return self


class RefitsTheVictim(Sound):
    def fit(self, records, membership=None):
        self.victim.estimator.fit(records.X[::2], records.y[::2])
        return super().fit(records, membership)


class RemembersEarlierFits(Sound):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1

    def _score_samples(self, records):
        return super()._score_samples(records) * self.n_fits_


class WarmStarts(Sound):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        if not hasattr(self, "mean_"):
            self.mean_ = super()._score_samples(records).mean()

    def _score_samples(self, records):
        return super()._score_samples(records) - self.mean_


class NamesItsStateLikeAParameter(Sound):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.mean = 0.0


class ScoresBeforeFit(Sound):
    def score_samples(self, records):
        return ThresholdAttack(self.victim).fit(records).score_samples(records)


class HoldsAFunction(Sound):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.function_ = lambda scores: scores


class ChangesTheMembership(Sound):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        if isinstance(membership, np.ndarray):
            membership[:] = np.sort(membership)
        return self


class ChangesTheRecords(Sound):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        values = records.X.view()
        while values.base is not None:
            values = values.base
        values.flags.writeable = True
        values += 1e-9


class CountsItsScores(Sound):
    def _score_samples(self, records):
        self.n_scored_ = getattr(self, "n_scored_", 0) + len(records)
        return super()._score_samples(records)


class DrawsWithoutASeed(Sound):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.noise_ = np.random.default_rng().normal()

    def _score_samples(self, records):
        return super()._score_samples(records) + self.noise_


class SeedsTheWorld(Sound):
    def _fit(self, records, membership):
        np.random.seed(0)  # noqa: NPY002
        super()._fit(records, membership)


class DependsOnTheJobs(Sound):
    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None, n_jobs=None):
        super().__init__(victim, signal=signal, mean_train_loss=mean_train_loss)
        self.n_jobs = n_jobs

    _parameter_constraints = {**Sound._parameter_constraints, "n_jobs": [int, None]}

    def _score_samples(self, records):
        return super()._score_samples(records) * (self.n_jobs or 1)


class TakesAnUnfittedVictim(Sound):
    def _fit(self, records, membership):
        if not hasattr(self.victim, "classes_"):
            self.victim.fit(records.X, records.y)
        super()._fit(records, membership)


class OtherClasses(Sound):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        self.classes_ = np.array(["out", "in"])
        return self


class ScoresWithNaN(Sound):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return np.where(scores == scores.max(), np.nan, scores)


class ScoresWithInfinity(Sound):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return np.where(scores == scores.max(), np.inf, scores)


class TakesLogarithmsOfZero(Sound):
    def _score_samples(self, records):
        with np.errstate(divide="ignore"):
            confidence = self.victim.predict_proba(records.X).max(axis=1)
            return np.log(np.maximum(1.5 - confidence, 0.5) - 0.5 + 1e-3 * (confidence < 1))


class ForgetsTheOffset(Sound):
    def decision_function(self, records):
        return self.score_samples(records)


class PredictsTheOtherWayRound(Sound):
    def predict(self, records):
        return 1 - super().predict(records)


class ScoresByAccuracy(Sound):
    def score(self, records, membership, sample_weight=None):
        return np.mean(self.predict(records) == membership)


class ThresholdsAtTheMean(Sound):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        self.offset_ = float(self.score_samples(records).mean())
        return self


class ProbabilitiesFallWithTheScore(Sound):
    def predict_proba(self, records):
        member = 1 / (1 + np.exp(self.score_samples(records)))
        return np.column_stack([1 - member, member])


class ProbabilitiesOverOne(Sound):
    def predict_proba(self, records):
        member = np.exp(self.score_samples(records))
        return np.column_stack([member, member])


class RanksWithinTheBatch(Sound):
    def _score_samples(self, records):
        scores = super()._score_samples(records)
        return np.searchsorted(np.sort(scores), scores).astype(float)


class DependsOnTheOrder(Sound):
    def _score_samples(self, records):
        return super()._score_samples(records) + np.arange(len(records))


class TakesAMatrix(Sound):
    def score_samples(self, records):
        return np.zeros(len(records))


class FailsWithoutASentence(Sound):
    def score_samples(self, records):
        assert records.y is not None
        return super().score_samples(records)


class TakesAnyMembership(Sound):
    def fit(self, records, membership=None):
        super().fit(records)
        if membership is not None:
            self.offset_ = float(self.score_samples(records)[np.asarray(membership) == 1].mean())
        return self


class TakesUnknownLabels(Sound):
    def _score_samples(self, records):
        labels = np.where(np.isin(records.y, self.victim.classes_), records.y, "ham")
        answers = self.victim.predict_proba(records.X)
        return answers[np.arange(len(records)), np.searchsorted(self.victim.classes_, labels)]


class ReadsBooleansOnly(Sound):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        if membership is not None and np.asarray(membership).dtype == bool:
            self.offset_ += 1.0
        return self


class NeedsManyRecords(Sound):
    def _fit(self, records, membership):
        if len(records) < 60:
            raise ValueError("This attack needs 60 records.")
        super()._fit(records, membership)


BROKEN = {
    WorksInInit: "check_attack_init_only_assigns",
    ChangesAParameterInInit: "check_attack_init_only_assigns",
    ValidatesNothing: "check_attack_validates_parameters",
    IsNoClassifier: "check_attack_tags",
    ReturnsNothing: "check_attack_fit_returns_self",
    OverwritesAParameter: "check_attack_fit_keeps_parameters",
    RefitsTheVictim: "check_attack_fit_keeps_parameters",
    RemembersEarlierFits: "check_attack_fit_is_idempotent",
    WarmStarts: "check_attack_forgets_earlier_fits",
    NamesItsStateLikeAParameter: "check_attack_fitted_attributes",
    ScoresBeforeFit: "check_attack_needs_fit",
    HoldsAFunction: "check_attack_pickles",
    ChangesTheMembership: "check_attack_leaves_its_input_alone",
    ChangesTheRecords: "check_attack_leaves_its_input_alone",
    CountsItsScores: "check_attack_scoring_keeps_its_state",
    DrawsWithoutASeed: "check_attack_is_reproducible",
    SeedsTheWorld: "check_attack_is_reproducible",
    DependsOnTheJobs: "check_attack_n_jobs",
    TakesAnUnfittedVictim: "check_attack_unfitted_victim",
    OtherClasses: "check_attack_classes",
    ScoresWithNaN: "check_attack_scores_are_finite",
    ScoresWithInfinity: "check_attack_scores_are_finite",
    TakesLogarithmsOfZero: "check_attack_certain_victim",
    ForgetsTheOffset: "check_attack_decision_function",
    PredictsTheOtherWayRound: "check_attack_predict",
    ScoresByAccuracy: "check_attack_score_is_advantage",
    ThresholdsAtTheMean: "check_attack_offset_is_best",
    ProbabilitiesFallWithTheScore: "check_attack_predict_proba",
    ProbabilitiesOverOne: "check_attack_predict_proba",
    RanksWithinTheBatch: "check_attack_one_record",
    DependsOnTheOrder: "check_attack_permutation",
    TakesAMatrix: "check_attack_refuses_a_matrix",
    FailsWithoutASentence: "check_attack_refuses_no_labels",
    TakesAnyMembership: "check_attack_refuses_bad_membership",
    TakesUnknownLabels: "check_attack_refuses_an_unknown_label",
    ReadsBooleansOnly: "check_attack_membership_forms",
    NeedsManyRecords: "check_attack_in_cross_val_predict",
}
