"""Leakage of single records where columns are correlated."""

import numpy as np
import pytest
from scipy.special import erf

from skmia._core import gaussians as _moments
from skmia._core.gaussians import (
    ShrinkageWeights,
    ShrunkCovariance,
    ShrunkMoments,
    choose_shrinkage,
    estimate_moments,
    make_moments,
    shrink,
)
from skmia.leakage import MahalanobisLeakage


def make_correlated(n_rows, n_features, correlation, seed=0):
    """Rows of other units and another center, and their true squared distances as a function."""
    rng = np.random.default_rng(seed)
    units, center = np.exp(rng.normal(size=n_features)), 5 * rng.normal(size=n_features)

    def draw(n):
        own, common = rng.normal(size=(n, n_features)), rng.normal(size=(n, 1))
        return (np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common) * units + center

    def square(rows):
        white = (rows - center) / units
        # The inverse of equal correlations, by the formula of Sherman and Morrison.
        share = correlation / (1 - correlation + correlation * n_features)
        return ((white**2).sum(axis=1) - share * white.sum(axis=1) ** 2) / (1 - correlation)

    return draw(n_rows), draw(200), square


def advantage(squares, n_rows):
    return erf(np.sqrt(squares / n_rows / 8))


@pytest.mark.parametrize("n_rows, n_features", [(200, 300), (200, 60), (1000, 60)])
def test_single_records_get_their_own_advantage(n_rows, n_features):
    X, others, square = make_correlated(n_rows, n_features, 0.3)
    auto = MahalanobisLeakage().fit(X)
    diagonal = MahalanobisLeakage(covariance="diagonal").fit(X)
    assert 0 < auto.shrinkage_ < 1
    for rows in (X, others):
        truth = advantage(square(rows), n_rows)
        errors = [leakage.advantage(rows) - truth for leakage in (auto, diagonal)]
        spread = [np.sqrt((error**2).mean()) for error in errors]
        assert spread[0] < 0.02 and spread[0] < spread[1] / 3
        assert abs(errors[0].mean()) < 0.01


@pytest.mark.parametrize("n_rows, n_features", [(200, 300), (1000, 60)])
def test_uncorrelated_columns_are_taken_as_such(n_rows, n_features):
    X, others, _ = make_correlated(n_rows, n_features, 0.0)
    auto = MahalanobisLeakage().fit(X)
    diagonal = MahalanobisLeakage(covariance="diagonal").fit(X)
    assert auto.shrinkage_ == 1 and diagonal.shrinkage_ is None
    np.testing.assert_array_equal(auto.covariance_, X.var(axis=0, ddof=1))
    for rows in (X, others):
        np.testing.assert_array_equal(auto.score_samples(rows), diagonal.score_samples(rows))


@pytest.mark.parametrize("n_rows, n_features", [(30, 50), (50, 30)])
def test_a_row_is_left_out_of_the_covariance_behind_its_own_score(n_rows, n_features):
    X, others, _ = make_correlated(n_rows, n_features, 0.6)
    leakage = MahalanobisLeakage(noise_scale=0.1).fit(X)
    assert leakage.shrinkage_ < 1
    noise = 0.01 * np.eye(n_features)
    whole = leakage.covariance_ + noise
    inverse = np.linalg.inv(whole)
    away = others - X.mean(axis=0)
    expected = np.einsum("ij,jk,ik->i", away, inverse, away) / n_rows
    np.testing.assert_allclose(leakage.score_samples(others), expected)
    # The sample covariance and the diagonal make up the mixture; its off-diagonal part tells how.
    sample = np.cov(X, rowvar=False)
    weight = leakage.covariance_[0, 1] / sample[0, 1]
    for i in (0, 17):
        rest = np.delete(X, i, axis=0)
        own = X[i] - X.mean(axis=0)
        without = whole - weight * n_rows / (n_rows - 1) ** 2 * np.outer(own, own)
        without *= (n_rows - 1) / (n_rows - 2)
        away = X[i] - rest.mean(axis=0)
        expected = away @ np.linalg.inv(without) @ away / n_rows
        assert leakage.score_samples(X[[i]])[0] == pytest.approx(expected)
        # Which is the mixture of the other rows, but for the variances and the noise.
        mixed = whole + weight * (np.cov(rest, rowvar=False) - sample)
        again = away @ np.linalg.inv(mixed) @ away / n_rows
        assert expected == pytest.approx(again, rel=0.1)


def test_targets_that_are_rows_are_not_misspecified():
    X, others, _ = make_correlated(40, 60, 0.5)
    leakage = MahalanobisLeakage().fit(X)
    pair = leakage.misspecified(X, X)
    np.testing.assert_allclose(pair.effective_score, leakage.score_samples(X))
    np.testing.assert_allclose(pair.loss, 0, atol=1e-12)
    assert (leakage.misspecified(X, others[:40]).loss >= 0).all()


def test_moments_of_low_rank_are_those_of_the_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    mean, rows, left, right = rng.normal(size=7), *rng.normal(size=(3, 5, 7))
    diagonal, noise = rng.uniform(1, 2, 7), rng.uniform(0, 1, 7)
    diagonal[3] = noise[3] = 0
    rows[:, 3] = left[:, 3] = right[:, 3] = 0
    covariance = ShrunkCovariance(diagonal, rows)
    np.testing.assert_allclose(covariance.to_matrix(), np.diag(diagonal) + rows.T @ rows)
    low = make_moments(mean, covariance, noise)
    full = make_moments(mean, covariance.to_matrix(), noise)
    assert isinstance(low, ShrunkMoments)
    np.testing.assert_array_equal(low.constant, full.constant)
    np.testing.assert_allclose(low.inner(left, right), full.inner(left, right))
    np.testing.assert_allclose(low.inner(left, left), full.inner(left, left))
    np.testing.assert_allclose(low.solve(left[0]), full.solve(left[0]))
    assert low.variance_along(left[0]) == pytest.approx(full.variance_along(left[0]))
    assert low.trace_of(diagonal) == pytest.approx(full.trace_of(diagonal))
    whole = _moments.inner_products(left + mean, right + mean, low)
    monkeypatch.setattr(_moments, "_BLOCK", 14)
    np.testing.assert_allclose(_moments.inner_products(left + mean, right + mean, low), whole)


def test_wide_tables_with_repeated_rows_have_the_share_of_the_whole_matrix():
    shares = [0.01, 0.02, 0.05, *np.linspace(0.1, 0.9, 9), 0.95, 1.0]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.integers(0, 2, size=(5, 40)), 3, axis=0)[rng.permutation(15)]
        likelihood, squares = np.zeros((2, len(shares)))
        for fold in range(5):
            inside = np.arange(15) % 5 != fold
            kept = np.ptp(X[inside], axis=0) > 0
            own, new = X[inside][:, kept], X[~inside][:, kept]
            new = (new - own.mean(axis=0)) / own.std(axis=0, ddof=1)
            correlations = np.corrcoef(own, rowvar=False)
            for i, share in enumerate(shares):
                mixed = (1 - share) * correlations + share * np.eye(len(correlations))
                square = (new * np.linalg.solve(mixed, new.T).T).sum()
                likelihood[i] -= (square + len(new) * np.linalg.slogdet(mixed)[1]) / 2
                squares[i] += square
        best = len(shares) - 1 - likelihood[::-1].argmax()
        expected = ShrinkageWeights(shares[best], squares[best] / squares[-1])
        assert choose_shrinkage(X) == pytest.approx(expected)


def test_the_mixture_is_one_of_the_covariance_and_its_diagonal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 4)) @ rng.normal(size=(4, 4))
    sample, variance = np.cov(X, rowvar=False), X.var(axis=0, ddof=1)
    expected = 1.1 * (0.3 * np.diag(variance) + 0.7 * sample)
    np.testing.assert_allclose(
        shrink(X - X.mean(axis=0), variance, ShrinkageWeights(0.3, 1.1)), expected
    )
    low = shrink((X - X.mean(axis=0))[:3], variance, ShrinkageWeights(0.3, 1.1))
    np.testing.assert_allclose(np.diag(low.to_matrix()) > 0.3 * 1.1 * variance, True)


def test_constant_columns_and_few_rows_are_no_reason_to_fail():
    rng = np.random.default_rng(0)
    X, _, _ = make_correlated(40, 60, 0.5)
    X[:, 5] = 0.1
    X[1:, 6] = 0.0  # constant but for one row
    leakage = MahalanobisLeakage().fit(X)
    assert leakage.shrinkage_ < 1
    assert np.isfinite(leakage.score_samples(X)).all()
    assert leakage.score_samples(X[:1] + (np.arange(60) == 5)).tolist() == [np.inf]
    for rows in (X[:9], np.ones((40, 3)), rng.normal(size=(40, 1)), np.eye(40)):
        assert choose_shrinkage(rows) == ShrinkageWeights(1.0, 1.0)


def test_many_correlated_columns_need_no_matrix_of_columns():
    X, _, _ = make_correlated(12, 20_000, 0.5)
    leakage = MahalanobisLeakage().fit(X)  # the matrix would have 3 GB
    assert leakage.shrinkage_ < 1
    assert np.isfinite(leakage.score_samples(X)).all()


def test_moments_of_auto_are_those_of_the_choice():
    X, _, _ = make_correlated(50, 5, 0.5)
    chosen = choose_shrinkage(X)
    mean, covariance = estimate_moments(X, "auto", chosen)
    leakage = MahalanobisLeakage().fit(X)
    np.testing.assert_array_equal(leakage.covariance_, covariance)
    np.testing.assert_array_equal(leakage.location_, mean)
    assert leakage.shrinkage_ == chosen.share
