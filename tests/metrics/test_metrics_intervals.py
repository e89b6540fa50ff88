import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refusal, parametrize_refusals
from scipy.special import betaln, logit
from scipy.stats import beta, binom, norm, t
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from skmia.exceptions import ResolutionWarning
from skmia.metrics import (
    Interval,
    OperatingPoint,
    advantage_interval,
    auc_interval,
    clopper_pearson,
    difference_interval,
    operating_point,
    tpr_at_fpr_score,
)
from skmia.metrics._operating_point import _mixture_at


def pairwise_delong(membership, scores):
    """AUC and DeLong's variance from the matrix of all pairs, as the paper defines them."""
    members, nonmembers = scores[membership == 1], scores[membership == 0]
    wins = (members[:, None] > nonmembers) + 0.5 * (members[:, None] == nonmembers)
    auc = wins.mean()
    variance = 0.0
    for placements in (wins.mean(axis=1), wins.mean(axis=0)):
        n = len(placements)
        variance += ((placements - auc) ** 2).sum() / (n - 1) / n
    return auc, variance


@pytest.mark.parametrize("confidence_level", [0.5, 0.9, 0.95, 0.999])
def test_clopper_pearson_is_that_of_statsmodels(confidence_level):
    trials = np.array([1, 2, 10, 1000, 50_000])
    for successes in (0 * trials, (0.01 * trials).astype(int), trials // 2, trials - 1, trials):
        expected = proportion_confint(successes, trials, alpha=1 - confidence_level, method="beta")
        got = clopper_pearson(successes, trials, confidence_level=confidence_level)
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_clopper_pearson_inverts_the_binomial_test():
    low, high = clopper_pearson(3, 20, confidence_level=0.9)
    assert binom.sf(2, 20, low) == pytest.approx(0.05)
    assert binom.cdf(3, 20, high) == pytest.approx(0.05)


def test_clopper_pearson_limits():
    assert clopper_pearson(0, 100) == (0.0, pytest.approx(1 - 0.025 ** (1 / 100)))
    assert clopper_pearson(100, 100) == (pytest.approx(0.025 ** (1 / 100)), 1.0)
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert clopper_pearson(0, 2**53) == (0.0, pytest.approx(-np.log(0.025) / 2**53))
    low, high = clopper_pearson([[1], [2]], [10, 20, 30])
    assert low.shape == high.shape == (2, 3)


def test_published_interval_of_one_false_positive_in_a_thousand():
    low, high = clopper_pearson(1, 1000)
    assert (round(low, 6), round(high, 4)) == (0.000025, 0.0056)


@pytest.mark.parametrize(
    "successes, trials",
    [(-1, 5), (6, 5), (1.5, 5), (np.nan, 5), (1, np.nan), (np.inf, np.inf), (1, 2**53 + 2)],
)
def test_counts_are_whole_and_bounded(successes, trials):
    with pytest.raises(ValueError, match="whole numbers with 0 <= successes <= trials <= "):
        clopper_pearson([1, successes], [2, trials])


@parametrize_refusals(
    (
        lambda: difference_interval((0.5, 0.7, 0.3), (0, 0, 0)),
        r"low <= high; got \(0.5, 0.7, 0.3\)",
    ),
    (lambda: difference_interval((0, 0, 0), (0.5, np.nan, 1)), r"got \(0.5, nan, 1\)"),
    (lambda: difference_interval((0, 0, 0), (np.nan, 0, 1)), r"got \(nan, 0, 1\)"),
    (lambda: difference_interval((0, 0, 0), (0, 0)), "must be three numbers"),
    (lambda: difference_interval((np.inf, 0, np.inf), (0, 0, 0)), "must be finite; got inf"),
    (lambda: difference_interval((0, 0, 0), (0, 0, 0), correlation=1.1), r"in \[-1, 1\]; got 1.1"),
)
def test_wrong_intervals_are_refused(call, words, error):
    check_refusal(call, words, error)


@pytest.mark.parametrize("correlation", [-1.0, 0.0, 0.5, 1.0])
def test_a_difference_of_an_open_interval_is_open_on_one_side(correlation):
    open_above, closed = (0.8, 0.7, np.inf), (0.5, 0.4, 0.6)
    found = difference_interval(open_above, closed, correlation=correlation)
    assert found.low == difference_interval((0.8, 0.7, 1), closed, correlation=correlation).low
    assert found.high == np.inf
    both = difference_interval(open_above, open_above, correlation=correlation)
    assert both == (0, -np.inf, np.inf)


@pytest.mark.parametrize("correlation", [-1, 1])
def test_the_ends_of_an_interval_may_be_one_number(correlation):
    found = difference_interval((0.5, 0.5, 0.5), (0.2, 0.2, 0.2), correlation=correlation)
    assert tuple(found) == pytest.approx((0.3, 0.3, 0.3))


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, np.nan, "0.95"])
def test_confidence_level_is_a_fraction(level):
    calls = [
        lambda: clopper_pearson(1, 2, confidence_level=level),
        lambda: auc_interval([1, 0], [1, 0], confidence_level=level),
        lambda: advantage_interval([1, 0], [1, 0], confidence_level=level),
        lambda: operating_point([1, 0], [1, 0], confidence_level=level),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"confidence_level must be a fraction in \(0, 1\)"):
            call()


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(2, 60), st.integers(2, 30))
@settings(max_examples=40, deadline=None)
def test_auc_interval_is_delongs_on_the_logit_scale_or_wider_for_few_records(
    seed, n_members, n_nonmembers, n_levels
):
    rng = np.random.default_rng(seed)
    membership = rng.permutation(np.repeat([1, 0], [n_members, n_nonmembers]))
    scores = rng.integers(n_levels, size=len(membership)).astype(float)
    auc, variance = pairwise_delong(membership, scores)
    got = auc_interval(membership, scores, confidence_level=0.9)
    assert got.estimate == pytest.approx(auc)
    assert 0 <= got.low <= got.estimate <= got.high <= 1
    if variance > 0:
        reach = norm.isf(0.05) * np.sqrt(variance) / (auc * (1 - auc))
        low, high = logit(auc) + reach * np.array([-1, 1])
        assert logit(got.low) <= low + 1e-6
        assert logit(got.high) >= high - 1e-6
        fewest = min(n_members, n_nonmembers)
        if fewest >= 20 and fewest * min(auc, 1 - auc) >= 5:
            np.testing.assert_allclose(logit([got.low, got.high]), [low, high], atol=1e-6)


@pytest.mark.parametrize("n_members, n_others, shift", [(19, 99, 0), (99, 19, 0), (60, 200, 2.1)])
def test_below_twenty_records_or_five_out_of_order_limits_are_wider(n_members, n_others, shift):
    membership = np.repeat([1, 0], [n_members, n_others])
    scores = np.random.default_rng(0).normal(size=len(membership)) + shift * membership
    auc, variance = pairwise_delong(membership, scores)
    assert (min(n_members, n_others) * min(auc, 1 - auc) < 5) == (shift > 0)
    reach = norm.isf(0.025) * np.sqrt(variance) / (auc * (1 - auc))
    _, low, high = auc_interval(membership, scores)
    assert logit(low) < logit(auc) - 1.01 * reach and logit(auc) + 1.01 * reach < logit(high)


def newcombe_excess(auc, truth, n_members, n_nonmembers, z):
    """Newcombe's fifth method: squared distance minus what its variance at the truth allows."""
    m = (n_members + n_nonmembers) / 2 - 1
    spread = 1 + m * (1 - truth) / (2 - truth) + m * truth / (1 + truth)
    return (auc - truth) ** 2 - z**2 * truth * (1 - truth) * spread / (n_members * n_nonmembers)


def test_few_members_get_the_limits_of_newcombes_fifth_method():
    # Where members lie close together, DeLong's variance is too small and the other one counts.
    membership = np.repeat([1, 0], [4, 100])
    scores = np.concatenate([[90.5, 91.5, 92.5, 93.5], np.arange(100)])
    auc, low, high = auc_interval(membership, scores)
    assert auc == pytest.approx(0.925)
    for limit in (low, high):
        assert newcombe_excess(auc, limit, 4, 100, norm.isf(0.025)) == pytest.approx(0, abs=1e-9)


def test_few_people_get_the_limits_of_as_many_records_as_their_rows_are_worth():
    # Each member is five rows, so that they are worth four, known with three degrees of freedom.
    membership, people = np.repeat([1, 0], [20, 100]), np.append(np.arange(20) // 5, range(4, 104))
    scores = np.append(np.repeat([90.5, 91.5, 92.5, 93.5], 5), np.arange(100))
    auc, low, high = auc_interval(membership, scores, groups=people)
    size = 4 * (norm.isf(0.025) / t.isf(0.025, 3)) ** 2
    assert auc == pytest.approx(0.925)
    for limit in (low, high):
        assert newcombe_excess(auc, limit, size, 100, norm.isf(0.025)) == pytest.approx(0, abs=1e-9)


def test_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    membership, scores = rng.integers(2, size=500), rng.integers(20, size=500)
    assert auc_interval(membership, scores).estimate == pytest.approx(
        roc_auc_score(membership, scores)
    )


def test_auc_interval_known_by_hand():
    # Members outrank 4, 3, 3, 2 of 4 non-members; non-members are outranked by 1, 3, 4, 4 of 4.
    variance = (2 / 48 + 6 / 48) / 4
    freedom = variance**2 / ((1 / 96) ** 2 + (3 / 96) ** 2) * 3
    reach = t.isf(0.025, freedom) * np.sqrt(variance) / (0.75 * 0.25)
    estimate, low, high = auc_interval([1, 1, 1, 1, 0, 0, 0, 0], [9, 7, 5, 3, 8, 4, 2, 1])
    assert estimate == 0.75
    # The wider of both methods: with four records that is DeLong's on the logit scale.
    np.testing.assert_allclose(logit([low, high]), logit(0.75) + reach * np.array([-1, 1]))
    assert newcombe_excess(0.75, low, 4, 4, norm.isf(0.025)) > 0
    assert newcombe_excess(0.75, high, 4, 4, norm.isf(0.025)) > 0


def test_auc_interval_of_two_members_has_one_degree_of_freedom_from_them():
    # Members outrank 3 and 2 of 4 non-members; non-members are outranked by 0, 1, 2, 2 of 2.
    members, others = 1 / 64, 11 / 192
    freedom = (members + others) ** 2 / (members**2 + others**2 / 3)
    reach = t.isf(0.025, freedom) * np.sqrt(members + others) / (5 / 8 * 3 / 8)
    estimate, low, high = auc_interval([1, 1, 0, 0, 0, 0], [7, 5, 8, 6, 2, 1])
    assert estimate == 5 / 8
    np.testing.assert_allclose(logit([low, high]), logit(5 / 8) + reach * np.array([-1, 1]))


@pytest.mark.parametrize("shift", [0.0, 3.0])  # the latter with few records out of order
def test_auc_interval_of_reversed_scores_is_reflected(shift):
    rng = np.random.default_rng(1)
    membership, scores = rng.integers(2, size=80), rng.normal(size=80)
    scores += shift * membership
    estimate, low, high = auc_interval(membership, scores)
    np.testing.assert_allclose(auc_interval(membership, -scores), (1 - estimate, 1 - high, 1 - low))
    np.testing.assert_allclose(
        auc_interval(1 - membership, scores), (1 - estimate, 1 - high, 1 - low)
    )


def test_separated_scores_get_the_exact_bound_of_disjoint_pairs():
    membership = np.repeat([1, 0], [20, 50])
    pairs_low, _ = clopper_pearson(20, 20)
    assert auc_interval(membership, membership) == (1.0, pytest.approx(pairs_low), 1.0)
    assert auc_interval(membership, -membership) == (0.0, 0.0, pytest.approx(1 - pairs_low))
    assert auc_interval(1 - membership, 1 - membership).low == pytest.approx(pairs_low)
    estimate, low, high = auc_interval(membership, np.zeros(70))
    assert estimate == 0.5
    assert high - low == pytest.approx(1 - pairs_low)
    assert high + low == pytest.approx(1.0)


def test_intervals_of_one_member_and_one_nonmember_are_nearly_everything():
    assert auc_interval([1, 0], [1, 0]) == (1.0, pytest.approx(0.025), 1.0)
    assert auc_interval([1, 0], [1, 1]) == (0.5, pytest.approx(0.0125), pytest.approx(0.9875))
    estimate, low, high = advantage_interval([1, 0], [1, 0])
    assert estimate == 1.0
    assert low < 0 < high <= 1.0


def test_one_member_among_many_has_an_honest_auc_interval():
    membership = np.repeat([1, 0], [1, 1000])
    scores = np.concatenate([[700.5], np.arange(1000)])
    estimate, low, high = auc_interval(membership, scores)
    assert estimate == pytest.approx(0.701)
    assert low < 0.1
    assert high > 0.95


def test_higher_confidence_widens_every_interval():
    rng = np.random.default_rng(2)
    membership, scores = rng.integers(2, size=200), rng.normal(size=200)
    for interval, answer in ((auc_interval, scores), (advantage_interval, scores > 0)):
        _, low, high = interval(membership, answer, confidence_level=0.8)
        _, lower, higher = interval(membership, answer, confidence_level=0.99)
        assert lower < low < high < higher


@pytest.mark.parametrize(
    "hits, n_members, alarms, n_nonmembers, expected",
    [
        (56, 70, 48, 80, (0.2, 0.0524, 0.3339)),
        (9, 10, 3, 10, (0.6, 0.1705, 0.8090)),
        (10, 10, 0, 20, (1.0, 0.6791, 1.0)),
        (0, 10, 0, 10, (0.0, -0.2775, 0.2775)),
    ],
)
def test_advantage_interval_has_newcombes_published_limits(
    hits, n_members, alarms, n_nonmembers, expected
):
    membership = np.repeat([1, 0], [n_members, n_nonmembers])
    guess = np.zeros(n_members + n_nonmembers)
    guess[:hits] = 1
    guess[n_members : n_members + alarms] = 1
    got = advantage_interval(membership, guess)
    assert isinstance(got, Interval)
    np.testing.assert_allclose(got, expected, atol=5e-5)


def test_operating_point_known_by_hand():
    membership, scores = [1, 1, 1, 1, 0, 0, 0, 0], [9, 7, 5, 3, 8, 4, 2, 1]
    point = operating_point(membership, scores, 0.3, on_unresolvable="ignore")
    assert isinstance(point, OperatingPoint)
    assert (point.tpr, point.fpr, point.threshold) == (0.75, 0.25, 5.0)
    assert (point.n_members, point.n_nonmembers, point.resolvable) == (4, 4, False)
    assert (point.fpr_low, point.fpr_high) == clopper_pearson(1, 4)


@pytest.mark.parametrize("max_fpr", [1.5, -0.1, np.nan, "0.1"])
def test_the_rate_of_an_operating_point_is_a_fraction(max_fpr):
    with pytest.raises(ValueError, match=r"max_fpr must be a fraction in \[0, 1\]"):
        operating_point([1, 0], [1, 0], max_fpr, on_unresolvable="ignore")


def test_operating_point_spends_the_false_positives_it_may():
    membership, scores = [1, 1, 0, 0, 0, 0], [9, 1, 8, 7, 6, 5]
    point = operating_point(membership, scores, 0.5, on_unresolvable="ignore")
    assert (point.tpr, point.fpr, point.threshold) == (0.5, 0.5, 7.0)


def test_threshold_realizes_the_rates_of_the_point():
    rng = np.random.default_rng(3)
    membership, scores = rng.integers(2, size=4000), rng.normal(size=4000).round(1)
    for max_fpr in (0.01, 0.05, 0.5, 1.0):
        point = operating_point(membership, scores, max_fpr)
        guess = scores >= point.threshold
        assert guess[membership == 1].mean() == pytest.approx(point.tpr)
        assert guess[membership == 0].mean() == pytest.approx(point.fpr)
        assert point.fpr <= max_fpr
        assert point.tpr == tpr_at_fpr_score(membership, scores, max_fpr=max_fpr)


def test_point_that_flags_no_record_has_an_infinite_threshold():
    membership = np.repeat([1, 0], [5, 2000])
    point = operating_point(membership, np.zeros(2005))
    assert (point.tpr, point.fpr, point.threshold, point.resolvable) == (0, 0, np.inf, True)
    assert 0 == point.tpr_low < point.tpr_high < 1


def test_unresolvable_point_warns_and_says_so():
    membership, scores = np.repeat([1, 0], [10, 500]), np.arange(510)
    with pytest.warns(ResolutionWarning, match="500 non-members"):
        assert not operating_point(membership, scores).resolvable
    with pytest.raises(ValueError, match="cannot be resolved"):
        operating_point(membership, scores, on_unresolvable="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        operating_point(membership, scores, on_unresolvable="ignore")
    # Fifty records of a person that are all alike tell as much as one.
    people, alike = np.r_[:10, 10 + np.arange(500) // 50], np.r_[:10, np.arange(500) // 50]
    with pytest.warns(
        ResolutionWarning, match="500 records of non-members, .* as much as 10 indep"
    ):
        point = operating_point(membership, alike, groups=people)
    assert point.n_nonmembers == 10


def test_operating_point_is_frozen():
    point = operating_point([1, 0], [1, 0], on_unresolvable="ignore")
    with pytest.raises(AttributeError):
        point.tpr = 1.0


MEMBERS, NONMEMBERS = np.arange(1, 101) / 10, np.arange(1, 201) * 0.04


@pytest.mark.parametrize(
    "max_fpr, level, expected",
    [
        (0.05, 0.95, (0.157028, 0.343821)),
        (0.1, 0.95, (0.189166, 0.389353)),
        (0.01, 0.95, (0, 0.306338)),
        (0.05, 0.9, (0.168574, 0.327991)),
    ],
)
def test_limits_of_the_tpr_are_those_of_the_binomial_beta_mixture(max_fpr, level, expected):
    # Computed once by summing over all numbers of non-members above the population's cut.
    membership = np.repeat([1, 0], [100, 200])
    scores = np.concatenate([MEMBERS, NONMEMBERS])
    point = operating_point(
        membership, scores, max_fpr, confidence_level=level, on_unresolvable="ignore"
    )
    np.testing.assert_allclose((point.tpr_low, point.tpr_high), expected, atol=1e-6)


def test_limits_of_the_tpr_with_a_known_cut_are_clopper_pearsons():
    # No member lies between the highest and the lowest of the non-members that the cut can be.
    rng = np.random.default_rng(0)
    membership = np.repeat([1, 0], [200, 2000])
    scores = np.concatenate([np.repeat([100.0, -100.0], [60, 140]), rng.normal(size=2000)])
    point = operating_point(membership, scores, 0.2)
    np.testing.assert_allclose((point.tpr_low, point.tpr_high), clopper_pearson(60, 200), rtol=1e-6)


def test_the_tpr_at_the_ends_of_the_fpr():
    rng = np.random.default_rng(0)
    membership, scores = np.repeat([1, 0], [50, 80]), rng.normal(size=130)
    none = operating_point(membership, scores, 0.0, on_unresolvable="ignore")
    found = int((scores[:50] > scores[50:].max()).sum())
    # Above the cut of no non-member at all there need not be any member.
    assert (none.tpr_low, none.tpr_high) == (0, pytest.approx(clopper_pearson(found, 50)[1]))
    everybody = operating_point(membership, scores, 1.0)
    lost = int((scores[:50] <= scores[50:].min()).sum())
    assert everybody.tpr_low == pytest.approx(clopper_pearson(50 - lost, 50)[0])
    assert everybody.tpr_high == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_the_interval_of_the_tpr_holds_the_estimate(seed, n_members, n_nonmembers, max_fpr):
    rng = np.random.default_rng(seed)
    membership = np.repeat([1, 0], [n_members, n_nonmembers])
    scores = rng.integers(rng.integers(2, 50), size=len(membership))
    for level in (0.2, 0.95, 0.9999):
        point = operating_point(
            membership, scores, max_fpr, confidence_level=level, on_unresolvable="ignore"
        )
        assert 0 <= point.tpr_low <= point.tpr <= point.tpr_high <= 1
        assert 0 <= point.fpr_low <= point.fpr <= point.fpr_high <= 1


@pytest.mark.parametrize("shift, n, max_fpr", [(2.5, 1000, 0.01), (1, 50, 0.2)])
def test_the_interval_covers_the_tpr_at_the_rate_that_was_asked_for(shift, n, max_fpr):
    rng = np.random.default_rng(4)
    membership, n_runs, covered = np.repeat([1, 0], n), 100, 0
    truth = norm.sf(norm.isf(max_fpr) - shift)
    for _ in range(n_runs):
        point = operating_point(membership, rng.normal(size=2 * n) + shift * membership, max_fpr)
        covered += point.tpr_low <= truth <= point.tpr_high
    assert covered >= binom.ppf(0.001, n_runs, 0.95)


def test_false_positive_limits_are_those_of_an_order_statistic():
    # The true FPR above the (k + 1)-th largest of n non-members is Beta(k + 1, n - k).
    rng = np.random.default_rng(5)
    membership, scores = np.repeat([1, 0], [100, 1000]), rng.normal(size=1100)
    point = operating_point(membership, scores, 0.02)
    assert point.fpr_high == pytest.approx(beta.isf(0.025, 21, 980))


@pytest.mark.parametrize("shift, n", [(0.0, 50), (1.0, 50), (2.0, 100)])
def test_auc_interval_covers_the_true_auc(shift, n):
    rng = np.random.default_rng(6)
    membership, n_runs = np.repeat([1, 0], n), 600
    truth = norm.cdf(shift / np.sqrt(2))
    covered = 0
    for _ in range(n_runs):
        _, low, high = auc_interval(membership, rng.normal(size=2 * n) + shift * membership)
        covered += low <= truth <= high
    # Two standard errors of 600 runs at 95% are 1.8%.
    assert 0.93 <= covered / n_runs <= 0.975


@pytest.mark.parametrize("n_members, n_nonmembers", [(10, 1000), (1000, 10)])
def test_auc_interval_covers_the_auc_of_few_members_that_stand_out(n_members, n_nonmembers):
    rng = np.random.default_rng(8)
    membership, n_runs = np.repeat([1, 0], [n_members, n_nonmembers]), 300
    shift, covered = norm.ppf(0.98) * np.sqrt(2), 0
    for _ in range(n_runs):
        _, low, high = auc_interval(membership, rng.normal(size=1010) + shift * membership)
        covered += low <= 0.98 <= high
    assert covered >= binom.ppf(0.001, n_runs, 0.95)


def test_advantage_interval_covers_the_true_advantage():
    rng = np.random.default_rng(7)
    membership, n_runs = np.repeat([1, 0], [60, 90]), 500
    covered = 0
    for _ in range(n_runs):
        guess = rng.random(150) < np.where(membership == 1, 0.3, 0.1)
        _, low, high = advantage_interval(membership, guess)
        covered += low <= 0.2 <= high
    assert 0.92 <= covered / n_runs <= 0.98


def test_a_mixture_of_beta_distributions_has_their_mass_and_density():
    x, weights = np.array([[0.2], [0.9]]), np.array([[0.3, 0.7], [1.0, 0.0]])
    a, b = np.array([[2.0, 5.0], [3.0, 1.0]]), np.array([[4.0, 1.0], [0.5, 7.0]])
    mass, density = _mixture_at(x, weights, a, b, betaln(a, b))
    np.testing.assert_allclose(mass, (weights * beta(a, b).cdf(x)).sum(axis=1))
    np.testing.assert_allclose(density, (weights * beta(a, b).pdf(x)).sum(axis=1))
