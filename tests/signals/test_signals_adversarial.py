"""Distances to the boundary: those of linear classifiers are known."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier

from skmia import Records
from skmia.signals import AdversarialDistance, _boundary
from skmia.signals._boundary import _choose_checkpoints, _project, _project_l1, compute_norm

RNG = np.random.default_rng(0)
DUALS = {"linf": 1, "l2": 2, "l1": np.inf}


def make_linear(n_classes, n=150, n_features=10):
    X, y = RNG.normal(size=(n, n_features)), RNG.integers(n_classes, size=n)
    return LogisticRegression(max_iter=1000).fit(X, y), Records(X, y)


def find_exact(victim, records, norm):
    """Smallest over the other classes of the margin over the dual norm of its slope."""
    weights, intercepts = victim.coef_, victim.intercept_
    if len(weights) == 1:
        weights, intercepts = np.vstack([-weights, weights]) / 2, np.r_[-intercepts, intercepts] / 2
    logits, y = records.X @ weights.T + intercepts, records.y
    distance = np.full(logits.shape, np.inf)
    for c in range(len(weights)):
        others = y != c
        slope = np.linalg.norm(weights[y] - weights[c], ord=DUALS[norm], axis=1)[others]
        margin = logits[np.arange(len(y)), y] - logits[:, c]
        distance[others, c] = margin[others] / slope
    return np.maximum(distance.min(axis=1), 0)


@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_no_shorter_than_the_exact_distance_of_a_linear_victim_and_close_to_it(norm, n_classes):
    victim, records = make_linear(n_classes)
    exact = find_exact(victim, records, norm)
    found = AdversarialDistance(norm, eps=100.0).of(victim, records)
    np.testing.assert_array_equal(found[exact == 0], 0)
    ratio = found[exact > 0] / exact[exact > 0]
    assert ratio.min() >= 1 - 1e-9
    assert np.median(ratio) < 1.005 and ratio.max() < 1.05


def test_a_fixed_radius_gives_a_point_of_large_loss_not_the_nearest_one():
    victim, records = make_linear(2)
    exact = find_exact(victim, records, "l2")
    found = AdversarialDistance("l2", mode="fixed_eps", eps=5.0).of(victim, records)
    near = (exact > 0) & (exact < 5)
    # The loss of a linear model is largest on the sphere.
    np.testing.assert_allclose(found[near], 5, rtol=1e-6)
    np.testing.assert_array_equal(found[exact == 0], 0)


@pytest.mark.parametrize("mode", ["min", "fixed_eps"])
def test_the_radius_stands_for_what_was_not_found(mode):
    victim, records = make_linear(2)
    exact = find_exact(victim, records, "linf")
    eps = np.median(exact[exact > 0])
    found = AdversarialDistance(mode=mode, eps=eps).of(victim, records)
    np.testing.assert_array_equal(found[exact > 1.001 * eps], eps)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_perturbed_records_stay_in_the_ball_and_in_the_box(norm):
    origin = RNG.uniform(size=(50, 20))
    radius = RNG.uniform(0.1, 3, size=50)
    points = _project(origin + 5 * RNG.normal(size=(50, 20)), origin, radius, norm, (0, 1))
    assert points.min() >= 0 and points.max() <= 1
    assert (compute_norm(points - origin, norm) <= radius * (1 + 1e-9)).all()
    np.testing.assert_array_equal(_project(origin, origin, radius, norm, (0, 1)), origin)


def test_the_projection_on_the_l1_ball_is_the_nearest_point():
    step, radius = RNG.normal(size=(30, 6)), np.full(30, 1.5)
    projected = _project_l1(step, radius)
    length = np.linalg.norm(step - projected, axis=1)
    for _ in range(300):
        other = RNG.normal(size=(30, 6))
        other *= (1.5 * RNG.uniform(size=30) / np.abs(other).sum(axis=1))[:, None]
        mixed = 0.9 * projected + 0.1 * other
        for inside in (other, mixed):
            assert (np.linalg.norm(step - inside, axis=1) >= length - 1e-12).all()


def test_checkpoints_are_those_of_the_paper():
    # p = 0, .22, .41, .57, .70, .80, .87, .93, .99 of 100 steps.
    assert _choose_checkpoints(100) == [22, 41, 57, 70, 80, 87, 93, 99]


def test_the_box_is_kept_when_the_boundary_lies_outside():
    X, y = RNG.uniform(size=(100, 3)), RNG.integers(2, size=100)
    victim = LogisticRegression(C=1e-3).fit(X, y)
    victim.coef_[:] = [[0.1, 0, 0]]
    victim.intercept_[:] = 10  # nothing in the cube is of class 0
    records = Records(X, np.ones(100, dtype=int))
    inside = AdversarialDistance("l2", eps=500.0, bounds=(0, 1)).of(victim, records)
    np.testing.assert_array_equal(inside, 500)
    outside = AdversarialDistance("l2", eps=500.0).of(victim, records)
    np.testing.assert_allclose(outside, 100 + X[:, 0], rtol=2e-2)


def test_chunks_and_company_change_nothing(monkeypatch):
    X, y = RNG.normal(size=(16, 4)), RNG.integers(3, size=16)
    victim = MLPClassifier((10,), solver="lbfgs", max_iter=2000, random_state=0).fit(X, y)
    records, signal = Records(X, y), AdversarialDistance(eps=3.0)
    together = signal.of(victim, records)
    np.testing.assert_allclose(signal.of(victim, records[:7]), together[:7], rtol=1e-6)
    monkeypatch.setattr("skmia.signals._boundary._CELLS", 50)
    np.testing.assert_allclose(signal.of(victim, records), together, rtol=1e-6)


def test_members_of_an_overfit_net_are_farther_from_the_boundary():
    X, y = RNG.normal(size=(300, 6)), RNG.integers(2, size=300)
    victim = MLPClassifier((60,), solver="lbfgs", max_iter=3000, random_state=0)
    victim.fit(X[:150], y[:150])
    distance = AdversarialDistance(eps=3.0).of(victim, Records(X, y))
    assert distance[:150].mean() > 1.5 * distance[150:].mean()


def test_it_needs_gradients_and_classes():
    X, y = RNG.normal(size=(40, 3)), RNG.integers(2, size=40)
    with pytest.raises(TypeError, match=r"needs gradients.*got RandomForestClassifier"):
        AdversarialDistance().of(RandomForestClassifier(5).fit(X, y), Records(X, y))
    with pytest.raises(ValueError, match="needs a classifier; got a regressor"):
        AdversarialDistance().of(LinearRegression().fit(X, y), Records(X, y.astype(float)))


@pytest.mark.parametrize(
    "settings", [{"norm": "l3"}, {"mode": "max"}, {"eps": 0.0}, {"n_steps": 0}, {"n_rounds": 0}]
)
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        AdversarialDistance(**settings)
    smallest = AdversarialDistance(eps=1e-300, bounds=(0, 1e-9), n_steps=1, n_rounds=1)
    assert (smallest.eps, smallest.n_steps, smallest.n_rounds) == (1e-300, 1, 1)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16, y[:200]
    return MLPClassifier((32,), solver="lbfgs", random_state=0).fit(X, y), Records(X, y)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_within_the_published_radii_a_point_is_found_for_every_record(norm, digits, monkeypatch):
    net, records = digits
    found, search = [], _boundary.ascend

    def ascend(*arguments):
        points, hits = search(*arguments)
        found.append(hits)
        return points, hits

    monkeypatch.setattr(_boundary, "ascend", ascend)
    AdversarialDistance(norm, mode="fixed_eps", bounds=(0, 1)).of(net, records)
    hits = np.concatenate(found)
    assert len(hits) == 200 and hits.all()


@pytest.mark.parametrize("mode", ["min", "fixed_eps"])
def test_label_that_the_model_does_not_know_is_refused_at_any_record(mode):
    X = np.random.default_rng(0).normal(size=(40, 3))
    victim = LogisticRegression().fit(X, np.where(X[:, 0] > 0, 2, 0))
    unknown = Records(X[:5], np.array([0, 2, 0, 1, 0]))
    with pytest.raises(ValueError, match="1 of 5 records have .* first at position 3: 1 is none"):
        AdversarialDistance(mode=mode, eps=1.0).of(victim, unknown)
