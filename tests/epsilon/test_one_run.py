"""Bounds from one run: golden numbers, ties, and how often they are too high."""

from functools import partial

import numpy as np
import pytest
from draws import few_and_many, most_by_chance
from scipy.stats import binom

from skmia.epsilon import one_run_epsilon_bounds, one_run_epsilon_lower_bound
from skmia.epsilon._one_run import GaussianNoiseLaw, order_parameter
from skmia.epsilon.bounds import gaussian_epsilon

one_run_gaussian_bound = partial(one_run_epsilon_lower_bound, bound="gdp")
one_run_order_bound = partial(one_run_epsilon_lower_bound, bound="order_statistics")

N_AUDITS = 400
MOST_TOO_HIGH = binom.ppf(0.999, N_AUDITS, 0.05)

BINOMIAL = [
    (500, 100, 100, 1e-5, 0.05, 3.479195),
    (500, 100, 100, 1e-5, 0.01, 3.023198),
    (500, 100, 60, 1e-5, 0.05, 0.050736),
    (500, 35, 23, 1e-5, 0.05, 0.014549),
    (1000, 1000, 600, 0.0, 0.05, 0.297468),
    (1000, 1000, 600, 1e-5, 0.05, 0.297227),
    (1000, 100, 99, 1e-5, 0.05, 3.002832),
    (1000, 1000, 1000, 1e-5, 0.05, 5.782283),
    (10000, 10000, 5500, 1e-5, 0.05, 0.167180),
]
GAUSSIAN = [
    (500, 100, 100, 1.33196, 6.12175),
    (1000, 1000, 600, 0.16385, 0.58354),
    (1000, 100, 99, 1.06844, 4.72672),
    (1000, 1000, 1000, 2.36807, 12.33457),
]
LAPLACE, HALF = {"family": "laplace"}, {"sample_rate": 0.5}
# Family, its parameter, canaries, guesses, wrong ones, and the probability of at most these.
INDEPENDENT = [
    ({}, 0.8, 2000, 500, 80, 0.011912),
    ({}, 0.8, 2000, 500, 100, 0.503419),
    ({}, 0.8, 2000, 2000, 620, 0.000566),
    ({}, 0.8, 4000, 1000, 180, 0.053213),
    (LAPLACE, 1, 2000, 500, 121, 0.094397),
    (LAPLACE, 1, 4000, 1000, 242, 0.028673),
    (HALF, 1, 2000, 500, 139, 0.063887),
    (HALF, 1, 4000, 1000, 279, 0.016893),
    ({"family": "epsilon_delta", "delta": 1e-3}, 1, 2000, 500, 120, 0.086347),
    ({"family": "epsilon_delta", "delta": 1e-2}, 2, 2000, 500, 51, 0.212783),
    ({"family": "epsilon_delta", "delta": 1e-2}, 2, 4000, 1000, 102, 0.116790),
    ({"family": "epsilon_delta", "delta": 1e-2}, 2, 2000, 2000, 212, 0.049904),
]
# Bounds at a delta of 1e-5 from 1000 canaries: guesses, wrong ones, any, gdp, order statistics.
TOGETHER = [
    (100, 10, 1.6261, 2.4564, 3.1645),
    (250, 36, 1.4767, 2.4168, 3.6327),
    (500, 103, 1.1629, 2.0164, 3.7557),
    (1000, 309, 0.6902, 1.2967, 3.6700),
]


def make_canaries(m, r, v):
    """Coins and scores of m canaries, of which the outer r give v right guesses."""
    right = np.arange(r) < v
    upper, lower = right[: (r + 1) // 2], ~right[(r + 1) // 2 :]
    coins = np.concatenate([upper, np.zeros(m - r, dtype=bool), lower])
    return coins, -np.arange(m, dtype=float)


@pytest.mark.parametrize("m, r, v, delta, alpha, expected", BINOMIAL)
def test_golden_numbers_for_any_mechanism(m, r, v, delta, alpha, expected):
    bound = one_run_epsilon_lower_bound(
        *make_canaries(m, r, v), delta=delta, n_guesses=r, confidence_level=1 - alpha
    )
    assert round(bound.epsilon, 6) == expected
    assert bound.counts["n_correct"] == v and bound.counts["n_guesses"] == r
    assert bound.counts["n_canaries"] == m


@pytest.mark.parametrize("m, r, v, mu, epsilon", GAUSSIAN)
def test_golden_numbers_for_a_gaussian_mechanism(m, r, v, mu, epsilon):
    bound = one_run_gaussian_bound(*make_canaries(m, r, v), n_guesses=r)
    assert (round(bound.mu, 5), round(bound.epsilon, 5)) == (mu, epsilon)


@pytest.mark.parametrize("family, parameter, m, r, wrong, pvalue", INDEPENDENT)
def test_golden_numbers_for_independent_canaries(family, parameter, m, r, wrong, pvalue):
    # Xiang et al. (2025), to their six digits: at this confidence the bound is this parameter.
    bound = one_run_order_bound(
        *make_canaries(m, r, r - wrong), n_guesses=r, confidence_level=1 - pvalue, **family
    )
    assert (bound.mu is None) == (family.get("family", "gaussian") != "gaussian")
    found = bound.epsilon if bound.mu is None else bound.mu
    # Half of the last digit of the probability moves the parameter by at most this.
    assert found == pytest.approx(parameter, abs=1e-4)


@pytest.mark.parametrize("r, wrong, any_, gdp, order", TOGETHER)
def test_golden_epsilons_of_the_three_bounds(r, wrong, any_, gdp, order):
    bounds = one_run_epsilon_bounds(*make_canaries(1000, r, r - wrong), n_guesses=r)
    assert [round(bounds.any.epsilon, 4), round(bounds.gdp.epsilon, 4)] == [any_, gdp]
    assert round(bounds.order_statistics.epsilon, 4) == order
    assert "independently" in bounds.order_statistics.assumption
    lines = bounds.summary().splitlines()
    assert [line.split()[2] for line in lines[:3]] == [f"{e:.4g}" for e in (order, gdp, any_)]


@pytest.mark.parametrize(
    "r, wrong, family, expected",
    [
        (100, 24, HALF, 2.1584),
        (1000, 404, HALF, 2.2223),
        (100, 22, {"sample_rate": 0.2}, 4.6207),
        (100, 0, {}, 6.7960),
        (100, 50, {}, 0),
        (100, 10, {**LAPLACE, "delta": 0.0}, 1.6308),
        (500, 103, {**LAPLACE, "delta": 0.0}, 1.1636),
        (1000, 309, {**LAPLACE, "delta": 0.0}, 0.8073),
        (100, 10, {"family": "epsilon_delta", "delta": 1e-2}, 1.5030),
        (500, 103, {"family": "epsilon_delta", "delta": 1e-2}, 1.1370),
        (1000, 309, {"family": "epsilon_delta", "delta": 1e-2}, 0.6753),
        (1000, 309, {"family": "epsilon_delta", "delta": 1e-5}, 0.6904),
        (1000, 0, {"sample_rate": 0.2}, np.inf),  # so few errors are not of this family
    ],
)
def test_golden_epsilons_of_families(r, wrong, family, expected):
    canaries = make_canaries(1000, r, r - wrong)
    assert round(one_run_order_bound(*canaries, n_guesses=r, **family).epsilon, 4) == expected


# Parameters of the Gaussian family that 1000 canaries reject, by guesses and wrong ones.
@pytest.mark.parametrize(
    "r, wrong, mu",
    [
        (100, 10, 0.7537),
        (250, 36, 0.8505),
        (500, 103, 0.8756),
        (1000, 309, 0.8582),
        (100, 0, 1.4544),
    ],
)
def test_golden_parameters(r, wrong, mu):
    found = order_parameter(GaussianNoiseLaw(1.0), r - wrong, r, 1000, 0.05)
    assert round(found, 4) == mu


@pytest.mark.parametrize("mu, rate, expected", [(1, 1, 4.3772), (1, 0.5, 3.5340), (2, 0.2, 7.6204)])
def test_golden_epsilons_of_gaussian_mechanisms(mu, rate, expected):
    family = GaussianNoiseLaw(rate)
    assert round(float(family.epsilon(mu, 1e-5)), 4) == expected


@pytest.mark.parametrize("r, wrong, expected", [(100, 10, 1.6307), (250, 36, 1.4782)])
def test_golden_epsilons_of_the_family_of_all_mechanisms(r, wrong, expected):
    canaries = make_canaries(1000, r, r - wrong)
    bound = one_run_order_bound(*canaries, n_guesses=r, family="epsilon_delta", delta=1e-5)
    assert round(bound.epsilon, 4) == expected


def test_bounds_that_a_delta_does_not_allow_are_left_out():
    canaries = make_canaries(1000, 100, 95)
    pure = one_run_epsilon_bounds(*canaries, delta=0.0)
    assert (pure.gdp, pure.order_statistics) == (None, None) and pure.any.epsilon > 0
    large = one_run_epsilon_bounds(*canaries, delta=0.01, family="laplace")
    assert large.any is None and large.summary().count("epsilon >=") == 2
    assert "Laplace" in large.summary()
    largest = one_run_epsilon_bounds(*make_canaries(50, 50, 50), delta=1 / 100)
    assert largest.any.delta == 1 / 100 and largest.any.epsilon > 0
    # Bets on any number of guesses need a smaller one.
    least = 0.05 / 50
    for delta, is_known in ((0.99 * least, True), (1.01 * least, False)):
        found = one_run_epsilon_bounds(*make_canaries(50, 50, 50), delta=delta, n_guesses="any")
        assert (found.any is not None) == is_known and found.gdp is not None


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("v", [10, 11, 12])
def test_at_the_bound_the_p_value_is_the_error(alpha, v):
    r, m, delta = 12, 20, 1e-3
    epsilon = one_run_epsilon_lower_bound(
        *make_canaries(m, r, v), delta=delta, n_guesses=r, confidence_level=1 - alpha
    ).epsilon
    # The definition: so many right guesses, and what delta adds to them.
    law = binom(r, np.exp(epsilon) / (1 + np.exp(epsilon)))
    between = [law.pmf(range(max(0, v - i), v)).sum() / i for i in range(1, m + 1)]
    pvalue = law.sf(v - 1) + 2 * m * delta * max(between)
    assert pvalue == pytest.approx(alpha, rel=1e-4) if epsilon else pvalue >= alpha


def test_a_coin_shows_nothing():
    canaries = make_canaries(100, 100, 50)
    assert one_run_epsilon_lower_bound(*canaries, n_guesses=100, delta=0.0).epsilon == 0
    assert one_run_gaussian_bound(*canaries, n_guesses=100).mu == 0
    assert one_run_order_bound(*canaries, n_guesses=100).mu == 0


@pytest.mark.parametrize("bound", ["any", "gdp", "order_statistics"])
def test_canaries_that_are_told_the_wrong_way_round_are_said(bound):
    coins, guesses = make_canaries(100, 100, 0)
    settings = {"bound": bound, "n_guesses": 100, "delta": 1e-5}
    right = one_run_epsilon_lower_bound(coins, 1 - guesses, **settings, confidence_level=0.975)
    with pytest.warns(UserWarning, match=f"{right.epsilon:.4g} with -y_score"):
        assert one_run_epsilon_lower_bound(coins, guesses, **settings).epsilon == 0
    with pytest.warns(UserWarning, match="wrong way round") as said:
        one_run_epsilon_bounds(coins, guesses, delta=1e-5)
    assert len(said) == 1  # once for the three bounds


# Guesses


BOUNDS = [one_run_epsilon_lower_bound, one_run_gaussian_bound, one_run_order_bound]


@pytest.mark.parametrize("bound", BOUNDS)
def test_equal_scores_show_nothing_however_they_are_listed(bound):
    coins = np.repeat([True, False], 100)
    for n_guesses in ("auto", 10, 200):
        assert bound(coins, np.zeros(200), n_guesses=n_guesses).epsilon == 0
        assert bound(~coins, np.zeros(200), n_guesses=n_guesses).epsilon == 0


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_order_of_canaries_does_not_matter(bound):
    rng = np.random.default_rng(0)
    coins = rng.integers(2, size=300)
    scores = (rng.normal(size=300) + 3 * coins).round()  # with many ties
    order = rng.permutation(300)
    assert bound(coins[order], scores[order]) == bound(coins, scores)
    assert bound(coins, scores).epsilon > 0


def test_of_equal_bounds_the_one_with_the_most_guesses_is_given():
    bound = one_run_epsilon_lower_bound([1, 0] * 20, np.zeros(40), n_guesses=[4, 40, 10])
    assert (bound.epsilon, bound.counts["n_guesses"], len(bound.guesses)) == (0, 40, 40)


def test_among_equal_scores_wrong_guesses_come_first():
    coins, scores = [1, 1, 1, 0, 0, 0], [2, 1, 1, 1, 1, 0]
    found = [
        one_run_epsilon_lower_bound(coins, scores, n_guesses=r).counts["n_correct"]
        for r in (2, 4, 6)
    ]
    assert found == [2, 2, 2]


def test_several_numbers_of_guesses_share_the_error():
    coins, scores = make_canaries(400, 100, 97)
    together = one_run_epsilon_lower_bound(coins, scores, n_guesses=[50, 100, 400])
    alone = [
        one_run_epsilon_lower_bound(
            coins, scores, n_guesses=r, confidence_level=1 - 0.05 / 3
        ).epsilon
        for r in (50, 100, 400)
    ]
    assert together.epsilon == pytest.approx(max(alone))
    assert together.counts["numbers_of_guesses_tried"] == 3
    twice = one_run_epsilon_lower_bound(coins, scores, n_guesses=[400, 100, 50, 100])
    assert twice == together


@pytest.mark.parametrize("bound, m, r", [("any", 400, 50), ("gdp", 400, 50), ("any", 30, 30)])
def test_the_number_of_guesses_depends_on_the_canaries_alone(bound, m, r):
    coins = np.arange(m) % 2
    automatic = one_run_epsilon_lower_bound(coins, coins, bound=bound)
    assert automatic == one_run_epsilon_lower_bound(coins, coins, bound=bound, n_guesses=r)
    order = one_run_epsilon_lower_bound(coins, coins, bound="order_statistics")
    assert order.counts["n_guesses"] == m // 2


@pytest.mark.parametrize("n_in", [0, 3, None, 10])
def test_guesses_are_returned(n_in):
    rng = np.random.default_rng(0)
    coins, scores = rng.integers(2, size=40), rng.normal(size=40).round()  # with many ties
    bound = one_run_epsilon_lower_bound(coins, scores, n_guesses=10, n_in=n_in)
    listed = bound.guesses
    assert len(listed) == 10 and listed.canary.is_unique
    assert (listed.guess == "in").sum() == (5 if n_in is None else n_in)
    assert (listed.score == scores[listed.canary]).all()
    assert (listed.correct == ((listed.guess == "in") == coins[listed.canary])).all()
    assert listed.correct.sum() == bound.counts["n_correct"]
    inside, outside = (listed.score[listed.guess == side] for side in ("in", "out"))
    assert not n_in or (np.sort(scores)[-len(inside) :] == np.sort(inside)).all()
    assert n_in == 10 or (np.sort(scores)[: len(outside)] == np.sort(outside)).all()


def test_bets_need_no_number_of_guesses():
    coins, scores = make_canaries(1000, 400, 400)
    bets = one_run_epsilon_lower_bound(coins, scores, n_guesses="any")
    assert bets.epsilon > one_run_epsilon_lower_bound(coins, scores).epsilon
    assert 300 < bets.counts["n_guesses"] <= 401
    assert bets.epsilon < one_run_epsilon_lower_bound(coins, scores, n_guesses=400).epsilon


@pytest.mark.parametrize(
    "m, n_right, n_made", [(50, 50, 50), (51, 51, 51), (51, 30, 30), (90, 31, 31)]
)
def test_bets_list_the_guesses_they_made(m, n_right, n_made):
    # Guesses take turns, "in" first, and the last ones are wrong.
    coins = np.ones(m, dtype=bool)
    coins[m - n_right // 2 :] = False
    coins[(n_right + 1) // 2 : (m + 1) // 2] = False
    coins[(m + 1) // 2 : m - n_right // 2] = True
    bound = one_run_epsilon_lower_bound(coins, -np.arange(m), n_guesses="any")
    assert (bound.counts["n_guesses"], bound.counts["n_correct"]) == (n_made, n_right)
    n_in = (n_made + 1) // 2
    assert bound.guesses["guess"].value_counts().to_dict() == {"in": n_in, "out": n_made - n_in}
    assert sorted(bound.guesses["canary"]) == [*range(n_in), *range(m - n_made + n_in, m)]
    assert bound.guesses["correct"].all()


@few_and_many(N_AUDITS)
@pytest.mark.parametrize("mechanism", ["respond", "shift"])
def test_bets_spend_their_error(mechanism, n_draws):
    make, truth = {"respond": (respond, 1.0), "shift": (shift, 0.0)}[mechanism]
    audit = partial(one_run_epsilon_lower_bound, n_guesses="any", delta=0.0)
    assert is_rarely_too_high(audit, partial(make, truth), truth, n_draws, 60)


# How often a bound is too high


def respond(epsilon, coins, rng):
    true = rng.random(len(coins)) < 1 / (1 + np.exp(-epsilon))
    return (coins == true).astype(float)


def shift(mu, coins, rng):
    return rng.normal(size=len(coins)) + mu * coins


def is_rarely_too_high(audit, mechanism, truth, n_draws, m=200):
    rng, found = np.random.default_rng(0), []
    for _ in range(n_draws):
        coins = rng.integers(2, size=m).astype(bool)
        found.append(audit(coins, mechanism(coins, rng)).epsilon)
    return (np.array(found) > truth).sum() <= most_by_chance(n_draws, 0.05)


N_GUESSES = [200, [20, 50, 200], "auto"]


@few_and_many(N_AUDITS)
@pytest.mark.parametrize("n_guesses", N_GUESSES, ids=str)
@pytest.mark.parametrize("epsilon", [pytest.param(0.0, marks=pytest.mark.slow), 2.0])
def test_bounds_of_randomized_response_are_rarely_too_high(epsilon, n_guesses, n_draws):
    audit = partial(one_run_epsilon_lower_bound, n_guesses=n_guesses)
    assert is_rarely_too_high(audit, partial(respond, epsilon), epsilon, n_draws)


@few_and_many(N_AUDITS)
@pytest.mark.parametrize("n_guesses", N_GUESSES, ids=str)
@pytest.mark.parametrize(
    "mu, delta", [pytest.param(0.0, 1e-5, marks=pytest.mark.slow), (1.0, 2e-3)]
)
def test_bounds_of_normal_noise_are_rarely_too_high(mu, delta, n_guesses, n_draws):
    audit = partial(one_run_epsilon_lower_bound, n_guesses=n_guesses, delta=delta)
    truth = gaussian_epsilon(mu, delta)
    assert is_rarely_too_high(audit, partial(shift, mu), truth, n_draws)


# Fewer canaries: a bound takes a time that is quadratic in their number.
@few_and_many(N_AUDITS)
@pytest.mark.parametrize("n_guesses", [60, [10, 20, 60], "auto"], ids=str)
@pytest.mark.parametrize("mu", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_gaussian_bounds_of_normal_noise_are_rarely_too_high(mu, n_guesses, n_draws):
    audit = partial(one_run_gaussian_bound, n_guesses=n_guesses)
    truth = gaussian_epsilon(mu, 1e-5)
    assert is_rarely_too_high(audit, partial(shift, mu), truth, n_draws, 60)


@few_and_many(N_AUDITS)
@pytest.mark.parametrize(
    "n_guesses", [30, pytest.param(60, marks=pytest.mark.slow), "auto"], ids=str
)
def test_bounds_of_independent_canaries_are_rarely_too_high(n_guesses, n_draws):
    audit = partial(one_run_order_bound, n_guesses=n_guesses)
    truth = gaussian_epsilon(1.0, 1e-5)
    assert is_rarely_too_high(audit, partial(shift, 1.0), truth, n_draws, 60)


def test_the_bound_of_randomized_response_spends_its_error():
    # Each guess is right with the same probability, and the p-value is exact but for its steps.
    right = np.random.default_rng(0).binomial(200, 1 / (1 + np.exp(-1.0)), size=N_AUDITS)
    bounds = {
        v: one_run_epsilon_lower_bound(*make_canaries(200, 200, v), n_guesses=200, delta=0.0)
        for v in np.unique(right).tolist()
    }
    too_high = sum(bounds[v].epsilon > 1.0 for v in right.tolist())
    assert 0.02 * N_AUDITS < too_high <= MOST_TOO_HIGH


def make_common_sureness(mu, m, rng):
    """All canaries are answered as by a Gaussian mechanism, but with one sureness for all."""
    x = rng.normal() + mu * rng.integers(2)
    coins = rng.integers(2, size=m).astype(bool)
    return coins, np.where(respond(abs(mu * x - mu**2 / 2), coins, rng), 1, -1)


def test_a_common_sureness_breaks_the_bound_of_independent_canaries_alone():
    rng, m, n_audits = np.random.default_rng(0), 50, 30
    truth, too_high = gaussian_epsilon(1.0, 1e-5), dict.fromkeys(("any", "gdp", "order"), 0)
    for _ in range(n_audits):
        coins, scores = make_common_sureness(1.0, m, rng)
        settings = {"n_guesses": m, "n_in": int((scores > 0).sum()), "delta": 1e-5}
        for name, bound in zip(too_high, BOUNDS, strict=True):
            too_high[name] += bound(coins, scores, **settings).epsilon > truth
    most = binom.ppf(0.999, n_audits, 0.05)
    assert too_high["any"] <= most and too_high["gdp"] <= most
    assert too_high["order"] > most


# Errors


@pytest.mark.parametrize(
    "audit, settings, message",
    [
        (
            one_run_epsilon_lower_bound,
            {"n_guesses": 0},
            "n_guesses must be 'auto', 'any' or int",
        ),
        (
            one_run_epsilon_bounds,
            {"n_guesses": "all", "delta": 0.2},
            "must be 'auto', 'any' or int",
        ),
        (one_run_epsilon_lower_bound, {"n_guesses": 5}, "number of canaries, 4; got 5"),
        (one_run_epsilon_lower_bound, {"n_guesses": []}, "at least one number"),
        (one_run_epsilon_lower_bound, {"n_guesses": [2, 2.5]}, "got 2.5"),
        (one_run_epsilon_lower_bound, {"n_guesses": [2, True]}, "got True"),
        (one_run_epsilon_lower_bound, {"delta": 0.2}, r"at most 1 / \(2 \* n_canaries\) = 0.125"),
        (one_run_gaussian_bound, {"delta": 0.0}, "no finite epsilon at delta=0"),
        (one_run_order_bound, {"delta": 0.0}, "no finite epsilon at delta=0"),
        (one_run_order_bound, {"family": "normal"}, "family must be one of 'gaussian', 'laplace'"),
        (one_run_order_bound, {"family": "laplace", "sample_rate": 0.5}, "needs family='gaussian'"),
        (one_run_order_bound, {"sample_rate": 0.0}, "above 0 and at most 1"),
        (one_run_order_bound, {"sample_rate": 1.01}, "above 0 and at most 1"),
        (one_run_order_bound, {"n_guesses": "any"}, "needs bound='any'"),
        (one_run_epsilon_lower_bound, {"n_guesses": "any", "n_in": 1}, "n_in=None"),
        (one_run_epsilon_lower_bound, {"n_guesses": "any", "delta": 0.1}, "needs a delta below"),
        (one_run_epsilon_lower_bound, {"n_in": 5}, "None or an integer from 0 to n_guesses, 4"),
        (one_run_epsilon_lower_bound, {"bound": "all"}, "bound must be one of 'any', 'gdp'"),
    ],
)
def test_bad_settings_are_refused(audit, settings, message):
    with pytest.raises(ValueError, match=message):
        audit([1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0], **settings)


def test_coins_and_scores_must_fit():
    with pytest.raises(ValueError, match="at least one canary"):
        one_run_epsilon_lower_bound([], [])
    with pytest.raises(ValueError, match="2 and 1"):
        one_run_epsilon_lower_bound([1, 0], [1.0])
