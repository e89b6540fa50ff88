"""Samplers of discrete laws, against the laws."""

import numpy as np
import pytest
from scipy import stats

from skmia.defenses import _exact_noise
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


@pytest.mark.parametrize("scale", [1.0, 1.7, 30.0])
def test_rounded_normal_numbers_have_the_law_of_rounding(scale):
    draws = _exact_noise.rounded_normal(scale, (N,), words(5))
    edges = np.arange(-np.ceil(2.5 * scale), np.ceil(2.5 * scale)) + 0.5
    wanted = np.diff(stats.norm.cdf(np.r_[-np.inf, edges, np.inf] / scale))
    counts = np.histogram(draws, np.r_[-np.inf, edges, np.inf])[0]
    assert stats.chisquare(counts, wanted * N).pvalue > 1e-4
    assert (draws == np.rint(draws)).all()


def test_rounded_normal_numbers_on_a_fine_grid_are_normal():
    scales = 2.0**30 * np.array([0.5, 0.9])
    draws = _exact_noise.rounded_normal(scales, (N, 2), words(6))
    for column in (draws / scales).T:
        assert stats.kstest(column, "norm").pvalue > 1e-4


def given_words(*first):
    """Words that are given, and then the same one for ever."""
    left = list(first)
    return lambda n: np.array([left.pop(0) if left else 5 for _ in range(n)], dtype=np.uint64)


def test_the_tail_has_no_end():
    # 53 bits ended at 8.57 standard deviations.
    assert _exact_noise.rounded_normal(1000.0, (1,), given_words(0, 0, 1))[0] > 15_000
    assert _exact_noise.rounded_normal(1000.0, (1,), given_words(1, 0, 1))[0] < -15_000


@pytest.mark.parametrize("place", [0.5, 3.5, 2.0**30 + 0.5, 5 * 2.0**30 + 0.5])
def test_doubtful_numbers_are_rounded_by_as_many_bits_as_it_takes(place):
    mpmath = pytest.importorskip("mpmath")
    scale = 2.0**30
    with mpmath.workdps(80):
        tail = mpmath.erfc(mpmath.mpf(place) / scale / mpmath.sqrt(2)) / 2
        whole = int(tail * mpmath.mpf(2) ** 192)
    parts = [(whole >> shift) & (2**64 - 1) for shift in (128, 64, 0)]
    found = []
    # The last of 192 bits decides on which side of the boundary the number lies.
    for last in (parts[2] - 3, parts[2] + 3):
        source = given_words(parts[0] << 1, parts[1], last)
        found.append(_exact_noise.rounded_normal(scale, (1,), source)[0])
    assert found == [np.floor(place) + 1, np.floor(place)]
