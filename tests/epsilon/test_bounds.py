"""Bounds from many runs: golden numbers, closed forms, and how often they are too high."""

import warnings
from functools import partial

import numpy as np
import pytest
from cells import slow_but
from draws import few_and_many, most_by_chance
from scipy.stats import binom, norm
from statsmodels.stats.proportion import proportion_confint

from skmia.epsilon.bounds import (
    bayesian_epsilon_interval,
    choose_threshold,
    epsilon_lower_bound,
    epsilon_of_rates,
    gaussian_epsilon,
)

gaussian_bound = partial(epsilon_lower_bound, method="gaussian")

N_AUDITS = 1000


def make_guesses(true_positives, false_positives, n):
    """Bits and guesses of n runs with the canary and n without."""
    hits = np.repeat([1, 0], [true_positives, n - true_positives])
    alarms = np.repeat([1, 0], [false_positives, n - false_positives])
    return np.repeat([1, 0], n), np.concatenate([hits, alarms])


@pytest.mark.parametrize(
    "counts, delta, expected",
    [
        ((1000, 0, 1000), 0, 5.600588),
        ((500, 0, 500), 1e-5, 4.905584),
        ((500, 10, 1000), 1e-5, 3.241995),
    ],
)
def test_golden_numbers_for_any_mechanism(counts, delta, expected):
    bound = epsilon_lower_bound(*make_guesses(*counts), delta=delta, threshold=0.5)
    assert round(bound.epsilon, 6) == expected


def test_golden_numbers_for_a_gaussian_mechanism():
    bound = gaussian_bound(*make_guesses(500, 10, 1000), threshold=0.5)
    assert (round(bound.mu, 6), round(bound.epsilon, 6)) == (2.010986, 10.064962)


@pytest.mark.parametrize("n", [10, 500, 3000])
def test_the_ceiling_of_perfect_guesses_has_a_closed_form(n):
    p = 0.025 ** (1 / n)
    bound = epsilon_lower_bound(*make_guesses(n, 0, n), threshold=0.5)
    assert bound.epsilon == pytest.approx(np.log(p / (1 - p)), rel=1e-9)


@pytest.mark.parametrize("mu, delta", [(0.3, 1e-2), (1, 1e-5), (3, 1e-8)])
def test_gaussian_epsilon_solves_the_privacy_profile(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    profile = norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    assert profile == pytest.approx(delta, rel=1e-6)


def test_gaussian_epsilon_at_its_ends():
    assert gaussian_epsilon(0, 0) == 0
    assert gaussian_epsilon(1e-3, 0.1) == 0
    assert gaussian_epsilon(1, 0) == np.inf


def test_both_directions_count():
    few_alarms = epsilon_lower_bound(*make_guesses(300, 0, 1000), threshold=0.5)
    few_misses = epsilon_lower_bound(*make_guesses(1000, 700, 1000), threshold=0.5)
    assert few_alarms.epsilon == pytest.approx(few_misses.epsilon)
    assert few_alarms.epsilon > 4


@pytest.mark.parametrize("delta, n_copies", [(0, 2), (0, 8), (1e-3, 2), (1e-3, 5)])
def test_copies_of_a_canary_solve_the_equation_of_groups(delta, n_copies):
    guesses = make_guesses(480, 5, 500)
    low, high = (proportion_confint(k, 500, 0.05, "beta") for k in (480, 5))
    rates = [(low[0], high[1]), (1 - high[1], 1 - low[0])]
    bound = epsilon_lower_bound(*guesses, delta=delta, threshold=0.5, n_copies=n_copies)
    e = bound.epsilon
    group = delta * np.expm1(n_copies * e) / np.expm1(e)
    gaps = [up - np.exp(n_copies * e) * down - group for up, down in rates]
    assert max(gaps) == pytest.approx(0, abs=1e-9)


def test_copies_divide_mu():
    guesses = make_guesses(480, 5, 500)
    one, two = (gaussian_bound(*guesses, threshold=0.5, n_copies=k) for k in (1, 2))
    assert two.mu == pytest.approx(one.mu / 2)


# Thresholds


def brute_force(y_true, y_score, alpha_of_rate):
    """Largest bound over all thresholds, by a loop."""
    n, best = len(y_true) // 2, 0.0
    for threshold in np.unique(y_score):
        guesses = y_score >= threshold
        fp, fn = guesses[y_true == 0].sum(), (~guesses[y_true == 1]).sum()
        fpr, fnr = (proportion_confint(k, n, 2 * alpha_of_rate, "beta")[1] for k in (fp, fn))
        ratios = [(1 - fnr) / fpr if fpr > 0 else 1, (1 - fpr) / fnr if fnr > 0 else 1]
        best = max(best, *np.log(np.maximum(ratios, 1)))
    return best


def make_scores(mu, n=150, seed=0):
    with_canary = np.repeat([1, 0], n)
    return with_canary, np.random.default_rng(seed).normal(size=2 * n) + mu * with_canary


def test_bonferroni_shares_the_error_among_all_thresholds():
    bits, scores = make_scores(2.5)
    bound = epsilon_lower_bound(bits, scores, threshold="bonferroni")
    assert bound.epsilon == pytest.approx(brute_force(bits, scores, 0.05 / 300), rel=1e-6)
    guesses = scores >= bound.threshold
    assert bound.counts["true_positives"] == guesses[bits == 1].sum()
    assert bound.counts["false_positives"] == guesses[bits == 0].sum()


def test_several_given_thresholds_share_the_error():
    bits, scores = make_scores(2.5)
    given = [0.5, 1.0, 2.0, 2.5]
    together = epsilon_lower_bound(bits, scores, threshold=given)
    alone = [
        epsilon_lower_bound(bits, scores, threshold=t, confidence_level=1 - 0.05 / 4).epsilon
        for t in given
    ]
    assert together.epsilon == pytest.approx(max(alone))
    assert together.threshold == given[np.argmax(alone)]
    assert epsilon_lower_bound(bits, scores, threshold=[*given[::-1], *given]) == together


def test_a_split_is_judged_on_half_of_the_runs():
    bits, scores = make_scores(2.5)
    bound = epsilon_lower_bound(bits, scores, threshold="split", random_state=0)
    assert bound.counts["n_members"] == bound.counts["n_nonmembers"] == 75
    again = epsilon_lower_bound(bits, scores, threshold="split", random_state=0)
    assert again == bound


def test_many_splits_vary_less_than_one():
    bits, scores = make_scores(2.0)
    spread = {
        how: np.std(
            [
                epsilon_lower_bound(bits, scores, threshold=how, random_state=seed).epsilon
                for seed in range(8)
            ]
        )
        for how in ("split", "multisplit")
    }
    assert spread["multisplit"] < spread["split"] / 3


def test_of_many_splits_the_median_is_the_bound():
    bits, scores = make_scores(2.0)
    choose = partial(choose_threshold, bits == 1, scores, epsilon_of_rates)
    rng = np.random.RandomState(3)
    # Each split has half of the error, and the same seed draws the same halves.
    each = sorted(choose("split", 0.975, rng).value for _ in range(100))
    found = choose("multisplit", 0.95, 3).value
    assert each[0] < found == each[49] < each[-1]


def test_the_order_of_runs_and_the_scale_of_scores_do_not_matter():
    bits, scores = make_scores(2.0)
    order = np.random.default_rng(1).permutation(len(bits))
    for bound in (epsilon_lower_bound, gaussian_bound):
        expected = bound(bits, scores).epsilon
        assert bound(bits[order], scores[order]).epsilon == expected > 0
        assert bound(bits, np.exp(scores) * 7).epsilon == pytest.approx(expected)


def test_a_score_that_never_varies_shows_nothing():
    bits = np.repeat([1, 0], 50)
    for how in ("bonferroni", "split", "multisplit", 0.5):
        assert epsilon_lower_bound(bits, np.ones(100), threshold=how).epsilon == 0
        assert gaussian_bound(bits, np.ones(100), threshold=how).epsilon == 0


# How often a bound is too high


def respond(epsilon, bits, rng):
    """Scores by randomized response: the bit is true with odds exp(epsilon)."""
    true = rng.random(len(bits)) < 1 / (1 + np.exp(-epsilon))
    # Within each answer the score varies, so that there are thresholds to choose from.
    return (bits == true) + rng.random(len(bits))


def shift(mu, bits, rng):
    return rng.normal(size=len(bits)) + mu * bits


def count_too_high(audit, mechanism, truth, n_runs, n_audits):
    rng, bits = np.random.default_rng(0), np.repeat([1, 0], n_runs // 2)
    found = [
        audit(bits, mechanism(bits, rng), random_state=seed).epsilon for seed in range(n_audits)
    ]
    return (np.array(found) > truth).sum()


def check_rarely_too_high(audit, mechanism, truth, threshold, n_audits):
    """One hundred splits an audit take their time; below are more such audits, which are slow."""
    n_audits, n_runs = (n_audits // 5, 60) if threshold == "multisplit" else (n_audits, 200)
    audit = partial(audit, threshold=threshold)
    count = count_too_high(audit, mechanism, truth, n_runs, n_audits)
    assert count <= most_by_chance(n_audits, 0.05)


THRESHOLDS = [[0.5, 1.0, 1.5], "bonferroni", "split", "multisplit"]


@few_and_many(N_AUDITS)
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
@pytest.mark.parametrize("epsilon", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_bounds_of_randomized_response_are_rarely_too_high(epsilon, threshold, n_draws):
    response = partial(respond, epsilon)
    check_rarely_too_high(epsilon_lower_bound, response, epsilon, threshold, n_draws)


@few_and_many(N_AUDITS)
@pytest.mark.parametrize(
    "threshold", [*THRESHOLDS[:-1], pytest.param(THRESHOLDS[-1], marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize(
    "mu, delta", [(0.0, 1e-5), pytest.param(1.0, 0.05, marks=pytest.mark.slow)]
)
def test_bounds_of_normal_noise_are_rarely_too_high(mu, delta, threshold, n_draws):
    audit, truth = partial(epsilon_lower_bound, delta=delta), gaussian_epsilon(mu, delta)
    check_rarely_too_high(audit, partial(shift, mu), truth, threshold, n_draws)


# Of many audits without an effect, some scores are surely the wrong way round by chance.
@pytest.mark.filterwarnings("ignore:The scores separate the runs the wrong way round")
@few_and_many(N_AUDITS)
@pytest.mark.parametrize("threshold", slow_but(THRESHOLDS, "bonferroni"), ids=str)
@pytest.mark.parametrize("mu", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_gaussian_bounds_of_normal_noise_are_rarely_too_high(mu, threshold, n_draws):
    truth = gaussian_epsilon(mu, 1e-5)
    check_rarely_too_high(gaussian_bound, partial(shift, mu), truth, threshold, n_draws)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("bound", [epsilon_lower_bound, gaussian_bound])
def test_medians_of_splits_are_rarely_too_high(bound, mu):
    audit = partial(bound, threshold="multisplit", delta=0.05)
    truth = gaussian_epsilon(mu, 0.05)
    count = count_too_high(audit, partial(shift, mu), truth, 60, n_audits=1000)
    assert count <= most_by_chance(1000, 0.05)


@few_and_many(N_AUDITS)
def test_bounds_for_two_copies_are_rarely_too_high(n_draws):
    most = most_by_chance(n_draws, 0.05)
    audit = partial(epsilon_lower_bound, threshold="split", n_copies=2)
    assert count_too_high(audit, partial(respond, 2.0), 1.0, 200, n_draws) <= most
    audit = partial(gaussian_bound, n_copies=2)
    truth = gaussian_epsilon(1, 1e-5)
    assert count_too_high(audit, partial(shift, 2.0), truth, 200, n_draws) <= most


def test_the_assumption_of_a_gaussian_mechanism_can_be_wrong():
    audit = partial(gaussian_bound, threshold=1.0)
    assert count_too_high(audit, partial(respond, 1.0), 1.0, 2000, n_audits=30) > 27


def test_bounds_come_close_with_many_runs():
    rng, bits = np.random.default_rng(0), np.repeat([1, 0], 20_000)
    response = epsilon_lower_bound(bits, respond(1.0, bits, rng), threshold=1.0)
    assert 0.95 < response.epsilon < 1
    scores = shift(1.0, bits, rng)
    normal = gaussian_bound(bits, scores, threshold="split", random_state=0)
    assert 0.9 * gaussian_epsilon(1, 1e-5) < normal.epsilon < gaussian_epsilon(1, 1e-5)


# The posterior


@pytest.mark.parametrize("delta, n_copies", [(0.0, 1), (0.01, 1), (0.01, 2)])
@pytest.mark.parametrize("counts", [(40, 12, 50), (50, 0, 50), (12, 40, 50)])
def test_credible_intervals_against_draws_from_the_posterior(counts, delta, n_copies):
    tp, fp, n = counts
    rng = np.random.default_rng(0)
    n_draws = 30_000
    fnr = rng.beta(0.5 + n - tp, 0.5 + tp, n_draws)
    fpr = rng.beta(0.5 + fp, 0.5 + n - fp, n_draws)
    interval = bayesian_epsilon_interval(
        *make_guesses(*counts), delta=delta, threshold=0.5, n_copies=n_copies
    )
    for end, expected in ((interval.epsilon, 0.05), (interval.epsilon_high, 0.95)):
        whole = delta * sum(np.exp(i * end) for i in range(n_copies))
        factor = np.exp(n_copies * end)
        pairs = [(1 - fnr, fpr), (fpr, 1 - fnr), (1 - fpr, fnr), (fnr, 1 - fpr)]
        inside = np.all([up <= factor * down + whole for up, down in pairs], axis=0).mean()
        error = 4 * np.sqrt(0.05 * 0.95 / len(fnr))
        assert abs(inside - expected) < error or (end == 0 and inside > expected)


def test_many_copies_of_a_canary_divide_the_interval():
    guesses = make_guesses(40, 5, 50)
    one, many = (bayesian_epsilon_interval(*guesses, threshold=0.5, n_copies=k) for k in (1, 2000))
    expected = one.epsilon / 2000, one.epsilon_high / 2000
    assert (many.epsilon, many.epsilon_high) == pytest.approx(expected, rel=1e-6)


@few_and_many(200)
def test_credible_intervals_are_right_for_mechanisms_from_the_prior(n_draws):
    rng, n = np.random.default_rng(0), 40
    below, above = 0, 0
    for _ in range(n_draws):
        fnr, fpr = rng.beta(0.5, 0.5, size=2)
        guesses = make_guesses(rng.binomial(n, 1 - fnr), rng.binomial(n, fpr), n)
        with np.errstate(divide="ignore"):
            ratios = np.log([(1 - fnr) / fpr, (1 - fpr) / fnr])
        truth = np.abs(ratios).max()
        interval = bayesian_epsilon_interval(*guesses, threshold=0.5)
        below += truth < interval.epsilon
        above += truth > interval.epsilon_high
    limits = binom.ppf([0.0005, 0.9995], n_draws, 0.05)
    assert limits[0] <= below <= limits[1]
    assert limits[0] <= above <= limits[1]


def test_the_draw_of_the_splits_hardly_moves_a_credible_interval():
    bits, scores = make_scores(1.5, 60)
    assert bayesian_epsilon_interval(bits, scores) == bayesian_epsilon_interval(bits, scores)
    ends = {
        threshold: [
            bayesian_epsilon_interval(bits, scores, threshold=threshold, random_state=seed).epsilon
            for seed in range(n_draws)
        ]
        for threshold, n_draws in {"multisplit": 2, "split": 4}.items()
    }
    assert np.ptp(ends["multisplit"]) < 0.1 < 0.3 < np.ptp(ends["split"])


def test_a_split_chooses_the_threshold_of_a_bound_at_95_percent():
    for seed in range(4):
        bits, scores = make_scores(1.5, 100, seed)
        settings = {"threshold": "split", "random_state": seed}
        chosen = epsilon_lower_bound(bits, scores, **settings).threshold
        for level in (0.8, 0.95):
            found = bayesian_epsilon_interval(bits, scores, confidence_level=level, **settings)
            assert found.threshold == chosen


def test_many_splits_are_averaged(monkeypatch):
    # The average of the posteriors of single splits, each with the halves that it would draw alone.
    monkeypatch.setattr("skmia.epsilon.bounds._N_SPLITS", 3)
    bits, scores = make_scores(1.5, 40)
    interval = bayesian_epsilon_interval(bits, scores, random_state=5)
    rng = np.random.RandomState(5)
    alone = [
        bayesian_epsilon_interval(bits, scores, threshold="split", random_state=rng)
        for _ in range(3)
    ]
    rng, n_draws, within = np.random.default_rng(0), 200_000, []
    for one in alone:
        tp, fp, n = (one.counts[k] for k in ("true_positives", "false_positives", "n_members"))
        fnr = rng.beta(0.5 + n - tp, 0.5 + tp, n_draws)
        fpr = rng.beta(0.5 + fp, 0.5 + n - fp, n_draws)
        ratios = np.log([(1 - fnr) / fpr, (1 - fpr) / fnr])
        ends = interval.epsilon, interval.epsilon_high
        within.append([(np.abs(ratios).max(axis=0) <= end).mean() for end in ends])
    assert len({one.epsilon for one in alone}) == 3
    np.testing.assert_allclose(np.mean(within, axis=0), [0.05, 0.95], atol=0.003)
    assert interval.threshold is None and interval.counts["n_members"] == 40


def test_a_credible_bound_of_one_mechanism_is_no_confidence_bound():
    # Rates that are equal make epsilon the larger of two ratios, which the prior does not expect.
    audit = partial(bayesian_epsilon_interval, threshold=1.0)
    count = count_too_high(audit, partial(respond, 3.0), 3.0, 200, n_audits=60)
    assert most_by_chance(60, 0.05) < count < 0.4 * 60


# Words and errors


def test_the_summary_says_what_the_number_rests_on():
    bits, scores = make_scores(2.0)
    text = gaussian_bound(bits, scores).summary()
    for word in (
        "epsilon >=",
        "confidence 0.95",
        "delta = 1e-05",
        "two normal laws",
        "n members 150",
    ):
        assert word in text
    assert "two normal laws" not in epsilon_lower_bound(bits, scores).summary()
    assert "posterior probability" in bayesian_epsilon_interval(bits, scores).summary()


@pytest.mark.parametrize(
    "audit, settings, message",
    [
        (epsilon_lower_bound, {"delta": 1}, "delta must be 0 or more and below 1"),
        (epsilon_lower_bound, {"threshold": "best"}, "threshold must be a number"),
        (epsilon_lower_bound, {"threshold": []}, "at least one number"),
        (epsilon_lower_bound, {"threshold": np.nan}, "threshold must be finite"),
        (epsilon_lower_bound, {"n_copies": 0}, "n_copies must be an integer from 1"),
        (epsilon_lower_bound, {"confidence_level": 95}, "confidence_level"),
        (gaussian_bound, {"delta": 0}, "no finite epsilon at delta=0"),
        (bayesian_epsilon_interval, {"threshold": "bonferroni"}, "'split' with at least 2"),
        (bayesian_epsilon_interval, {"n_copies": 0}, "n_copies must be an integer from 1"),
        (bayesian_epsilon_interval, {"delta": 1}, "delta must be 0 or more and below 1"),
        (bayesian_epsilon_interval, {"confidence_level": 95}, "confidence_level"),
        (bayesian_epsilon_interval, {"threshold": np.inf}, "threshold must be finite"),
    ],
)
def test_bad_settings_are_refused(audit, settings, message):
    with pytest.raises(ValueError, match=message):
        audit(*make_scores(1.0), **settings)


@pytest.mark.parametrize("bound", [epsilon_lower_bound, bayesian_epsilon_interval])
def test_a_split_needs_two_runs_of_each_kind(bound):
    with pytest.raises(ValueError, match="2 runs with the canary"):
        bound([1, 0, 0], [1.0, 2.0, 3.0], threshold="split")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "gaussian"},
        {"threshold": "split", "random_state": 0},
        {"threshold": 1.5},
        {"threshold": [1.0, 2.0]},
    ],
    ids=str,
)
def test_scores_that_are_the_wrong_way_round_are_said(settings):
    rng, sides = np.random.default_rng(1), np.repeat([0, 1], 300)
    scores = rng.normal(size=600) + 3 * sides
    right = epsilon_lower_bound(sides, scores, **settings)
    assert right.epsilon > 1
    wrong = settings
    if isinstance(settings.get("threshold"), float | list):
        wrong = settings | {"threshold": -np.asarray(settings["threshold"])}
    with pytest.warns(UserWarning, match="wrong way round, they are lower .* Pass -y_score"):
        assert epsilon_lower_bound(sides, -scores, **wrong).epsilon == 0
    # What the sentence promises holds: the other direction at half of the error allowed.
    level = {"confidence_level": 0.975}
    other = epsilon_lower_bound(sides, scores, **settings, **level).epsilon
    with pytest.warns(UserWarning) as said:
        epsilon_lower_bound(sides, -scores, **wrong)
    if not isinstance(settings.get("threshold"), str):  # halves that are drawn differ
        assert f"{other:.4g} with -y_score" in str(said[0].message)


def test_a_credible_interval_says_that_scores_are_the_wrong_way_round():
    sides = np.repeat([0, 1], 50)
    with pytest.warns(UserWarning, match="wrong way round"):
        bayesian_epsilon_interval(sides, -sides, threshold="split", random_state=0)
    # At a given threshold, guesses that are all wrong show as much as those that are all right.
    found = [bayesian_epsilon_interval(sides, one, threshold=0.5) for one in (sides, 1 - sides)]
    assert found[0].epsilon == pytest.approx(found[1].epsilon)


def test_scores_that_show_as_little_the_other_way_round_are_no_matter():
    # With delta=0.9 even perfect guesses of a few runs show nothing.
    sides = np.repeat([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert epsilon_lower_bound(sides, -sides, delta=0.9).epsilon == 0
    with pytest.warns(UserWarning, match="wrong way round"):
        epsilon_lower_bound(sides, -sides, delta=0.1)


def test_a_generator_draws_the_same_whatever_the_direction():
    sides = np.repeat([0, 1], 50)
    rngs = np.random.RandomState(0), np.random.RandomState(0)
    epsilon_lower_bound(sides, sides, threshold="split", random_state=rngs[0])
    with pytest.warns(UserWarning, match="wrong way round"):
        epsilon_lower_bound(sides, -sides, threshold="split", random_state=rngs[1])
    assert rngs[0].randint(2**31) == rngs[1].randint(2**31)
