"""The bandwidth of the kernels behind a total variation, and what it changes."""

import numpy as np
import pytest
from cells import slow_but
from draws import few_and_many
from scipy import integrate, stats

from skmia.leakage import WorstCaseVulnerability, bandwidth_sensitivity, total_variation

RNG = np.random.default_rng(0)
SAMPLES = RNG.normal(1, 1, 300), RNG.normal(0, 1, 250)


def silverman(values):
    low, high = np.percentile(values, [25, 75])
    return 0.9 * min(values.std(ddof=1), (high - low) / 1.34) * len(values) ** -0.2


@pytest.mark.parametrize("factor", slow_but([0.3, 1.0, 3.0], 0.3))
def test_the_factor_multiplies_the_bandwidth_of_the_rule(factor):
    grid = np.linspace(-8, 9, 5001)
    densities = [
        np.mean(
            [stats.norm.pdf(grid, value, factor * silverman(values)) for value in values], axis=0
        )
        for values in SAMPLES
    ]
    wanted = integrate.simpson(np.abs(densities[0] - densities[1]), x=grid) / 2
    got = total_variation(*SAMPLES, method="kde", bandwidth_factor=factor)
    assert got == pytest.approx(wanted, abs=2e-4)
    X = np.concatenate(SAMPLES)[:, None]
    y = np.repeat([1, 0], [len(values) for values in SAMPLES])
    worst = WorstCaseVulnerability("kde", bandwidth_factor=factor, n_permutations=0).fit(X, y)
    assert worst.vulnerability_ == pytest.approx(got, abs=1e-12)


def test_wide_kernels_smooth_and_narrow_ones_follow_the_noise():
    table = bandwidth_sensitivity(*SAMPLES, n_permutations=20, random_state=0)
    assert table.index.tolist() == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert table["estimate"].is_monotonic_decreasing and table["bias"].is_monotonic_decreasing
    for factor, row in table.iterrows():
        alone = total_variation(*SAMPLES, method="kde", bandwidth_factor=factor)
        assert row["estimate"] == pytest.approx(alone, abs=1e-5)  # another grid
    assert (table["pvalue"] == 1 / 21).all()


def test_several_features():
    first, second = RNG.normal(1, 1, (200, 2)), RNG.normal(0, 1, (200, 2))
    table = bandwidth_sensitivity(first, second, factors=[0.5, 2], n_permutations=5, random_state=0)
    again = bandwidth_sensitivity(first, second, factors=[0.5, 2], n_permutations=5, random_state=0)
    np.testing.assert_array_equal(table, again)
    assert table["estimate"].is_monotonic_decreasing


@few_and_many(200)
def test_the_pvalue_holds_without_a_leak(n_draws):
    rng = np.random.default_rng(1)
    rejected = 0
    for seed in range(n_draws):
        same = rng.normal(size=40), rng.normal(size=40)
        table = bandwidth_sensitivity(*same, factors=[0.5], n_permutations=19, random_state=seed)
        rejected += table["pvalue"].iloc[0] <= 0.1
    assert stats.binomtest(rejected, n_draws, 0.1, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"factors": [1, 0]}, "factors must be numbers above 0; got 0"),
        ({"n_permutations": 0}, "n_permutations must be an integer from 1"),
        ({"members": [1.0, 1.0]}, "feature 0 has one value"),
        ({"members": [[1.0, 2.0]]}, "the same features"),
    ],
)
def test_wrong_input_gets_a_sentence(change, words):
    settings = {"members": SAMPLES[0], "nonmembers": SAMPLES[1], **change}
    with pytest.raises(ValueError, match=words):
        bandwidth_sensitivity(settings.pop("members"), settings.pop("nonmembers"), **settings)


def test_frequencies_have_no_bandwidth():
    with pytest.raises(ValueError, match="bandwidth_factor"):
        total_variation([0, 1], [0, 1], bandwidth_factor=2.0)


@pytest.mark.parametrize("factors", [[], [[1.0, 2.0]], [0.0]])
def test_factors_must_be_numbers_above_0(factors):
    with pytest.raises(ValueError, match="^factors must be"):
        bandwidth_sensitivity([1.0, 2.0], [1.0, 3.0], factors=factors)


def test_constant_values_are_refused_with_a_cure():
    with pytest.raises(ValueError, match="leave the feature out") as refusal:
        bandwidth_sensitivity([1.0, 1, 1], [2.0, 3])
    assert "neighbors" not in str(refusal.value)
