from itertools import product

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from scipy.integrate import quad, trapezoid
from scipy.stats import norm
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance, LedoitWolf
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from skmia._core import gaussians as _moments
from skmia.leakage import MahalanobisLeakage

N, D = 1000, 5000


# The experiment of the paper: Bernoulli rows with 5,000 columns, means of 1,000 rows.


@pytest.fixture(scope="module")
def bernoulli():
    """Probabilities of the columns, and the easiest, the hardest and a typical target."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.25, 0.75, D)
    return p, np.array([p <= 0.5, p > 0.5, rng.random(D) < p], dtype=float)


@pytest.fixture(scope="module")
def targets(bernoulli):
    return bernoulli[1]


def make_leakage(bernoulli, **params):
    p = bernoulli[0]
    return MahalanobisLeakage.from_moments(p, p * (1 - p), n_samples=N, **params)


def test_scores_of_the_experiment(bernoulli, targets):
    scores = make_leakage(bernoulli).score_samples(targets)
    assert scores.round(3).tolist() == [8.891, 3.100, 4.934]


@pytest.mark.parametrize("correlated", [False, True])
def test_the_average_row_leaks_columns_over_rows(correlated):
    # Remark 3.3 of the paper.
    rng, n, d = np.random.default_rng(0), 40, 100
    root = rng.normal(size=(d, d)) if correlated else np.diag(rng.uniform(0.1, 3, d))
    X = rng.normal(size=(4000, d)) @ root
    scores = MahalanobisLeakage.from_moments(np.zeros(d), root.T @ root, n_samples=n)
    scores = scores.score_samples(X)
    assert abs(scores.mean() - d / n) < 4 * scores.std() / 4000**0.5 < 0.03 * d / n
    # With estimated variances it is so for any rows, but for the divisor of the variance.
    own = MahalanobisLeakage(covariance="diagonal").fit(X).score_samples(X)
    assert own.mean() == pytest.approx(d / 4000 * (1 - 1 / 4000))


def test_mean_scores_of_the_experiment_have_a_closed_form():
    p = 0.25 + 0.5 * (np.arange(D) + 0.5) / D
    leakage = MahalanobisLeakage.from_moments(p, p * (1 - p), n_samples=N)
    easy, hard = leakage.score_samples(np.array([p <= 0.5, p > 0.5], dtype=float))
    assert easy == pytest.approx(5 * (4 * np.log(2) - 1), abs=1e-3)
    assert hard == pytest.approx(5 * (4 * np.log(1.5) - 1), abs=1e-3)


@pytest.mark.parametrize(
    "row, powers, auc",
    [
        (0, [0.744, 0.909, 0.955, 0.999], 0.9825),
        (1, [0.286, 0.546, 0.684, 0.961], 0.8934),
        (2, [0.458, 0.718, 0.826, 0.987], 0.9419),
    ],
)
def test_power_and_area_of_the_experiment(bernoulli, targets, row, powers, auc):
    leakage, target = make_leakage(bernoulli), targets[[row]]
    assert leakage.power(target, [0.01, 0.05, 0.1, 0.5])[0].round(3).tolist() == powers
    area, _ = quad(lambda fpr: leakage.power(target, fpr)[0], 0, 1, limit=200)
    assert round(area, 4) == auc


@pytest.mark.parametrize("noise, tpr", [(0.25, 0.912), (0.5, 0.778), (1, 0.497), (2, 0.275)])
def test_power_under_noise_of_the_experiment(bernoulli, targets, noise, tpr):
    leakage = make_leakage(bernoulli, noise_scale=noise)
    assert leakage.power(targets[:1], 0.1).round(3).tolist() == [tpr]


@pytest.mark.parametrize(
    "ratio, exact, published",
    [
        (0.75, [0.764, 0.605], [0.903, 0.596]),
        (0.5, [0.549, 0.493], [0.796, 0.485]),
        (0.25, [0.325, 0.322], [0.583, 0.344]),
        (0.1, [0.190, 0.190], [0.367, 0.234]),
    ],
)
def test_power_under_subsampling_of_the_experiment(bernoulli, targets, ratio, exact, published):
    for kind, powers in (("exact", exact), ("published", published)):
        leakage = make_leakage(bernoulli, sampling_ratio=ratio, subsampling=kind)
        assert leakage.power(targets[:2], 0.1).round(3).tolist() == powers


def test_advantage_under_subsampling_stays_below_the_sampling_ratio(bernoulli, targets):
    exact = make_leakage(bernoulli, sampling_ratio=0.5).advantage(targets[:1])
    published = make_leakage(bernoulli, sampling_ratio=0.5, subsampling="published")
    assert exact.round(3).tolist() == [0.483]
    assert published.advantage(targets[:1]).round(3).tolist() == [0.708]
    far = 100 * targets[:1]
    assert make_leakage(bernoulli, sampling_ratio=0.5).advantage(far) == pytest.approx(0.5)


def test_exact_and_published_agree_for_small_scores():
    ones = np.array([[1.0]])
    made = {
        kind: MahalanobisLeakage.from_moments(
            [0], [1], n_samples=10**6, sampling_ratio=0.2, subsampling=kind
        )
        for kind in ("exact", "published")
    }
    expected = np.sqrt(0.2 * 1e-6 / (2 * np.pi))
    for leakage in made.values():
        assert leakage.advantage(ones)[0] == pytest.approx(expected, rel=1e-5)
    assert made["published"].score_samples(ones)[0] == pytest.approx(2e-7)
    assert made["exact"].score_samples(ones)[0] == pytest.approx(1e-6)


# Closed forms against independent computations.


def make_distribution(n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_features, n_features))
    return rng, rng.normal(size=n_features), root @ root.T


def test_full_covariance_is_that_of_the_inverse_matrix():
    rng, mean, covariance = make_distribution()
    X = rng.normal(size=(7, 4))
    noise = np.array([0.0, 0.5, 1.0, 2.0])
    inverse = np.linalg.inv(covariance + np.diag(noise**2))
    expected = [(x - mean) @ inverse @ (x - mean) / 50 for x in X]
    leakage = MahalanobisLeakage.from_moments(mean, covariance, n_samples=50, noise_scale=noise)
    np.testing.assert_allclose(leakage.score_samples(X), expected)


def test_fit_estimates_the_moments():
    rng, mean, covariance = make_distribution()
    X = rng.multivariate_normal(mean, covariance, size=40)
    full = MahalanobisLeakage(covariance="full").fit(X)
    np.testing.assert_allclose(full.location_, X.mean(axis=0))
    np.testing.assert_allclose(full.covariance_, np.cov(X, rowvar=False))
    assert full.n_samples_ == 40
    diagonal = MahalanobisLeakage(covariance="diagonal", n_samples=80).fit(X)
    np.testing.assert_allclose(diagonal.covariance_, X.var(axis=0, ddof=1))
    expected = ((X - X.mean(axis=0)) ** 2 / X.var(axis=0, ddof=1)).sum(axis=1) / 80
    np.testing.assert_allclose(diagonal.score_samples(X), expected)


def test_scores_of_a_diagonal_matrix_are_those_of_its_diagonal():
    rng, mean, covariance = make_distribution()
    X, variances = rng.normal(size=(5, 4)), np.diag(covariance)
    one, two = (
        MahalanobisLeakage.from_moments(mean, moments, n_samples=9, noise_scale=0.3)
        for moments in (variances, np.diag(variances))
    )
    np.testing.assert_allclose(one.score_samples(X), two.score_samples(X))


def test_scores_do_not_depend_on_units_or_on_the_base():
    rng, mean, covariance = make_distribution()
    X = rng.multivariate_normal(mean, covariance, size=30)
    base = rng.normal(size=(4, 4))
    one = MahalanobisLeakage(covariance="full").fit(X).score_samples(X)
    two = MahalanobisLeakage(covariance="full").fit(X @ base + 5).score_samples(X @ base + 5)
    np.testing.assert_allclose(one, two)


def test_a_covariance_estimator_is_cloned_and_a_frozen_one_is_taken():
    rng, mean, covariance = make_distribution()
    public = rng.multivariate_normal(mean, covariance, size=60)
    private = rng.multivariate_normal(mean, covariance, size=20)
    shrunk = LedoitWolf()
    leakage = MahalanobisLeakage(covariance=shrunk).fit(private)
    assert not hasattr(shrunk, "covariance_")
    np.testing.assert_allclose(leakage.covariance_, LedoitWolf().fit(private).covariance_)
    known = EmpiricalCovariance().fit(public)
    leakage = clone(MahalanobisLeakage(covariance=FrozenEstimator(known))).fit(private)
    np.testing.assert_allclose(leakage.score_samples(private), known.mahalanobis(private) / 20)


def test_blocks_of_rows_give_the_same_scores(monkeypatch):
    rng, mean, covariance = make_distribution()
    X = rng.normal(size=(11, 4))
    for moments in (covariance, np.diag(covariance)):
        leakage = MahalanobisLeakage.from_moments(mean, moments, n_samples=5)
        whole = leakage.score_samples(X)
        with monkeypatch.context() as patch:
            patch.setattr(_moments, "_BLOCK", 12)
            np.testing.assert_allclose(leakage.score_samples(X), whole)


def test_many_columns_need_no_matrix_of_columns():
    X = np.random.default_rng(0).normal(size=(3, 60_000))
    leakage = MahalanobisLeakage().fit(X)  # the matrix would have 29 GB
    assert leakage.covariance_.shape == (60_000,)
    assert np.isfinite(leakage.score_samples(X)).all()


@pytest.mark.parametrize("fpr", [1e-6, 0.01, 0.3, 0.9])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_threshold_has_the_false_positive_rate(fpr, ratio):
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=4, sampling_ratio=ratio)
    X = np.array([[2.0], [5.0]])
    m = X[:, 0] ** 2 / 4 / ratio  # scores of the mean of the drawn rows
    ratios = leakage.threshold(X, fpr)
    np.testing.assert_allclose(norm.sf(ratios, -m / 2, np.sqrt(m)), fpr)
    # A member takes part with probability `ratio`; else its ratio has the law of a non-member.
    tpr = (1 - ratio) * fpr + ratio * norm.sf(ratios, m / 2, np.sqrt(m))
    np.testing.assert_allclose(leakage.power(X, fpr), tpr)


def test_advantage_is_that_of_the_threshold_zero():
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=4, sampling_ratio=0.3)
    X = np.array([[0.5], [2.0], [5.0]])
    rates = np.linspace(0, 1, 20_001)
    best = (leakage.power(X, rates) - rates).max(axis=1)
    np.testing.assert_allclose(leakage.advantage(X), best, atol=1e-6)
    for x, advantage in zip(X, leakage.advantage(X)):
        spread = abs(x[0]) / 2 / np.sqrt(0.3)
        at_zero = 0.3 * (norm.sf(0, spread**2 / 2, spread) - norm.sf(0, -(spread**2) / 2, spread))
        assert advantage == pytest.approx(at_zero)


def test_curves_have_a_row_for_each_target_and_a_column_for_each_rate():
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=4)
    X, rates = np.array([[1.0], [2.0], [3.0]]), [0.1, 0.2]
    for curve in (leakage.power, leakage.threshold, leakage.privacy_profile):
        assert curve(X, rates).shape == (3, 2)
        assert curve(X, 0.2).shape == (3,)
        np.testing.assert_array_equal(curve(X, rates)[:, 1], curve(X, 0.2))


def test_ends_of_the_power_curve():
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=4)
    X = np.array([[0.0], [2.0]])
    np.testing.assert_array_equal(leakage.power(X, [0, 1]), [[0, 1], [0, 1]])
    np.testing.assert_allclose(leakage.power(X, 0.3)[0], 0.3)
    np.testing.assert_array_equal(leakage.threshold(X, [0, 1]), [[np.inf, -np.inf]] * 2)


# The privacy profile.


def integrate_hockey_stick(first, second, epsilon):
    """Delta of two densities, by numerical integration."""
    t = np.linspace(-12, 20, 1_000_001)
    return trapezoid(np.maximum(first(t) - np.exp(epsilon) * second(t), 0), t)


@pytest.mark.parametrize(
    "ratio, epsilon",
    slow_but(list(product([1.0, 0.4], [0.0, 0.3, 2.0])), (1.0, 0.3), (0.4, 2.0)),
)
def test_privacy_profile_is_that_of_the_two_laws(ratio, epsilon):
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=2, sampling_ratio=ratio)
    x = 1.7
    shift = x / np.sqrt(2 * ratio)

    def member(t):
        return (1 - ratio) * norm.pdf(t) + ratio * norm.pdf(t, shift)

    pairs = ((member, norm.pdf), (norm.pdf, member))
    expected = max(integrate_hockey_stick(*pair, epsilon) for pair in pairs)
    assert leakage.privacy_profile([[x]], epsilon)[0] == pytest.approx(expected, abs=1e-9)


def test_privacy_profile_at_zero_is_the_advantage():
    for params in ({}, {"sampling_ratio": 0.4}, {"sampling_ratio": 0.4, "noise_scale": 0.5}):
        leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=2, **params)
        X = np.array([[0.0], [1.0], [9.0]])
        np.testing.assert_allclose(leakage.privacy_profile(X, 0), leakage.advantage(X), atol=1e-15)


def test_privacy_profile_of_the_exact_gaussian_mechanism():
    leakage = MahalanobisLeakage.from_moments([0], [7.0318**2], n_samples=1)
    assert leakage.privacy_profile([[1.0]], 0.5)[0] == pytest.approx(1e-5, rel=2e-4)


def leak_of_score(m, sampling_ratio=1.0):
    """An estimator and a row with this leakage score."""
    moments = {"n_samples": 100, "sampling_ratio": sampling_ratio}
    return MahalanobisLeakage.from_moments([0.0], [1.0], **moments), [[(100 * m) ** 0.5]]


@pytest.mark.parametrize(
    "m, epsilons, deltas",
    [
        (0.5, [2.9432, 2.0533, 1.4585], [0.276326, 0.0396326, 6.34467e-9]),
        (3.109, [8.5691, 6.4310, 5.0275], [0.622016, 0.423076, 0.0381855]),
        (5, [11.4800, 8.7873, 7.0246], None),
        (8.863, [16.5108, 12.9504, 10.6254], [0.863391, 0.782933, 0.431396]),
    ],
)
def test_privacy_budget_of_a_row(m, epsilons, deltas):
    leakage, row = leak_of_score(m)
    assert leakage.privacy_budget(row, [1e-5, 1e-3, 1e-2])[0].round(4).tolist() == epsilons
    if deltas:
        assert leakage.privacy_profile(row, [0, 1, 4])[0] == pytest.approx(deltas, rel=1e-5)
    for direction in ("in/out", "out/in"):
        found = leakage.privacy_budget(row, [1e-5, 1e-3, 1e-2], direction=direction)
        assert found[0].round(4).tolist() == epsilons


@pytest.mark.parametrize(
    "m, ratio, epsilon, into, out, at",
    [
        (3.109, 0.5, 0.5, 0.344229, 0.103499, (12.0705, 0.6926)),
        (0.5, 0.25, 0.05, 0.118881, 0.099036, (4.7240, 0.2837)),
        (8.863, 0.1, 0.05, None, None, (76.1833, 0.1054)),
    ],
)
def test_directions_differ_after_sub_sampling(m, ratio, epsilon, into, out, at):
    leakage, row = leak_of_score(m, ratio)
    budgets = [leakage.privacy_budget(row, 1e-5, direction=d)[0] for d in ("in/out", "out/in")]
    assert (round(budgets[0], 4), round(budgets[1], 4)) == at
    assert leakage.privacy_budget(row, 1e-5)[0] == budgets[0]
    assert budgets[1] <= -np.log(1 - ratio)
    if into:
        for direction, delta in (("in/out", into), ("out/in", out), ("both", max(into, out))):
            found = leakage.privacy_profile(row, epsilon, direction=direction)
            assert found[0] == pytest.approx(delta, abs=5e-7)


def test_privacy_budgets_at_the_ends():
    leakage, _ = leak_of_score(1.0)
    assert leakage.privacy_budget([[0.0], [1.0], [20.0]], 0.0).tolist() == [0, np.inf, np.inf]
    assert leakage.privacy_budget([[0.0], [1.0]], 0.9).tolist() == [0, 0]
    half, _ = leak_of_score(1.0, 0.5)
    assert half.privacy_budget([[1.0]], 0.0, direction="out/in")[0] == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="direction must be one of 'both', 'in/out'"):
        leakage.privacy_budget([[1.0]], 0.1, direction="in")
    with pytest.raises(ValueError, match="direction must be one of 'both', 'in/out'"):
        leakage.privacy_profile([[1.0]], 0.1, direction="in")
    with pytest.raises(ValueError, match="delta must be 0 or more and below 1"):
        leakage.privacy_budget([[1.0]], 1.0)


def test_a_table_for_people():
    leakage, row = leak_of_score(3.109)
    X = pd.DataFrame({"x": [1.0, row[0][0], 0.0, -1.0]}, index=list("abcd"))
    table = leakage.leakage_table(X.to_numpy(), record_ids=X.index)
    assert table.index.tolist() == list("abcd")
    assert table.loc["b"].round(4).tolist() == [3.109, 8.5691, 8.5691, 0.4231, 0.2867, 100]
    assert table["percentile"].tolist() == [75, 100, 25, 75]
    assert leakage.leakage_table([[1.0], [2.0]]).index.tolist() == [0, 1]
    with pytest.raises(ValueError, match="one name for each of the 2 rows"):
        leakage.leakage_table([[1.0], [2.0]], record_ids=["a"])


def test_privacy_profile_far_out():
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=1)
    # Mills' ratio: delta is about phi(a) (1/a - 1/(a + s)) with a = epsilon / s - s / 2, s = 1.
    a = 30 - 0.5
    expected = norm.logpdf(a) + np.log(1 / a - 1 / (a + 1))
    assert np.log(leakage.privacy_profile([[1.0]], 30.0)[0]) == pytest.approx(expected, rel=1e-3)
    for ratio in (1.0, 0.5):
        leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=1, sampling_ratio=ratio)
        assert leakage.privacy_profile([[3.0]], [1e4, np.inf]).tolist() == [[0.0, 0.0]]


# Targets that the attacker takes for others.


def test_misspecified_scores_and_power():
    leakage = MahalanobisLeakage.from_moments([1, 0], [1, 4], n_samples=2)
    pair = leakage.misspecified([[3.0, 2.0]], [[2.0, 4.0]])  # whitened (2, 1) and (1, 2)
    assert pair.true_score.tolist() == [2.5]
    assert pair.assumed_score.tolist() == [2.5]
    assert pair.cross_score.tolist() == [2.0]
    np.testing.assert_allclose(pair.effective_score, 1.6)
    np.testing.assert_allclose(pair.power(0.1), norm.cdf(norm.ppf(0.1) + np.sqrt(1.6)))
    np.testing.assert_allclose(pair.advantage, 2 * norm.cdf(np.sqrt(1.6) / 2) - 1)
    right = 2 * norm.cdf(np.sqrt(2.5) / 2) - 1
    np.testing.assert_allclose(pair.loss, right - pair.advantage)
    # At the threshold 0 the laws are N(-1.25, 2.5) and N(0.75, 2.5).
    naive = norm.sf(0, 0.75, np.sqrt(2.5)) - norm.sf(0, -1.25, np.sqrt(2.5))
    np.testing.assert_allclose(pair.naive_advantage, naive)
    assert pair.power([0.1, 0.2]).shape == (1, 2)


def test_the_right_target_is_not_misspecified(bernoulli, targets):
    for params in (
        {},
        {"sampling_ratio": 0.5},
        {"sampling_ratio": 0.5, "subsampling": "published"},
    ):
        leakage = make_leakage(bernoulli, noise_scale=0.5, **params)
        pair = leakage.misspecified(targets, targets)
        np.testing.assert_allclose(pair.effective_score, pair.true_score)
        np.testing.assert_allclose(pair.advantage, leakage.advantage(targets))
        np.testing.assert_allclose(pair.naive_advantage, leakage.advantage(targets))
        np.testing.assert_allclose(pair.power(0.01), leakage.power(targets, 0.01))
        np.testing.assert_allclose(pair.loss, 0, atol=1e-15)


def test_a_wrong_target_never_helps():
    rng, mean, covariance = make_distribution()
    leakage = MahalanobisLeakage.from_moments(mean, covariance, n_samples=3, sampling_ratio=0.7)
    X, assumed = rng.normal(size=(2, 50, 4))
    pair = leakage.misspecified(X, assumed)
    assert (pair.effective_score < pair.true_score).all()
    assert (pair.loss > 0).all()
    assert (pair.naive_advantage <= pair.advantage + 1e-15).all()
    misled = pair.cross_score < 0
    assert 5 < misled.sum() < 45
    np.testing.assert_array_equal(pair.power(0.1) < 0.1, misled)


def test_the_mean_as_the_assumed_target_finds_nobody():
    leakage = MahalanobisLeakage.from_moments([1, 0], [1, 4], n_samples=2)
    pair = leakage.misspecified([[3.0, 2.0]], [[1.0, 0.0]])
    assert pair.effective_score.tolist() == [0.0]
    assert pair.advantage.tolist() == [0.0]
    np.testing.assert_allclose(pair.power(0.3), 0.3)


def test_misspecified_needs_pairs():
    leakage = MahalanobisLeakage.from_moments([0, 0], [1, 0], n_samples=2)
    with pytest.raises(ValueError, match="one row for each of the 2 rows of X; got 1"):
        leakage.misspecified([[1, 0], [2, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="pair in row 1 differs .* column without spread"):
        leakage.misspecified([[1, 0], [2, 0]], [[1, 0], [2, 1]])


# Columns without spread, singular matrices, canaries, bad input.


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_column_without_spread_betrays_who_differs(covariance):
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 1] = 0.1  # of which the rounded mean is another number
    assert X.mean(axis=0)[1] != 0.1
    leakage = MahalanobisLeakage(covariance=covariance).fit(X)
    without = MahalanobisLeakage(covariance=covariance).fit(X[:, [0, 2]])
    np.testing.assert_allclose(leakage.score_samples(X), without.score_samples(X[:, [0, 2]]))
    stranger = X[:1] + [0, 0.01, 0]
    assert leakage.score_samples(stranger).tolist() == [np.inf]
    assert leakage.advantage(stranger).tolist() == [1.0]
    assert leakage.power(stranger, [0, 0.5, 1]).tolist() == [[1, 1, 1]]
    assert leakage.threshold(stranger, [0, 0.5, 1]).tolist() == [[0, 0, 0]]
    assert leakage.privacy_profile(stranger, [0, 1, 100]).tolist() == [[1, 1, 1]]
    assert leakage.top_k(np.concatenate([X, stranger]), 1).tolist() == [20]


def test_a_certain_member_hides_in_subsampling_and_noise():
    stranger = [[0.0, 1.0]]
    leakage = MahalanobisLeakage.from_moments([0, 0], [1, 0], n_samples=5, sampling_ratio=0.4)
    assert leakage.advantage(stranger).tolist() == [0.4]
    np.testing.assert_allclose(leakage.power(stranger, [0, 0.5]), [[0.4, 0.7]])
    np.testing.assert_allclose(leakage.privacy_profile(stranger, [0, 50]), [[0.4, 0.4]])
    noisy = MahalanobisLeakage.from_moments([0, 0], [1, 0], n_samples=5, noise_scale=0.5)
    np.testing.assert_allclose(noisy.score_samples(stranger), 1 / 0.25 / 5)


def test_without_any_spread_nobody_who_is_alike_leaks():
    for covariance in ("diagonal", "full"):
        leakage = MahalanobisLeakage(covariance=covariance).fit(np.ones((3, 2)))
        assert leakage.score_samples([[1, 1], [1, 2]]).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("n_rows", [5, 400])
def test_a_singular_covariance_is_refused(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 8))
    X[:, -1] = X[:, 0] + X[:, 1]
    with pytest.raises(ValueError, match="covariance of 8 features is singular; use .*LedoitWolf"):
        MahalanobisLeakage(covariance="full").fit(X)
    assert np.isfinite(MahalanobisLeakage(covariance=LedoitWolf()).fit(X).score_samples(X)).all()


def test_badly_scaled_columns_are_not_singular():
    rng, mean, covariance = make_distribution()
    X, scale = rng.normal(size=(6, 4)), 10.0 ** np.array([-9, 0, 5, 9])
    one = MahalanobisLeakage.from_moments(mean, covariance, n_samples=5)
    two = MahalanobisLeakage.from_moments(
        mean * scale, covariance * np.outer(scale, scale), n_samples=5
    )
    np.testing.assert_allclose(one.score_samples(X), two.score_samples(X * scale))


def test_top_k_takes_the_most_leaking_rows_and_the_first_of_equal_ones():
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=2)
    X = np.array([[1.0], [-3.0], [2.0], [3.0], [2.0], [-2.0]])
    assert leakage.top_k(X, 5).tolist() == [1, 3, 2, 4, 5]
    assert leakage.top_k(X, 1).tolist() == [1]


@pytest.mark.parametrize("k", [0, 4, 1.5, "all"])
def test_top_k_takes_some_of_the_rows(k):
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=2)
    with pytest.raises(ValueError, match="k must be an integer from 1 to 3; got"):
        leakage.top_k([[1], [2], [3]], k)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"covariance": "spherical"}, "'covariance' parameter"),
        ({"n_samples": 0}, "'n_samples' parameter"),
        ({"noise_scale": -1.0}, "'noise_scale' parameter"),
        ({"noise_scale": [1.0, 2.0]}, "one number or one for each of 3 features"),
        ({"noise_scale": [1.0, -2.0, 0.0]}, "finite numbers of 0 and above; got -2"),
        ({"noise_scale": [1.0, np.inf, 0.0]}, "finite numbers of 0 and above; got inf"),
        ({"sampling_ratio": 0}, "'sampling_ratio' parameter"),
        ({"sampling_ratio": 1.1}, "'sampling_ratio' parameter"),
        ({"subsampling": "poisson"}, "'subsampling' parameter"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        MahalanobisLeakage(**params).fit(np.eye(3))


@pytest.mark.parametrize(
    "mean, covariance, message",
    [
        ([0, 0], [1, 1, 1], r"got shapes \(2,\) and \(3,\)"),
        ([0, 0], np.ones((2, 3)), r"got shapes \(2,\) and \(2, 3\)"),
        (0, 1, r"got shapes \(\) and \(\)"),
        ([0, np.nan], [1, 1], "must be finite"),
        ([0, 0], [1, -1], "Variances must not be negative; got -1"),
        ([0, "a"], [1, 1], "mean must be finite numbers; got"),
        ([0, 0], [pd.Timestamp("2020-01-01"), 1], "covariance must be finite numbers; got"),
        ([0, 0], sparse.csr_array(np.eye(2)), "covariance must be .*; got a sparse matrix"),
    ],
)
def test_bad_moments_are_refused(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        MahalanobisLeakage.from_moments(mean, covariance, n_samples=3)


@parametrize_refusals(
    (lambda leakage: leakage.power([[1]], [0.1, 5]), r"fpr must be a fraction in \[0, 1\].*got 5"),
    (
        lambda leakage: leakage.threshold([[1]], [0.1, 5]),
        r"fpr must be a fraction in \[0, 1\].*got 5",
    ),
    (lambda leakage: leakage.privacy_profile([[1]], -0.1), "epsilon must be 0 or more; got"),
    (lambda leakage: leakage.privacy_profile([[1]], np.nan), "epsilon must be 0 or more; got"),
)
def test_bad_rates_and_epsilons_are_refused(call, words, error):
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=2)
    check_refusal(call, words, error, leakage)


@parametrize_refusals(
    (
        lambda: MahalanobisLeakage(
            covariance=FrozenEstimator(EmpiricalCovariance().fit(np.eye(4)))
        ).fit(np.eye(3)),
        "describes 4 features; X has 3",
    ),
    (
        lambda: MahalanobisLeakage(covariance=StandardScaler()).fit(np.eye(3)),
        r"location_ and covariance_, .* got StandardScaler\(\)",
        TypeError,
    ),
    (lambda: MahalanobisLeakage(level=1.5).fit(np.eye(3)), "level"),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_a_row_leaks_where_its_advantage_is_above_the_level():
    leakage = MahalanobisLeakage.from_moments([0], [1], n_samples=4)
    X = np.array([[0.0], [4.0], [-8.0]])  # scores of 0, 4 and 16
    advantages = 2 * norm.cdf([0.0, 1.0, 2.0]) - 1
    np.testing.assert_allclose(leakage.advantage(X), advantages)
    assert leakage.predict(X).tolist() == [0, 1, 1]
    assert leakage.set_params(level=0.7).predict(X).tolist() == [0, 0, 1]
    assert leakage.set_params(level=1.0).predict(X).tolist() == [0, 0, 0]
    assert leakage.score(X) == leakage.score(X, [1, 0, 1]) == pytest.approx(advantages.mean())
    # At a ratio of .5 no attacker has more than half.
    half = MahalanobisLeakage.from_moments([0], [1], n_samples=4, sampling_ratio=0.5, level=0.5)
    assert half.predict([[1e6]]).tolist() == [0]
    assert half.score([[1e6]]) == pytest.approx(0.5)


def test_more_noise_has_a_lower_score():
    X = np.random.default_rng(0).normal(size=(60, 30))
    scores = [MahalanobisLeakage(noise_scale=noise).fit(X).score(X) for noise in (0.0, 1.0, 4.0)]
    assert scores[0] > scores[1] > scores[2] > 0


@pytest.mark.parametrize(
    ("covariance", "kind"), [(np.array([1.0, 4.0]), "diagonal"), (np.eye(2) + 0.5, "full")]
)
def test_an_estimator_of_moments_is_of_the_kind_of_its_covariance(covariance, kind):
    leakage = MahalanobisLeakage.from_moments(np.zeros(2), covariance, n_samples=10)
    assert leakage.covariance == kind


@pytest.mark.parametrize("wrong", [{"n_samples": 0}, {"level": 2}, {"sampling_ratio": 0}], ids=str)
def test_known_moments_come_with_valid_parameters(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of MahalanobisLeakage"):
        MahalanobisLeakage.from_moments([0.0], [1.0], **({"n_samples": 5} | wrong))


@pytest.mark.parametrize("kind, other", [("exact", "published"), ("published", "exact")])
def test_scores_are_those_of_the_sub_sampling_of_the_fit(kind, other):
    X = np.random.default_rng(0).normal(size=(50, 3))
    leakage = MahalanobisLeakage(sampling_ratio=0.5, subsampling=kind).fit(X)
    whole = MahalanobisLeakage().fit(X).score_samples(X)
    leakage.set_params(subsampling=other, sampling_ratio=0.25)
    factor = 0.5 if kind == "published" else 1.0
    np.testing.assert_array_equal(leakage.score_samples(X), factor * whole)
