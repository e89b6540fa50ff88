import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit
from scipy.stats import binom, norm
from sklearn.datasets import make_classification, make_regression
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from skmia import Records, ShadowPool
from skmia.attacks import CalibratedAttack, LiRA, QuantileAttack, ThresholdAttack

REFERENCES = ["out", "midpoint", "rank"]


def test_records_of_the_pool_and_of_the_population_are_known_by_the_names_of_columns():
    X, y = make_classification(80, n_features=5, random_state=0)
    table = pd.DataFrame(X, columns=list("abcde"))
    records, turned = Records(table, y), Records(table[list("edcba")], y)
    victim = LogisticRegression().fit(table[::2], y[::2])
    pool = ShadowPool(victim, 4, store="models", random_state=0).fit(records)
    for attack in (CalibratedAttack(victim, pool), LiRA(victim, pool, online=False)):
        expected = attack.fit(records).score_samples(records)
        np.testing.assert_array_equal(attack.score_samples(turned), expected)
        np.testing.assert_array_equal(attack.fit(turned).score_samples(turned), expected)
    np.testing.assert_array_equal(pool.locate(turned[7:20]), np.arange(7, 20))
    settings = {"target_fpr": 0.2, "cv": 3, "random_state": 0}
    scores = [
        QuantileAttack(victim, population=some[1::2], **settings)
        .fit(records)
        .score_samples(records)
        for some in (records, turned)
    ]
    np.testing.assert_array_equal(*scores)


def attack_on(world, **settings):
    attack = CalibratedAttack(shadows=FrozenEstimator(world.pool), **settings)
    return attack.fit(world.records)


def score_world(world, **settings):
    return attack_on(world, **settings).score_samples(world.records)


def score_by_hand(phi, into, out, reference):
    if reference == "out":
        return phi - np.mean(out)
    if reference == "midpoint":
        return phi - (np.mean(into) + np.mean(out)) / 2
    return np.mean([value <= phi for value in out])


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("signal", ["auto", "scaled_logit", "loss"])
def test_score_computed_by_hand(draw_world, reference, signal):
    world = draw_world()
    # The middle between the means is published for losses, and stronger with them.
    is_loss = signal == "loss" or (signal == "auto" and reference == "midpoint")
    read = log_expit if is_loss else np.asarray
    columns = zip(read(world.target), read(world.shadows).T, world.inside.T, strict=True)
    expected = [
        score_by_hand(phi, values[inside], values[~inside], reference)
        for phi, values, inside in columns
    ]
    scores = score_world(world, reference=reference, signal=signal)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_rank_counts_ties_as_reached(make_world):
    shadows = np.array([[9.0] * 4, [0.0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3], [0, 4, 2, 3]])
    inside = np.repeat([[True], [False]], [1, 4], axis=0) * np.ones((1, 4), bool)
    world = make_world(np.array([0.0, 1.0, 2.0, 0.5]), shadows, inside)
    assert score_world(world, reference="rank").tolist() == [1.0, 0.75, 1.0, 0.0]


def test_rank_is_the_same_for_logits_and_losses(draw_world):
    world = draw_world()
    np.testing.assert_array_equal(
        score_world(world, reference="rank"), score_world(world, reference="rank", signal="loss")
    )


def test_out_score_orders_records_like_offline_lira_with_one_variance(draw_world):
    world = draw_world(n_records=200)
    lira = LiRA(shadows=FrozenEstimator(world.pool), online=False, variance="pooled")
    z = lira.fit(world.records).score_samples(world.records)
    np.testing.assert_allclose(
        score_world(world), z * np.sqrt(lira.variance_out_), rtol=1e-5, atol=1e-6
    )


def test_a_signal_has_one_name_in_all_attacks(draw_world):
    world = draw_world()
    np.testing.assert_array_equal(
        score_world(world, signal="scaled_logit"), score_world(world, signal="auto")
    )
    for attack in (
        attack_on(world),
        ThresholdAttack(),
        QuantileAttack(population=world.records, target_fpr=0.2),
    ):
        with pytest.raises(ValueError, match="'logit' is not the name of a signal: 'scaled_logit'"):
            attack.set_params(signal="logit").fit(world.records)
    with pytest.raises(
        ValueError, match=r"not 'hinge'; fit it with signals=\(\"auto\", Hinge\(\)\)"
    ):
        score_world(world, signal="hinge")


def test_population_score_is_the_share_of_its_records_reached(draw_world):
    world = draw_world(n_records=80)
    outsiders = np.flatnonzero(world.membership == 0)
    attack = attack_on(world, reference="population", population=world.records[outsiders])
    expected = [np.mean([world.target[z] <= phi for z in outsiders]) for phi in world.target]
    np.testing.assert_allclose(attack.score_samples(world.records), expected)


def test_population_of_one_record_is_reached_or_not(draw_world):
    world = draw_world(n_records=30)
    scores = score_world(world, reference="population", population=world.records[4])
    np.testing.assert_array_equal(scores, world.target >= world.target[4])


def test_population_score_of_non_members_is_uniform(draw_world):
    world = draw_world(n_records=4000, spread=1.0)
    outsiders = np.flatnonzero(world.membership == 0)
    half = outsiders[::2]
    scores = score_world(world, reference="population", population=world.records[half])
    other = scores[outsiders[1::2]]
    np.testing.assert_allclose(np.quantile(other, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.05)


@pytest.mark.parametrize("reference", ["out", "midpoint"])
def test_auc_in_a_normal_world_is_that_of_the_best_test(known_world, reference):
    # The difference of two laws is 1.5 standard deviations; 128 OUT models widen it by 0.4%.
    world = known_world
    scores = score_world(world, reference=reference, signal="scaled_logit")
    auc = roc_auc_score(world.membership, scores)
    expected = norm.cdf(1.5 / np.sqrt(2))
    assert expected - 0.015 < auc < expected + 0.010


@pytest.mark.parametrize("reference", REFERENCES)
def test_shuffled_membership_is_not_found(draw_world, reference):
    world = draw_world(n_records=4000, shift=3.0)
    scores = score_world(world, reference=reference)
    shuffled = np.random.default_rng(1).permutation(world.membership)
    assert roc_auc_score(world.membership, scores) > 0.9
    assert abs(roc_auc_score(shuffled, scores) - 0.5) < 4 * np.sqrt(1 / 12 / 1000)


@pytest.mark.parametrize("reference", ["out", "midpoint", "rank"])
def test_threshold_rests_on_models_in_the_victims_place(
    draw_world, put_models_in_the_victims_place, check_rate_threshold, reference
):
    world = draw_world(n_records=60, n_models=16)
    scores = put_models_in_the_victims_place(
        world, lambda some: score_world(some, reference=reference)
    )
    offset = attack_on(world, reference=reference, target_fpr=0.2).offset_
    check_rate_threshold(offset, scores, 0.2, 1e-4)


@pytest.mark.parametrize("reference", ["out", "midpoint"])
@pytest.mark.parametrize("target_fpr", [0.01, 0.1])
def test_wanted_false_positive_rate_is_met(large_world, reference, target_fpr):
    world = large_world
    attack = attack_on(world, reference=reference, target_fpr=target_fpr)
    flagged = attack.predict(world.records)[world.membership == 0].sum()
    low, high = binom.interval(0.9999, 10_000, target_fpr)
    assert 0.85 * low <= flagged <= 1.15 * high


def test_rank_that_cannot_resolve_the_rate_flags_fewer(draw_world):
    # With 8 OUT models a ninth of the non-members lies above all of them, two ninths above 7.
    world = draw_world(n_records=4000, n_models=16, shift=1.0)
    flagged = {
        rate: attack_on(world, reference="rank", target_fpr=rate)
        .predict(world.records)[world.membership == 0]
        .mean()
        for rate in (0.01, 0.3)
    }
    assert flagged[0.01] == 0
    assert abs(flagged[0.3] - 2 / 9) < 0.04


@pytest.mark.parametrize(
    "reference, side", [("out", True), ("rank", True), ("midpoint", True), ("midpoint", False)]
)
def test_record_without_the_models_of_a_reference_is_not_judged(
    draw_world, make_world, reference, side
):
    world = draw_world(n_models=8)
    inside = world.inside.copy()
    inside[:, :2] = side
    lacking = make_world(world.target, world.shadows, inside)
    attack, whole = attack_on(lacking, reference=reference), attack_on(world, reference=reference)
    np.testing.assert_array_equal(attack.can_judge(lacking.records), np.arange(50) >= 2)
    scores = attack.score_samples(lacking.records)
    neutral = 0.5 if reference == "rank" else 0.0
    np.testing.assert_allclose(scores[:2], neutral, atol=1e-300)
    np.testing.assert_allclose(scores[2:], whole.score_samples(world.records)[2:], rtol=1e-5)
    with pytest.raises(ValueError, match="none of the 2 records has them"):
        attack.score_samples(lacking.records[:2])


def test_out_reference_needs_no_in_models(draw_world, make_world):
    world = draw_world(n_models=8)
    alone = make_world(world.target, world.shadows, np.zeros_like(world.inside))
    np.testing.assert_allclose(
        score_world(alone), world.target - world.shadows.mean(axis=0), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("settings", [{"reference": "population"}, {"population": True}])
def test_population_goes_with_its_reference(draw_world, settings):
    world = draw_world()
    if "population" in settings:
        settings = {"population": world.records}
    with pytest.raises(ValueError, match='population is needed for reference="population" and'):
        attack_on(world, **settings)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"reference": "mean"}, "'reference' parameter of CalibratedAttack"),
        ({"signal": "phi"}, "Unknown signal 'phi'"),
        ({"population": "all"}, "'population' parameter of CalibratedAttack"),
    ],
)
def test_wrong_parameters_are_named(draw_world, settings, message):
    with pytest.raises(ValueError, match=message):
        attack_on(draw_world(), **settings)


def test_several_queries_are_averaged():
    X, y = make_classification(n_samples=40, n_features=5, random_state=0)
    records = Records(X, y)
    pool = ShadowPool(
        LogisticRegression(),
        n_estimators=8,
        augment=lambda some: [Records(some.X + 0.5, some.y)],
        random_state=0,
    ).fit(records)
    victim = LogisticRegression().fit(X[::2], y[::2])
    expected = np.zeros(40)
    for query, values in zip((X, X + 0.5), pool.signals_[0], strict=True):
        target = np.where(y == 1, 1, -1) * victim.decision_function(query)
        out = [values[~pool.membership_[:, i], i].mean() for i in range(40)]
        expected += (target - out) / 2
    attack = CalibratedAttack(FrozenEstimator(victim), FrozenEstimator(pool)).fit(records)
    np.testing.assert_allclose(attack.score_samples(records), expected, rtol=1e-4, atol=1e-4)


def test_margins_are_calibrated():
    X, y = make_classification(n_samples=60, n_features=5, random_state=0)
    records = Records(X, y)
    pool = ShadowPool(LinearSVC(), 6, store="models", random_state=0).fit(records)
    victim = LinearSVC().fit(X[::2], y[::2])
    sign = np.where(y == 1, 1, -1)
    margins = np.array([sign * model.decision_function(X) for model in pool.estimators_])
    out = np.ma.masked_array(margins, pool.membership_).mean(axis=0)
    attack = CalibratedAttack(FrozenEstimator(victim), FrozenEstimator(pool)).fit(records)
    np.testing.assert_allclose(
        attack.score_samples(records),
        sign * victim.decision_function(X) - out,
        rtol=1e-4,
        atol=1e-4,
    )


def test_residuals_are_calibrated():
    X, y = make_regression(n_samples=60, n_features=20, noise=30, random_state=0)
    records = Records(X, y)
    pool = ShadowPool(LinearRegression(), 6, store="models", random_state=0).fit(records)
    victim = LinearRegression().fit(X[::2], y[::2])

    def evidence(model):
        return -0.5 * np.log((y - model.predict(X)) ** 2 + pool.resolution_[0] ** 2)

    models = np.array([evidence(model) for model in pool.estimators_])
    out = np.ma.masked_array(models, pool.membership_).mean(axis=0)
    attack = CalibratedAttack(FrozenEstimator(victim), FrozenEstimator(pool)).fit(records)
    np.testing.assert_allclose(
        attack.score_samples(records), evidence(victim) - out, rtol=1e-3, atol=1e-3
    )
