from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import stats
from scipy.integrate import trapezoid

from skmia.leakage import (
    WorstCaseVulnerability,
    total_variation,
)
from skmia.leakage.gaps import distributional_gap


def majority_learner(sample):
    """Most frequent label of each of two places, 0 where the labels are as many."""
    votes = [0, 0]
    for place, label in sample:
        votes[place] += 2 * label - 1
    return tuple(int(vote > 0) for vote in votes)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_total_variation_is_the_advantage_of_the_best_adversary(n):
    # Every training set of n records from a uniform law over four, so that frequencies are laws.
    domain = list(product([0, 1], [0, 1]))
    members, nonmembers = [], []
    for sample in product(domain, repeat=n):
        model = majority_learner(sample)
        members += [(model[x], x, y) for x, y in sample for _ in domain]
        nonmembers += [(model[x], x, y) for x, y in domain for _ in sample]
    assert len(members) == len(nonmembers)
    seen = sorted(set(members) | set(nonmembers))
    share = {f: (members.count(f) - nonmembers.count(f)) / len(members) for f in seen}
    best = max(
        sum(share[feature] for feature, accused in zip(seen, guess, strict=True) if accused)
        for guess in product([0, 1], repeat=len(seen))
    )
    assert best > 0
    assert total_variation(members, nonmembers) == pytest.approx(best, abs=1e-12)
    # An attacker who does not know the record, but only whether it was predicted, knows less.
    wrong = [[model != y for model, _, y in side] for side in (members, nonmembers)]
    gap = abs(np.mean(wrong[0]) - np.mean(wrong[1]))
    assert total_variation(*wrong) == pytest.approx(gap, abs=1e-12)
    assert gap <= best + 1e-12


def test_distance_of_frequencies_by_hand():
    assert total_variation(["a", "a", "b"], ["a", "c", "c"]) == pytest.approx(2 / 3)
    assert total_variation([1, 2], [1, 2, 1, 2]) == 0
    assert total_variation([[0, 1], [1, 0]], [[0, 0], [1, 1]]) == 1


def sum_of_kernels(values, nodes):
    low, high = np.percentile(values, [25, 75])
    width = 0.9 * min(values.std(ddof=1), (high - low) / 1.34) * len(values) ** -0.2
    return stats.norm.pdf((nodes[:, None] - values) / width).mean(axis=1) / width


def test_kernel_distance_on_the_line_is_the_integral():
    rng = np.random.default_rng(0)
    members, nonmembers = rng.gumbel(size=80), 3 * rng.normal(size=150)
    nodes = np.linspace(-25, 25, 10_001)
    gap = np.abs(sum_of_kernels(members, nodes) - sum_of_kernels(nonmembers, nodes))
    expected = trapezoid(gap, nodes) / 2
    assert total_variation(members, nonmembers, method="kde") == pytest.approx(expected, abs=1e-5)


def test_kernel_posterior_is_the_ratio_of_densities():
    rng = np.random.default_rng(1)
    membership = np.arange(300) % 3 == 0
    values = rng.normal(size=300) + membership
    worst = WorstCaseVulnerability("kde", n_permutations=0).fit(values[:, None], membership)
    nodes = np.linspace(-2, 3, 50)
    inside, outside = (sum_of_kernels(values[side], nodes) for side in (membership, ~membership))
    posterior = worst.predict_proba(nodes[:, None])[:, 1]
    np.testing.assert_allclose(posterior, inside / (inside + outside), atol=1e-3)
    assert worst.predict_proba([[1e6]])[0, 1] == 0.5


def test_kernel_distance_in_the_plane_is_the_integral():
    rng = np.random.default_rng(2)
    samples = rng.normal(size=(60, 2)), rng.normal(size=(90, 2)) * [1, 2] + [1, 0]
    axis = np.linspace(-10, 10, 401)
    densities = []
    for rows in samples:
        low, high = np.percentile(rows, [25, 75], axis=0)
        scale = np.minimum(rows.std(axis=0, ddof=1), (high - low) / 1.34)
        width = scale * (4 / (4 * len(rows))) ** (1 / 6)
        one, two = (stats.norm.pdf(axis, rows[:, [j]], width[j]) for j in (0, 1))
        densities.append(one.T @ two / len(rows))
    expected = np.abs(densities[0] - densities[1]).sum() * (axis[1] - axis[0]) ** 2 / 2
    got = total_variation(*samples, n_draws=40_000, random_state=0, method="kde")
    # Three standard errors of 80,000 draws of a number in [0, 1].
    assert got == pytest.approx(expected, abs=3 * 0.5 / np.sqrt(80_000))


def test_kernel_distance_survives_scale_and_place():
    rng = np.random.default_rng(3)
    members, nonmembers = rng.normal(size=50), rng.normal(size=70) + 1
    expected = total_variation(members, nonmembers, method="kde")
    for scale, place in ((1e-9, 0), (1e6, 0), (-3, 1e4)):
        moved = total_variation(scale * members + place, scale * nonmembers + place, method="kde")
        assert moved == pytest.approx(expected, abs=1e-5)
    # Kernels so far apart that both densities underflow.
    apart = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 1e4
    assert total_variation(*apart, random_state=0, method="kde") == 1


def test_bias_of_two_frequencies():
    rng = np.random.default_rng(7)
    n, q, n_runs = 1000, 0.3, 600
    gaps = [total_variation(rng.random(n) < q, rng.random(n) < q) for _ in range(n_runs)]
    expected = np.sqrt(2 / np.pi * q * (1 - q) * 2 / n)
    assert expected == pytest.approx(0.0164, abs=1e-4)
    # Of the absolute value of a normal variable; four standard errors.
    error = 4 * expected * np.sqrt(np.pi / 2 - 1) / np.sqrt(n_runs)
    assert np.mean(gaps) == pytest.approx(expected, abs=error)


@pytest.mark.parametrize(
    "n, bias",
    [
        (200, 0.076),
        pytest.param(1000, 0.040, marks=pytest.mark.slow),
        pytest.param(4000, 0.024, marks=pytest.mark.slow),
    ],
)
def test_bias_of_kernel_densities(n, bias):
    rng = np.random.default_rng(8)
    distances = [
        total_variation(rng.normal(size=n), rng.normal(size=n), method="kde") for _ in range(300)
    ]
    # Given to three digits from a simulation, whose own error is not known.
    assert np.mean(distances) == pytest.approx(bias, abs=0.003)


@parametrize_refusals(
    (lambda: total_variation([], [1.0], method="kde"), "0 sample"),
    (lambda: total_variation([1.0, 2.0], [[1.0, 2.0]], method="kde"), "same features; got 1 and 2"),
    (lambda: total_variation([1.0, np.nan], [1.0, 2.0], method="kde"), "members contains NaN"),
    (lambda: total_variation(["1", "2"], [1.0, 2.0]), "of one type, .* got text and float64"),
    (lambda: total_variation([1, 2], [b"1", b"2"]), "of one type, .* got int.* and text"),
    (lambda: total_variation(np.array(["1"], object), [1]), "of one type, .* got int, str"),
    (lambda: total_variation(["a"], np.array(["a", None])), "nonmembers contains NaN"),
    (lambda: total_variation([1.0, 1.0], [1.0, 2.0], method="kde"), "one value for all 2 members"),
    (
        lambda: total_variation([1.0, 2.0], [1.0, 2.0], n_draws=0, method="kde"),
        "n_draws must be an integer from 1 .*; got 0",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


@pytest.mark.parametrize("members", [["a", "b"], np.array(["a", "b"], object), [b"a", b"b"]])
def test_text_of_any_type_is_compared(members):
    assert total_variation(members, ["b", "b"]) == 0.5
    assert total_variation(["b", "b"], members) == 0.5


def test_columns_of_two_tables_are_compared_by_name():
    members = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 7]})
    assert total_variation(members, members[["b", "a"]]) == 0
    assert total_variation(members, members.to_numpy()[:, ::-1]) == pytest.approx(1)
    assert total_variation(members, members.set_axis(["x", "y"], axis=1)) == 0
    with pytest.raises(ValueError, match="same features; nonmembers lacks 'a'"):
        total_variation(members, members.set_axis(["b", "c"], axis=1))
    gap = distributional_gap(members, members[["b", "a"]], "energy", n_resamples=0)
    assert gap.estimate == 0


def test_what_a_method_does_not_take_is_refused():
    with pytest.raises(ValueError, match="n_draws is only taken with method='kde'; got it with"):
        total_variation([1, 2], [1, 2], n_draws=10)
    with pytest.raises(ValueError, match="method must be one of 'plugin', 'kde'; got 'auto'"):
        total_variation([1, 2], [1, 2], method="auto")


def test_long_integers_beside_floats_are_told_apart():
    first = 10**17  # floats tell apart only every sixteenth number
    members, nonmembers = (
        pd.DataFrame({"account": first + np.array(values), "rate": 0.5})
        for values in ([0, 2], [1, 3])
    )
    assert total_variation(members, nonmembers) == 1
    assert total_variation(members, members) == 0
