import numpy as np
import pytest
from draws import few_and_many
from refusals import check_refusal, parametrize_refusals
from scipy.stats import binom, kstest, multivariate_normal, ncx2, norm, rankdata, t
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from skmia.leakage import (
    MahalanobisLeakage,
    MeanGLiRAttack,
    MeanLikelihoodRatioAttack,
    MeanScalarProductAttack,
    _mean_glir,
)
from skmia.leakage._mean_glir import ncx2_logcdf
from skmia.metrics import MembershipRocDisplay, clopper_pearson

ATTACKS = [MeanLikelihoodRatioAttack, MeanScalarProductAttack, MeanGLiRAttack]
RATES = [0.01, 0.05, 0.1, 0.5]


@pytest.mark.parametrize("attack", [MeanLikelihoodRatioAttack, MeanScalarProductAttack])
@pytest.mark.parametrize("size", [1e155, 1e300])
def test_numbers_whose_squares_overflow_are_refused(attack, size):
    rng = np.random.default_rng(0)
    reference, target = rng.normal(size=(50, 4)), rng.normal(size=4)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="scale the columns"):
        attack(size * target).fit(reference)
    fitted = attack(target).fit(reference)
    away = np.sign(fitted.direction_)
    assert np.isfinite(fitted.score_samples([size * away, -size * away])).all()
    largest = np.finfo(float).max * away
    quiet = np.errstate(over="ignore", invalid="ignore")  # of the sum in scikit-learn's check
    with quiet, pytest.raises(ValueError, match="no score for 1 of 2 records"):
        fitted.score_samples([target, largest])


# Against simulated releases. Bernoulli rows as in the paper, at a smaller size: the counts of
# columns are binomial.


def power_limits(without, with_target, fpr, confidence_level=0.999):
    """Limits of the TPR at an FPR, whatever the scores are distributed like.

    Half of the error goes to the threshold, which lies between two order statistics of the scores
    of non-members, half to the share of members above it.
    """
    tail = (1 - confidence_level) / 4
    ordered = np.append(np.sort(without)[::-1], -np.inf)
    fewest, most = binom.ppf([tail, 1 - tail], len(without), fpr).astype(int)
    high_threshold = ordered[fewest - 1] if fewest else np.inf
    level = {"confidence_level": 1 - 2 * tail}
    low, _ = clopper_pearson((with_target > high_threshold).sum(), len(with_target), **level)
    _, high = clopper_pearson((with_target >= ordered[most]).sum(), len(with_target), **level)
    return low, high


def make_bernoulli(n_features, seed=0):
    """Probabilities, and the easiest and the hardest target."""
    p = np.random.default_rng(seed).uniform(0.25, 0.75, n_features)
    return p, (p <= 0.5).astype(float), (p > 0.5).astype(float)


def release_bernoulli(p, target, n, rounds=2000, noise_scale=0.0, sampling_ratio=1.0, seed=0):
    """Releases of data sets without and with the target."""
    rng = np.random.default_rng(seed)
    k = round(n * sampling_ratio)
    without = rng.binomial(k, p, (rounds, len(p)))
    drawn = rng.random((rounds, 1)) < sampling_ratio
    rest = rng.binomial(k - 1, p, (rounds, len(p)))
    with_target = rest + np.where(drawn, target, rng.random((rounds, len(p))) < p)
    if not noise_scale:
        return without / k, with_target / k
    noise = rng.normal(size=(2, rounds, len(p))) * noise_scale / np.sqrt(k)
    return without / k + noise[0], with_target / k + noise[1]


@pytest.mark.parametrize(
    "which", [pytest.param(1, id="easy", marks=pytest.mark.slow), pytest.param(2, id="hard")]
)
@pytest.mark.parametrize(
    "params", [{}, {"noise_scale": 0.5}, {"sampling_ratio": 0.5}], ids=["plain", "noise", "half"]
)
def test_claimed_power_of_the_likelihood_ratio(which, params):
    problem = make_bernoulli(200)
    p, target = problem[0], problem[which]
    releases = release_bernoulli(p, target, 100, rounds=1000, **params)
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 100}
    attack = MeanLikelihoodRatioAttack.from_moments(target, **moments, **params)
    without, with_target = map(attack.score_samples, releases)
    claimed = MahalanobisLeakage.from_moments(**moments, **params).power([target], RATES)[0]
    np.testing.assert_allclose(attack.power(RATES), claimed)
    for fpr, power in zip(RATES, claimed):
        low, high = power_limits(without, with_target, fpr)
        assert low <= power <= high


def test_published_power_under_subsampling_is_not_reached():
    p, target, _ = make_bernoulli(500)
    releases = release_bernoulli(p, target, 100, rounds=1000, sampling_ratio=0.5)
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 100, "sampling_ratio": 0.5}
    attack = MeanLikelihoodRatioAttack.from_moments(target, **moments)
    without, with_target = map(attack.score_samples, releases)
    published = MahalanobisLeakage.from_moments(**moments, subsampling="published")
    for fpr, power in zip(RATES, published.power([target], RATES)[0]):
        low, high = power_limits(without, with_target, fpr)
        assert low <= attack.power(fpr) <= high
        if fpr in (0.1, 0.5):  # the two curves cross at lower rates
            assert power > high + 0.1


def test_columns_that_are_subsampled_one_by_one_follow_the_published_power():
    p, target, _ = make_bernoulli(500)
    rng, k, rho = np.random.default_rng(0), 50, 0.5
    without = rng.binomial(k, p, (1000, 500)) / k
    others = rng.random((1000, 500)) < p
    drawn = rng.random((1000, 500)) < rho
    with_target = (rng.binomial(k - 1, p, (1000, 500)) + np.where(drawn, target, others)) / k
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 100, "sampling_ratio": rho}
    attack = MeanLikelihoodRatioAttack.from_moments(target, **moments)
    published = MahalanobisLeakage.from_moments(**moments, subsampling="published")
    low, high = power_limits(attack.score_samples(without), attack.score_samples(with_target), 0.1)
    assert low <= published.power([target], 0.1)[0] <= high
    assert attack.power(0.1) < low


def test_claimed_power_of_the_scalar_product_and_of_glir():
    p, target, _ = make_bernoulli(200)
    releases = release_bernoulli(p, target, 100)
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 100}
    other = (np.random.default_rng(1).random(200) < p).astype(float)
    product = MeanScalarProductAttack.from_moments(target, **moments, reference=other)
    for attack in (product, MeanGLiRAttack.from_moments(target, **moments)):
        without, with_target = map(attack.score_samples, releases)
        for fpr in RATES:
            low, high = power_limits(without, with_target, fpr)
            assert low <= attack.power(fpr) <= high


def test_claimed_power_of_a_test_for_another_target():
    p, target, _ = make_bernoulli(200)
    wrong = np.where(np.arange(200) % 4 == 0, 1 - target, target)
    releases = release_bernoulli(p, target, 100)
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 100}
    pair = MahalanobisLeakage.from_moments(**moments).misspecified([target], [wrong])
    attack = MeanLikelihoodRatioAttack.from_moments(wrong, **moments)
    without, with_target = map(attack.score_samples, releases)
    for fpr in RATES:
        low, high = power_limits(without, with_target, fpr)
        assert low <= pair.power(fpr)[0] <= high
    m_wrong, spread = pair.assumed_score[0], np.sqrt(pair.assumed_score[0] / 2000)
    assert abs(without.mean() + m_wrong / 2) < 4 * spread
    assert abs(with_target.mean() - (pair.cross_score[0] - m_wrong / 2)) < 4 * spread
    naive = (with_target >= 0).mean() - (without >= 0).mean()
    assert abs(naive - pair.naive_advantage[0]) < 4 * np.sqrt(0.5 / 2000)


def test_natural_threshold_gives_the_advantage_and_a_target_its_rate():
    p, target, _ = make_bernoulli(200)
    without, with_target = release_bernoulli(p, target, 100)
    X, membership = np.concatenate([without, with_target]), np.repeat([0, 1], 2000)
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 100}
    error = 4 * np.sqrt(0.5 / 2000)
    best = MahalanobisLeakage.from_moments(**moments).advantage([target])[0]
    for kind in (MeanLikelihoodRatioAttack, MeanGLiRAttack):
        attack = kind.from_moments(target, **moments)
        assert abs(attack.score(X, membership) - best) < error
    for kind in (MeanLikelihoodRatioAttack, MeanGLiRAttack, MeanScalarProductAttack):
        params = {"reference": "mean"} if kind is MeanScalarProductAttack else {}
        attack = kind.from_moments(target, **moments, **params, target_fpr=0.1)
        low, high = clopper_pearson(attack.predict(without).sum(), 2000, confidence_level=0.999)
        assert low <= 0.1 <= high


# Reference rows in place of the true moments.


def release_normal(rounds, rng):
    """Target of the score 8.83, and releases of 100 normal rows without and with it."""
    target = rng.normal(size=100)
    target *= np.sqrt(883 / (target @ target))
    releases = rng.normal(size=(2, rounds, 100)) / np.sqrt([[[100]], [[99]]])
    releases[1] = releases[1] * 0.99 + target / 100
    return target, releases


def effective_score(without, with_target):
    variance = (without.var(ddof=1) + with_target.var(ddof=1)) / 2
    return (with_target.mean() - without.mean()) ** 2 / variance


def test_reference_rows_of_each_round_cost_power():
    rng = np.random.default_rng(0)
    target, releases = release_normal(50, rng)
    scores = np.empty((2, 50))
    for index in np.ndindex(2, 50):
        reference = rng.normal(size=(100, 100))
        attack = MeanLikelihoodRatioAttack(target, n_samples=100, covariance="diagonal")
        attack.fit(reference)
        scores[index] = attack.score_samples(releases[index][np.newaxis])[0]
    m, tau = 8.83, 1
    expected = m**2 / (2 * m + tau / 100 + 2 * tau / 100)
    shift = np.sqrt(expected)
    error = 2 * shift * np.sqrt(2 / 50 + expected / (4 * 50))
    assert abs(effective_score(*scores) - expected) < 3 * error < m - expected


def test_fixed_reference_rows_cost_next_to_nothing():
    rng = np.random.default_rng(0)
    target, releases = release_normal(4000, rng)
    attack = MeanLikelihoodRatioAttack(target, n_samples=100).fit(rng.normal(size=(100, 100)))
    m, tau = 8.83, 1
    # What the direction makes of the true moments, mean 0 and variance 1.
    a = attack.direction_
    reached = (a @ target) ** 2 / (100 * a @ a)
    assert reached == pytest.approx(m**2 / (m + tau / 100), rel=0.05)
    got = effective_score(*map(attack.score_samples, releases))
    error = 2 * np.sqrt(m) * np.sqrt(2 / 4000 + m / (4 * 4000))
    assert abs(got - reached) < 3 * error


def draw_correlated(rng, n_rows, n_features):
    """Rows of which each two columns have the correlation 0.3."""
    own, common = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_rows, 1))
    return np.sqrt(0.7) * own + np.sqrt(0.3) * common


def draw_independent(rng, n_rows, n_features):
    return rng.normal(size=(n_rows, n_features))


@few_and_many(200)
@pytest.mark.parametrize(
    "attack, draw, n_features",
    [
        (MeanLikelihoodRatioAttack(), draw_independent, 60),
        (MeanGLiRAttack(), draw_independent, 60),
        (MeanScalarProductAttack(reference="mean"), draw_independent, 60),
        (MeanScalarProductAttack(random_state=0), draw_independent, 60),
        (MeanLikelihoodRatioAttack(covariance="diagonal"), draw_correlated, 24),
        (MeanLikelihoodRatioAttack(), draw_correlated, 24),
        (MeanGLiRAttack(noise_scale=2.0), draw_correlated, 24),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),  # an address would differ by process
)
def test_reference_rows_give_a_threshold_of_the_rate_that_was_asked_for(
    attack, draw, n_features, n_draws
):
    rng, n_samples = np.random.default_rng(0), 100
    noise = attack.noise_scale / np.sqrt(n_samples)
    n_flagged = 0
    for _ in range(n_draws):
        target = draw(rng, 1, n_features)[0]
        one = clone(attack).set_params(target=target, n_samples=n_samples, target_fpr=0.05)
        one.fit(draw(rng, 39, n_features))
        released = draw(rng, 1, n_features) / np.sqrt(n_samples)  # of normal rows
        n_flagged += one.predict(released + noise * rng.normal(size=released.shape))[0]
    low, high = binom.ppf([0.0005, 0.9995], n_draws, 0.05)
    assert low <= n_flagged <= high


def test_the_rate_holds_for_single_rows_and_few_reference_rows():
    rng, n_trials, n_flagged = np.random.default_rng(0), 150, 0
    for _ in range(n_trials):
        attack = MeanLikelihoodRatioAttack(rng.normal(size=8), n_samples=1, target_fpr=0.1)
        n_flagged += attack.fit(rng.normal(size=(4, 8))).predict(rng.normal(size=(1, 8)))[0]
    assert n_flagged <= binom.ppf(0.9995, n_trials, 0.1)


def test_correlations_are_worth_power():
    rng = np.random.default_rng(0)
    target, reference = draw_correlated(rng, 1, 300)[0], draw_correlated(rng, 200, 300)
    released = draw_correlated(rng, 1000, 300) / 10
    moved = released + (target - draw_correlated(rng, 1000, 300)) / 100
    X, membership = np.concatenate([released, moved]), np.repeat([0, 1], 1000)
    auc = {
        covariance: roc_auc_score(
            membership,
            MeanLikelihoodRatioAttack(target, n_samples=100, covariance=covariance)
            .fit(reference)
            .score_samples(X),
        )
        for covariance in ("auto", "diagonal")
    }
    assert auc["auto"] > auc["diagonal"] + 0.1


def test_the_target_and_the_drawn_row_are_not_held_out():
    X = make_reference(6)
    X[17] *= 10
    attack = MeanLikelihoodRatioAttack(covariance="diagonal", n_samples=9).fit(X)
    rest = np.delete(X, 17, axis=0)
    given = MeanLikelihoodRatioAttack(X[17], covariance="diagonal", n_samples=9).fit(rest)
    np.testing.assert_array_equal(attack.location_, rest.mean(axis=0))
    np.testing.assert_array_equal(attack.score_samples(X), given.score_samples(X))
    drawn = MeanScalarProductAttack(X[17], n_samples=9, target_fpr=0.1, random_state=0).fit(rest)
    others = rest[(rest != drawn.reference_).any(axis=1)]
    projected = others @ (X[17] - drawn.reference_)
    spread = projected.std(ddof=1) * np.sqrt(1 / 9 + 1 / 28)
    assert len(others) == 28
    assert drawn.offset_ == pytest.approx(projected.mean() + t.ppf(0.9, 27) * spread, rel=0.05)


# Closed forms.


def make_problem(n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_features, n_features))
    moments = {"mean": rng.normal(size=n_features), "covariance": root @ root.T, "n_samples": 12}
    return moments, rng.normal(size=n_features) * 3, rng.normal(size=(40, n_features))


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_likelihood_ratio_is_that_of_the_formula(noise):
    moments, target, X = make_problem()
    inverse = np.linalg.inv(moments["covariance"] + noise**2 * np.eye(5))
    deviation = target - moments["mean"]
    expected = (X - moments["mean"]) @ inverse @ deviation - deviation @ inverse @ deviation / 24
    attack = MeanLikelihoodRatioAttack.from_moments(target, **moments, noise_scale=noise)
    np.testing.assert_allclose(attack.score_samples(X), expected)
    assert attack.offset_ == pytest.approx(0, abs=1e-12)
    assert attack.effective_score_ == pytest.approx(deviation @ inverse @ deviation / 12)


def test_likelihood_ratio_after_subsampling_is_that_of_the_drawn_rows():
    moments, target, X = make_problem()
    attack = MeanLikelihoodRatioAttack.from_moments(target, **moments, sampling_ratio=0.25)
    drawn = MeanLikelihoodRatioAttack.from_moments(target, **{**moments, "n_samples": 3})
    np.testing.assert_allclose(attack.score_samples(X), drawn.score_samples(X))
    assert attack.offset_ == pytest.approx(0, abs=1e-12)
    assert attack.power(0.1) == pytest.approx(0.75 * 0.1 + 0.25 * drawn.power(0.1))
    assert attack.effective_score_ == pytest.approx(drawn.effective_score_ / 4)


def test_the_distance_is_the_exact_likelihood_ratio_of_normal_rows():
    moments, target, X = make_problem()
    mean, covariance, n = moments.values()
    with_target = ((n - 1) * mean + target) / n
    exact = multivariate_normal(with_target, covariance * (n - 1) / n**2).logpdf(X)
    exact -= multivariate_normal(mean, covariance / n).logpdf(X)
    distance = np.einsum("ij,jk,ik->i", X - target, np.linalg.inv(covariance), X - target)
    constant = exact + n / (2 * (n - 1)) * distance
    np.testing.assert_allclose(constant, constant[0])
    for factor in ("n", "n-1"):
        for fpr in (None, 0.2):
            attack = MeanGLiRAttack.from_moments(target, **moments, factor=factor, target_fpr=fpr)
            np.testing.assert_array_equal(rankdata(attack.score_samples(X)), rankdata(exact))
            if fpr is None:
                np.testing.assert_array_equal(attack.predict(X), exact >= 0)


def test_the_exact_power_for_normal_rows_tends_to_the_claimed_one():
    target = np.full(5000, np.sqrt(8.891 / 5))
    attack = MeanGLiRAttack.from_moments(target, np.zeros(5000), np.ones(5000), n_samples=1000)
    distance = 1000 * (target @ target)
    for fpr in (0.01, 0.1, 0.5):
        quantile = ncx2.ppf(fpr, 5000, distance)
        exact = ncx2.cdf(quantile * 1000 / 999, 5000, distance * 999 / 1000)
        assert attack.power(fpr) == pytest.approx(exact, abs=2e-3)


def test_p_values_of_glir():
    rng = np.random.default_rng(0)
    target = rng.normal(size=30)
    without = rng.normal(size=(4000, 30)) / np.sqrt(20)
    p_values, guesses = {}, {}
    for factor in ("n", "n-1"):
        moments = {"mean": np.zeros(30), "covariance": np.ones(30), "n_samples": 20}
        attack = MeanGLiRAttack.from_moments(target, **moments, factor=factor, target_fpr=0.1)
        p_values[factor] = np.exp(-attack.score_samples(without))
        guesses[factor] = attack.predict(without)
        assert roc_auc_score(guesses[factor], attack.decision_function(without)) == 1
    assert kstest(p_values["n"], "uniform").pvalue > 0.001
    assert p_values["n-1"].mean() < 0.45
    np.testing.assert_array_equal(guesses["n"], guesses["n-1"])
    assert 0.08 < guesses["n"].mean() < 0.12


def test_effective_score_of_the_scalar_product():
    moments, target, X = make_problem()
    mean, covariance, n = moments.values()
    other = X[0]
    attack = MeanScalarProductAttack.from_moments(target, **moments, reference=other)
    a = target - other
    np.testing.assert_allclose(attack.score_samples(X), X @ a)
    assert attack.effective_score_ == pytest.approx(
        (a @ (target - mean)) ** 2 / (n * a @ covariance @ a)
    )
    best = MeanLikelihoodRatioAttack.from_moments(target, **moments)
    assert attack.effective_score_ < best.effective_score_
    # Half way between the two means.
    assert attack.offset_ == pytest.approx(a @ mean + a @ (target - mean) / (2 * n))


def test_effective_score_of_the_scalar_product_in_the_experiment():
    # With q = max(p, 1 - p) uniform on [1/2, 3/4] a random row differs from the easiest target
    # with probability q in a column, which adds q to the move and q (1 - q) to the variance.
    p, target, _ = make_bernoulli(5000)
    q = np.linspace(0.5, 0.75, 100_001)
    expected = 5 * (q**2).mean() ** 2 / (q**2 * (1 - q)).mean()
    rng = np.random.default_rng(1)
    scores = [
        MeanScalarProductAttack.from_moments(
            target, p, p * (1 - p), n_samples=1000, reference=(rng.random(5000) < p).astype(float)
        ).effective_score_
        for _ in range(20)
    ]
    assert expected == pytest.approx(5.52, abs=0.01)
    assert np.mean(scores) == pytest.approx(expected, rel=0.02)


def test_scalar_product_with_the_mean_ranks_as_the_ratio_for_equal_variances():
    rng = np.random.default_rng(0)
    target, X = rng.normal(size=6), rng.normal(size=(30, 6))
    moments = {"mean": rng.normal(size=6), "covariance": np.full(6, 2.5), "n_samples": 7}
    product = MeanScalarProductAttack.from_moments(target, **moments, reference="mean")
    ratio = MeanLikelihoodRatioAttack.from_moments(target, **moments)
    assert product.effective_score_ == pytest.approx(ratio.effective_score_)
    np.testing.assert_array_equal(product.predict(X), ratio.predict(X))
    np.testing.assert_array_equal(
        rankdata(product.score_samples(X)), rankdata(ratio.score_samples(X))
    )


def test_the_tail_of_the_noncentral_law():
    # With one degree of freedom it is that of the square of a normal variable.
    for root_nc in (10.0, 100.0, 1000.0):
        root = root_nc - np.array([0.5, 3.0, 8.0])
        x = np.append(root**2, (0.3 * root_nc) ** 2)
        root = np.sqrt(x)
        expected = norm.logcdf(root - root_nc) + np.log1p(
            -np.exp(norm.logcdf(-root - root_nc) - norm.logcdf(root - root_nc))
        )
        np.testing.assert_allclose(ncx2_logcdf(x, 1, root_nc**2), expected, rtol=1e-4)


def test_the_law_is_increasing_from_tail_to_tail():
    x = np.linspace(1, 60_000, 4001)
    logcdf = ncx2_logcdf(x, 200, 20_000.0)
    assert np.isfinite(logcdf).all()
    for df, nc in ((1, 0.0), (1, 1e9), (10**6, 0.0), (10**6, 1e13)):
        assert np.isfinite(ncx2_logcdf(np.array([0.0]), df, nc)).all()
    assert (np.diff(logcdf) >= 0).all()
    assert (np.diff(logcdf)[x[1:] < 25_000] > 0).all()
    assert logcdf[0] < -5000
    assert logcdf[-1] <= 0
    upper = x[(x > 21_000) & (x < 22_500)]
    expected = -ncx2.sf(upper, 200, 20_000.0)
    np.testing.assert_allclose(ncx2_logcdf(upper, 200, 20_000.0), np.log1p(expected), rtol=1e-9)


def test_the_law_of_huge_data_sets_is_nearly_normal():
    mean, spread = 1e10 + 1000, np.sqrt(2 * (1000 + 2e10))
    x = mean + spread * np.linspace(-5, 5, 3)
    np.testing.assert_allclose(ncx2_logcdf(x, 1000, 1e10), ncx2.logcdf(x, 1000, 1e10), atol=1e-4)


# The contract.


def make_reference(n_features=4):
    return np.random.default_rng(0).normal(size=(30, n_features))


@pytest.mark.parametrize("kind", ATTACKS)
def test_guesses_follow_the_threshold(kind):
    X = make_reference()
    attack = kind(X[0], n_samples=5).fit(X)
    released = np.random.default_rng(1).normal(size=(20, 4))
    scores = attack.score_samples(released)
    np.testing.assert_allclose(attack.decision_function(released), scores - attack.offset_)
    np.testing.assert_array_equal(attack.predict(released), scores >= attack.offset_)
    assert attack.classes_.tolist() == [0, 1]
    membership = np.arange(20) % 2
    guesses = attack.predict(released)
    expected = guesses[1::2].mean() - guesses[::2].mean()
    assert attack.score(released, membership) == pytest.approx(expected)
    assert attack.score(released, membership + 1) == attack.score(released, membership)
    weights = np.where(np.arange(20) < 4, 1.0, 0.0)
    expected = guesses[[1, 3]].mean() - guesses[[0, 2]].mean()
    assert attack.score(released, membership, weights) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ATTACKS)
def test_fit_is_from_moments_with_estimates(kind):
    X, params = make_reference(), {}
    target, released = X[3] * 2, X[5:] / 3
    if kind is MeanScalarProductAttack:
        params["reference"] = "mean"
    fitted = kind(target, **params, n_samples=9, covariance="full").fit(X)
    known = kind.from_moments(target, X.mean(axis=0), np.cov(X.T), n_samples=9, **params)
    # Only the center of the scores, the spread and the threshold are measured on held-out rows.
    scores, expected = fitted.score_samples(released), known.score_samples(released)
    np.testing.assert_allclose(scores - scores[0], expected - expected[0], atol=1e-12)
    np.testing.assert_allclose(fitted.direction_, known.direction_)
    assert fitted.offset_ != pytest.approx(known.offset_, abs=1e-9) or fitted.offset_ == 0
    assert kind(target).fit(X).n_samples_ == 30


@pytest.mark.parametrize("kind", ATTACKS)
def test_an_attack_made_of_moments_says_which_ones_and_estimates_the_same(kind):
    X = make_reference()
    params = {"reference": "mean"} if kind is MeanScalarProductAttack else {}
    for name, covariance in (("diagonal", X.var(axis=0, ddof=1)), ("full", np.cov(X.T))):
        known = kind.from_moments(X[0], X.mean(axis=0), covariance, n_samples=9, **params)
        assert known.covariance == name
        again = clone(known).fit(X)
        np.testing.assert_allclose(again.direction_, known.direction_)


@pytest.mark.parametrize("kind", ATTACKS)
def test_without_a_target_the_most_leaking_row_is_taken(kind):
    X = make_reference()
    X[17] *= 10
    attack = kind().fit(X)
    np.testing.assert_array_equal(attack.target_, X[17])
    assert attack.target is None
    with pytest.raises(ValueError, match="target must be a row"):
        kind.from_moments(None, [0], [1], n_samples=5)


@pytest.mark.parametrize("kind", ATTACKS)
def test_bad_targets_are_refused(kind):
    X = make_reference()
    for bad in (X[0, :3], X[:2]):
        with pytest.raises(ValueError, match="target must be one row of 4 features; got shape"):
            kind(bad).fit(X)
    with pytest.raises(ValueError, match="target contains NaN"):
        kind([np.nan, 0, 0, 0]).fit(X)
    for fpr in (0, 1, 5):
        with pytest.raises(ValueError, match="'target_fpr' parameter"):
            kind(X[0], target_fpr=fpr).fit(X)
    with pytest.raises(NotFittedError):
        kind(X[0]).power(0.1)
    with pytest.raises(ValueError, match=r"fpr must be a fraction in \[0, 1\]"):
        kind(X[0]).fit(X).power(2)


def test_power_has_the_shape_of_the_rates():
    attack = MeanLikelihoodRatioAttack().fit(make_reference())
    assert isinstance(attack.power(0.1), float)
    assert attack.power([[0.1, 0.2]]).shape == (1, 2)
    np.testing.assert_array_equal(attack.power([0, 1]), [0, 1])


@pytest.mark.parametrize("kind", ATTACKS)
def test_constant_columns_take_no_part(kind):
    X = make_reference()
    with_constant = np.column_stack([X, np.full(30, 0.1)])
    target = np.append(X[0], 0.7)
    params = {"reference": "mean"} if kind is MeanScalarProductAttack else {}
    one = kind(target, **params).fit(with_constant).score_samples(with_constant)
    two = kind(target[:4], **params).fit(X).score_samples(X)
    # The scalar product adds the same number to each.
    np.testing.assert_allclose(one - one[0], two - two[0], atol=1e-12)


@parametrize_refusals(
    (lambda: MeanGLiRAttack().fit(np.ones((5, 2))), "All columns are constant"),
    (
        lambda: MeanGLiRAttack(n_samples=5, sampling_ratio=0.1).fit(make_reference()),
        r"more than 1 row; n_samples \* sampling_ratio is 0.5",
    ),
    (
        lambda: MeanGLiRAttack(n_samples=10, sampling_ratio=0.1).fit(make_reference()),
        r"more than 1 row; n_samples \* sampling_ratio is 1",
    ),
    (lambda: MeanGLiRAttack(n_samples=1).fit(make_reference()), "'n_samples' parameter"),
)
def test_glir_needs_a_distance_and_more_than_one_row(call, words, error):
    check_refusal(call, words, error)


def test_a_test_without_a_direction_is_a_coin():
    for attack in (
        MeanLikelihoodRatioAttack.from_moments([1, 2], [1, 2], [1, 1], n_samples=5),
        MeanScalarProductAttack.from_moments([1, 2], [0, 0], [1, 1], n_samples=5, reference=[1, 2]),
    ):
        assert attack.effective_score_ == 0
        np.testing.assert_allclose(attack.power([0.1, 0.5]), [0.1, 0.5])


def test_a_direction_without_spread_is_certain():
    attack = MeanScalarProductAttack.from_moments(
        [0, 2], [0, 0], [1, 0], n_samples=5, reference="mean"
    )
    assert attack.effective_score_ == np.inf
    assert attack.power([0, 0.5]).tolist() == [1, 1]
    assert attack.predict([[3, 0.0], [-3, 0.4]]).tolist() == [0, 1]
    misled = MeanScalarProductAttack.from_moments(
        [0, 2], [0, 0], [1, 0], n_samples=5, reference=[0, 4]
    )
    assert misled.power([0, 0.5, 1]).tolist() == [0, 0, 1]


def test_the_reference_row_is_drawn_or_given():
    X = make_reference()
    drawn = [MeanScalarProductAttack(X[0], random_state=seed).fit(X) for seed in range(20)]
    rows = [int(np.flatnonzero((attack.reference_ == X).all(axis=1))[0]) for attack in drawn]
    assert len(set(rows)) > 8
    again = clone(drawn[3]).fit(X)
    np.testing.assert_array_equal(again.reference_, drawn[3].reference_)
    given = MeanScalarProductAttack(X[0], reference=X[9]).fit(X)
    np.testing.assert_array_equal(given.direction_, X[0] - X[9])
    with pytest.raises(ValueError, match=r"reference must be one row of 4 features; got .*\(2,\)"):
        MeanScalarProductAttack(X[0], reference=[1, 2]).fit(X)
    with pytest.raises(ValueError, match="reference='row' needs reference rows"):
        MeanScalarProductAttack.from_moments([0], [0], [1], n_samples=3)


def test_blocks_of_releases_get_the_same_scores(monkeypatch):
    attack, X = MeanGLiRAttack().fit(make_reference()), make_reference()[1:]
    whole = attack.score_samples(X)
    monkeypatch.setattr(_mean_glir, "_BLOCK", 12)
    np.testing.assert_allclose(attack.score_samples(X), whole)


def test_attacks_can_be_displayed():
    pytest.importorskip("matplotlib")
    p, target, _ = make_bernoulli(50)
    without, with_target = release_bernoulli(p, target, 30, rounds=100)
    X, membership = np.concatenate([without, with_target]), np.repeat([0, 1], 100)
    moments = {"mean": p, "covariance": p * (1 - p), "n_samples": 30}
    attacks = {
        kind.__name__: kind.from_moments(target, **moments)
        for kind in (MeanLikelihoodRatioAttack, MeanGLiRAttack)
    }
    display = MembershipRocDisplay.from_estimator(attacks, X, membership)
    assert set(display.lines_) == set(attacks)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_scores_are_the_documented_ratio_and_the_threshold_the_documented_constant(ratio):
    rng = np.random.default_rng(5)
    X, z, released = rng.normal(size=(60, 20)), rng.normal(size=20), rng.normal(size=(7, 20))
    n, kept = 40, ratio * 40
    attack = MeanLikelihoodRatioAttack(
        z, n_samples=n, sampling_ratio=ratio, covariance="diagonal"
    ).fit(X)

    def direct(rows):
        return (z - rows.mean(axis=0)) / rows.var(axis=0, ddof=1)

    def log_ratio(mean, a):
        return (released - mean) @ a - (z - mean) @ a / (2 * kept)

    known = MeanLikelihoodRatioAttack.from_moments(
        z, X.mean(axis=0), X.var(axis=0, ddof=1), n_samples=n, sampling_ratio=ratio
    )
    expected = log_ratio(X.mean(axis=0), direct(X))
    np.testing.assert_allclose(known.score_samples(released), expected)
    held = np.arange(60) % 10
    pulls = [
        (X[held == fold] - X[held != fold].mean(axis=0)) @ direct(X[held != fold])
        for fold in range(10)
    ]
    pull = 0.9 * np.mean(np.concatenate(pulls))
    constant = (1 - 1 / (2 * kept)) * pull
    np.testing.assert_allclose(attack.score_samples(released), expected)
    assert attack.offset_ == pytest.approx(constant) and abs(constant) > 0.1
    assert known.offset_ == pytest.approx(0)
