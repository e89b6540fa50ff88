"""A stack of attacks that is learned on the pool's own models."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from cells import slow, slow_but
from scipy import stats
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import ShadowPool
from skmia._core.pseudo_victims import MOST_VICTIMS, choose_pairs
from skmia.attacks import LiRA, StackedAttack, _stack_models, _stacked
from skmia.attacks._stack_models import StackCandidates, StackRows
from skmia.attacks._stacked import fold_records
from skmia.model_selection import leave_one_model_out
from skmia.shadow._job import drawn_design
from skmia.testing import make_attack_problem
from tests.helpers.threads import spy_on


def draw_training_sets(design, n_models, n_records, rng):
    if design == "balanced":
        return np.argsort(rng.random((n_models, n_records)), axis=0) < n_models // 2
    inside = rng.random((n_models, n_records)) < 0.5
    if design == "paired":
        inside[1::2] = ~inside[::2]
    return inside


@pytest.fixture
def draw_pool(make_world):
    """Normal evidence on records under a pool and a victim that is in none of its pairs.

    With ``rivalry``, what moves a record up in one model of a pair moves it down in the other.
    """

    def draw(design="paired", n_models=8, n_records=1000, shift=1.5, rivalry=0.0, seed=0):
        rng = np.random.default_rng(seed)
        inside = draw_training_sets(design, n_models, n_records, rng)
        membership = rng.permutation(np.arange(n_records) % 2)
        center, noise = rng.normal(0, 2, n_records), rng.normal(size=inside.shape)
        noise[1::2] -= rivalry * noise[: 2 * (n_models // 2) : 2]
        target = center + shift * membership + rng.normal(size=n_records)
        world = make_world(target, center + shift * inside + noise, inside)
        return world._replace(membership=membership)

    return draw


def fit(world, **settings):
    settings = {"boosted": False, "random_state": 0, **settings}
    return StackedAttack(shadows=FrozenEstimator(world.pool), **settings).fit(world.records)


def measure_auc(world, attack):
    judged = attack.can_judge(world.records)
    return roc_auc_score(world.membership[judged], attack.score_samples(world.records)[judged])


def error_of_chance(n_records):
    """Standard error of an AUC without a leak, of records half of which are members."""
    return np.sqrt((n_records + 1) / (3 * n_records**2))


def score_models(attack, world):
    """Area for all models in the victim's place together."""
    rounds = attack.score_left_out(world.records, np.arange(len(world.shadows)))
    parts = [(scores[judged], inside[judged]) for _, scores, inside, judged in rounds]
    scores, inside = (np.concatenate(part) for part in zip(*parts, strict=True))
    return roc_auc_score(inside, scores), len(scores)


CELLS = list(product(("paired", "balanced", "independent"), (False, True)))


# The other quick cell, of trees and pairs, is one of the test of the rate.
@pytest.mark.parametrize("design, boosted", slow_but(CELLS, ("independent", False)))
def test_no_power_without_a_leak(draw_pool, design, boosted):
    world = draw_pool(design, n_records=300, shift=0)
    attack = fit(world, boosted=boosted)
    assert abs(measure_auc(world, attack) - 0.5) < 4 * error_of_chance(300)
    # The scores of a record under several models depend on each other.
    area, n_scores = score_models(attack, world)
    assert abs(area - 0.5) < 4 * error_of_chance(n_scores / 4)


@pytest.mark.parametrize("design", ["paired", slow("balanced"), slow("independent")])
def test_no_weaker_than_its_parts(draw_pool, design):
    world = draw_pool(design, n_records=1000)
    lira = LiRA(shadows=FrozenEstimator(world.pool)).fit(world.records)
    # The standard error of a difference is no larger than twice that of one area.
    assert measure_auc(world, fit(world)) > measure_auc(world, lira) - 2 * error_of_chance(1000)


@pytest.mark.parametrize("shift", [slow(0), 0.2])
def test_partner_that_stays_would_tell_the_members(draw_pool, shift):
    world = draw_pool(shift=shift, rivalry=1.0, n_records=1000)
    attack = fit(world)
    area, n_scores = score_models(attack, world)
    error = error_of_chance(n_scores / 4)
    expected = measure_auc(world, attack) if shift else 0.5
    assert abs(area - expected) < 4 * np.hypot(error, error_of_chance(1000) if shift else 0)
    # The same pool without knowledge of its pairs: one more OUT model beside each member.
    answers = replace(world.pool.to_answers(), design=drawn_design(8, "independent"))
    world = world._replace(pool=world.pool.with_answers(answers))
    assert score_models(fit(world), world)[0] > area + 4 * error


@pytest.mark.parametrize("design, boosted", slow_but(CELLS, ("paired", True)))
def test_rate_of_the_threshold(draw_pool, design, boosted):
    world = draw_pool(design, n_records=300)
    attack = fit(world, boosted=boosted, target_fpr=0.1)
    others = (world.membership == 0) & attack.can_judge(world.records)
    n_flagged = attack.predict(world.records)[others].sum()
    # The threshold is a quantile of about as many scores as there are models, of the same records.
    assert stats.binomtest(int(n_flagged), int(others.sum()), 0.1).pvalue > 1e-3


def test_threshold_aims_at_a_lower_rate_by_the_share_of_some_models(draw_pool):
    world = draw_pool(n_records=500)
    attack = fit(world, target_fpr=0.1)  # by two models
    ((_, scores, inside, judged),) = attack.score_left_out(world.records, np.arange(8))
    flagged = scores[judged & ~inside] >= attack.offset_
    # As near as the number of scores allows.
    assert abs(flagged.mean() - 0.1 * (1 - 2 / 8)) <= 1 / len(flagged)


def test_posterior_is_calibrated(draw_pool):
    world = draw_pool(n_records=1000)
    proba = fit(world, boosted=True).predict_proba(world.records)[:, 1]
    for low in np.arange(0, 1, 0.2):
        here = (proba >= low) & (proba < low + 0.2)
        error = np.sqrt(np.sum(proba[here] * (1 - proba[here]))) / here.sum()
        assert abs(world.membership[here].mean() - proba[here].mean()) < 4 * error


def test_prior_shifts_the_log_odds(draw_pool):
    world = draw_pool(n_records=100)
    log_odds = [
        np.log(proba[:, 1] / proba[:, 0])
        for proba in (fit(world, prior=prior).predict_proba(world.records) for prior in (0.5, 0.2))
    ]
    np.testing.assert_allclose(log_odds[0] - log_odds[1], np.log(4), rtol=1e-6)


def test_victims_members_play_no_part(draw_pool):
    world = draw_pool(n_records=100)
    attack = fit(world)
    known = StackedAttack(shadows=FrozenEstimator(world.pool), boosted=False).fit(
        world.records, world.membership
    )
    expected = attack.score_samples(world.records)
    np.testing.assert_array_equal(known.score_samples(world.records), expected)


def test_rows_of_the_trees_are_drawn_by_the_seed(draw_pool, monkeypatch):
    monkeypatch.setattr(_stack_models, "_MOST_ROWS", 300)
    monkeypatch.setattr(_stack_models, "_LEAST_GAIN", -1.0)  # the trees stay, whatever they gain
    world = draw_pool(n_records=150)
    first, second, other = (
        fit(world, boosted=True, random_state=seed).power_["auc"].to_numpy() for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert (first[-2:] != other[-2:]).all()
    np.testing.assert_array_equal(first[:-2], other[:-2])


def test_permuted_records_have_permuted_scores(draw_pool):
    world = draw_pool("independent", n_records=120)
    attack = fit(world, boosted=True)
    order = np.random.default_rng(0).permutation(120)
    again = fit(world._replace(records=world.records[order]), boosted=True)
    expected = attack.score_samples(world.records)[order]
    np.testing.assert_allclose(again.score_samples(world.records[order]), expected, rtol=1e-5)


@pytest.mark.parametrize("n_models", [2, 3])
def test_too_few_models_are_refused(draw_pool, n_models):
    world = draw_pool("independent", n_models=n_models, n_records=50)
    with pytest.raises(ValueError, match=f"at least 4 models; this pool has {n_models}"):
        fit(world)


def test_no_rate_is_promised_with_few_models(draw_pool):
    world = draw_pool(n_models=6, n_records=200)
    with pytest.raises(ValueError, match=r"target_fpr=0\.05 cannot be promised with 6 shadow mod"):
        fit(world, target_fpr=0.05)
    assert fit(world).offset_ == 0


def test_rate_of_an_unfitted_pool_is_refused_before_it_is_fitted(monkeypatch):
    victim, shadows, records, _ = make_attack_problem()
    monkeypatch.setattr(ShadowPool, "fit", lambda *args: pytest.fail("The pool was fitted."))
    pool = ShadowPool(shadows.estimator.estimator, 4)
    with pytest.raises(ValueError, match="cannot be promised with 4"):
        StackedAttack(victim, pool, target_fpr=0.1).fit(records)


def test_features_by_the_kind_of_the_models():
    victim, shadows, records, _ = make_attack_problem()
    attack = StackedAttack(victim, shadows, boosted=False).fit(records)
    assert attack.feature_names_ == [
        *("lira_raw", "lira_pooled", "lira", "calibrated_out", "calibrated_midpoint"),
        *("log_likelihood", "rmia_1", "rmia_2", "level", "gap", "spread", "similar_records"),
    ]


@pytest.mark.parametrize("design, n_models", [("paired", 64), ("balanced", 64), ("paired", 6)])
def test_both_models_of_a_pair_take_the_victims_place(design, n_models):
    drawn = drawn_design(n_models, design)
    chosen, _ = choose_pairs(drawn, MOST_VICTIMS)
    assert len(chosen) == min(16, n_models)
    assert set(drawn.partners[chosen]) <= {-1, *chosen}


def test_what_is_learned_from_a_record_does_not_judge_it():
    # Membership that only the record tells: what a model saw of it in another row would be enough.
    rng = np.random.RandomState(0)
    n_records, n_models = 1000, 8
    records, models = (
        np.tile(np.arange(n_records), n_models),
        np.repeat(np.arange(n_models), n_records),
    )
    is_member = (rng.random_sample(n_records) < 0.5)[records]
    features = np.column_stack([records, rng.normal(size=len(records))])
    rows = StackRows(features, is_member, models, fold_records(records).astype(int))
    candidates = StackCandidates(rows, {"noise": 1}, True, rng)
    means = rng.normal(size=(len(records), 2))
    candidates.join(dict.fromkeys((*range(4), None), means))
    stack = candidates.choose(models[::n_records] // 2, 0.0)
    assert (abs(stack.power["auc"] - 0.5) < 4 * error_of_chance(n_records)).all()
    area = roc_auc_score(is_member, stack.log_odds(features, rows.folds))
    assert abs(area - 0.5) < 4 * error_of_chance(n_records)


@pytest.mark.parametrize(
    "gains, margin, expected",
    [
        ([0.01, 0.03], 0, "logistic regression"),
        ([0.01, 0.03], 1, "logistic regression"),
        ([0.01, 0.03], 3, "one"),
        ([-0.02, 0.03], 0, "logistic regression"),
        ([-0.02, 0.03], 1, "one"),
        ([0.0, 0.0], 0, "one"),
        ([0.02], 0, "logistic regression"),
        ([0.02], 1, "one"),
    ],
)
def test_learned_candidate_must_be_ahead_of_single_scores(gains, margin, expected):
    single, other = np.full(2 * len(gains), 0.6), np.full(2 * len(gains), 0.55)
    aucs = np.array([other, single, single + np.repeat(gains, 2)])
    names, units = ["other", "one", "logistic regression"], np.repeat(np.arange(len(gains)), 2)
    assert _stack_models._choose_strongest(names, aucs, units, margin) == expected


@pytest.mark.parametrize(
    "gains, expected",
    [
        ([0.02, 0.03], "joint"),
        ([0.009, 0.03], "trees"),
        ([-0.01, 0.03], "trees"),
        ([0.01], "trees"),
        ([-0.2, -0.2], "trees"),
    ],
)
def test_joint_candidate_must_be_ahead_of_the_best_by_two_errors(gains, expected):
    trees, units = np.full(2 * len(gains), 0.7), np.repeat(np.arange(len(gains)), 2)
    aucs = np.array([trees - 0.2, trees - 0.1, trees, trees + np.repeat(gains, 2)])
    names = ["one", "logistic regression", "trees", "joint"]
    assert _stack_models._choose_strongest(names, aucs, units, 0.0) == expected


@pytest.fixture
def count_trees(monkeypatch):
    """Count the boosted trees that are fitted."""
    return spy_on(monkeypatch, _stack_models, "HistGradientBoostingClassifier")


def make_rows(is_crossed, n=4000):
    """Rows of a feature, and of two whose product tells the membership if they are crossed."""
    rng = np.random.default_rng(0)
    features, is_member = rng.normal(size=(n, 3)), rng.random(n) < 0.5
    features[:, 0] += is_member
    if is_crossed:
        features[:, 1] = np.abs(features[:, 1]) * np.where(is_member, 1, -1)
        features[:, 1] *= np.sign(features[:, 2])
    return StackRows(features, is_member, rng.integers(8, size=n), np.arange(n) % 4)


def test_trees_are_fitted_for_a_single_fold_where_they_gain_nothing(count_trees):
    stack = StackCandidates(make_rows(False), {"first": 0}, True, np.random.RandomState(0))
    chosen = stack.choose(np.arange(8) // 2, 0.0)
    assert len(count_trees) == 1
    assert list(chosen.power["score"]) == ["first", "logistic regression"]


def test_trees_are_fitted_for_all_folds_where_they_gain(count_trees):
    stack = StackCandidates(make_rows(True), {"first": 0}, True, np.random.RandomState(0))
    assert stack.choose(np.arange(8) // 2, 0.0).chosen == "logistic regression + trees"
    assert len(count_trees) == 4 + 1  # the last ones on all rows


def test_weights_of_similar_records_are_computed_once(monkeypatch):
    counts, weigh = [], _stacked.SimilarRecords._weigh
    monkeypatch.setattr(
        _stacked.SimilarRecords,
        "_weigh",
        lambda self, records, numbers: counts.append(len(records)) or weigh(self, records, numbers),
    )
    victim, shadows, records, _ = make_attack_problem()
    attack = StackedAttack(victim, shadows, random_state=0).fit(records)
    scores = attack.score_samples(records)
    assert counts == [len(records)]
    monkeypatch.setattr(_stacked, "_MOST_KEPT", 0)
    again = StackedAttack(victim, shadows, random_state=0).fit(records).score_samples(records)
    assert len(counts) > 2
    np.testing.assert_allclose(scores, again, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shift", [slow(0.0), 1.5])
def test_strongest_candidate_is_chosen(draw_pool, monkeypatch, shift):
    monkeypatch.setattr(_stack_models, "_LEAST_GAIN", -1.0)
    world = draw_pool(n_records=400, shift=shift)
    attack = fit(world, boosted=True)
    power = attack.power_.set_index("score")["auc"]
    learned = ["logistic regression", "logistic regression + trees"]
    assert list(power.index[-3:]) == [*learned, "joint"]
    assert attack.chosen_ in {"joint", power.drop(index="joint").idxmax()}


def test_one_score_orders_like_its_attack(draw_pool, monkeypatch):
    monkeypatch.setattr(_stacked, "list_scores", lambda names: {"lira": names.index("lira")})
    world = draw_pool(n_models=64, n_records=300)
    attack, lira = fit(world), LiRA(shadows=FrozenEstimator(world.pool)).fit(world.records)
    assert attack.chosen_ == "lira"
    expected = np.argsort(lira.score_samples(world.records))
    np.testing.assert_array_equal(np.argsort(attack.score_samples(world.records)), expected)


def test_power_of_left_out_models_is_that_of_the_victim(draw_pool):
    world = draw_pool(n_records=500)
    attack = fit(world, boosted=True)
    power = leave_one_model_out(attack, world.records, max_fprs=())["auc"]
    # An area near .9 has a standard error below that of chance.
    error = error_of_chance(500) * np.sqrt(1 + 1 / 8)
    assert abs(power.mean() - measure_auc(world, attack)) < 3 * error
