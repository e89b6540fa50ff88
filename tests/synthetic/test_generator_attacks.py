"""Attacks on generators that copy, and on generators that do not."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from skmia import Records, ShadowPool
from skmia.attacks import CalibratedAttack, LiRA
from skmia.synthetic import GeneratorAttack, SyntheticDistance
from skmia.testing import parametrize_with_attack_checks

STATISTICS = "distance", "ratio", "density_ratio"


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(400, 3))
    membership = np.arange(400) % 2
    return Records(X, np.zeros(400)), membership


class Fixed(BaseEstimator):
    """Gives out given rows."""

    def __init__(self, rows=None):
        self.rows = rows

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def sample(self, n_samples):
        return np.asarray(self.rows)[:n_samples], None


def fixed(rows):
    return FrozenEstimator(Fixed(rows).fit(None))


def test_scores_by_hand():
    X = np.array([[0.0], [1.0], [4.0], [10.0]])
    records = Records(X, np.zeros(4))
    victim = fixed([[0.5], [3.0], [3.0], [12.0]])
    distance = GeneratorAttack(victim, statistic="distance").fit(records)
    np.testing.assert_allclose(distance.score_samples(records), [-0.5, -0.5, -1, -2])
    assert distance.offset_ == -1
    ratio = GeneratorAttack(victim, statistic="ratio").fit(records)
    np.testing.assert_allclose(ratio.score_samples(records), [-0.5 / 3, -0.25, -1, -2 / 7])
    density = GeneratorAttack(victim, n_neighbors=1).fit(records)
    # Nearest other record over nearest synthetic row; three other records, four rows.
    expected = np.log(np.array([1, 1, 3, 6]) / [0.5, 0.5, 1, 2] * 3 / 4)
    np.testing.assert_allclose(density.score_samples(records), expected)
    # A record that was not given to fit has four others.
    new = Records([[5.0]], [0])
    np.testing.assert_allclose(density.score_samples(new), np.log(1 / 2 * 4 / 4))
    assert density.offset_ == 0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_generator_that_copies_is_caught_and_one_that_does_not_is_not(problem, statistic):
    records, membership = problem
    members = records.X[membership == 1]
    for generator, caught in (
        (KernelDensity(bandwidth=0.02).fit(members), True),
        (GaussianMixture(random_state=0).fit(members), False),
    ):
        attack = GeneratorAttack(FrozenEstimator(generator), statistic=statistic, random_state=0)
        advantage = attack.fit(records).score(records, membership)
        error = np.sqrt(1 / 200)  # at most, of a difference of two rates of 200 records each
        assert (advantage > 3 * error) == caught and advantage > -3 * error


@pytest.mark.parametrize("attack", [LiRA, CalibratedAttack])
def test_shadow_generators(problem, attack):
    records, membership = problem
    model = SyntheticDistance(KernelDensity(bandwidth=0.1))
    victim = FrozenEstimator(model.fit(records.X[membership == 1]))
    pool = FrozenEstimator(ShadowPool(model, 16, random_state=0).fit(records))
    scores = attack(victim, pool).fit(records).score_samples(records)
    # Draws with replacement give out 63% of the members; of the others nothing can be told.
    error = np.sqrt(401 / 12 / 200**2)  # of the area, for scores that tell nothing
    # The share of members that are drawn has a standard deviation of 0.022, and counts half.
    largest = 0.632 + 0.368 / 2 + 4 * np.hypot(error, 0.022 / 2)
    assert 0.5 + 3 * error < roc_auc_score(membership, scores) < largest


def test_seeds(problem):
    records, _ = problem
    generator = FrozenEstimator(KernelDensity().fit(records.X))
    scores = [
        GeneratorAttack(generator, random_state=seed).fit(records).score_samples(records)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_bad_victims(problem):
    records, _ = problem
    with pytest.raises(TypeError, match="sample method; got NoneType"):
        GeneratorAttack().fit(records)
    with pytest.raises(NotFittedError, match="KernelDensity is not fitted. Fit the generator"):
        GeneratorAttack(FrozenEstimator(KernelDensity())).fit(records)
    with pytest.raises(ValueError, match="synthetic rows has 1 columns and The table of records"):
        GeneratorAttack(fixed([[1.0]] * 9), statistic="ratio").fit(records).score_samples(records)
    with pytest.raises(ValueError, match="n_neighbors=3 needs that many"):
        GeneratorAttack(fixed([[1.0]] * 9)).fit(records[:3])


ATTACKED = Records(np.random.default_rng(1).normal(size=(60, 3)), np.arange(60) % 2)
MEMBERSHIP = np.arange(60) // 2 % 2
GENERATOR = FrozenEstimator(KernelDensity(bandwidth=0.1).fit(ATTACKED.X[MEMBERSHIP == 1]))


NOT_ASKED = {
    "check_attack_certain_victim": "the victim of this check is a classifier",
}


@parametrize_with_attack_checks(
    [GeneratorAttack(GENERATOR, statistic=one, random_state=0) for one in STATISTICS],
    ATTACKED,
    MEMBERSHIP,
    expected_failed_checks=lambda attack: NOT_ASKED,
)
def test_attack_checks(attack, check):
    check(attack)
