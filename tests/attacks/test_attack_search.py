"""A search over attack settings works on one pool: nothing is trained again, nothing copied."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia.attacks import (
    RMIA,
    CalibratedAttack,
    LiRA,
    RangeAttack,
    ShadowAttack,
    StackedAttack,
    ThresholdAttack,
    TransferredQueryAttack,
    VulnerableRecordsAttack,
)
from skmia.datasets import make_membership_problem
from skmia.games import DensityAttack
from skmia.model_selection import RememberTraining, make_leakage_scorer
from skmia.signals import Signals
from skmia.victims import CallableVictim

SETTINGS = {
    "variance": ["example", "shrunk", "conjugate"],
    "online": [True, False],
    "prior": [0.1, 0.5],
}


class CountedTree(DecisionTreeClassifier):
    """A tree that counts how often any tree of its class was fitted."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


@pytest.mark.filterwarnings("error")
def test_12_settings_in_3_folds_fit_no_model_and_copy_no_pool():
    records, membership = make_membership_problem(200, random_state=0)
    members = records[membership == 1]
    tree = CountedTree(min_samples_leaf=2, random_state=0)
    victim = FrozenEstimator(tree.fit(members.X, members.y))
    pool = ShadowPool(tree, 8, random_state=0).fit(records)
    n_fits, signals = CountedTree.n_fits, pool.signals_.copy()
    search = GridSearchCV(LiRA(victim, FrozenEstimator(pool)), SETTINGS, cv=3, scoring="roc_auc")
    search.fit(records, membership)
    assert len(search.cv_results_["params"]) == 12
    assert CountedTree.n_fits == n_fits == 9
    assert search.best_estimator_.pool_ is pool
    np.testing.assert_array_equal(pool.signals_, signals)
    assert search.best_score_ > 0.7


def test_a_pool_of_other_records_is_said_to_be_the_cause():
    records, membership = make_membership_problem(100, random_state=0)
    members = records[membership == 1]
    tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    pool = ShadowPool(tree, 4, random_state=0).fit(members)
    search = GridSearchCV(LiRA(tree, pool), {"prior": [0.5]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="fit the pool on all records, or pass an unfitted one"):
        search.fit(records, membership)
    search.set_params(estimator__shadows=4).fit(records, membership)  # as it says


# What is passed for the shadow models, and what is built on attacks


@pytest.fixture(scope="module")
def problem():
    records, membership = make_membership_problem(200, random_state=0)
    members = records[membership == 1]
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    return tree.fit(members.X, members.y), records, membership


@pytest.mark.parametrize(
    "attack",
    [
        LiRA(),
        LiRA(online=False),
        RMIA(),
        CalibratedAttack(),
        DensityAttack(),
        pytest.param(StackedAttack(boosted=False, random_state=0), marks=pytest.mark.slow),
        VulnerableRecordsAttack(random_state=0),
        ShadowAttack(random_state=0),
        pytest.param(TransferredQueryAttack(n_steps=2, random_state=0), marks=pytest.mark.slow),
        RangeAttack(n_samples=2, random_state=0),
    ],
    ids=lambda attack: type(attack).__name__,
)
@pytest.mark.filterwarnings("ignore::skmia.exceptions.ResolutionWarning")
def test_number_of_shadow_models_trains_clones_of_the_victim(problem, attack):
    tree, records, membership = problem
    attack = clone(attack).set_params(victim=tree, shadows=8)
    scores = attack.fit(records).score_samples(records)
    pool = getattr(attack, "attack_", attack).pool_
    assert repr(pool.estimator) == repr(tree)
    assert pool.membership_.shape == (8, 200)
    assert attack.shadows == 8
    assert np.isfinite(scores).all()
    if hasattr(attack, "random_state"):  # else the pool is another one each time
        assert roc_auc_score(membership, scores) > 0.5
        np.testing.assert_array_equal(attack.fit(records).score_samples(records), scores)


def test_number_keeps_what_the_attack_reads(problem):
    tree, records, _ = problem
    some, rest = records[:150], records[150:]
    assert LiRA(tree, 4).fit(records).pool_.temperatures_ == (1.0,)
    assert RMIA(tree, 4).fit(records).pool_.temperatures_ == (1.0, 2.0)
    attack = RMIA(tree, 4, online=False, population=rest).fit(some)
    assert len(attack.population_ratios_) == 50


def test_numbers_are_trained_where_the_victim_is_given_later(problem):
    tree, records, _ = problem
    folds = list(KFold(2, shuffle=True, random_state=0).split(records.X))
    # The second learns from members, so its pool is trained before the folds that it learns from.
    alone = ShadowAttack(shadows=2, attack_estimator=tree, random_state=0)
    for attack in (alone, CalibratedClassifierCV(alone, cv=2)):
        scores = cross_val_score(
            RememberTraining(tree),
            records.X,
            records.y,
            cv=folds,
            scoring=make_leakage_scorer(records=records, attack=attack),
        )
        assert (scores < -0.2).all()


@pytest.mark.parametrize("shadows", [15, 0, -2, 1, True, 2.5, "16"])
def test_other_numbers_are_refused_in_one_sentence(problem, shadows):
    tree, records, _ = problem
    with pytest.raises(
        (TypeError, ValueError), match="^shadows must .* even number of models from 2"
    ):
        LiRA(tree, shadows).fit(records)


def test_number_without_a_victim_that_can_be_trained_is_refused(problem):
    tree, records, _ = problem
    with pytest.raises(ValueError, match="trains clones of the victim, and None cannot be trained"):
        LiRA(shadows=4).fit(records.with_outputs(tree))
    served = CallableVictim(tree.predict_proba, classes=tree.classes_)
    with pytest.raises(ValueError, match="cannot be trained; pass shadows=ShadowPool"):
        RMIA(served, shadows=4).fit(records)


@pytest.mark.parametrize("parameter", [{"n_jobs": 2}, {"random_state": 0}, {"verbose": 1}])
def test_parameters_of_the_pool_are_said_to_be_its_own(problem, parameter):
    (name,) = parameter
    with pytest.raises(
        TypeError, match=rf"no parameter '{name}', .* shadows=ShadowPool\(model, {name}"
    ):
        LiRA(problem[0], shadows=16, **parameter)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_job'"):
        LiRA(problem[0], n_job=2)
    assert StackedAttack(problem[0], shadows=16, random_state=0).random_state == 0


def test_unfrozen_victim_and_pool_are_those_of_a_clone(problem):
    tree, records, membership = problem
    pool = ShadowPool(tree, 4, random_state=0).fit(records)
    for make in (
        lambda victim, pool: LiRA(victim, pool),
        lambda victim, _: ThresholdAttack(victim),
    ):
        frozen, plain = (
            cross_val_predict(make(*given), records, membership, cv=3)
            for given in ((FrozenEstimator(tree), FrozenEstimator(pool)), (tree, pool))
        )
        np.testing.assert_array_equal(plain, frozen)
    with pytest.raises(NotFittedError, match="is not fitted: fit it first"):
        LiRA(DecisionTreeClassifier(), pool).fit(records)


def test_what_needs_probabilities_is_told_how_to_get_them(problem):
    tree, records, membership = problem
    tree, pool = FrozenEstimator(tree), FrozenEstimator(ShadowPool(tree, 4).fit(records))
    for attack in (RMIA(tree, pool), LiRA(tree, pool, online=False), ThresholdAttack(tree)):
        vote = VotingClassifier([("one", attack)], voting="soft").fit(records, membership)
        name = type(attack).__name__
        with pytest.raises(AttributeError, match=rf"CalibratedClassifierCV\({name}\(...\)\)"):
            vote.predict(records)
        assert not hasattr(attack, "predict_proba")
        vote = VotingClassifier([("one", CalibratedClassifierCV(attack, cv=2))], voting="soft")
        assert vote.fit(records, membership).predict_proba(records).shape == (200, 2)
    with pytest.raises(AttributeError, match="'RMIA' object has no attribute 'offset'"):
        _ = RMIA(tree, pool).offset


def test_what_needs_a_matrix_is_told_of_signals(problem):
    tree, records, membership = problem
    tree = FrozenEstimator(tree)
    attack = ThresholdAttack(tree).fit(records, membership)
    with pytest.raises(TypeError, match=r"the matrix Signals\(victim\)\.fit_transform\(records\)"):
        permutation_importance(attack, records, membership)
    with pytest.raises(TypeError, match=r"the matrix Signals\(victim\)\.fit_transform\(records\)"):
        BaggingClassifier(attack).fit(records, membership)
    matrix = Signals(tree).fit_transform(records)
    bag = BaggingClassifier(LogisticRegression(), 3, random_state=0).fit(matrix, membership)
    importance = permutation_importance(bag, matrix, membership, random_state=0)
    assert len(importance.importances_mean) == matrix.shape[1]
