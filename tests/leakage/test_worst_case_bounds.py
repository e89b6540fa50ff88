import numpy as np
import pytest
from draws import few_and_many, most_by_chance
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from skmia.leakage import (
    WorstCaseVulnerability,
)
from skmia.metrics import clopper_pearson

QUICK = {"n_permutations": 0, "random_state": 0}


def normal_distance(shift):
    """Total variation between two normal laws of unit variance."""
    return 2 * stats.norm.cdf(shift / 2) - 1


def make_normal_features(n, shift, n_features=1, seed=0):
    """Members and non-members whose first feature differs by a shift."""
    membership = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    X[:, 0] += shift * membership
    return X, membership


def test_the_null_shows_the_bias():
    rng = np.random.default_rng(9)
    membership = np.repeat([1, 0], 1000)
    X = (rng.random((2000, 1)) < 0.3).astype(float)
    worst = WorstCaseVulnerability(n_permutations=400, random_state=0).fit(X, membership)
    q = X.mean()
    expected = np.sqrt(2 / np.pi * q * (1 - q) * 2 / 1000)
    assert worst.null_.shape == (400,)
    assert worst.bias_ == worst.null_.mean()
    assert worst.bias_ == pytest.approx(expected, abs=4 * 0.75 * expected / 20)
    as_large = (worst.null_ >= worst.vulnerability_ - 1e-12).sum()
    assert worst.pvalue_ == (1 + as_large) / 401
    without = clone(worst).set_params(n_permutations=0).fit(X, membership)
    assert len(without.null_) == 0
    assert np.isnan([without.bias_, without.pvalue_]).all()


class Centroids(ClassifierMixin, BaseEstimator):
    """Prefers the class with the nearer mean: quick to fit."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.means_ = X[y == 0].mean(), X[y == 1].mean()
        return self

    def predict_proba(self, X):
        nearer = np.abs(X[:, 0] - self.means_[1]) < np.abs(X[:, 0] - self.means_[0])
        proba = np.where(nearer, 0.99, 0.01)
        return np.column_stack([1 - proba, proba])


@few_and_many(100)
@pytest.mark.parametrize("method", ["plugin", "kde", "neighbors", "classifier"])
def test_pvalues_are_uniform_where_nothing_leaks(method, n_draws):
    rng = np.random.default_rng(10)
    worst = WorstCaseVulnerability(method, estimator=Centroids(), cv=2, n_permutations=9)
    pvalues = np.empty(n_draws)
    for seed in range(n_draws):
        X, membership = rng.normal(size=(60, 1)), np.repeat([1, 0], [20, 40])
        X = X.round() if method == "plugin" else X
        pvalues[seed] = worst.set_params(random_state=seed).fit(X, membership).pvalue_
    for level in (0.1, 0.3, 0.5):
        # At most the level; ties, of which frequencies and counted guesses have many, make less.
        error = np.sqrt(level * (1 - level) / n_draws)
        assert np.mean(pvalues <= level) <= level + 3 * error
        if method == "kde":
            assert np.mean(pvalues <= level) >= level - 3 * error


def test_pvalue_finds_a_leak():
    X, membership = make_normal_features(400, 1.0)
    for method in ("kde", "neighbors"):
        worst = WorstCaseVulnerability(method, n_permutations=99, random_state=0)
        assert worst.fit(X, membership).pvalue_ == 0.01


@few_and_many(600)
@pytest.mark.parametrize("method, shift", [("plugin", 0.8), ("kde", 0.8), ("kde", 0.0)])
def test_lower_bounds_and_intervals_hold(method, shift, n_draws):
    rng = np.random.default_rng(11)
    # Of the law of the first feature alone, whose halves 0.5 apart meet no node in the middle.
    missed, outside, bounds = 0, 0, []
    nodes = np.arange(-8, 8) + 0.5
    rounded = np.diff(stats.norm.cdf(nodes - shift) - stats.norm.cdf(nodes))
    truth = np.abs(rounded).sum() / 2 if method == "plugin" else normal_distance(shift)
    threshold = np.abs(np.cumsum(rounded)).max() if method == "plugin" else normal_distance(shift)
    membership = np.repeat([1, 0], [90, 60])
    for seed in range(n_draws):
        X = rng.normal(size=(150, 1)) + shift * membership[:, None]
        X = X.round() if method == "plugin" else X
        worst = WorstCaseVulnerability(method, n_permutations=0, random_state=seed)
        worst.fit(X, membership)
        missed += worst.lower_bound_ > truth
        _, low, high = worst.threshold_advantage_
        outside += low > threshold + 1e-12 or high < threshold - 1e-12
        bounds.append(worst.lower_bound_)
    most = most_by_chance(n_draws, 0.05)
    assert missed <= most and outside <= most
    # The bounds would also hold if they were always 0.
    assert (np.mean(bounds) > 0.01) == (shift > 0)


def test_lower_bound_is_clopper_pearson_of_the_other_half():
    # The witness is certain, so that the bound of each of 2 x 100 measured records is exact.
    membership = np.repeat([1, 0], 200)
    worst = WorstCaseVulnerability(confidence_level=0.9, **QUICK)
    worst.fit(membership[:, None], membership)
    low = clopper_pearson(100, 100, confidence_level=0.9)[0]
    assert worst.vulnerability_ == 1
    assert worst.lower_bound_ == pytest.approx(low - (1 - low))


def test_threshold_interval_by_hand():
    X, membership = make_normal_features(1000, -0.7)
    worst = WorstCaseVulnerability(confidence_level=0.8, **QUICK).fit(X, membership)
    inside, outside = X[membership == 1, 0], X[membership == 0, 0]
    distance = stats.ks_2samp(inside, outside).statistic
    slack = 2 * np.sqrt(np.log(4 / 0.2) / (2 * 500))
    assert worst.threshold_advantage_ == pytest.approx(
        (distance, distance - slack, distance + slack)
    )
    both = np.column_stack([X, X])
    assert WorstCaseVulnerability(**QUICK).fit(both, membership).threshold_advantage_ is None
