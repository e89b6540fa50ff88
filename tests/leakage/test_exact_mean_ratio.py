"""The exact ratio of a released mean, beside densities and in the limit of many rows."""

import numpy as np
import pytest
from scipy import stats

from skmia.leakage import MeanGLiRAttack, MeanLikelihoodRatioAttack, mean_log_likelihood_ratio

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("full", [False, True])
def test_it_is_the_ratio_of_two_normal_densities(full):
    d, n = 3, 7
    root = RNG.normal(size=(d, d)) if full else np.diag([1.0, 0.5, 2.0])
    covariance, mean, target = root @ root.T, RNG.normal(size=d), RNG.normal(size=d)
    released = mean + RNG.normal(size=(20, d))
    with_target = stats.multivariate_normal(
        ((n - 1) * mean + target) / n, (n - 1) / n**2 * covariance
    )
    without = stats.multivariate_normal(mean, covariance / n)
    wanted = with_target.logpdf(released) - without.logpdf(released)
    given = covariance if full else np.diag(covariance)
    got = mean_log_likelihood_ratio(released, target, mean, given, n_samples=n)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_it_is_the_ratio_of_two_binomial_laws():
    n, p, target = 6, np.array([0.2, 0.5, 0.9]), np.array([1, 0, 1])
    counts = RNG.integers(0, n + 1, size=(40, 3))
    with np.errstate(divide="ignore"):
        wanted = stats.binom.logpmf(counts - target, n - 1, p) - stats.binom.logpmf(counts, n, p)
    got = mean_log_likelihood_ratio(counts / n, target, p, n_samples=n, family="bernoulli")
    np.testing.assert_allclose(got, wanted.sum(axis=1), rtol=1e-9, atol=1e-12)
    assert np.isneginf(got).any()


def test_normal_rows_are_ordered_by_their_distance_from_the_target():
    target, mean, variance = RNG.normal(size=30), np.zeros(30), np.full(30, 2.0)
    released = RNG.normal(size=(50, 30)) / 5
    exact = mean_log_likelihood_ratio(released, target, mean, variance, n_samples=50)
    by_distance = MeanGLiRAttack.from_moments(target, mean, variance, n_samples=50)
    assert stats.spearmanr(exact, by_distance.score_samples(released)).statistic > 1 - 1e-12


def test_many_rows_have_the_ratio_of_the_limit():
    n, d = 4000, 400
    target, mean, variance = RNG.normal(size=d), np.zeros(d), np.ones(d)
    released = RNG.normal(size=(200, d)) / np.sqrt(n)
    exact = mean_log_likelihood_ratio(released, target, mean, variance, n_samples=n)
    limit = MeanLikelihoodRatioAttack.from_moments(target, mean, variance, n_samples=n)
    # What is left out has the variance of about d / (2 n^2).
    gap = exact - limit.score_samples(released)
    assert np.abs(gap).max() < 6 * np.sqrt(d / 2) / n


BITS = {"family": "bernoulli", "covariance": None, "mean": [0.5, 0.5], "target": [0, 1]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"covariance": None}, "covariance is needed"),
        ({"family": "bernoulli"}, "covariance is not used"),
        ({"covariance": [1.0, 0.0]}, "variances above 0"),
        ({"target": [1.0]}, r"target must be one row of 2 features.*got shape \(1,\)"),
        ({"mean": [1.0, 2.0, 3.0]}, r"mean must be one row of 2 features.*got shape \(3,\)"),
        ({"family": "poisson"}, "family must be one of 'normal', 'bernoulli'; got 'poisson'"),
        ({"n_samples": 1}, "n_samples must be an integer from 2"),
        ({"family": "bernoulli", "covariance": None, "mean": [0.5, 1]}, "probabilities in"),
        ({"family": "bernoulli", "covariance": None, "target": [0.5, 1]}, "must hold 0 and 1"),
        (BITS, "means of 5 values"),
        (BITS | {"released": [[0.2, 1.2]]}, "released must hold means of 5 values of 0 and 1"),
        (BITS | {"released": [[-0.2, 0.2]]}, "released must hold means of 5 values of 0 and 1"),
        (BITS | {"mean": [0.5, 0.0]}, "mean must hold probabilities in .0, 1."),
        (BITS | {"mean": [0.5, 1.0]}, "mean must hold probabilities in .0, 1."),
        (BITS | {"target": [0, 2]}, "target must hold 0 and 1"),
    ],
)
def test_wrong_input_gets_a_sentence(change, words):
    given = {
        "released": [[0.0, 0.3]],
        "target": [1.0, 1.0],
        "mean": [0.2, 0.2],
        "covariance": [1.0, 1.0],
        "n_samples": 5,
    }
    with pytest.raises(ValueError, match=words):
        mean_log_likelihood_ratio(**{**given, **change})
