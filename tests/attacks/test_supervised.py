"""Attacks that learn from known members: who is scored by which model."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.base import Needs, SupervisedAttack
from skmia.testing import check_attack, make_attack_problem


class TreeAttack(SupervisedAttack):
    """Learns the records by heart."""

    def __init__(self, victim=None, *, cross_fit=True, cv=5, random_state=None):
        self.victim = victim
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        reads = frozenset({"proba", "logits", "decision", "label", "value"})
        return Needs(reads, access=frozenset({"queries"}), known="members and non-members")

    def _collect(self, records):
        records.with_outputs(self.victim)  # which is all that it wants of the victim
        return [np.asarray(records.X)]

    def _learn(self, evidence, membership, seed):
        return DecisionTreeClassifier(random_state=seed).fit(*evidence, membership)

    def _judge(self, model, evidence):
        return model.predict_proba(*evidence)[:, 1]


PROBLEM = make_attack_problem()
RNG = np.random.default_rng(0)
NOISE = Records(RNG.normal(size=(400, 4)), RNG.integers(2, size=400))
COIN = RNG.integers(2, size=400)


VICTIM = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(NOISE.X, NOISE.y))


def fit(records=NOISE, membership=COIN, **settings):
    return TreeAttack(VICTIM, random_state=0, **settings).fit(records, membership)


def test_no_record_is_scored_by_a_model_that_saw_it():
    by_heart = fit(cross_fit=False)
    assert by_heart.offset_ == 0.5  # the tree gives every record its own bit
    crossed = fit()
    # Membership is a coin: 95% of honest advantages are within 0.1 of 0 at 400 records.
    right = (crossed.score_samples(NOISE) >= 0.5) == COIN
    assert abs(right.mean() - 0.5) < 0.1


def test_known_records_are_refused_without_cross_fitting():
    attack = fit(cross_fit=False)
    fresh = Records(RNG.normal(size=(5, 4)), np.zeros(5, dtype=int))
    assert attack.score_samples(fresh).shape == (5,)
    with pytest.raises(ValueError, match="2 of 7 records are among those that the attack was"):
        attack.score_samples(Records.concat([fresh, NOISE[:2]]))


def test_other_records_are_scored_by_the_model_of_all():
    attack = fit()
    fresh = Records(RNG.normal(size=(50, 4)), np.zeros(50, dtype=int))
    np.testing.assert_array_equal(
        attack.score_samples(fresh), attack._model.predict_proba(fresh.X)[:, 1]
    )
    mixed = attack.score_samples(Records.concat([fresh, NOISE[:9]]))
    np.testing.assert_array_equal(mixed[50:], attack.score_samples(NOISE[:9]))
    np.testing.assert_array_equal(mixed[:50], attack.score_samples(fresh))


def test_the_order_of_the_records_changes_nothing():
    order = RNG.permutation(len(NOISE))
    one = fit()
    other = fit(NOISE[order], COIN[order])
    np.testing.assert_array_equal(one.score_samples(NOISE), other.score_samples(NOISE))
    assert one.offset_ == other.offset_


def test_equal_records_share_a_fold():
    twice = np.repeat(np.arange(60), 2)
    attack = fit(NOISE[twice], COIN[twice])
    # With its twin in the training set a record would be recognized.
    right = (attack.score_samples(NOISE[:60]) >= 0.5) == COIN[:60]
    assert right.mean() < 0.8


def test_records_of_a_person_share_a_fold():
    person, coin = np.repeat(np.arange(100), 4), np.repeat(COIN[:100], 4)
    X = np.asarray(NOISE.X)[person] + 1e-6 * RNG.normal(size=(400, 4))
    records = Records(X, NOISE.y[person], group_by=person)
    # With another record of the person in the training set a record would be recognized.
    attack = fit(records, coin)
    assert np.mean((attack.score_samples(records) >= 0.5) == coin) < 0.8
    further = Records(X + 1e-5, NOISE.y[person], group_by=person)
    assert np.mean((attack.score_samples(further) >= 0.5) == coin) < 0.8
    unnamed = attack.score_samples(Records(further.X, further.y))
    np.testing.assert_array_equal(unnamed, attack._model.predict_proba(further.X)[:, 1])


def test_too_few_records_for_the_folds():
    words = "cv=5 folds needs at least as many members that do not belong together; got 3"
    with pytest.raises(ValueError, match=words):
        fit(NOISE[:40], (np.arange(40) < 3).astype(int))
    fit(NOISE[:40], (np.arange(40) < 5).astype(int))
    with pytest.raises(ValueError, match=words):  # five members of three people
        people = np.append([0, 0, 1, 1, 2], np.arange(5, 40))
        fit(NOISE[:40].with_fields(group_by=people), (np.arange(40) < 5).astype(int))


def test_no_memory_is_asked_for_more_folds_than_records():
    with pytest.raises(ValueError, match="cv=1000000000 folds needs at least as many"):
        TreeAttack(PROBLEM.victim, cv=10**9).fit(PROBLEM.records, PROBLEM.membership)
    attack = TreeAttack(PROBLEM.victim, cv=10**9, cross_fit=False)
    attack.fit(PROBLEM.records, PROBLEM.membership)  # which needs no folds


def test_the_membership_is_needed():
    with pytest.raises(ValueError, match="TreeAttack learns from known members and non-members"):
        TreeAttack(PROBLEM.victim).fit(PROBLEM.records)


def test_it_keeps_the_promises_of_all_attacks():
    check_attack(TreeAttack(PROBLEM.victim), PROBLEM.records, PROBLEM.membership)
