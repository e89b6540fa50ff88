from itertools import product

import numpy as np
import pytest
from cells import slow_but
from scipy import stats
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import CalibratedAttack, LiRA, StackedAttack
from skmia.base import PoolAttack

# Worlds in which the victim is wrong about every record.
pytestmark = pytest.mark.filterwarnings("ignore:.* of the labels are predicted if")

VARIANCES = ["example", "pooled", "conjugate"]


def attack_on(world, **settings):
    return LiRA(shadows=FrozenEstimator(world.pool), **settings).fit(world.records)


def score_world(world, **settings):
    return attack_on(world, **settings).score_samples(world.records)


def split(world):
    """Scores of the IN and of the OUT models of each record."""
    for phi, values, inside in zip(world.target, world.shadows.T, world.inside.T, strict=True):
        yield phi, values[inside.astype(bool)], values[~inside.astype(bool)]


def pooled_variance(world, side, ddof):
    groups = [parts[side] for parts in split(world) if len(parts[side]) > 1]
    squares = sum(((group - group.mean()) ** 2).sum() for group in groups)
    return squares / sum(len(group) - ddof for group in groups)


def frozen_normal(group, variance, pooled):
    """The distribution of one record, from scipy."""
    if variance == "example":
        return stats.norm(group.mean(), max(group.std(), 1e-6))
    if variance == "pooled":
        return stats.norm(group.mean(), np.sqrt(pooled))
    n = len(group)
    dof = 4 + n - 1
    squared = (4 * pooled + ((group - group.mean()) ** 2).sum()) / dof
    return stats.t(dof, group.mean(), np.sqrt(squared * (1 + 1 / n)))


def score_by_loop(world, variance, online):
    ddof = 1 if variance == "conjugate" else 0
    pooled = [None, pooled_variance(world, 1, ddof), pooled_variance(world, 2, ddof)]
    scores = []
    for phi, into, out in split(world):
        law_out = frozen_normal(out, variance, pooled[2])
        if online:
            law_in = frozen_normal(into, variance, pooled[1])
            scores.append(law_in.logpdf(phi) - law_out.logpdf(phi))
        else:
            scores.append((phi - out.mean()) / law_out.args[-1])
    return np.array(scores)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("n_models", [4, pytest.param(6, marks=pytest.mark.slow), 32])
def test_score_equals_a_loop_over_records(draw_world, variance, online, n_models):
    world = draw_world(n_records=20, n_models=n_models)
    scores = score_world(world, variance=variance, online=online)
    expected = score_by_loop(world, variance, online)
    np.testing.assert_allclose(scores, expected, rtol=2e-4, atol=2e-4)


def test_records_may_have_different_numbers_of_models(make_world):
    rng = np.random.default_rng(0)
    inside = rng.random((9, 20)) < 0.4
    inside[:2], inside[-2:] = True, False
    world = make_world(rng.normal(size=20), rng.normal(size=(9, 20)), inside)
    assert len(set(inside.sum(axis=0))) > 3
    for variance in VARIANCES:
        for online in (True, False):
            np.testing.assert_allclose(
                score_world(world, variance=variance, online=online),
                score_by_loop(world, variance, online),
                rtol=2e-4,
                atol=2e-4,
            )


def test_one_model_on_each_side_is_enough_for_a_pooled_variance(make_world):
    # Record 0 has a single IN model, which has a mean but no spread of its own.
    rng = np.random.default_rng(1)
    inside = np.tile([[True], [False]], (3, 20))
    inside[[2, 4], 0] = False
    world = make_world(rng.normal(size=20), rng.normal(size=(6, 20)), inside)
    for variance in ("pooled", "conjugate"):
        np.testing.assert_allclose(
            score_world(world, variance=variance),
            score_by_loop(world, variance, True),
            rtol=2e-4,
            atol=2e-4,
        )
    judged = attack_on(world, variance="example").can_judge(world.records)
    np.testing.assert_array_equal(judged, np.arange(20) > 0)


def test_pooled_variance_is_within_records(draw_world):
    # Records lie 100 standard deviations apart, which is no variance of a record.
    world = draw_world(n_records=400, n_models=32, std=0.5, spread=50.0)
    attack = attack_on(world, variance="pooled")
    np.testing.assert_allclose(attack.variance_in_, pooled_variance(world, 1, 0), rtol=1e-4)
    np.testing.assert_allclose(attack.variance_out_, pooled_variance(world, 2, 0), rtol=1e-4)
    np.testing.assert_allclose(attack.variance_in_, 0.25 * 15 / 16, rtol=0.05)
    shrunk = attack_on(world, variance="shrunk")
    np.testing.assert_allclose(shrunk.variance_out_, pooled_variance(world, 2, 1), rtol=1e-4)


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("variance", ["example", "conjugate"])
def test_narrow_side_is_not_lost_beside_a_wide_one(make_world, narrow, variance):
    rng = np.random.default_rng(0)
    inside = np.tile([[True], [False]], (8, 12))
    spread = np.where(inside == narrow, 1e-3, 5.0)
    shadows = np.where(inside, 3.0, -5.0) + spread * rng.normal(size=inside.shape)
    target = (3.0 if narrow else -5.0) + 1e-3 * rng.normal(size=12)
    world = make_world(target, shadows, inside)
    # Single precision leaves a thousandth of the narrow deviation.
    np.testing.assert_allclose(
        score_world(world, variance=variance),
        score_by_loop(world, variance, True),
        rtol=5e-3,
        atol=5e-3,
    )


def test_offline_score_needs_no_in_models(draw_world, make_world):
    world = draw_world(n_models=8)
    for variance in VARIANCES:
        changed = np.where(world.inside, 1e3, world.shadows)
        other = make_world(world.target, changed, world.inside)
        np.testing.assert_allclose(
            score_world(other, variance=variance, online=False),
            score_world(world, variance=variance, online=False),
            rtol=1e-5,
        )


def test_offline_score_is_one_sided(make_world):
    shadows = np.tile([[-1.0], [1.0], [-1.0], [1.0]], 3)
    world = make_world(np.array([-5.0, 0.0, 5.0]), shadows, np.zeros((4, 3)))
    scores = score_world(world, online=False, variance="example")
    np.testing.assert_allclose(scores, [-5, 0, 5], atol=1e-6)


def test_score_does_not_depend_on_the_origin(draw_world, make_world):
    world = draw_world(n_models=8)
    moved = make_world(world.target + 30, world.shadows + 30, world.inside)
    for variance in VARIANCES:
        np.testing.assert_allclose(
            score_world(moved, variance=variance),
            score_world(world, variance=variance),
            rtol=1e-3,
            atol=1e-3,
        )


@pytest.mark.parametrize("variance", VARIANCES)
def test_score_does_not_depend_on_the_unit(draw_world, make_world, variance):
    world = draw_world(n_models=8)
    scaled = make_world(10 * world.target, 10 * world.shadows, world.inside)
    np.testing.assert_allclose(
        score_world(scaled, variance=variance),
        score_world(world, variance=variance),
        rtol=1e-3,
        atol=1e-3,
    )


# Known truth


@pytest.mark.parametrize(
    "variance, online",
    slow_but(list(product(VARIANCES, [True, False])), *zip(VARIANCES, [True, False] * 2)),
)
def test_auc_in_a_normal_world_is_that_of_the_best_test(known_world, variance, online):
    # Two normal laws d standard deviations apart: AUC = Phi(d / sqrt 2). 20,000 records leave a
    # standard error of 0.0027; 256 models cost less than 0.005.
    world = known_world
    expected = stats.norm.cdf(1.5 / np.sqrt(2))
    auc = roc_auc_score(world.membership, score_world(world, variance=variance, online=online))
    assert expected - 0.015 < auc < expected + 0.010


def test_score_in_a_normal_world_is_the_log_likelihood_ratio(draw_world):
    world = draw_world(n_records=400, n_models=1600, shift=2.0, std=1.0, spread=0.0)
    truth = stats.norm.logpdf(world.target, 2, 1) - stats.norm.logpdf(world.target, 0, 1)
    np.testing.assert_allclose(score_world(world, variance="pooled"), truth, rtol=0.1, atol=0.2)
    assert np.corrcoef(score_world(world), truth)[0, 1] > 0.998


def test_few_models_are_best_served_by_the_shrunken_variance(draw_world):
    world = draw_world(n_records=20_000, n_models=6, shift=1.5)
    auc = {
        variance: roc_auc_score(world.membership, score_world(world, variance=variance))
        for variance in (*VARIANCES, "shrunk")
    }
    # The pooled variance is the truth here; that of a record rests on three numbers.
    assert auc["pooled"] > auc["example"] + 0.03
    assert auc["conjugate"] > auc["example"] + 0.03
    assert auc["shrunk"] > auc["example"] + 0.03


def test_posterior_is_the_share_of_members(draw_world):
    world = draw_world(n_records=8000, n_models=128, shift=1.5)
    attack = attack_on(world)
    posterior = attack.predict_proba(world.records)[:, 1]
    for low in np.arange(0, 1, 0.1):
        here = (posterior >= low) & (posterior < low + 0.1)
        share = world.membership[here].mean()
        noise = 4 * np.sqrt(share * (1 - share) / here.sum())
        assert abs(share - posterior[here].mean()) < noise + 0.02


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.8])
def test_posterior_adds_the_prior_log_odds(draw_world, prior):
    world = draw_world()
    attack = attack_on(world, prior=prior)
    scores = attack.score_samples(world.records)
    np.testing.assert_allclose(
        attack.predict_proba(world.records),
        np.column_stack([1 - expit(scores + logit(prior)), expit(scores + logit(prior))]),
        rtol=1e-9,
    )
    np.testing.assert_allclose(attack.offset_, -logit(prior))
    guesses = attack.predict_proba(world.records)[:, 1] >= 0.5
    np.testing.assert_array_equal(attack.predict(world.records), guesses)


def test_only_a_likelihood_ratio_has_a_posterior(draw_world):
    attack = attack_on(draw_world(), online=False)
    assert not hasattr(attack, "predict_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_proba', because its scores"):
        attack.predict_proba  # noqa: B018


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("online", [True, False])
def test_shuffled_membership_is_not_found(draw_world, variance, online):
    world = draw_world(n_records=4000, shift=3.0)
    scores = score_world(world, variance=variance, online=online)
    shuffled = np.random.default_rng(1).permutation(world.membership)
    assert roc_auc_score(world.membership, scores) > 0.9
    assert abs(roc_auc_score(shuffled, scores) - 0.5) < 4 * np.sqrt(1 / 12 / 1000)


# Thresholds


@pytest.mark.parametrize("settings", [{}, {"online": False}, {"variance": "pooled"}])
@pytest.mark.parametrize(
    "target_fpr", [0.01, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.1, 0.5))]
)
def test_wanted_false_positive_rate_is_met(large_world, target_fpr, settings):
    world = large_world
    attack = attack_on(world, target_fpr=target_fpr, **settings)
    flagged = attack.predict(world.records)[world.membership == 0].sum()
    # 10,000 non-members; the two models that make room for a pseudo-victim cost a little.
    low, high = stats.binom.interval(0.9999, 10_000, target_fpr)
    assert 0.85 * low <= flagged <= 1.15 * high
    true_positives = attack.predict(world.records)[world.membership == 1].mean()
    assert true_positives > 2 * target_fpr or target_fpr == 0.5


@pytest.mark.parametrize("n_models", [8, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.parametrize("online", [True, False])
def test_threshold_rests_on_models_in_the_victims_place(
    draw_world, put_models_in_the_victims_place, check_rate_threshold, n_models, online
):
    world = draw_world(n_records=60, n_models=n_models)
    settings = {"variance": "example", "online": online}
    scores = put_models_in_the_victims_place(world, lambda some: score_world(some, **settings))
    for target_fpr in (0.05, 0.3):
        offset = attack_on(world, target_fpr=target_fpr, **settings).offset_
        check_rate_threshold(offset, scores, target_fpr, 1e-3)


def test_threshold_of_shrunken_variances_takes_the_pooled_ones_of_all_models(
    draw_world, put_models_in_the_victims_place, check_rate_threshold
):
    world = draw_world(n_records=60, n_models=16)
    whole = attack_on(world, target_fpr=0.1, variance="conjugate")

    def score(reduced):
        attack = attack_on(reduced, variance="conjugate")
        attack.variance_in_, attack.variance_out_ = whole.variance_in_, whole.variance_out_
        return attack.score_samples(reduced.records)

    scores = put_models_in_the_victims_place(world, score)
    check_rate_threshold(whole.offset_, scores, 0.1, 1e-3)


def test_threshold_at_a_false_positive_rate_needs_no_membership(draw_world):
    world = draw_world(n_records=2000)
    attack = attack_on(world, target_fpr=0.1)
    attack.set_params(target_fpr=0.2)
    looser = attack.fit(world.records).offset_
    assert looser < attack.set_params(target_fpr=0.05).fit(world.records).offset_


def test_membership_sets_the_threshold_of_the_highest_balanced_accuracy(draw_world):
    world = draw_world(n_records=300)
    attack = LiRA(shadows=FrozenEstimator(world.pool), target_fpr=0.01)
    attack.fit(world.records, world.membership)
    scores = attack.score_samples(world.records)
    best = max(
        (scores[world.membership == 1] >= cut).mean()
        - (scores[world.membership == 0] >= cut).mean()
        for cut in scores
    )
    np.testing.assert_allclose(attack.score(world.records, world.membership), best)


def test_thresholds_of_tied_scores_flag_no_more_than_was_asked_for(make_world):
    # All models say the same of all records, so that every score is one and the same.
    world = make_world(np.ones(50), np.ones((8, 50)), np.tile([[True], [False]], (4, 50)))
    attack = attack_on(world, target_fpr=0.1)
    assert attack.predict(world.records).sum() == 0


def test_pool_of_two_models_has_no_pseudo_victims(draw_world):
    world = draw_world(n_models=2)
    with pytest.raises(ValueError, match="at least 4 models; this pool has 2"):
        attack_on(world, target_fpr=0.1)


def test_pseudo_victims_leave_too_few_models_for_a_variance_of_each_record(draw_world):
    world = draw_world(n_models=4)
    message = "2 IN and 2 OUT shadow models per record when another one is treated as the victim"
    with pytest.raises(ValueError, match=message):
        attack_on(world, variance="example", target_fpr=0.1)


# Limits


@pytest.mark.parametrize("n_models", [2, 3, 5])
def test_few_or_odd_numbers_of_models(make_world, n_models):
    rng = np.random.default_rng(0)
    inside = np.zeros((n_models, 30), dtype=bool)
    inside[0] = True
    world = make_world(rng.normal(size=30), rng.normal(size=(n_models, 30)), inside)
    for variance in ("pooled", "shrunk"):
        assert np.isfinite(score_world(world, variance=variance)).all()


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("value", [0.0, 30.0, -800.0])
def test_constant_evidence_gives_finite_scores(make_world, variance, online, value):
    inside = np.tile([[True], [False]], (4, 10))
    world = make_world(np.full(10, value), np.full((8, 10), value), inside)
    scores = score_world(world, variance=variance, online=online)
    np.testing.assert_allclose(scores, 0, atol=1e-6)
    away = make_world(np.full(10, value + 1), np.full((8, 10), value), inside)
    assert np.isfinite(score_world(away, variance=variance, online=online)).all()


@pytest.mark.parametrize("variance", VARIANCES)
def test_infinite_logits_of_models_and_victim_give_finite_scores(make_world, variance):
    rng = np.random.default_rng(0)
    inside = np.tile([[True], [False]], (4, 40))
    shadows = np.where(rng.random((8, 40)) < 0.3, np.inf, rng.normal(0, 3, (8, 40)))
    target = np.where(np.arange(40) % 3 == 0, np.inf, rng.normal(size=40))
    answers = np.column_stack([1 - expit(target), expit(target)])
    world = make_world(np.zeros(40), shadows, inside)
    records = world.records.with_fields(outputs=Outputs(answers, [0, 1]))
    attack = LiRA(shadows=FrozenEstimator(world.pool), variance=variance).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()


@pytest.mark.parametrize(
    "settings",
    [{}, {"variance": "example"}, {"variance": "pooled"}],
    ids=str,
)
@pytest.mark.parametrize("target_fpr", [None, 0.1])
def test_record_without_in_or_out_models_is_not_judged(
    draw_world, make_world, settings, target_fpr
):
    world = draw_world(n_models=16)
    inside = world.inside.copy()
    inside[:, 7], inside[:, 9] = False, True
    lacking = make_world(world.target, world.shadows, inside)
    judged = ~np.isin(np.arange(50), [7, 9])
    attack = attack_on(lacking, target_fpr=target_fpr, **settings)
    np.testing.assert_array_equal(attack.can_judge(lacking.records), judged)
    scores = attack.score_samples(lacking.records)
    # What is known of the others is the same as without these two.
    rest = make_world(world.target[judged], world.shadows[:, judged], inside[:, judged])
    alone = attack_on(rest, target_fpr=target_fpr, **settings)
    np.testing.assert_allclose(scores[judged], alone.score_samples(rest.records), rtol=1e-5)
    assert attack.offset_ == pytest.approx(alone.offset_, rel=1e-5)
    # Just below the log ratio of no evidence, so that nobody is called a member for it.
    np.testing.assert_allclose(scores[~judged], 0, atol=1e-300)
    assert (attack.predict(lacking.records)[~judged] == 0).all()


def test_offline_score_needs_no_in_model(draw_world, make_world):
    world = draw_world(n_models=8)
    inside = world.inside.copy()
    inside[:, 7], inside[:, 9] = False, True
    attack = attack_on(make_world(world.target, world.shadows, inside), online=False)
    np.testing.assert_array_equal(attack.can_judge(world.records), np.arange(50) != 9)


def test_pool_in_which_no_record_can_be_judged_is_refused(draw_world, make_world):
    world = draw_world(n_models=8)
    without = make_world(world.target, world.shadows, np.zeros_like(world.inside))
    message = "at least 1 IN and 1 OUT shadow models per record; none of the 50 .* online=False"
    with pytest.raises(ValueError, match=message):
        attack_on(without)
    assert np.isfinite(score_world(without, online=False)).all()


def test_one_record_is_scored_as_among_others(draw_world):
    world = draw_world(n_models=8)
    attack = attack_on(world)
    scores = attack.score_samples(world.records)
    alone = [attack.score_samples(world.records[i])[0] for i in range(50)]
    np.testing.assert_allclose(alone, scores, rtol=1e-5, atol=1e-6)


def test_blocks_of_records_do_not_show(draw_world, monkeypatch):
    world = draw_world(n_records=25)
    settings = [{"variance": variance} for variance in VARIANCES]
    settings += [{"target_fpr": 0.1}]
    whole = [attack_on(world, **setting) for setting in settings]
    expected = [attack.score_samples(world.records) for attack in whole]
    monkeypatch.setattr("skmia.base._pool_attack._BLOCK", 7)
    for attack, scores, setting in zip(whole, expected, settings, strict=True):
        again = attack_on(world, **setting)
        np.testing.assert_allclose(again.score_samples(world.records), scores, rtol=1e-5)
        np.testing.assert_allclose(again.offset_, attack.offset_, rtol=1e-5)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"variance": "global"}, "'variance' parameter of LiRA"),
        ({"prior": 1.0}, "'prior' parameter of LiRA"),
        ({"target_fpr": 0.0}, "'target_fpr' parameter of LiRA"),
        ({"online": "yes"}, "'online' parameter of LiRA"),
        ({"variance": "joint", "online": False}, 'variance="joint" goes with online=True'),
    ],
)
def test_wrong_parameters_are_named(draw_world, settings, message):
    with pytest.raises(ValueError, match=message):
        attack_on(draw_world(), **settings)


def test_law_is_a_value_that_is_handed_what_it_reads():
    # The attack chooses a comparison and calls back nothing of its base class in another way.
    inherited = {name for name in vars(PoolAttack) if not name.startswith("__")}
    own = {name for name, part in vars(LiRA).items() if callable(part)}
    assert inherited & own == {"_compare"}


@pytest.mark.parametrize("shadows", [None, "pool", LogisticRegression()])
def test_shadows_must_be_a_pool(draw_world, shadows):
    with pytest.raises(TypeError, match="shadows must be a ShadowPool, either unf.* even number"):
        LiRA(shadows=shadows).fit(draw_world().records)


# Augmentations


@pytest.fixture(scope="module")
def augmented_audit():
    X, y = make_classification(n_samples=40, n_features=5, random_state=0)
    records = Records(X, y)
    moved = [
        lambda some: Records(some.X + 0.3, some.y),
        lambda some: Records(0.5 * some.X[:, ::-1], some.y),
    ]
    pool = ShadowPool(
        LogisticRegression(C=5.0),
        n_estimators=16,
        augment=lambda some: [move(some) for move in moved],
        random_state=0,
    ).fit(records)
    victim = LogisticRegression(C=5.0).fit(X[::2], y[::2])
    queries = [records.X, *[move(records).X for move in moved]]
    sign = np.where(y == 1, 1, -1)
    target = np.array([sign * victim.decision_function(query) for query in queries])
    return records, FrozenEstimator(pool), FrozenEstimator(victim), target


def test_scores_of_augmentations_are_averaged(augmented_audit):
    records, pool, victim, target = augmented_audit
    inside = pool.estimator.membership_
    expected = np.zeros(40)
    for phi, values in zip(target, pool.estimator.signals_[0], strict=True):
        for i in range(40):
            into, out = values[inside[:, i], i], values[~inside[:, i], i]
            expected[i] += stats.norm.logpdf(phi[i], into.mean(), into.std()) / 3
            expected[i] -= stats.norm.logpdf(phi[i], out.mean(), out.std()) / 3
    scores = LiRA(victim, pool, variance="example").fit(records).score_samples(records)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3)


def test_joint_law_is_a_normal_law_of_all_queries(augmented_audit):
    records, pool, victim, target = augmented_audit
    inside = pool.estimator.membership_
    values = pool.estimator.signals_[0].astype(float)
    expected = []
    for i in range(40):
        logs = []
        for chosen in (inside[:, i], ~inside[:, i]):
            points = values[:, chosen, i]
            covariance = np.cov(points, bias=True)
            covariance += 1e-3 * np.trace(covariance) / 3 * np.eye(3)
            law = stats.multivariate_normal(points.mean(axis=1), covariance)
            logs.append(law.logpdf(target[:, i]))
        expected.append(logs[0] - logs[1])
    attack = LiRA(victim, pool, variance="joint").fit(records)
    np.testing.assert_allclose(attack.score_samples(records), expected, rtol=1e-2, atol=1e-2)


def test_joint_law_of_one_query_is_that_of_the_query(draw_world):
    world = draw_world(n_models=16)
    full = score_world(world, variance="joint")
    np.testing.assert_allclose(full, score_world(world, variance="example"), rtol=0.02, atol=0.02)


def test_joint_law_needs_more_models_than_queries(augmented_audit):
    records, _, victim, _ = augmented_audit
    pool = ShadowPool(
        LogisticRegression(),
        n_estimators=6,
        augment=lambda some: [Records(some.X + k, some.y) for k in (1, 2)],
        random_state=0,
    )
    with pytest.raises(ValueError, match='at least 4 IN and 4 OUT .* or set variance="example"'):
        LiRA(victim, pool, variance="joint").fit(records)


# Real models


@pytest.fixture(scope="module")
def noisy_problem():
    X, y = make_classification(n_samples=400, n_features=100, flip_y=0.3, random_state=0)
    return Records(X, y), np.random.default_rng(0).permutation(np.arange(400) % 2)


@pytest.mark.parametrize("model", [RandomForestClassifier(15, random_state=0), LinearSVC(C=0.01)])
def test_members_of_real_models_are_found(noisy_problem, model):
    records, membership = noisy_problem
    members = records[membership == 1]
    victim = FrozenEstimator(clone(model).fit(members.X, members.y))
    pool = FrozenEstimator(ShadowPool(model, n_estimators=8, random_state=1).fit(records))
    others = np.random.default_rng(9).permutation(membership)
    for online in (True, False):
        scores = LiRA(victim, pool, online=online).fit(records).score_samples(records)
        assert roc_auc_score(membership, scores) > (0.6 if isinstance(model, LinearSVC) else 0.9)
        assert abs(roc_auc_score(others, scores) - 0.5) < 0.1


def test_members_of_a_regressor_are_found():
    X, y = make_regression(n_samples=300, n_features=8, noise=40, random_state=0)
    records, membership = Records(X, y), np.random.default_rng(0).permutation(np.arange(300) % 2)
    members = records[membership == 1]
    victim = FrozenEstimator(RandomForestRegressor(20, random_state=0).fit(members.X, members.y))
    pool = ShadowPool(RandomForestRegressor(20), n_estimators=8, random_state=0).fit(records)
    scores = LiRA(victim, FrozenEstimator(pool)).fit(records).score_samples(records)
    assert roc_auc_score(membership, scores) > 0.75


def attack_a_regressor(attack, unit):
    """Fitted attack on stored predictions of targets in a unit, and their scores and guesses."""
    rng = np.random.default_rng(0)
    X, y, inside = np.arange(60)[:, None], rng.normal(size=60), rng.random((17, 60)) < 0.5
    inside[1:9] = ~inside[9:]
    error = rng.normal(size=inside.shape) * rng.uniform(0.3, 1, size=60) * np.where(inside, 0.5, 1)
    values = unit * (y + error).astype(np.float32)
    records = Records(X, unit * y, outputs=Outputs(values[0], kind="value"))
    pool = ShadowPool.from_outputs(values[1:], inside[1:], records, kind="value")
    attack = clone(attack).set_params(shadows=FrozenEstimator(pool), target_fpr=0.1).fit(records)
    return attack, attack.score_samples(records), attack.predict(records)


@pytest.mark.filterwarnings("ignore:target_fpr")
@pytest.mark.parametrize(
    "attack",
    [
        LiRA(signal="loss"),
        LiRA(signal="squared_error", variance="example"),
        LiRA(signal="loss", online=False),
        CalibratedAttack(signal="loss"),
        CalibratedAttack(signal="loss", reference="midpoint"),
    ],
)
@pytest.mark.parametrize("unit", [2.0**-14, 2.0**10])
def test_unit_of_the_targets_of_a_regressor_changes_nothing(attack, unit):
    usual, expected, flagged = attack_a_regressor(attack, 1.0)
    found, scores, guesses = attack_a_regressor(attack, unit)
    assert 0 < flagged.sum() < 60
    np.testing.assert_array_equal(guesses, flagged)
    of_unit = unit**2 if isinstance(attack, CalibratedAttack) else 1.0
    np.testing.assert_allclose(scores, of_unit * expected, rtol=1e-3, atol=1e-3 * of_unit)
    if isinstance(attack, LiRA):
        for name in ("variance_in_", "variance_out_"):
            pair = getattr(found, name), unit**4 * getattr(usual, name)
            np.testing.assert_allclose(*pair, rtol=1e-4)


def test_victim_of_another_kind_than_the_shadow_models_is_refused(noisy_problem):
    records, _ = noisy_problem
    pool = ShadowPool(LogisticRegression(), n_estimators=2, random_state=0).fit(records)
    victim = FrozenEstimator(LinearSVC().fit(records.X, records.y))
    attack = LiRA(victim, FrozenEstimator(pool)).fit(records)
    with pytest.raises(ValueError, match="answers 'decision'; .* must return 'proba' or 'logits'"):
        attack.score_samples(records)


def test_unfitted_pool_is_fitted_on_the_records(noisy_problem):
    records, _ = noisy_problem
    records = records[:80].detached()
    victim = FrozenEstimator(LogisticRegression().fit(records.X, records.y))
    pool = ShadowPool(LogisticRegression(), n_estimators=4, random_state=0)
    attack = LiRA(victim, pool).fit(records)
    assert not hasattr(pool, "membership_")
    fitted = LiRA(victim, FrozenEstimator(clone(pool).fit(records))).fit(records)
    np.testing.assert_array_equal(attack.score_samples(records), fitted.score_samples(records))


def test_grid_search_trains_no_shadow_model(draw_world, monkeypatch):
    world = draw_world(n_records=200)
    monkeypatch.setattr(ShadowPool, "fit", None)
    search = GridSearchCV(
        LiRA(shadows=FrozenEstimator(world.pool)), {"variance": VARIANCES}, scoring="roc_auc", cv=3
    )
    search.fit(world.records, world.membership)
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("victim", ["asked", "stored"])
def test_a_victim_that_is_one_of_its_shadow_models_is_pointed_out(victim):
    """Members would be found where nothing leaks, because a model is compared with itself."""
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(60, 3)), rng.integers(2, size=60))
    settings = {"random_state": 0, "store": "models"}
    pool = FrozenEstimator(ShadowPool(LogisticRegression(C=0.1), 4, **settings).fit(records))
    own = pool.estimators_[1]
    asked = records.with_outputs(own) if victim == "stored" else records
    attack = LiRA(None if victim == "stored" else own, pool).fit(asked)
    with pytest.warns(UserWarning, match=r"exactly as shadow model 1 .* models=\[1\]\) attacks"):
        attack.score_samples(asked)


def test_shadow_models_that_hardly_differ_are_no_victim():
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(60, 3)), rng.integers(2, size=60))
    dummy = LogisticRegression(C=1e-12)
    attack = LiRA(dummy.fit(records.X, records.y), ShadowPool(dummy, 4, random_state=0))
    assert np.isfinite(attack.fit(records).score_samples(records)).all()


@pytest.mark.parametrize("attack", [LiRA(), StackedAttack()], ids=["LiRA", "StackedAttack"])
def test_answers_that_are_not_in_the_order_of_the_records_are_pointed_out(attack):
    """Nothing would be found in them, as in a model that does not leak."""
    rng = np.random.default_rng(0)
    level, inside = rng.normal(0, 2, 200), np.tile(rng.random((4, 200)) < 0.5, (2, 1))
    inside[4:] = ~inside[4:]
    records = Records(rng.normal(size=(200, 3)), np.zeros(200, int))
    pool = FrozenEstimator(
        ShadowPool.from_scores(level + rng.normal(size=(8, 200)) + inside, inside, records)
    )
    answers = Outputs(level + rng.normal(size=200), kind="log_odds")
    stored = records.with_fields(outputs=answers)
    mixed = records.with_fields(outputs=answers[::-1])
    attack = clone(attack).set_params(shadows=pool).fit(stored)
    attack.score_samples(stored)
    with pytest.warns(UserWarning, match="do not go with .*[(]rank correlation .*in the order of"):
        attack.score_samples(mixed)
