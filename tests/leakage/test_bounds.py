import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refusal, parametrize_refusals
from scipy import integrate, optimize, stats

from skmia.leakage import WorstCaseVulnerability
from skmia.leakage.bounds import (
    bounded_loss_success_bound,
    dp_advantage_bound,
    generalization_gap_probability_bound,
    mutual_information_success_bound,
    required_mutual_information,
    subexponential_loss_success_bound,
    subgaussian_loss_success_bound,
)

# Gaps and bounds of the published runs: softmax against one-hot label, squared and summed over
# classes, which is at most 2.
PUBLISHED_GAPS = {
    "MNIST": [
        (0.7034026384353638, 0.5879253298044205),
        (0.5403838157653809, 0.5675479769706726),
        (0.3651696443557739, 0.5456462055444717),
        (0.21177645027637482, 0.5264720562845469),
        (0.14080053567886353, 0.5176000669598579),
        (0.07255092263221741, 0.5090688653290272),
        (0.04367952048778534, 0.5054599400609732),
        (0.024709971621632576, 0.5030887464527041),
        (0.011932584457099438, 0.5014915730571374),
        (0.0059564500115811825, 0.5007445562514476),
    ],
    "Fashion-MNIST": [
        (0.6843269467353821, 0.5855408683419228),
        (0.060984957963228226, 0.5076231197454035),
    ],
    "CIFAR-10": [
        (0.7746367454528809, 0.5968295931816101),
        (0.6605510711669922, 0.582568883895874),
        (0.4228060841560364, 0.5528507605195045),
    ],
    "PenDigits": [
        (0.4783499836921692, 0.5597937479615211),
        (0.015350505709648132, 0.501918813213706),
    ],
}

# Gaussian linear regression with 20 features and noise of variance 4: rows, the printed bound, the
# cutoff that the authors' search ended at (None: inside), and the largest value of the bound.
PUBLISHED_REGRESSION = [
    (21, 0.5396589780796028, None, 0.539659),
    (40, 0.516914461879089, 40, 0.518003),
    (60, 0.5085811276903259, 40, 0.511102),
    (80, 0.5044144605959444, 40, 0.507915),
    (100, 0.5019144603393155, 40, 0.506102),
    (120, 0.5002477935015629, 40, 0.504940),
    (140, 0.49905731718888247, 40, 0.504135),
]

TAILED = [subgaussian_loss_success_bound, subexponential_loss_success_bound]
TAILS = list(zip(TAILED, (2, 1), strict=True))  # the power of the loss in the exponent
GAPS = st.floats(-1, 1)
BASELINES = st.floats(0.5, 0.99)


@pytest.mark.parametrize("name", PUBLISHED_GAPS)
def test_bounds_of_the_published_networks(name):
    gaps, bounds = np.transpose(PUBLISHED_GAPS[name])
    np.testing.assert_allclose(bounded_loss_success_bound(gaps, 2), bounds, rtol=1e-13)


@pytest.mark.parametrize("n_rows, printed, cutoff, largest", PUBLISHED_REGRESSION)
def test_bounds_of_the_published_regression(n_rows, printed, cutoff, largest):
    gap = 2 * 20 * 4 / n_rows
    best = subexponential_loss_success_bound(gap, 4)
    assert best == pytest.approx(largest, abs=5e-7)
    # A search on [0, 40] that stops within 1e-5 of the cutoff; 0.499 loses to a coin.
    got = subexponential_loss_success_bound(gap, 4, cutoff=cutoff)
    assert got == pytest.approx(max(printed, 0.5), abs=1e-13 if cutoff is None else 1e-7)
    assert got <= best


def brute_force_tailed_bound(gap, proxy_variance, baseline, cutoff, power):
    """Theorems 3 and 4 with their constants as printed."""
    if power == 2:
        constant = np.exp(-(cutoff**2) / (2 * proxy_variance)) * (1 + proxy_variance / cutoff**2)
    else:
        constant = np.exp(-cutoff / (2 * proxy_variance)) * (1 + 2 * proxy_variance / cutoff)
    return np.maximum(
        baseline,
        baseline * (abs(gap) / (2 * cutoff) - constant / (1 - baseline) - 1) + 1,
    )


@pytest.mark.parametrize("bound, power", TAILS)
@given(gap=GAPS, variance=st.floats(0.1, 10), baseline=BASELINES, factor=st.floats(1.001, 30))
@settings(max_examples=30)
def test_tailed_bounds_are_the_printed_formulas(bound, power, gap, variance, baseline, factor):
    smallest = np.sqrt(2 * np.log(2) * variance) if power == 2 else 2 * np.log(2) * variance
    gap, cutoff = gap * smallest / 3, factor * smallest
    got = bound(gap, variance, baseline=baseline, cutoff=cutoff)
    expected = brute_force_tailed_bound(gap, variance, baseline, cutoff, power)
    assert got == pytest.approx(expected, abs=1e-12)
    assert got <= bound(gap, variance, baseline=baseline) + 1e-12


@pytest.mark.parametrize("bound, power", TAILS)
@pytest.mark.parametrize("gap", [1e-6, 0.01, 0.3, 0.8])
def test_the_best_cutoff_is_that_of_a_dense_scan(bound, power, gap):
    cutoffs = np.linspace(np.sqrt(2 * np.log(2)) if power == 2 else 2 * np.log(2), 80, 200_001)
    scan = brute_force_tailed_bound(gap, 1.0, 0.5, cutoffs, power).max()
    assert scan - 1e-12 <= bound(gap) <= scan + 1e-8


@pytest.mark.parametrize("cutoff", [4.0, 8.0, 12.0])
def test_what_is_cut_off_is_the_integral_of_the_tail(cutoff):
    def bound(tail, gap):
        rest, _ = integrate.quad(tail, cutoff, np.inf)
        cut_off = cutoff * tail(cutoff) + rest
        # The two means together change by twice the mean over all records, half of them members.
        return 0.5 + (gap - 2 * cut_off) / (2 * cutoff) / 2

    exponential = bound(lambda r: 2 * np.exp(-r / 2), 8.0)
    assert exponential > 0.5
    assert subexponential_loss_success_bound(8.0, cutoff=cutoff) == pytest.approx(exponential)
    gaussian = bound(lambda r: 2 * np.exp(-(r**2) / 2), 1.2)
    # The closed form of the Gaussian integral is an upper bound of it, close at large values.
    got = subgaussian_loss_success_bound(1.2, cutoff=cutoff)
    assert gaussian - 1e-5 < got <= gaussian + 1e-12


def best_success(joint):
    """Success of the best guess of the row from the column of a table of joint probabilities."""
    return joint.max(axis=0).sum()


def information(joint):
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return (joint[joint > 0] * np.log(joint[joint > 0] / product[joint > 0])).sum()


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 0.95), st.integers(2, 12))
@settings(max_examples=30)
def test_no_learner_is_safer_than_its_gap_allows(seed, baseline, n_values):
    # Any learner, seen through its loss: the loss of non-members and of members is a table.
    rng = np.random.default_rng(seed)
    loss = rng.uniform(0, 3, size=n_values)
    conditional = rng.dirichlet(np.full(n_values, 0.5), size=2)
    gap = conditional[0] @ loss - conditional[1] @ loss
    success = best_success(conditional * rng.permutation([[baseline], [1 - baseline]]))
    centered = bounded_loss_success_bound(gap, 3, baseline=baseline, nonnegative=True)
    assert bounded_loss_success_bound(gap, 3, baseline=baseline) <= centered <= success + 1e-12
    # What is bounded has tails of any kind, from the bound on.
    for bound, variance in zip(TAILED, (9 / (2 * np.log(2)), 3 / (2 * np.log(2))), strict=True):
        assert bound(gap, variance, baseline=baseline) <= success + 1e-12


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.1, 10))
def test_the_bound_of_a_nonnegative_loss_is_tight(member_rate, other_rate, max_loss):
    # A loss of 0 or max_loss: the best attacker reads the membership off the loss itself.
    conditional = np.array([[1 - other_rate, other_rate], [1 - member_rate, member_rate]])
    gap = max_loss * (other_rate - member_rate)
    assert bounded_loss_success_bound(gap, max_loss, nonnegative=True) == pytest.approx(
        best_success(conditional / 2)
    )


@given(st.floats(0.05, 1), st.floats(1, 20))
@settings(max_examples=30)
def test_squared_gaussian_residuals_keep_the_bound(ratio, variance):
    # Members have the smaller variance. The densities cross at +-root.
    small, large = variance * ratio, variance
    root = np.sqrt(np.log(large / small) / (1 / small - 1 / large)) if ratio < 1 else 1.0
    variation = 2 * (
        stats.norm.cdf(root, scale=small**0.5) - stats.norm.cdf(root, scale=large**0.5)
    )
    success = 0.5 + variation / 2
    assert subexponential_loss_success_bound(large - small, large) <= success + 1e-12


@given(GAPS, GAPS, BASELINES)
@settings(max_examples=25)
def test_a_larger_gap_never_lowers_a_bound(first, second, baseline):
    smaller, larger = sorted([first, second], key=abs)
    for bound in (bounded_loss_success_bound, *TAILED):
        low, high = bound(smaller, baseline=baseline), bound(larger, baseline=baseline)
        assert baseline <= low <= high + 1e-12 <= 1 + 1e-12
        assert bound(-larger, baseline=baseline) == high
        assert bound(larger, 3, baseline=baseline) <= high + 1e-12


def test_arrays_give_what_numbers_give():
    gaps, units = np.linspace(-1, 1, 5), np.array([[1.0], [2.0]])
    for bound in (bounded_loss_success_bound, *TAILED):
        got = bound(gaps, units, baseline=0.6)
        assert got.shape == (2, 5)
        for row, unit in enumerate(units.ravel()):
            for column, gap in enumerate(gaps):
                one = bound(float(gap), float(unit), baseline=0.6)
                assert type(one) is float
                assert one == pytest.approx(got[row, column], abs=1e-14)
    for bound in TAILED:
        found = bound(0.5, cutoff=[3, 4.5])
        assert found.tolist() == [bound(0.5, cutoff=one) for one in (3.0, 4.5)]
    baselines = np.array([0.5, 0.7, 0.9])
    np.testing.assert_array_equal(
        mutual_information_success_bound(0.1, baseline=baselines),
        [mutual_information_success_bound(0.1, baseline=float(one)) for one in baselines],
    )
    assert type(mutual_information_success_bound(0.1)) is float
    assert type(required_mutual_information(0.7)) is float
    assert type(dp_advantage_bound(1)) is float
    assert type(generalization_gap_probability_bound(1, 1, 10)) is float


# Information


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 8))
@settings(max_examples=30)
def test_no_attacker_exceeds_what_information_allows(seed, n_attributes, n_models):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(n_attributes * n_models, 0.3)).reshape(n_attributes, n_models)
    baseline, success = joint.sum(axis=1).max(), best_success(joint)
    carried = information(joint)
    if not baseline < 1 or not 0 < baseline:
        return
    assert success <= mutual_information_success_bound(carried, baseline=baseline) + 1e-9
    assert required_mutual_information(max(success, baseline), baseline=baseline) <= carried + 1e-12


@given(st.floats(0, 3), st.floats(0.01, 0.99))
@settings(max_examples=30)
def test_success_bound_is_the_root_of_the_divergence(carried, baseline):
    def excess(success):
        return (
            success * np.log(success / baseline)
            + (1 - success) * np.log((1 - success) / (1 - baseline))
            - carried
        )

    got = mutual_information_success_bound(carried, baseline=baseline)
    highest = 1 - 1e-12
    if excess(highest) <= 0:
        assert got == pytest.approx(1, abs=1e-9)
    else:
        expected = optimize.brentq(excess, baseline, highest, xtol=1e-14)
        # Next to the baseline the divergence is flat, and the plain formula loses half its digits.
        assert got == pytest.approx(expected, abs=1e-7)
    assert baseline <= got <= 1


@given(st.floats(1e-4, 0.68), st.floats(1e-4, 0.68))
@settings(max_examples=30)
def test_information_and_success_are_inverse_and_rise_together(first, second):
    low, high = sorted([first, second])
    assert required_mutual_information(mutual_information_success_bound(low)) == pytest.approx(low)
    assert mutual_information_success_bound(low) <= mutual_information_success_bound(high)


def test_information_at_its_limits():
    assert mutual_information_success_bound(0) == pytest.approx(0.5)
    assert mutual_information_success_bound(np.log(2)) == 1
    assert mutual_information_success_bound(np.inf) == 1
    assert mutual_information_success_bound(np.log(10), baseline=0.1) == 1
    assert mutual_information_success_bound(np.log(10) - 0.1, baseline=0.1) < 1
    assert required_mutual_information(1, baseline=0.1) == pytest.approx(np.log(10))
    # d(1/2 + u || 1/2) = 2 u**2 + O(u**4), where the plain formula is 0 in float64.
    tiny = 1e-18
    assert mutual_information_success_bound(tiny) - 0.5 == pytest.approx(
        (tiny / 2) ** 0.5, rel=1e-6
    )


def test_information_in_nats_against_a_divergence_in_bits_is_no_bound():
    # The published mixture, at 40 rows: .743 where the bound is .789.
    carried = required_mutual_information(0.789)
    assert mutual_information_success_bound(carried * np.log(2)) == pytest.approx(0.743, abs=5e-4)


def test_a_gap_needs_information():
    # Of 8 fair coins the one with most heads in 40 throws is chosen: at most log(8) nats.
    n_throws, n_coins, rng = 40, 8, np.random.default_rng(0)
    gaps = rng.binomial(n_throws, 0.5, size=(20_000, n_coins)).max(axis=1) / n_throws - 0.5
    for gap in (0.1, 0.2, 0.3):
        bound = generalization_gap_probability_bound(
            gap, np.log(n_coins), n_throws, proxy_variance=0.25
        )
        assert (gaps >= gap).mean() <= bound
    assert bound == pytest.approx((np.log(8) + np.log(2)) / (40 * 2 * 0.3**2))
    assert generalization_gap_probability_bound(0.01, 1.0, 40) == 1


# Differential privacy


@given(st.floats(0, 20))
def test_randomized_response_reaches_the_tight_bound(epsilon):
    # The bit is told truly with probability exp(epsilon) / (1 + exp(epsilon)).
    truth = 1 / (1 + np.exp(-epsilon))
    assert dp_advantage_bound(epsilon) == pytest.approx(truth - (1 - truth), abs=1e-12)
    assert dp_advantage_bound(epsilon) == pytest.approx(np.tanh(epsilon / 2), abs=1e-12)


@given(st.floats(0, 8), st.floats(0, 1))
@settings(max_examples=30)
def test_tight_bound_is_the_largest_advantage_that_privacy_allows(epsilon, delta):
    # TPR <= exp(epsilon) FPR + delta and 1 - FPR <= exp(epsilon) (1 - TPR) + delta.
    ratio = np.exp(epsilon)
    program = optimize.linprog(
        [-1, 1], A_ub=[[1, -ratio], [ratio, -1]], b_ub=[delta, ratio + delta - 1], bounds=(0, 1)
    )
    assert dp_advantage_bound(epsilon, delta) == pytest.approx(-program.fun, abs=1e-7)
    assert dp_advantage_bound(epsilon, delta) <= dp_advantage_bound(epsilon, delta, form="printed")


def test_printed_bound_is_vacuous_from_log_two_on():
    assert dp_advantage_bound(0.1, form="printed") == pytest.approx(np.exp(0.1) - 1)
    assert dp_advantage_bound(np.log(2), form="printed") == pytest.approx(1)
    np.testing.assert_array_equal(dp_advantage_bound([1, 1000, np.inf], form="printed"), [1, 1, 1])
    np.testing.assert_allclose(dp_advantage_bound([0, 1000, np.inf]), [0, 1, 1])
    np.testing.assert_allclose(dp_advantage_bound(0, [0, 0.3, 1]), [0, 0.3, 1])


# Refusals


@parametrize_refusals(
    (lambda: bounded_loss_success_bound(np.nan), "gap must be finite; got nan"),
    (lambda: bounded_loss_success_bound("much"), "gap must be finite; got 'much'"),
    (lambda: bounded_loss_success_bound(0.1, 0), "max_loss must be positive and finite; got 0"),
    (lambda: bounded_loss_success_bound(2.1), "gap is larger than a loss within max_loss"),
    (lambda: bounded_loss_success_bound(1.1, nonnegative=True), "gap is larger than"),
    (lambda: bounded_loss_success_bound(0.1, baseline=0.4), r"in \[0.5, 1\); got 0.4"),
    (lambda: bounded_loss_success_bound(0.1, baseline=1), r"in \[0.5, 1\); got 1"),
    (lambda: subgaussian_loss_success_bound(0.1, -1), "proxy_variance must be positive"),
    (lambda: subgaussian_loss_success_bound(0.1, cutoff=np.nan), "cutoff must be positive and"),
    (lambda: subgaussian_loss_success_bound([1, 2], cutoff=[3, 4, 5]), "gap, .*, cutoff must be"),
    (lambda: subgaussian_loss_success_bound([1, 2], [3, 4, 5]), "gap, .*, baseline must"),
    (lambda: subgaussian_loss_success_bound(0.1, 4, cutoff=2), "at least 2.35482.*got 2"),
    (lambda: subexponential_loss_success_bound(0.1, cutoff=1), "at least 1.38629.*got 1"),
    (lambda: subexponential_loss_success_bound(1e6), "a loss with such tails can have"),
    (lambda: mutual_information_success_bound(-0.1), "at least 0; got -0.1"),
    (lambda: mutual_information_success_bound(0.1, baseline=0), r"in \(0, 1\); got 0"),
    (lambda: required_mutual_information(0.4), "success must be at least the baseline"),
    (lambda: required_mutual_information(1.4), r"success must be a fraction .* got 1.4"),
    (lambda: generalization_gap_probability_bound(0, 1, 10), "gap must be positive"),
    (lambda: generalization_gap_probability_bound(1, 1, 0), "n_samples must be at least 1"),
    (lambda: dp_advantage_bound(-1), "epsilon must be a number of at least 0; got -1"),
    (lambda: dp_advantage_bound(1, 2), r"delta must be a fraction in \[0, 1\]; got 2"),
    (lambda: dp_advantage_bound(1, form="loose"), "form must be one of 'tight', 'printed'"),
)
def test_bad_numbers_are_refused_with_a_sentence(call, words, error):
    check_refusal(call, words, error)


def test_the_difference_of_an_attack_between_two_groups_reaches_twice_the_bound():
    # Randomized response at epsilon = 1; the attack believes it in one group and not in the other.
    rng = np.random.default_rng(0)
    n, keep = 200_000, np.exp(1) / (1 + np.exp(1))
    bit, group = rng.integers(2, size=(2, n))
    answer = np.where(rng.random(n) < keep, bit, 1 - bit)
    guess = np.where(group == 0, answer, 1 - answer)
    first, second = (
        guess[(group == g) & (bit == 1)].mean() - guess[(group == g) & (bit == 0)].mean()
        for g in (0, 1)
    )
    bound = dp_advantage_bound(1.0)
    error = 4 * np.sqrt(4 * 0.25 / (n / 4))
    assert abs(first) <= bound + error and abs(second) <= bound + error
    assert 1.9 * bound < first - second <= 2 * bound + error


def test_the_disparity_of_the_best_attacks_reaches_the_bound_and_not_more():
    # One group has its bits released by randomized response, the other has nothing released.
    rng = np.random.default_rng(0)
    n, epsilon = 200_000, 1.0
    membership, group = rng.integers(2, size=(2, n))
    keep = rng.random(n) < np.exp(epsilon) / (1 + np.exp(epsilon))
    answer = np.where(keep, membership, 1 - membership) * (group == 0)
    worst = WorstCaseVulnerability("plugin", group_column=1, n_permutations=1)
    worst.fit(np.column_stack([answer, group]), membership)
    found = worst.group_vulnerability_["vulnerability"]
    error = 4 * np.sqrt(2 * 0.25 / (n / 4))
    assert abs(np.ptp(found) - dp_advantage_bound(epsilon)) < error
    assert np.ptp(found) <= dp_advantage_bound(epsilon, form="printed") + error
