"""compat="carlini2022" against what the published code does, written out from its formulas."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool
from skmia.attacks import LiRA


def published_scores(scores, keep, target, fix_variance, online):
    """Scores in the order of the models: (n_models, n, n_queries), (n_models, n), (n, n_queries).

    The first IN and OUT scores of each record, as many as the record with the fewest has; their
    medians; the standard deviation of each record and query, or of all IN scores for both sides
    (offline: of all OUT scores); minus the log ratio averaged over queries, where a low number is
    a member. Offline it is the log density under OUT, where a low number is a member.
    """
    n_records = scores.shape[1]
    into = [scores[keep[:, j], j, :] for j in range(n_records)]
    out = [scores[~keep[:, j], j, :] for j in range(n_records)]
    n_in, n_out = min(map(len, into)), min(map(len, out))
    into = np.array([rows[:n_in] for rows in into])
    out = np.array([rows[:n_out] for rows in out])
    mean_in, mean_out = np.median(into, 1), np.median(out, 1)
    if fix_variance:
        std_in = np.std(into)
        std_out = np.std(into) if online else np.std(out)
    else:
        std_in, std_out = np.std(into, 1), np.std(out, 1)
    log_out = norm.logpdf(target, mean_out, std_out + 1e-30)
    if not online:
        return log_out.mean(1)
    log_in = norm.logpdf(target, mean_in, std_in + 1e-30)
    return (-log_in + log_out).mean(1)


def compat_scores(world, **settings):
    attack = LiRA(shadows=FrozenEstimator(world.pool), compat="carlini2022", **settings)
    return attack.fit(world.records).score_samples(world.records)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("fix_variance", [True, False])
@pytest.mark.parametrize("balanced", [True, False])
def test_scores_are_those_of_the_published_code(
    draw_world, make_world, online, fix_variance, balanced
):
    world = draw_world(n_models=12)
    inside = world.inside
    if not balanced:
        rng = np.random.default_rng(5)
        inside = rng.random(inside.shape) < 0.4
        inside[:3], inside[3:6] = True, False
    # The scores of a pool are kept in single precision.
    shadows = world.shadows.astype(np.float32).astype(float)
    world = make_world(world.target.astype(np.float32).astype(float), shadows, inside)
    expected = -published_scores(
        shadows[..., None], inside, world.target[:, None], fix_variance, online
    )
    variance = "pooled" if fix_variance else "example"
    got = compat_scores(world, variance=variance, online=online)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("fix_variance", [True, False])
def test_several_queries_are_those_of_the_published_code(online, fix_variance):
    X, y = make_classification(n_samples=40, n_features=5, random_state=0)
    records = Records(X, y)
    pool = ShadowPool(
        LogisticRegression(),
        n_estimators=8,
        augment=lambda some: [Records(some.X + 0.5, some.y), Records(-some.X, some.y)],
        random_state=0,
    ).fit(records)
    victim = LogisticRegression().fit(X[::2], y[::2])
    target = np.array([victim.decision_function(query) for query in (X, X + 0.5, -X)])
    target = np.where(y == 1, target, -target).T
    scores = pool.signals_[0].transpose(1, 2, 0).astype(float)
    expected = -published_scores(scores, pool.membership_, target, fix_variance, online)
    attack = LiRA(
        FrozenEstimator(victim),
        FrozenEstimator(pool),
        variance="pooled" if fix_variance else "example",
        online=online,
        compat="carlini2022",
    )
    got = attack.fit(records).score_samples(records)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_published_offline_score_is_two_sided(make_world):
    shadows = np.tile([[-1.0], [1.0], [-1.0], [1.0]], 3)
    world = make_world(np.array([-5.0, 0.0, 5.0]), shadows, np.zeros((4, 3)))
    low, middle, high = compat_scores(world, variance="example", online=False)
    assert low == pytest.approx(high)
    assert low > middle


def test_published_fixed_variance_holds_the_spread_between_records(draw_world):
    world = draw_world(n_records=400, spread=50.0, std=0.5)
    ours = LiRA(shadows=FrozenEstimator(world.pool), variance="pooled").fit(world.records)
    published = compat_scores(world, variance="pooled")
    # With one variance on both sides the log ratio falls with it: 50 squared against 0.5 squared.
    ratio = ours.score_samples(world.records).std() / published.std()
    assert ratio > 1000


def test_records_with_fewer_models_than_those_of_fit_use_their_own_alone(make_world):
    rng = np.random.default_rng(0)
    inside = np.tile([[True], [False]], (4, 6))
    inside[[2, 4, 6], 5] = False  # the last record is IN for one model
    shadows = rng.normal(size=(8, 6)) + 3 * inside
    world = make_world(rng.normal(size=6), shadows, inside)
    attack = LiRA(shadows=FrozenEstimator(world.pool), variance="pooled", compat="carlini2022").fit(
        world.records[:5]
    )
    std = np.std(shadows[inside[:, 0], :5])
    out = shadows[~inside[:, 5], 5][:4]
    expected = norm.logpdf(world.target[5], shadows[0, 5], std)
    expected -= norm.logpdf(world.target[5], np.median(out), std)
    np.testing.assert_allclose(attack.score_samples(world.records[5]), expected, rtol=1e-4)


def test_threshold_at_a_false_positive_rate_takes_no_model_for_what_it_is_not(draw_world):
    world = draw_world(n_records=20_000, n_models=16, shift=2.0)
    attack = LiRA(
        shadows=FrozenEstimator(world.pool),
        variance="pooled",
        compat="carlini2022",
        target_fpr=0.1,
    ).fit(world.records)
    flagged = attack.predict(world.records)[world.membership == 0].mean()
    assert 0.08 < flagged < 0.12


def test_constant_evidence_is_as_large_as_floats_allow(make_world):
    inside = np.tile([[True], [False]], (4, 10))
    world = make_world(np.zeros(10), np.zeros((8, 10)), inside)
    np.testing.assert_array_equal(compat_scores(world, variance="example"), 0)
