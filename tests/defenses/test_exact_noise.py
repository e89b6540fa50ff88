"""Samplers of discrete laws, against the laws."""

import numpy as np
import pytest
from scipy import stats

from skmia.defenses._exact_noise import (
    below,
    discrete_laplace,
    discrete_normal,
    exp_coins,
    seeded_words,
    system_words,
)

N = 100_000


def words(seed=0):
    return seeded_words(np.random.default_rng(seed))


def law(name, scale):
    """Integers that are ever drawn, and their probabilities."""
    y = np.arange(-40 * scale, 40 * scale + 1)
    log_p = -np.abs(y) / scale if name == "laplace" else -((y / scale) ** 2) / 2
    return y, np.exp(log_p) / np.exp(log_p).sum()


def chi_square(draws, y, p):
    """p-value of the counts, rare values put together."""
    common = p * len(draws) >= 10
    counts = np.array([(draws == value).sum() for value in y[common]])
    expected = len(draws) * p[common]
    rest = len(draws) - expected.sum()
    if rest >= 1:
        counts = np.append(counts, len(draws) - counts.sum())
        expected = np.append(expected, rest)
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


@pytest.mark.parametrize("scale", [1, 2, 3, 4, 10])
@pytest.mark.parametrize("name, draw", [("laplace", discrete_laplace), ("normal", discrete_normal)])
def test_frequencies_are_those_of_the_law(name, draw, scale):
    draws = draw(scale, (N,), words(scale))
    assert chi_square(draws, *law(name, scale)) > 1e-4
    # The test has the power to see another law.
    assert chi_square(draws, *law({"laplace": "normal", "normal": "laplace"}[name], scale)) < 1e-4


@pytest.mark.parametrize("scale", [2**20 + 1, 2**40 - 12345, 2**52])
@pytest.mark.parametrize("draw, name", [(discrete_laplace, "laplace"), (discrete_normal, "norm")])
def test_at_a_large_scale_the_law_is_the_continuous_one(draw, name, scale):
    draws = draw(scale, (N,), words(1)) / scale
    assert stats.kstest(draws, name).pvalue > 1e-4


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 2**40 + 1, 2**63])
def test_uniform_integers_stay_below_their_limit(limit):
    numbers = below(words(), np.full(N, limit, dtype=np.uint64))
    assert numbers.max() < limit
    assert stats.kstest((numbers + 0.5) / limit, "uniform").pvalue > 1e-4 or limit < 1000
    if limit < 1000:
        counts = np.bincount(numbers.astype(int), minlength=limit)
        assert limit == 1 or stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("p, q", [(0, 1), (1, 1), (1, 2), (3, 10), (2**39, 2**40)])
def test_coins_show_heads_as_often_as_they_should(p, q):
    ones = np.ones(N, dtype=np.uint64)
    heads = exp_coins(words(2), p * ones, q * ones)
    assert stats.binomtest(int(heads.sum()), N, np.exp(-p / q)).pvalue > 1e-4


def test_each_number_can_have_its_own_scale():
    draws = discrete_normal([1, 1000], (N, 2), words(3))
    assert draws.std(axis=0) == pytest.approx([1, 1000], rel=0.02)
    assert discrete_laplace(5, (0, 3)).shape == (0, 3)


def test_a_seed_repeats_the_noise_and_the_system_does_not():
    assert (discrete_laplace(100, (50,), words(4)) == discrete_laplace(100, (50,), words(4))).all()
    assert (discrete_laplace(100, (50,)) != discrete_laplace(100, (50,))).any()
    assert system_words(3).dtype == np.uint64
