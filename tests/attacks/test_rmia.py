import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp
from scipy.stats import binom, rankdata, spearmanr
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, attack_people, shadow_nonmember_scores
from skmia.base._cross_fitting import judge_records
from skmia.metrics import conformal_pvalues
from skmia.shadow._stored import _estimate_margin_scale

# Worlds in which the victim is wrong about every record.
pytestmark = pytest.mark.filterwarnings("ignore:.* of the labels are predicted if")


def attack_on(world, **settings):
    settings = {"temperature": 1.0, **settings}
    return RMIA(shadows=FrozenEstimator(world.pool), **settings).fit(world.records)


def score_world(world, **settings):
    return attack_on(world, **settings).score_samples(world.records)


def ratios_by_loop(world, online=True, a=0.3):
    """r(x) of every record, from probabilities."""
    ratios = []
    for phi, values, inside in zip(world.target, world.shadows.T, world.inside.T, strict=True):
        if online:
            mean = np.mean([expit(value) for value in values])
        else:
            out = np.mean(
                [expit(v) for v, was_in in zip(values, inside, strict=True) if not was_in]
            )
            mean = 0.5 * ((1 + a) * out + (1 - a))
        ratios.append(expit(phi) / mean)
    return np.array(ratios)


def test_margins_are_scaled_to_log_odds_of_the_label():
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 3, size=(4, 5000))
    margins = np.where(rng.random(odds.shape) < expit(odds), odds, -odds) * 0.4
    inside = rng.random(odds.shape) < 0.5
    # Those of IN records say nothing of the probability on others.
    margins[inside] = 9
    assert abs(_estimate_margin_scale(margins, inside) - 0.4) < 0.03
    X, y = make_classification(200, flip_y=0.2, random_state=0)
    pool = ShadowPool(LinearSVC(), 4, random_state=0).fit(Records(X, y))
    law = pool.get_law("auto")
    np.testing.assert_allclose(law.likelihood(np.array([pool.scale_])), expit(1.0), rtol=1e-6)
    assert pool.scale_ > 0 and pool.scale_ != 1


@pytest.mark.parametrize("n_models", [2, 16, 64])
def test_online_score_is_the_log_ratio_to_the_mean_of_all_models(draw_world, n_models):
    world = draw_world(n_models=n_models)
    np.testing.assert_allclose(score_world(world), np.log(ratios_by_loop(world)), rtol=1e-4)


@pytest.mark.parametrize("a", [0.0, 0.3, 0.7, 1.0])
def test_offline_score_estimates_the_mean_from_out_models(draw_world, a):
    world = draw_world(n_models=16)
    expected = np.log(ratios_by_loop(world, online=False, a=a))
    np.testing.assert_allclose(score_world(world, online=False, a=a), expected, rtol=1e-4)


def test_offline_score_needs_no_in_models(draw_world, make_world):
    world = draw_world(n_models=8)
    changed = np.where(world.inside, 50.0, world.shadows)
    other = make_world(world.target, changed, world.inside)
    np.testing.assert_allclose(
        score_world(other, online=False), score_world(world, online=False), rtol=1e-5
    )


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("a", [0.3, 1.0])
def test_extreme_evidence_loses_nothing(make_world, online, a):
    rng = np.random.default_rng(0)
    inside = np.tile([[True], [False]], (3, 30))
    shadows = np.round(rng.normal(-900, 30, size=(6, 30)))
    world = make_world(np.round(rng.normal(-900, 30, 30)), shadows, inside)
    scores = score_world(world, online=online, a=a)
    # sigmoid(z) is exp(z) so far out.
    if online:
        expected = world.target - logsumexp(shadows, axis=0) + np.log(6)
    else:
        mean = logsumexp(shadows[1::2], axis=0) - np.log(3)
        floor = np.log((1 - a) / 2) if a < 1 else -np.inf
        expected = world.target - np.logaddexp(np.log((1 + a) / 2) + mean, floor)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    above = make_world(-world.target, -shadows, inside)
    assert np.isfinite(score_world(above, online=online, a=a)).all()


@pytest.fixture(scope="module")
def audit():
    X, y = make_classification(
        n_samples=80, n_features=6, n_informative=4, n_classes=3, random_state=0
    )
    records = Records(X, y)
    model = LogisticRegression(C=5.0, max_iter=1000)
    pool = ShadowPool(model, 8, store="models", random_state=0).fit(records)
    return records, pool, FrozenEstimator(model.fit(X[::2], y[::2]))


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_online_score_is_that_of_base(audit, temperature):
    """Lassila et al. (2025): log-confidence minus the log mean confidence of the models."""
    records, pool, victim = audit
    rows = np.arange(len(records))

    def log_confidence(model):
        z = model.decision_function(records.X)
        return log_softmax(z / temperature, axis=1)[rows, records.y]

    of_models = [log_confidence(model) for model in pool.estimators_]
    expected = log_confidence(victim) - (logsumexp(of_models, axis=0) - np.log(8))
    attack = RMIA(victim, FrozenEstimator(pool), temperature=temperature).fit(records)
    np.testing.assert_allclose(attack.score_samples(records), expected, rtol=1e-4, atol=1e-4)


# Populations


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("gamma", [1.0, 1.3, 2.0])
def test_score_is_the_share_of_the_population_that_is_beaten(draw_world, online, gamma):
    world = draw_world(n_records=60)
    ratios = ratios_by_loop(world, online)
    outsiders = np.flatnonzero(world.membership == 0)
    population = world.records[outsiders]
    scores = score_world(world, online=online, population=population, gamma=gamma)
    for x in range(60):
        beaten = sum(ratios[x] / ratios[z] >= gamma for z in outsiders) / len(outsiders)
        assert abs(scores[x] - beaten) <= 0.5 / len(outsiders) + 1e-6


def test_record_of_the_population_beats_those_below_and_half_of_its_equals(draw_world):
    world = draw_world(n_records=40)
    scores = score_world(world, population=world.records)
    expected = (rankdata(ratios_by_loop(world)) - 0.5) / 40
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_equal_records_of_the_population_are_beaten_together(make_world):
    target = np.repeat([-1.0, 0.0, 2.0], [3, 4, 3])
    world = make_world(target, np.zeros((4, 10)), np.tile([[True], [False]], (2, 10)))
    scores = score_world(world, population=world.records)
    np.testing.assert_allclose(scores, np.repeat([0.15, 0.5, 0.85], [3, 4, 3]))


@pytest.mark.parametrize("gamma", [1.0, 3.0, 50.0])
@pytest.mark.parametrize("n_population", [1, 2, 25])
@pytest.mark.parametrize("online", [True, False])
def test_population_and_gamma_do_not_change_the_order(draw_world, gamma, n_population, online):
    world = draw_world(n_records=200)
    plain = score_world(world, online=online)
    scores = score_world(world, online=online, gamma=gamma, population=world.records[:n_population])
    assert (np.diff(scores[np.argsort(plain)]) > 0).all()
    assert 0 < scores.min() < scores.max() < 1
    assert roc_auc_score(world.membership, scores) == roc_auc_score(world.membership, plain)


def test_population_does_not_change_what_shadow_models_say_about_the_victim(draw_world):
    world = draw_world(n_records=60)
    found = []
    for population in (None, world.records[:25]):
        attack = attack_on(world, population=population)
        nulls = shadow_nonmember_scores(attack, world.records)
        alone = conformal_pvalues(attack.score_samples(world.records), nulls)
        found.append([alone, attack_people(attack, world.records, groups=np.arange(60)).pvalues])
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found)) > 20


def test_larger_gamma_beats_fewer(draw_world):
    world = draw_world()
    scores = [
        score_world(world, gamma=gamma, population=world.records) for gamma in (1.0, 1.5, 4.0)
    ]
    assert (scores[0] > scores[1]).all() and (scores[1] > scores[2]).all()


def test_new_records_are_a_population_for_models_that_were_kept(audit):
    records, pool, victim = audit
    new = Records(records.X[:9] + 0.5, records.y[:9])
    attack = RMIA(victim, FrozenEstimator(pool), online=False, population=new).fit(records)
    plain = RMIA(victim, FrozenEstimator(pool), online=False).fit(records)
    np.testing.assert_allclose(attack.population_ratios_, np.sort(plain.score_samples(new)))
    with pytest.raises(ValueError, match="population must hold records that have an IN"):
        RMIA(victim, FrozenEstimator(pool), population=new).fit(records)


def test_new_records_are_no_population_for_signals_alone(draw_world):
    world = draw_world()
    new = Records([[-1.0]], [1]).with_fields(outputs=world.records["outputs"][[0]])
    with pytest.raises(ValueError, match=r"population must hold .* 1 of 1 records are not in the"):
        attack_on(world, population=new)


# Thresholds and limits


@pytest.mark.parametrize("settings", [{}, {"online": False}, {"population": True, "gamma": 2.0}])
@pytest.mark.parametrize("target_fpr", [0.01, 0.1])
def test_wanted_false_positive_rate_is_met(large_world, target_fpr, settings):
    world = large_world
    if "population" in settings:
        settings = {**settings, "population": world.records[:100]}
    attack = attack_on(world, target_fpr=target_fpr, **settings)
    flagged = attack.predict(world.records)[world.membership == 0].sum()
    low, high = binom.interval(0.9999, 10_000, target_fpr)
    assert 0.85 * low <= flagged <= 1.15 * high


@pytest.mark.parametrize("online", [True, False])
def test_threshold_rests_on_models_in_the_victims_place(
    draw_world, put_models_in_the_victims_place, check_rate_threshold, online
):
    world = draw_world(n_records=60, n_models=16)
    scores = put_models_in_the_victims_place(world, lambda some: score_world(some, online=online))
    offset = attack_on(world, online=online, target_fpr=0.1).offset_
    check_rate_threshold(offset, scores, 0.1, 1e-4)


def test_members_are_found_and_shuffled_ones_are_not(draw_world):
    world = draw_world(n_records=4000, shift=3.0)
    shuffled = np.random.default_rng(1).permutation(world.membership)
    for online in (True, False):
        scores = score_world(world, online=online)
        assert roc_auc_score(world.membership, scores) > 0.75
        assert abs(roc_auc_score(shuffled, scores) - 0.5) < 4 * np.sqrt(1 / 12 / 1000)


def test_few_models_serve_better_than_none(draw_world):
    world = draw_world(n_records=20_000, n_models=4, shift=3.0)
    alone = roc_auc_score(world.membership, world.target)
    assert roc_auc_score(world.membership, score_world(world)) > alone + 0.05


def test_online_score_needs_in_models(draw_world, make_world):
    world = draw_world(n_models=8)
    inside = world.inside.copy()
    inside[:, :2] = False
    lacking = make_world(world.target, world.shadows, inside)
    attack = attack_on(lacking)
    np.testing.assert_array_equal(attack.can_judge(lacking.records), np.arange(50) >= 2)
    np.testing.assert_allclose(attack.score_samples(lacking.records)[:2], 0, atol=1e-300)
    assert np.isfinite(score_world(lacking, online=False)).all()


def test_offline_score_needs_out_models(draw_world, make_world):
    world = draw_world(n_models=8)
    inside = world.inside.copy()
    inside[:, :2] = True
    lacking = make_world(world.target, world.shadows, inside)
    attack = attack_on(lacking, online=False)
    np.testing.assert_array_equal(attack.can_judge(lacking.records), np.arange(50) >= 2)
    np.testing.assert_allclose(attack.score_samples(lacking.records)[:2], 0, atol=1e-300)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("known", [False, True])
def test_records_that_cannot_be_judged_are_never_predicted_as_members(
    draw_world, make_world, online, known
):
    world = draw_world(n_models=8)
    inside = world.inside.copy()
    inside[:, :20] = not online
    records = make_world(world.target, world.shadows, inside).records
    attack = attack_on(make_world(world.target, world.shadows, inside), online=online)
    # The first members have no models: a threshold below their scores does not find them.
    if known:
        membership = np.arange(50) % 3 < 2
        attack.fit(records, membership.astype(int))
        judged_scores = attack.score_samples(records)[20:]
        fpr, tpr = (
            (judged_scores[:, None] >= judged_scores)[membership[20:] == side].sum(axis=0)
            / np.sum(membership == side)
            for side in (False, True)
        )
        assert attack.score(records, membership) == pytest.approx(max(0, np.max(tpr - fpr)))
    attack.offset_ = -0.64
    scores, judged = attack.score_samples(records), np.arange(50) >= 20
    assert (scores[~judged] > attack.offset_).all()
    assert (scores[judged] > attack.offset_).any()
    np.testing.assert_array_equal(attack.predict(records), judged & (scores >= -0.64))
    np.testing.assert_array_equal(attack.decision_function(records) >= 0, attack.predict(records))
    np.testing.assert_array_equal(attack.decision_function(records)[judged], scores[judged] + 0.64)
    np.testing.assert_array_equal(
        judge_records(attack, records).guesses, attack.predict(records) == 1
    )


def test_pool_without_the_temperature_is_refused(draw_world):
    world = draw_world()
    with pytest.raises(ValueError, match=r"stores the temperatures \(1.0\), not 2.0"):
        RMIA(shadows=FrozenEstimator(world.pool), temperature=2.0).fit(world.records)


def test_pool_of_one_temperature_leaves_no_choice(draw_world):
    world = draw_world()
    attack = RMIA(shadows=FrozenEstimator(world.pool)).fit(world.records)
    assert (attack.temperature_, attack.power_) == (1.0, None)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"a": 1.5}, "'a' parameter of RMIA"),
        ({"gamma": 0.5}, "'gamma' parameter of RMIA"),
        ({"temperature": 0.0}, "'temperature' parameter of RMIA"),
        ({"population": np.zeros((3, 1))}, "'population' parameter of RMIA"),
        ({"online": 2}, "'online' parameter of RMIA"),
    ],
)
def test_wrong_parameters_are_named(draw_world, settings, message):
    with pytest.raises(ValueError, match=message):
        attack_on(draw_world(), **settings)


# Other victims


def test_regressors_have_a_normal_likelihood():
    X, y = make_regression(n_samples=60, n_features=20, noise=30, random_state=0)
    records = Records(X, y)
    pool = ShadowPool(LinearRegression(), 8, store="models", random_state=0).fit(records)
    victim = LinearRegression().fit(X[::2], y[::2])
    # Residuals are widened by the resolution of the pool, and in units of the OUT residuals.
    squared = [(y - model.predict(X)) ** 2 + pool.resolution_[0] ** 2 for model in pool.estimators_]
    scale = np.mean(np.array(squared)[~pool.membership_])
    own = (y - victim.predict(X)) ** 2 + pool.resolution_[0] ** 2
    expected = -own / 2 / scale - logsumexp(-np.array(squared) / 2 / scale, axis=0) + np.log(8)
    attack = RMIA(FrozenEstimator(victim), FrozenEstimator(pool)).fit(records)
    np.testing.assert_allclose(attack.score_samples(records), expected, rtol=1e-3, atol=1e-3)


def test_forest_of_votes_is_attacked_at_every_temperature():
    X, y = make_classification(n_samples=300, n_features=10, flip_y=0.3, random_state=0)
    records, membership = Records(X, y), np.random.default_rng(0).permutation(np.arange(300) % 2)
    members = records[membership == 1]
    model = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    pool = ShadowPool(model, 8, temperatures=(0.5, 1.0, 2.0, 8.0), random_state=1).fit(records)
    found = []
    for temperature in pool.temperatures_:
        attack = RMIA(FrozenEstimator(model), FrozenEstimator(pool), temperature=temperature)
        found.append(attack.fit(records).score_samples(records))
        assert roc_auc_score(membership, found[-1]) > 0.85
    assert spearmanr(found[0], found[-1])[0] > 0.8
