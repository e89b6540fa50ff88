"""Distances from labels alone: those of linear classifiers are known."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.defenses import LabelOnlyDefense
from skmia.signals import AdversarialDistance, BoundaryDistance, Signals
from skmia.victims import CallableVictim


class Oracle(ClassifierMixin, BaseEstimator):
    """Gives labels and nothing else, not even a list of the classes; counts its queries."""

    def __init__(self, coef):
        self.coef = coef
        self.n_rows = 0

    def fit(self, X=None, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        self.n_rows += len(X)
        return np.where(np.asarray(X) @ self.coef > 0, "up", "down")


def make_linear(n_features, n=200, seed=0):
    """Records, an oracle that is right on all but ten of them, and their true distances."""
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(n, n_features)), rng.normal(size=n_features)
    above = X @ coef > 0
    above[:10] = ~above[:10]
    true = np.abs(X @ coef) / np.linalg.norm(coef)
    true[:10] = 0
    return Records(X, np.where(above, "up", "down")), Oracle(coef), true


@pytest.mark.parametrize(
    "n_features, max_queries, error",
    [
        (1, 300, 1e-3),
        (2, 1000, 2e-3),
        pytest.param(10, 1000, 0.01, marks=pytest.mark.slow),
        (64, 1000, 0.1),
        pytest.param(64, 4000, 0.03, marks=pytest.mark.slow),
    ],
)
def test_the_distance_to_a_hyperplane(n_features, max_queries, error):
    records, oracle, true = make_linear(n_features, 80)
    distance = BoundaryDistance(max_queries=max_queries).of(oracle, records)
    np.testing.assert_array_equal(distance[:10], 0)
    excess = distance[10:] / true[10:] - 1
    assert (excess > -1e-9).all()  # a misclassified point is never nearer than the boundary
    assert np.median(excess) < error


def test_no_record_costs_more_than_the_budget():
    records, oracle, _ = make_linear(20)
    for max_queries in (150, 400):
        oracle.n_rows = 0
        search = BoundaryDistance(max_queries=max_queries)._search(oracle, records)
        assert search.used.max() <= max_queries
        assert search.used.sum() == oracle.n_rows
        np.testing.assert_array_equal(search.used[:10], 1)


def test_every_distance_is_that_of_a_misclassified_point():
    digits = load_digits()
    records = Records(digits.data[:100] / 16, digits.target[:100])
    victim = RandomForestClassifier(10, random_state=0).fit(records.X[:50], records.y[:50])
    search = BoundaryDistance(scale=0.3, max_queries=300)._search(victim, records)
    right = search.distance > 0
    np.testing.assert_array_equal(right, victim.predict(records.X) == records.y)
    found = records.X[right] + 0.3 * search.step[right]
    assert (victim.predict(found) != records.y[right]).all()
    np.testing.assert_array_equal(search.distance, np.linalg.norm(search.step, axis=1))


def test_a_larger_budget_never_gives_a_larger_distance():
    records, oracle, _ = make_linear(30)
    distances = [BoundaryDistance(max_queries=most).of(oracle, records) for most in (150, 300, 900)]
    assert (distances[1] <= distances[0]).all() and (distances[2] <= distances[1]).all()
    assert distances[2].sum() < 0.7 * distances[0].sum()


def test_where_nothing_is_found_it_is_the_largest_radius():
    X = np.random.default_rng(0).normal(size=(20, 9))
    victim = DummyClassifier(strategy="constant", constant=1).fit(X, np.arange(20) % 2)
    distance = BoundaryDistance().of(victim, Records(X, np.ones(20, dtype=int)))
    np.testing.assert_allclose(distance, 64 * 3)


def test_units_of_the_features_are_those_of_the_scale():
    records, oracle, _ = make_linear(3, 80)
    unit = np.array([1.0, 8.0, 0.5])  # powers of two: nothing is rounded
    other = Records(records.X * unit, records.y)
    scaled = BoundaryDistance(tuple(unit), max_queries=500).of(Oracle(oracle.coef / unit), other)
    expected = BoundaryDistance(max_queries=500).of(oracle, records)
    np.testing.assert_array_equal(scaled, expected)
    half = BoundaryDistance(scale=2.0, max_queries=1000).of(oracle, records)
    plain = BoundaryDistance(scale=1.0, max_queries=1000).of(oracle, records)
    np.testing.assert_allclose(2 * half[10:], plain[10:], rtol=0.02)


def test_company_and_batches_change_nothing(monkeypatch):
    records, oracle, _ = make_linear(5, 80)
    signal = BoundaryDistance(max_queries=150)
    together = signal.of(oracle, records)
    np.testing.assert_allclose(signal.of(oracle, records[30]), together[[30]], rtol=1e-9)
    monkeypatch.setattr("skmia.signals._boundary.CHUNK", 60)
    np.testing.assert_allclose(signal.of(oracle, records), together, rtol=1e-9)


def test_more_informative_victims_and_forms_of_x_give_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    model = LogisticRegression().fit(X, y)
    signal = BoundaryDistance(max_queries=150)
    expected = signal.of(model, Records(X, y))
    images = CallableVictim(lambda rows: model.predict_proba(rows.reshape(-1, 4)), [0, 1, 2])
    table = pd.DataFrame(X, columns=list("abcd"))
    for victim, rows in [
        (LabelOnlyDefense(LogisticRegression()).fit(X, y), X),
        (images, X.reshape(-1, 2, 2)),
        (LogisticRegression().fit(table, y), table),
    ]:
        np.testing.assert_allclose(signal.of(victim, Records(rows, y)), expected, rtol=1e-9)


def test_it_is_a_signal_of_attacks_and_tables():
    records, oracle, true = make_linear(3, 80)
    attack = ThresholdAttack(oracle, signal="boundary_distance").fit(records)
    np.testing.assert_allclose(attack.score_samples(records), true, rtol=0.02)
    assert Signals(oracle, ["boundary_distance"]).fit_transform(records).shape == (80, 1)


@pytest.mark.parametrize(
    "rows, message",
    [
        (sparse.eye(6, format="csr"), "must not be sparse"),
        (pd.DataFrame({"a": np.arange(6.0), "sex": ["f"] * 6}), "'sex' .* LabelRobustness"),
        (np.full((6, 2), "text"), "X holds no numbers"),
    ],
)
def test_x_must_hold_numbers(rows, message):
    victim = Oracle(np.ones(2))
    with pytest.raises(ValueError, match=f"Signal 'boundary_distance'.*{message}"):
        BoundaryDistance().of(victim, Records(rows, ["up"] * 6))


@parametrize_refusals(
    (
        lambda records, oracle: BoundaryDistance(scale=(1.0, 2.0)).of(oracle, records),
        "scale of signal .* each of 3 features; got 2",
    ),
    (
        lambda records, oracle: BoundaryDistance().of(
            LinearRegression().fit(records.X, np.arange(200.0)),
            Records(records.X, np.arange(200.0)),
        ),
        "needs a classifier; got a regressor",
    ),
    (
        lambda records, oracle: ThresholdAttack(signal="boundary_distance").fit(records),
        "needs the victim itself",
    ),
    (
        lambda records, oracle: BoundaryDistance().of(
            LogisticRegression().fit(records.X, records.y), Records(records.X, ["left"] * 200)
        ),
        "'left' is none of",
    ),
)
def test_what_it_cannot_work_on_is_refused(call, words, error):
    records, oracle, _ = make_linear(3)
    check_refusal(call, words, error, records, oracle)


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": 0.0},
        {"scale": (1.0, -1.0)},
        {"max_queries": 149},
        {"max_queries": 2e3},
        {"random_state": -1},
    ],
)
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        BoundaryDistance(**settings)
    assert BoundaryDistance(scale=(1e-9, 2.0), max_queries=150, random_state=0).max_queries == 150


@parametrize_refusals(
    (lambda: AdversarialDistance(bounds=(0, 1, 2)), r"the smaller one first; got \(0, 1, 2\)"),
    (lambda: AdversarialDistance(bounds=(1, 0)), r"the smaller one first; got \(1, 0\)"),
    (lambda: AdversarialDistance(bounds=(1, 1)), r"the smaller one first; got \(1, 1\)"),
)
def test_wrong_bounds_are_refused(call, words, error):
    check_refusal(call, words, error)
