import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest, norm
from sklearn.exceptions import NotFittedError

from skmia.leakage import (
    EmpiricalMean,
    MahalanobisLeakage,
    MeanLikelihoodRatioAttack,
    NoisyMean,
    SubsampledMean,
    _mean_mechanisms,
)
from skmia.metrics import clopper_pearson

MECHANISMS = [EmpiricalMean(), NoisyMean(0.5), SubsampledMean(0.3, noise_scale=0.1)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(10, 3))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_samples_are_rows_of_one_data_set(mechanism, X):
    mechanism.fit(X)
    sample = mechanism.sample(4, random_state=0)
    assert sample.shape == (4, 3)
    np.testing.assert_array_equal(mechanism.sample(4, random_state=0), sample)
    assert mechanism.sample().shape == (1, 3)
    many = mechanism.sample(20_000, random_state=1)
    spread = many.std(axis=0) / np.sqrt(20_000)
    np.testing.assert_array_less(abs(many.mean(axis=0) - X.mean(axis=0)), 4 * spread + 1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_sample_needs_a_data_set_and_a_number(mechanism, X):
    with pytest.raises(NotFittedError):
        type(mechanism)().sample()
    for bad in (0, 1.5, "3"):
        with pytest.raises(ValueError, match="n_samples must be an integer from 1 .*; got"):
            mechanism.fit(X).sample(bad)


def test_the_empirical_mean_is_the_mean(X):
    sample = EmpiricalMean().fit(X).sample(2, random_state=0)
    np.testing.assert_allclose(sample, [X.mean(axis=0)] * 2)


def test_noise_of_each_row_is_averaged(X):
    scale = np.array([0.0, 1.0, 5.0])
    sample = NoisyMean(scale).fit(X).sample(4000, random_state=0) - X.mean(axis=0)
    np.testing.assert_allclose(sample[:, 0], 0, atol=1e-15)
    for column in (1, 2):
        p = kstest(sample[:, column], norm(0, scale[column] / np.sqrt(10)).cdf).pvalue
        assert p > 0.001
    assert abs(np.corrcoef(sample[:, 1], sample[:, 2])[0, 1]) < 4 / np.sqrt(4000)


def test_each_set_of_rows_is_drawn_as_often():
    sample = SubsampledMean(0.5).fit(np.eye(4)).sample(6000, random_state=0)
    assert set(np.unique(sample)) == {0.0, 0.5}
    np.testing.assert_allclose(sample.sum(axis=1), 1)  # two rows, no row twice
    _, counts = np.unique(sample, axis=0, return_counts=True)
    assert len(counts) == 6
    statistic = ((counts - 1000) ** 2 / 1000).sum()
    assert chi2.sf(statistic, 5) > 0.001


@pytest.mark.parametrize("ratio, drawn", [(1.0, 10), (0.34, 3), (0.36, 4), (0.001, 1)])
def test_the_sampling_ratio_is_rounded_to_rows(X, ratio, drawn):
    mechanism = SubsampledMean(ratio).fit(X)
    assert mechanism.n_drawn_ == drawn
    sets = {tuple(np.flatnonzero(row)) for row in SubsampledMean(ratio).fit(np.eye(10)).sample(50)}
    assert {len(rows) for rows in sets} == {drawn}


def test_noise_of_a_subsampled_mean_is_averaged_over_the_drawn_rows():
    sample = SubsampledMean(0.4, noise_scale=3.0).fit(np.zeros((10, 2))).sample(4000, 0)
    assert kstest(sample.ravel(), norm(0, 3 / 2).cdf).pvalue > 0.001


def test_blocks_of_rounds_are_drawn_alike(X, monkeypatch):
    monkeypatch.setattr(_mean_mechanisms, "_BLOCK", 30)
    sample = SubsampledMean(0.5).fit(np.eye(10)).sample(200, random_state=0)
    np.testing.assert_allclose(sample.sum(axis=1), 1)
    assert len(np.unique(sample, axis=0)) > 100


@pytest.mark.parametrize(
    "mechanism, message",
    [
        (NoisyMean(-1.0), "'noise_scale' parameter"),
        (NoisyMean([1.0, 2.0]), "one number or one for each of 3 features"),
        (SubsampledMean(0.0), "'sampling_ratio' parameter"),
        (SubsampledMean(1.5), "'sampling_ratio' parameter"),
        (SubsampledMean(noise_scale=[-1.0, 0, 0]), "finite numbers of 0 and above; got -1"),
    ],
)
def test_bad_parameters_are_refused(mechanism, message, X):
    with pytest.raises(ValueError, match=message):
        mechanism.fit(X)


# The law of the releases is the one that the leakage is computed from.


def play(mechanism, target, rounds, seed):
    """Releases of fresh data sets of 100 rows, without and with the target in place of a row."""
    rng = np.random.default_rng(seed)
    releases = np.empty((2, rounds, len(target)))
    for member in range(2):
        for k in range(rounds):
            X = rng.normal(size=(100, len(target)))
            if member:
                X[0] = target
            releases[member, k] = mechanism.fit(X).sample(random_state=rng.integers(2**31))[0]
    return releases


def agrees(accused, expected_rate):
    """Whether a binomial count agrees with a rate, at the level .999."""
    low, high = clopper_pearson(accused.sum(), len(accused), confidence_level=0.999)
    return low <= expected_rate <= high


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(NoisyMean(1.0), marks=pytest.mark.slow),
        pytest.param(SubsampledMean(0.5), marks=pytest.mark.slow),
        SubsampledMean(0.2, noise_scale=0.5),
    ],
    ids=repr,
)
def test_claimed_power_is_reached_and_the_published_one_is_not(mechanism):
    target = np.full(9, 10.0)  # a score of 9 without any defense
    params = mechanism.get_params()
    moments = {"mean": np.zeros(9), "covariance": np.ones(9), "n_samples": 100}
    exact = MahalanobisLeakage.from_moments(**moments, **params)
    published = MahalanobisLeakage.from_moments(**moments, **params, subsampling="published")
    without, with_target = play(mechanism, target, 500, seed=0)
    refuted = 0
    for fpr in (0.05, 0.1, 0.5):
        # Gaussian rows: the threshold has exactly this rate.
        attack = MeanLikelihoodRatioAttack.from_moments(target, **moments, **params, target_fpr=fpr)
        assert attack.offset_ == pytest.approx(exact.threshold([target], fpr)[0])
        assert agrees(attack.predict(without), fpr)
        found = attack.predict(with_target)
        assert agrees(found, exact.power([target], fpr)[0])
        refuted += not agrees(found, published.power([target], fpr)[0])
    assert refuted >= 2 if isinstance(mechanism, SubsampledMean) else refuted == 0
    guesses = MeanLikelihoodRatioAttack.from_moments(target, **moments, **params)
    advantage = guesses.predict(with_target).mean() - guesses.predict(without).mean()
    assert abs(advantage - exact.advantage([target])[0]) < 4 * np.sqrt(2 * 0.25 / 500)


def test_the_target_is_drawn_with_the_sampling_ratio():
    target = np.full(3, 1e6)
    found = abs(play(SubsampledMean(0.2), target, 150, seed=1)[1]).max(axis=1) > 100
    assert binom.cdf(found.sum(), 150, 0.2) > 0.001
    assert binom.sf(found.sum() - 1, 150, 0.2) > 0.001
