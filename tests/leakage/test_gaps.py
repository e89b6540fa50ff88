"""Distances between the properties of members and of non-members, against known answers."""

from itertools import chain, combinations

import numpy as np
import pytest
from cells import slow_but
from draws import few_and_many
from scipy import integrate, spatial, stats

from skmia.leakage import normal_total_variation, total_variation
from skmia.leakage._total_variation import summarize_null
from skmia.leakage.gaps import distributional_gap
from skmia.metrics.distances import hockey_stick_divergence, renyi_divergence

QUICK = {"n_permutations": 0, "n_resamples": 0, "random_state": 0}
OF_DENSITIES = ["total_variation", "hellinger", "jensen_shannon", "kullback_leibler"]
NAMES = [*OF_DENSITIES, "energy", "wasserstein"]


def measure(members, nonmembers, distance, **settings):
    return distributional_gap(members, nonmembers, distance, **{**QUICK, **settings}).estimate


def normal_truth(distance, shift):
    """Distance of two normal laws with unit variance."""
    members, others = stats.norm(shift), stats.norm()
    if distance == "jensen_shannon":

        def integrand(x):
            f, g = members.pdf(x), others.pdf(x)
            return (f * np.log(2 * f / (f + g)) + g * np.log(2 * g / (f + g))) / 2

        return np.sqrt(integrate.quad(integrand, -9, 9 + shift)[0])
    if distance == "energy":  # of |N(shift, 2)| and |N(0, 2)|
        between = 2 / np.sqrt(np.pi) * np.exp(-(shift**2) / 4)
        between += shift * (1 - 2 * stats.norm.cdf(-shift / np.sqrt(2)))
        return np.sqrt(2 * between - 4 / np.sqrt(np.pi))
    return {
        "total_variation": 2 * stats.norm.cdf(shift / 2) - 1,
        "hellinger": np.sqrt(1 - np.exp(-(shift**2) / 8)),
        "kullback_leibler": shift**2 / 2,
        "wasserstein": shift,
    }[distance]


@pytest.mark.parametrize("shift", [0.5, pytest.param(2.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("distance", NAMES)
def test_two_normal_laws_have_their_distance(distance, shift):
    rng = np.random.default_rng(0)
    sides = rng.normal(shift, 1, 2000), rng.normal(0, 1, 2000)
    gap = distributional_gap(*sides, distance, n_permutations=0, n_resamples=20, random_state=0)
    assert gap.estimate == pytest.approx(normal_truth(distance, shift), abs=4 * gap.standard_error)
    # That of a Kullback-Leibler divergence is the largest: it rests on the few records of a tail.
    assert gap.standard_error < 0.3 * normal_truth(distance, shift)
    assert np.isnan([gap.bias, gap.pvalue]).all()


def test_the_distances_of_normal_laws_are_those_of_the_package():
    assert normal_total_variation(0, 1, 1.5, 1) == pytest.approx(
        normal_truth("total_variation", 1.5)
    )


@pytest.mark.parametrize("distance", [*OF_DENSITIES, "energy"])
def test_estimates_converge(distance):
    rng = np.random.default_rng(1)
    errors = []
    for n in (50, 1600):
        pairs = [(rng.normal(1, 1, n), rng.normal(0, 1, n)) for _ in range(12)]
        estimates = [measure(*pair, distance) for pair in pairs]
        errors.append(np.sqrt(np.mean((np.array(estimates) - normal_truth(distance, 1.0)) ** 2)))
    assert errors[1] < errors[0] / 2


@pytest.mark.parametrize("distance", slow_but(NAMES, "total_variation", "wasserstein"))
def test_the_standard_error_is_the_spread_over_samples(distance):
    rng = np.random.default_rng(2)
    pairs = [(rng.normal(1, 1, 200), rng.normal(0, 1, 200)) for _ in range(40)]
    gaps = [
        distributional_gap(*pair, distance, n_permutations=0, n_resamples=12, random_state=0)
        for pair in pairs
    ]
    spread = np.std([gap.estimate for gap in gaps], ddof=1)
    # Of 40 values the standard deviation has a standard error of 11%; resamples of a divergence
    # and of an energy distance vary a little more than samples.
    assert 0.65 * spread < np.mean([gap.standard_error for gap in gaps]) < 1.55 * spread


def frequencies(seed, n_values=5):
    rng = np.random.default_rng(seed)
    sides = [rng.choice(n_values, 60, p=rng.dirichlet(np.ones(n_values))) for _ in range(2)]
    shares = [np.bincount(side, minlength=n_values) / 60 for side in sides]
    return sides, shares


@pytest.mark.parametrize("seed", range(4))
def test_frequencies_have_the_textbook_distances(seed):
    sides, (p, q) = frequencies(seed)
    p_only = (p > 0) & (q == 0)
    both = (p > 0) & (q > 0)
    expected = {
        "total_variation": np.abs(p - q).sum() / 2,
        "hellinger": np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2),
        "jensen_shannon": spatial.distance.jensenshannon(p, q),
        "kullback_leibler": np.inf if p_only.any() else (p[both] * np.log(p[both] / q[both])).sum(),
        "wasserstein": np.abs(np.cumsum(p - q)).sum(),
        "energy": np.sqrt(2 * (np.cumsum(p - q) ** 2).sum()),
    }
    for distance, value in expected.items():
        # The root of a divergence keeps half of the digits.
        assert measure(*sides, distance) == pytest.approx(value, abs=1e-7), distance
    assert measure(*sides, "total_variation") == pytest.approx(total_variation(*sides), abs=1e-12)
    if not p_only.any():
        assert measure(*sides, "kullback_leibler") == pytest.approx(renyi_divergence(p, q, 1.0))


@pytest.mark.parametrize("seed", range(20))
def test_each_density_distance_bounds_the_advantage(seed):
    sides, _ = frequencies(seed, n_values=2 + seed % 4)
    v, h, j, k = (measure(*sides, one) for one in (OF_DENSITIES[i] for i in (0, 1, 2, 3)))
    slack = 1e-9
    assert h**2 - slack <= v <= h * np.sqrt(2 - h**2) + slack
    assert v <= np.sqrt(k / 2) + slack
    assert v**2 / 2 - slack <= j**2 <= v * np.log(2) + slack


@pytest.mark.parametrize("distance", NAMES)
def test_limits(distance):
    apart = np.repeat([0.0, 1.0], 40), np.repeat([5.0, 6.0], 40)
    largest = {
        "total_variation": 1,
        "hellinger": 1,
        "jensen_shannon": np.sqrt(np.log(2)),
        "kullback_leibler": np.inf,
        "wasserstein": 5,
        "energy": np.sqrt(2 * 5 - 0.5 - 0.5),
    }
    assert measure(*apart, distance) == pytest.approx(largest[distance])
    assert measure(apart[0], apart[0], distance) == pytest.approx(0, abs=1e-7)
    # Only a Kullback-Leibler divergence has an order.
    sides, _ = frequencies(0)
    turned = measure(sides[1], sides[0], distance)
    if distance != "kullback_leibler":
        assert turned == pytest.approx(measure(*sides, distance), abs=1e-9)


def test_an_order_of_the_divergence():
    members, others = [0] * 10, [0] * 5 + [1] * 5
    assert measure(members, others, "kullback_leibler") == pytest.approx(np.log(2))
    assert measure(others, members, "kullback_leibler") == np.inf
    gap = distributional_gap(others, members, "kullback_leibler", random_state=0)
    # Hardly any shuffle leaves all ones on one side.
    assert np.isnan(gap.standard_error) and gap.bias == np.inf and gap.pvalue < 0.05


@pytest.mark.parametrize("distance", slow_but(NAMES[:-1], "total_variation", "energy"))
def test_several_columns(distance):
    # A second column that tells nothing leaves the distance of independent laws.
    rng = np.random.default_rng(3)
    sides = [rng.normal(size=(800, 2)) + [shift, 0] for shift in (2.0, 0.0)]
    if distance == "energy":
        draws = [rng.normal(size=(10**5, 2)) * np.sqrt(2) for _ in range(2)]
        between = np.linalg.norm(draws[0] + [2, 0], axis=1).mean()
        truth = np.sqrt(2 * between - 2 * np.linalg.norm(draws[1], axis=1).mean())
    else:
        truth = normal_truth(distance, 2.0)
    gap = distributional_gap(*sides, distance, n_permutations=0, n_resamples=10, random_state=0)
    assert gap.estimate == pytest.approx(truth, abs=5 * gap.standard_error)
    assert gap.standard_error < 0.3 * truth


def test_a_distance_of_ones_own():
    members, others = [1.0, 2.0, 6.0], [0.0, 1.0]
    gap = distributional_gap(members, others, lambda a, b: abs(a.mean() - b.mean()), **QUICK)
    assert gap.estimate == 2.5
    seen = []

    def note(a, b):
        seen.append((a.shape, b.shape))
        return 0.0

    distributional_gap(members, others, note, n_permutations=2, n_resamples=2)
    assert seen == [((3, 1), (2, 1))] * 5


def test_the_null_has_the_average_without_leakage():
    rng = np.random.default_rng(4)
    sides = rng.normal(size=(2, 400))
    gap = distributional_gap(*sides, "wasserstein", random_state=0)
    fresh = [measure(*rng.normal(size=(2, 400)), "wasserstein") for _ in range(100)]
    assert gap.bias == pytest.approx(np.mean(fresh), rel=0.2)
    leaky = distributional_gap(sides[0] + 1, sides[1], "wasserstein", random_state=0)
    assert leaky.pvalue == 1 / 101 and leaky.estimate > 5 * leaky.bias


MEANS = {"mean": lambda a, b: abs(a.mean() - b.mean())}


@pytest.mark.parametrize("distance", ["wasserstein", "energy", "mean"])
def test_pvalues_do_not_depend_on_the_unit_of_the_features(distance):
    # Of 3 + 3 rows only 20 shuffles differ, so that most are ties.
    rng = np.random.default_rng(5)
    members, others = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)) + 1
    if distance == "wasserstein":
        members, others = members[:, :1], others[:, :1]
    settings = {"distance": MEANS.get(distance, distance), "n_permutations": 200}
    units = (1.0, 2.0**-45, 2.0**30, 2.0**40)
    pvalues = [
        distributional_gap(
            members * unit, others * unit, n_resamples=0, random_state=0, **settings
        ).pvalue
        for unit in units
    ]
    assert len(set(pvalues)) == 1 and pvalues[0] < 0.9


def test_an_infinite_estimate_is_tied_with_infinite_ones():
    assert summarize_null(np.inf, np.array([np.inf, 1.0, 2.0])) == (np.inf, 0.5)


@few_and_many(150)
@pytest.mark.parametrize("distance", NAMES)
def test_pvalues_are_uniform_where_nothing_leaks(distance, n_draws):
    rng = np.random.default_rng(5)
    settings = {"n_permutations": 9, "n_resamples": 0}
    pvalues = [
        distributional_gap(
            *rng.normal(size=(2, 30)), distance, random_state=seed, **settings
        ).pvalue
        for seed in range(n_draws)
    ]
    for level in (0.1, 0.3, 0.5):
        assert np.mean(np.array(pvalues) <= level + 1e-9) == pytest.approx(
            level, abs=4 * np.sqrt(level * (1 - level) / n_draws)
        )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"distance": "chi"}, "distance must be one of 'total_variation', .* got 'chi'"),
        ({"distance": None}, "distance must be one of"),
        ({"method": "neighbors"}, "method must be one of 'auto', 'plugin', 'kde'"),
        ({"n_permutations": -1}, "n_permutations must be an integer from 0"),
        ({"n_resamples": 1}, "n_resamples must be 0, or 2 or more"),
        ({"members": []}, "0 sample"),
        ({"members": [1.0, np.nan]}, "members contains NaN"),
        ({"members": np.ones((3, 2))}, "same features; got 2 and 1"),
        ({"members": np.ones((3, 2)), "nonmembers": np.ones((3, 2))}, "one column; got 2 columns"),
        ({"distance": lambda a, b: "far"}, "What distance returns must be a finite number"),
        ({"distance": lambda a, b: np.nan}, "What distance returns must be a finite number"),
        ({"distance": "hellinger", "method": "kde", "members": [1.0, 1.0]}, "one value"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(changes, words):
    arguments = {"members": [1.0, 2.0], "nonmembers": [0.0, 3.0], "distance": "wasserstein"}
    with pytest.raises(ValueError, match=words):
        distributional_gap(**{**arguments, **changes})


def test_nothing_is_changed_and_seeds_decide():
    sides = np.random.default_rng(6).normal(size=(2, 50))
    before = sides.copy()
    settings = {"n_permutations": 9, "n_resamples": 10, "random_state": 7}
    first, second = (distributional_gap(*sides, "hellinger", **settings) for _ in range(2))
    assert first == second
    np.testing.assert_array_equal(sides, before)


# Definition 7 of O'Dell: a mechanism is (epsilon, delta)-differentially private


def events(n):
    return chain.from_iterable(combinations(range(n), k) for k in range(n + 1))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_delta_is_the_largest_excess_over_all_events(epsilon):
    p, q = np.random.default_rng(8).dirichlet(np.ones(6), size=2)
    p[0] += p[1]
    p[1] = 0
    q[2] += q[3]
    q[3] = 0
    excess = [p[list(T)].sum() - np.exp(epsilon) * q[list(T)].sum() for T in events(6)]
    assert hockey_stick_divergence(p, q, epsilon) == pytest.approx(max(excess), abs=1e-12)


def test_randomized_response_has_its_epsilon():
    for epsilon in (0.5, 2.0):
        honest = np.exp(epsilon) / (1 + np.exp(epsilon))
        p, q = [honest, 1 - honest], [1 - honest, honest]
        assert hockey_stick_divergence(p, q, epsilon) == pytest.approx(0, abs=1e-12)
        assert hockey_stick_divergence(p, q, 0.9 * epsilon) > 0
        # At epsilon = 0 it is the advantage of the best attack, tanh(epsilon / 2).
        assert hockey_stick_divergence(p, q, 0.0) == pytest.approx(np.tanh(epsilon / 2))


def test_leaking_with_probability_delta_has_that_delta_for_every_epsilon():
    p, q = [0.1, 0.9, 0.0], [0.0, 0.9, 0.1]
    assert hockey_stick_divergence(p, q, 800.0) == pytest.approx(0.1)
    assert hockey_stick_divergence([p, q], [1 / 3, 1 / 3, 1 / 3], 0.0).shape == (2,)
    with pytest.raises(ValueError, match="epsilon must be a finite number, at least 0; got -1"):
        hockey_stick_divergence(p, q, -1)
