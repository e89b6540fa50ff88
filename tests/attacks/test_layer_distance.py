"""Distances between layers, in closed form and by hand."""

import copy

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier

from skmia import Records
from skmia.attacks._one_query import label_margin
from skmia.attacks.white_box import (
    ClassGaussians,
    FisherRaoAttack,
    MahalanobisAttack,
    WhiteBoxAttack,
    compute_centroids,
    halve_both_sides,
)
from skmia.metrics.distances import fisher_rao_distance
from skmia.victims import open_white_box

RNG = np.random.default_rng(0)


def test_mahalanobis_is_the_smallest_quadratic_form():
    values = RNG.normal(size=(90, 4)) @ RNG.normal(size=(4, 4))
    labels = RNG.integers(3, size=90)
    means = [values[labels == k].mean(axis=0) for k in range(3)]
    centered = values - np.array(means)[labels]
    inverse = np.linalg.inv(centered.T @ centered / 90)
    expected = [min((v - m) @ inverse @ (v - m) for m in means) for v in values]
    np.testing.assert_allclose(ClassGaussians(values, labels).measure(values), expected, rtol=1e-8)


def test_directions_without_variance_are_left_out():
    values = np.column_stack([RNG.normal(size=(50, 2)), np.ones(50)])
    values = np.column_stack([values, values[:, 0] + values[:, 1]])
    labels = RNG.integers(2, size=50)
    few = ClassGaussians(values[:, :2], labels).measure(values[:, :2])
    np.testing.assert_allclose(ClassGaussians(values, labels).measure(values), few, rtol=1e-6)


def test_no_other_logits_are_nearer_than_the_centroid():
    p = RNG.dirichlet([5.0, 2.0, 1.0], size=80)
    start = np.array([[1.0, 0, 0]])
    centroid = compute_centroids(p, np.zeros(80, dtype=int), start, 1.0, max_iter=1000)[0]

    def mean_distance(logits):
        q = np.exp(logits) / np.exp(logits).sum()
        return fisher_rao_distance(p, q).mean()

    best = mean_distance(centroid)
    for _ in range(200):
        assert mean_distance(centroid + 0.1 * RNG.normal(size=3)) > best - 1e-6


def test_centroids_of_several_groups_are_found_as_if_alone():
    p, group = RNG.dirichlet([3.0, 2.0, 1.0, 1.0], size=60), RNG.integers(3, size=60)
    start = np.eye(4)[[2, 0, 1]]
    alone = [
        compute_centroids(
            p[group == k], np.zeros(sum(group == k), dtype=int), start[[k]], 2.0, 300
        )[0]
        for k in range(3)
    ]
    np.testing.assert_allclose(compute_centroids(p, group, start, 2.0, 300), alone, atol=1e-6)


@pytest.mark.parametrize("few", [True, False])
def test_both_halves_hold_both_sides(few):
    membership = np.arange(40) < 2 if few else np.arange(40) >= 2
    for seed in range(20):
        half = halve_both_sides(membership, np.random.RandomState(seed))
        assert abs(half.sum() - 20) <= 1
        assert half[membership == few].sum() == 1
        drawn = np.random.RandomState(seed).permutation(40) % 2 == 0
        assert (half != drawn).sum() == (drawn[membership == few].sum() != 1)


def test_a_single_record_of_a_side_cannot_be_divided():
    with pytest.raises(ValueError, match="there is 1 non-member to be divided; give more of them"):
        halve_both_sides(np.arange(9) > 0, np.random.RandomState(0))


@pytest.mark.parametrize("attack", [MahalanobisAttack(cv=2), FisherRaoAttack(cv=2, max_iter=5)])
def test_few_nonmembers_are_enough_to_learn_from(attack):
    X, y = np.random.default_rng(0).normal(size=(44, 5)), np.arange(44) % 2
    victim = MLPClassifier((6,), solver="lbfgs", tol=0.1, random_state=0).fit(X[:40], y[:40])
    attack = attack.set_params(victim=victim)
    for seed in range(4):  # at half of the seeds one half has no non-member
        fitted = attack.set_params(random_state=seed).fit(Records(X, y), np.arange(44) < 40)
        assert np.isfinite(fitted.score_samples(Records(X, y))).all()


def test_the_first_step_to_a_centroid_has_the_length_of_the_rate():
    # Whatever the slope, Adam begins with a step of .01 in each coordinate, here towards p.
    p, start = np.array([[0.6, 0.3, 0.1]]), np.array([[0.0, 1.0, 0.0]])
    moved = compute_centroids(p, np.zeros(1, dtype=int), start, 1.0, max_iter=1)
    np.testing.assert_allclose(moved - start, [[0.01, -0.01, -0.01]], rtol=1e-5)


@pytest.fixture(scope="module")
def audit():
    X, y = RNG.normal(size=(400, 8)), RNG.integers(3, size=400)
    membership = np.arange(400) % 2
    model = MLPClassifier((30,), solver="lbfgs", max_iter=3000, random_state=0)
    model.fit(X[membership == 1], y[membership == 1])
    return FrozenEstimator(model), Records(X, y), membership


def test_the_score_is_the_weighted_sum_of_ratios(audit):
    victim, records, membership = audit
    attack = MahalanobisAttack(victim, cross_fit=False).fit(records[:300], membership[:300])
    known, rest = records[:300], records[300:]
    white_box = open_white_box(victim)
    expected = np.zeros(100)
    layers = zip(
        attack.weights_,
        white_box.layer_outputs(known.X),
        white_box.layer_outputs(rest.X),
        strict=True,
    )
    for weight, values, asked in layers:
        into, out = (
            ClassGaussians(values[m], known.y[m])
            for m in (membership[:300] == 1, membership[:300] == 0)
        )
        expected += weight * out.measure(asked) / into.measure(asked)
    np.testing.assert_allclose(attack.score_samples(rest), expected, rtol=1e-8)


def test_logits_in_another_order_of_the_classes_are_the_same(audit):
    victim, records, membership = audit
    order, net = [2, 0, 1], copy.deepcopy(victim.estimator)  # as the classes of a net may be given
    net.classes_ = net.classes_[order]
    net.coefs_[-1], net.intercepts_[-1] = net.coefs_[-1][:, order], net.intercepts_[-1][order]
    scores = [
        FisherRaoAttack(model, layers=[], max_iter=20, cross_fit=False)
        .fit(records[:300], membership[:300])
        .score_samples(records[300:])
        for model in (victim, FrozenEstimator(net))
    ]
    np.testing.assert_allclose(*scores)
    boxes = open_white_box(victim), open_white_box(net)
    np.testing.assert_allclose(*(label_margin(one, records.X, records.y)[0] for one in boxes))


@pytest.mark.parametrize("attack", [MahalanobisAttack, FisherRaoAttack])
def test_known_records_are_recognized_by_their_ratio(audit, attack):
    # Without cross-fitting a record helps to describe its own side, and stands out: the ratios of
    # the very records that were described are what the weights were learned from.
    victim, records, membership = audit
    one = attack(victim, cross_fit=False).fit(records, membership)
    flattered = one._judge(one._model, one._collect(records))
    assert flattered[membership == 1].mean() > flattered[membership == 0].mean()


@pytest.mark.parametrize("attack", [MahalanobisAttack, FisherRaoAttack])
def test_chosen_layers_are_read(audit, attack):
    victim, records, membership = audit
    chosen = attack(victim, layers=[0], cv=2, random_state=0)
    if attack is FisherRaoAttack:
        chosen.set_params(max_iter=10)
    chosen.fit(records, membership)
    assert len(chosen.weights_) == (1 if attack is MahalanobisAttack else 2)


def test_no_layers_are_refused_where_nothing_else_is_read(audit):
    victim, records, membership = audit
    with pytest.raises(ValueError, match=r"layers must name one or more layers; got \[\]"):
        MahalanobisAttack(victim, layers=[]).fit(records, membership)
    alone = FisherRaoAttack(victim, layers=[], cv=2, max_iter=10).fit(records, membership)
    assert len(alone.weights_) == 1  # the outputs


@pytest.mark.parametrize("attack", [MahalanobisAttack, FisherRaoAttack, WhiteBoxAttack])
def test_a_regressor_is_refused(attack):
    X, y = RNG.normal(size=(40, 3)), RNG.normal(size=40)
    victim = FrozenEstimator(LinearRegression().fit(X, y))
    with pytest.raises(ValueError, match="needs a classifier; got a regressor"):
        attack(victim).fit(Records(X, y), np.arange(40) % 2)
