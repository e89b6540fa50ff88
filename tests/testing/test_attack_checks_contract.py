"""Attacks that are no proper estimators are found."""

import numpy as np
import pytest
from attack_checks import find_checks
from sklearn.base import BaseEstimator

from skmia.attacks import ThresholdAttack
from skmia.testing import check_attack, make_attack_problem

pytestmark = pytest.mark.contract


class WorksInInit(ThresholdAttack):
    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None):
        self.victim = victim
        self.signal = signal
        self.mean_train_loss = mean_train_loss
        self.cache = {}


class ChangesAParameterInInit(ThresholdAttack):
    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None):
        self.victim = victim
        self.signal = signal
        self.mean_train_loss = mean_train_loss or 0.3


class ValidatesNothing(ThresholdAttack):
    _parameter_constraints = {"mean_train_loss": "no_validation"}

    def _needs(self):
        return ThresholdAttack()._needs()  # those of the signal that is set would refuse another

    def _fit(self, records, membership):
        pass

    def _score_samples(self, records):
        return ThresholdAttack(self.victim).fit(records).score_samples(records)

    def _natural_offset(self, records):
        return 0.0


class IsNoClassifier(ThresholdAttack):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        return tags


class ReturnsNothing(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records, membership)


class OverwritesAParameter(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        self.mean_train_loss = 0.3
        return self


class RefitsTheVictim(ThresholdAttack):
    def fit(self, records, membership=None):
        self.victim.estimator.fit(records.X[::2], records.y[::2])
        return super().fit(records, membership)


class HasAMemory(ThresholdAttack):
    """Attacks forget an earlier fit by themselves, but not what a constructor has made."""

    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None):
        super().__init__(victim, signal=signal, mean_train_loss=mean_train_loss)
        self._memory = []


class RemembersEarlierFits(HasAMemory):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self._memory.append(1)
        self.n_fits_ = len(self._memory)

    def _score_samples(self, records):
        return super()._score_samples(records) * self.n_fits_


class WarmStarts(HasAMemory):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self._memory.append(super()._score_samples(records).mean())
        self.mean_ = self._memory[0]

    def _score_samples(self, records):
        return super()._score_samples(records) - self.mean_


class NamesItsStateLikeAParameter(ThresholdAttack):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.mean = 0.0


class ScoresBeforeFit(ThresholdAttack):
    def score_samples(self, records):
        return ThresholdAttack(self.victim).fit(records).score_samples(records)


class HoldsAFunction(ThresholdAttack):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.function_ = lambda scores: scores


class ChangesTheMembership(ThresholdAttack):
    def fit(self, records, membership=None):
        super().fit(records, membership)
        if isinstance(membership, np.ndarray):
            membership[:] = np.sort(membership)
        return self


class ChangesTheRecords(ThresholdAttack):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        values = records.X.view()
        while values.base is not None:
            values = values.base
        values.flags.writeable = True
        values += 1e-9


class CountsItsScores(ThresholdAttack):
    def _score_samples(self, records):
        self.n_scored_ = getattr(self, "n_scored_", 0) + len(records)
        return super()._score_samples(records)


class DrawsWithoutASeed(ThresholdAttack):
    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.noise_ = np.random.default_rng().normal()

    def _score_samples(self, records):
        return super()._score_samples(records) + self.noise_


class SeedsTheWorld(ThresholdAttack):
    def _fit(self, records, membership):
        np.random.seed(0)  # noqa: NPY002
        super()._fit(records, membership)


class DependsOnTheJobs(ThresholdAttack):
    def __init__(self, victim=None, *, signal="loss", mean_train_loss=None, n_jobs=None):
        super().__init__(victim, signal=signal, mean_train_loss=mean_train_loss)
        self.n_jobs = n_jobs

    _parameter_constraints = {**ThresholdAttack._parameter_constraints, "n_jobs": [int, None]}

    def _score_samples(self, records):
        return super()._score_samples(records) * (self.n_jobs or 1)


class TakesAnUnfittedVictim(ThresholdAttack):
    def _fit(self, records, membership):
        if not hasattr(self.victim, "classes_"):
            self.victim.fit(records.X, records.y)
        super()._fit(records, membership)


class SetsNothing(ThresholdAttack):
    def set_params(self, **params):
        return self


class ClonesToItself(ThresholdAttack):
    def __sklearn_clone__(self):
        return self


class ResetsTheVictim(ThresholdAttack):
    def __sklearn_clone__(self):
        return BaseEstimator.__sklearn_clone__(self)


class ReachesTheVictim(ThresholdAttack):
    def set_params(self, **params):
        return BaseEstimator.set_params(self, **params)


BROKEN = [
    (WorksInInit, "check_attack_init_only_assigns"),
    (ChangesAParameterInInit, "check_attack_init_only_assigns"),
    (ValidatesNothing, "check_attack_validates_parameters"),
    (IsNoClassifier, "check_attack_tags"),
    (ReturnsNothing, "check_attack_fit_returns_self"),
    (OverwritesAParameter, "check_attack_fit_keeps_parameters"),
    (RefitsTheVictim, "check_attack_fit_keeps_parameters"),
    (RemembersEarlierFits, "check_attack_fit_is_idempotent"),
    (WarmStarts, "check_attack_forgets_earlier_fits"),
    (NamesItsStateLikeAParameter, "check_attack_fitted_attributes"),
    (ScoresBeforeFit, "check_attack_needs_fit"),
    (HoldsAFunction, "check_attack_pickles"),
    (ChangesTheMembership, "check_attack_leaves_its_input_alone"),
    (ChangesTheRecords, "check_attack_leaves_its_input_alone"),
    (CountsItsScores, "check_attack_scoring_keeps_its_state"),
    (DrawsWithoutASeed, "check_attack_is_reproducible"),
    (SeedsTheWorld, "check_attack_is_reproducible"),
    (DependsOnTheJobs, "check_attack_n_jobs"),
    (TakesAnUnfittedVictim, "check_attack_unfitted_victim"),
    (SetsNothing, "check_attack_get_set_params"),
    (ClonesToItself, "check_attack_clones"),
    (ResetsTheVictim, "check_attack_spares_fitted_models"),
    (ReachesTheVictim, "check_attack_spares_fitted_models"),
]

CHECKS = find_checks()


@pytest.mark.parametrize("broken, name", BROKEN)
def test_a_broken_promise_is_found(broken, name):
    victim, _, records, membership = make_attack_problem()  # of its own, as some change it
    others = {other: "not asked here" for other in CHECKS if other != name}
    with pytest.raises(AssertionError, match=rf"^{broken.__name__}, {name}: \S+ \S+"):
        check_attack(broken(victim), records, membership, expected_failed_checks=others)


def test_each_of_these_checks_finds_something():
    modules = ("_contract",)
    names = {one.name for one in CHECKS.values() if one.function.__module__.endswith(modules)}
    assert names == {name for _, name in BROKEN}
