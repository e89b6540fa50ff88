"""Thresholds that shadow models in the victim's place give: for a rate, and without one."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA
from skmia.base import rate_threshold
from skmia.datasets import make_membership_problem
from skmia.metrics import best_advantage_score

CHOSEN_BY_POOL = [
    LiRA(online=False),
    LiRA(online=False, variance="pooled"),
    RMIA(temperature=1.0),
    RMIA(temperature=1.0, online=False),
    CalibratedAttack(),
    CalibratedAttack(reference="midpoint"),
    CalibratedAttack(reference="rank"),
]


# Thresholds of given scores


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.05, 0.5, 0.9])
def test_share_of_different_scores_is_the_rate(rate):
    scores = np.random.default_rng(0).normal(size=1000)
    assert np.mean(scores >= rate_threshold(scores, rate)) == rate


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.25, 0.3])
@pytest.mark.parametrize("noise", [0, 1e-9])
def test_ties_do_not_exceed_the_rate(rate, noise):
    # A quarter of the scores are equal, but for what rounding changes.
    rng = np.random.default_rng(0)
    scores = np.where(np.arange(1000) % 4 == 0, 5.0, rng.normal(size=1000))
    threshold = rate_threshold(scores + noise * rng.normal(size=1000), rate)
    assert np.mean(scores >= threshold) == (0 if rate < 0.25 else rate)


def test_one_value_is_not_reached():
    assert rate_threshold(np.full(10, 3.0), 0.5) > 3.0


# Without a rate


@pytest.fixture(scope="module")
def leaking(draw_world):
    return draw_world(n_records=8000, shift=1.5)


@pytest.mark.parametrize("attack", CHOSEN_BY_POOL, ids=str)
def test_default_threshold_shows_the_leak(leaking, attack):
    world = leaking
    attack.set_params(shadows=FrozenEstimator(world.pool)).fit(world.records)
    scores = attack.score_samples(world.records)
    best = best_advantage_score(world.membership, scores)
    # Either threshold is uncertain, as rates of 4,000 records each are.
    error = np.sqrt(2 * 0.25 / 4000)
    assert attack.score(world.records, world.membership) > best - 3 * error


def test_default_threshold_needs_no_membership_of_the_victim(draw_world):
    world = draw_world(n_records=200)
    attack = LiRA(online=False, shadows=FrozenEstimator(world.pool))
    offset = attack.fit(Records(world.records.X, world.records.y)).offset_
    assert offset == attack.fit(world.records).offset_


@pytest.mark.parametrize("attack", CHOSEN_BY_POOL, ids=str)
def test_pool_of_two_has_the_threshold_of_no_evidence(draw_world, attack):
    world = draw_world(n_models=2)
    attack.set_params(shadows=FrozenEstimator(world.pool)).fit(world.records)
    assert attack.offset_ == (0.5 if getattr(attack, "reference", "") == "rank" else 0)


# Whether the rate can be promised


@pytest.fixture(scope="module")
def forests():
    records, _ = make_membership_problem(800, memorization=0.3, random_state=0)
    forest = RandomForestClassifier(5, random_state=0)
    return records, forest, ShadowPool(forest, 16, random_state=0).fit(records)


def fit_victim(records, forest, share):
    members = np.random.default_rng(1).permutation(len(records)) < share * len(records)
    victim = RandomForestClassifier(5, random_state=1)
    return FrozenEstimator(victim.fit(records.X[members], records.y[members]))


@pytest.mark.parametrize("stored", [True, False])
def test_victim_that_was_trained_on_fewer_records_is_noticed(forests, stored):
    records, forest, pool = forests
    victim = fit_victim(records, forest, 0.25)
    if stored:
        victim, records = None, records.with_outputs(victim)
    attack = LiRA(victim, FrozenEstimator(pool), target_fpr=0.05)
    with pytest.warns(UserWarning, match="target_fpr=0.05 may be missed"):
        attack.fit(records)


def test_victim_that_was_trained_like_the_shadow_models_is_not(forests):
    records, forest, pool = forests
    victim = fit_victim(records, forest, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LiRA(victim, FrozenEstimator(pool), target_fpr=0.05).fit(records)
        # No rate was asked for.
        LiRA(fit_victim(records, forest, 0.25), FrozenEstimator(pool)).fit(records)
