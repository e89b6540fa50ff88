"""LiRA against the code published with the paper: equal where both formulas agree, and how not."""

import numpy as np
import pytest
from published.lira import published_scores
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import LiRA


def our_scores(world, **settings):
    attack = LiRA(shadows=FrozenEstimator(world.pool), **settings)
    return attack.fit(world.records).score_samples(world.records)


def scores_as_published(world, fix_variance=False, online=True):
    target = world.target[:, None]
    return -published_scores(world.shadows[..., None], world.inside, target, fix_variance, online)


def draw_symmetric(make_world, seed=0):
    """Evidence whose median is its mean, and as many IN as OUT models for each record.

    Records differ in their spread; the IN and the OUT scores of all have a mean of 1 and of -1.
    """
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.normal(size=60))
    away = rng.normal(size=(3, 60)) * spread
    values = np.concatenate([1 + away, 1 - away, -1 + away, -1 - away])
    inside = np.repeat([True, False], 6)[:, None] & np.ones(60, dtype=bool)
    # What a pool keeps is in single precision.
    values, target = (v.astype(np.float32).astype(float) for v in (values, 3 * rng.normal(size=60)))
    return make_world(target, values, inside)


def test_online_scores_are_the_published_ones_where_medians_are_means(make_world):
    world = draw_symmetric(make_world)
    expected = scores_as_published(world)
    np.testing.assert_allclose(our_scores(world, variance="example"), expected, rtol=1e-4)


def test_one_variance_is_the_published_one_where_records_have_one_mean(make_world):
    world = draw_symmetric(make_world)
    expected = scores_as_published(world, fix_variance=True)
    np.testing.assert_allclose(our_scores(world, variance="pooled"), expected, rtol=1e-4)


@pytest.mark.parametrize("variance", ["example", "pooled"])
def test_the_published_offline_score_is_the_density_of_ours(make_world, variance):
    world = draw_symmetric(make_world)
    ours = our_scores(world, variance=variance, online=False)
    out = world.shadows[6:]
    std = out.std(axis=0) if variance == "example" else out.std()
    published = scores_as_published(world, fix_variance=variance == "pooled", online=False)
    np.testing.assert_allclose(-norm.logpdf(ours) + np.log(std), published, rtol=1e-4)


def test_several_queries_are_averaged_as_in_the_published_code():
    X, y = make_classification(n_samples=40, n_features=5, random_state=0)
    records = Records(X, y)
    pool = ShadowPool(
        LogisticRegression(),
        n_estimators=4,  # two IN and two OUT models, whose medians are means
        augment=lambda some: [Records(some.X + 0.5, some.y), Records(-some.X, some.y)],
        random_state=0,
    ).fit(records)
    victim = LogisticRegression().fit(X[::2], y[::2])
    target = np.array([victim.decision_function(query) for query in (X, X + 0.5, -X)])
    target = np.where(y == 1, target, -target).T
    scores = pool.signals_[0].transpose(1, 2, 0).astype(float)
    expected = -published_scores(scores, pool.membership_, target, False, True)
    attack = LiRA(FrozenEstimator(victim), FrozenEstimator(pool), variance="example").fit(records)
    np.testing.assert_allclose(attack.score_samples(records), expected, rtol=1e-3)


def test_the_published_offline_score_is_two_sided_and_ours_is_not(make_world):
    shadows = np.tile([[-1.0], [1.0], [-1.0], [1.0]], 3)
    world = make_world(np.array([-5.0, 0.0, 5.0]), shadows, np.zeros((4, 3), dtype=bool))
    low, middle, high = scores_as_published(world, online=False)
    assert low == pytest.approx(high) and low > middle
    low, middle, high = our_scores(world, variance="example", online=False)
    assert low < middle < high


def test_the_published_fixed_variance_holds_the_spread_between_records(draw_world):
    world = draw_world(n_records=400, spread=50.0, std=0.5)
    ours, published = our_scores(world, variance="pooled"), scores_as_published(world, True)
    # With one variance on both sides the log ratio falls with it: 50 squared against 0.5 squared.
    assert ours.std() / published.std() > 1000


def test_both_find_the_same_members(draw_world):
    world = draw_world(n_records=2000, n_models=64)
    published = scores_as_published(world)
    ours = our_scores(world, variance="example")
    assert np.corrcoef(ours, published)[0, 1] > 0.9
    areas = [roc_auc_score(world.membership, one) for one in (ours, published)]
    # What is known: means have less noise than medians. The standard error of an area is 0.008.
    assert areas[0] > areas[1] - 0.008
