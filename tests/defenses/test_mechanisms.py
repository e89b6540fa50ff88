"""How much noise mechanisms add, and whether it is enough."""

import pickle
import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skmia.defenses import (
    DPSGDClassifier,
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
    gaussian_sigma,
)

N = 200_000
WIDTHS = np.array([0.2, 1.0, 5.0])


@parametrize_with_checks(
    [
        LaplaceMechanism(),
        GaussianMechanism(),
        GaussianMechanism(0.5, calibration="classic"),
        NonSphericalGaussianMechanism(lower=0, upper=1),
        NonSphericalGaussianMechanism(widths=2, allocation="minimum_trace"),
    ]
)
def test_they_are_ordinary_transformers(estimator, check):
    check(estimator)


def test_published_standard_deviations():
    assert gaussian_sigma(0.5, 1e-5) == pytest.approx(7.0318, abs=5e-5)
    assert gaussian_sigma(0.5, 1e-5, method="classic") == pytest.approx(9.6896, abs=5e-5)
    assert gaussian_sigma(0.5, 1e-5, sensitivity=3) == pytest.approx(3 * 7.0318, abs=2e-4)


def delta_of(epsilon, sigma):
    """What normal noise costs for a sensitivity of 1, written out."""
    log_tail = stats.norm.logcdf(-0.5 / sigma - epsilon * sigma)
    return stats.norm.cdf(0.5 / sigma - epsilon * sigma) - np.exp(epsilon + log_tail)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1, 0.9])
def test_exact_noise_is_enough_and_no_less_would_be(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    assert delta_of(epsilon, sigma) == pytest.approx(delta, rel=1e-6)
    assert delta_of(epsilon, 0.999 * sigma) > delta
    assert delta_of(epsilon, sigma / 2) > delta


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_classic_noise_is_more_than_enough(epsilon, delta):
    assert delta_of(epsilon, gaussian_sigma(epsilon, delta, method="classic")) < delta


def mechanisms(epsilon=0.5, delta=0.02):
    return [
        (LaplaceMechanism(epsilon, WIDTHS.sum()), 0),
        (GaussianMechanism(epsilon, delta, np.linalg.norm(WIDTHS)), delta),
        (NonSphericalGaussianMechanism(epsilon, delta, widths=WIDTHS), delta),
        (
            NonSphericalGaussianMechanism(
                epsilon, delta, lower=0, upper=WIDTHS, allocation="minimum_trace"
            ),
            delta,
        ),
    ]


def evidence(mechanism, shrink=1.0):
    """Log-likelihood ratios, up to a constant, of N releases of each of two neighbours.

    The two vectors are as far apart as neighbours can be. `shrink` multiplies the noise.
    """
    mechanism = clone(mechanism).set_params(random_state=0).fit(WIDTHS[None])
    draws = []
    for row in (WIDTHS, np.zeros_like(WIDTHS)):
        noisy = mechanism.transform(np.tile(row, (N, 1)))
        draws.append(row + shrink * (noisy - row))
    if hasattr(mechanism, "scale_"):
        return [np.abs(x).sum(axis=1) - np.abs(x - WIDTHS).sum(axis=1) for x in draws]
    return [x @ (WIDTHS / mechanism.sigma_**2) for x in draws]


def divergence(evidence, epsilon):
    """Interval of P(T) - exp(epsilon) Q(T) for one event T, wrong once in 10,000 times.

    T is what half of the draws say tells the neighbours apart best; the other half measures it.
    """
    (p, p_kept), (q, q_kept) = (np.split(values, 2) for values in evidence)
    thresholds = np.quantile(np.concatenate([p, q]), np.linspace(0.01, 0.999, 200))
    above = [1 - np.searchsorted(np.sort(values), thresholds) / len(values) for values in (p, q)]
    best = thresholds[(above[0] - np.exp(epsilon) * above[1]).argmax()]
    counts = [int((values > best).sum()) for values in (p_kept, q_kept)]
    (p_low, p_high), (q_low, q_high) = (
        stats.binomtest(count, N // 2).proportion_ci(1 - 0.5e-4) for count in counts
    )
    return p_low - np.exp(epsilon) * q_high, p_high - np.exp(epsilon) * q_low


@pytest.mark.parametrize("mechanism, delta", mechanisms())
def test_no_event_tells_neighbours_apart_beyond_the_budget(mechanism, delta):
    low, high = divergence(evidence(mechanism), mechanism.epsilon)
    assert low <= delta
    # Nor is there more noise than it takes: the exact calibration reaches its delta.
    assert high > delta or hasattr(mechanism, "scale_")


@pytest.mark.parametrize("mechanism, delta", mechanisms())
def test_too_little_noise_is_found_out(mechanism, delta):
    low, _ = divergence(evidence(mechanism, shrink=0.7), mechanism.epsilon)
    assert low > delta


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("mechanism, _", mechanisms()[1:])
def test_the_whole_privacy_profile_is_that_of_the_exact_gaussian(mechanism, _, epsilon):
    # All of them are calibrated to one profile, known at every epsilon.
    sigma = gaussian_sigma(mechanism.epsilon, mechanism.delta)
    low, high = divergence(evidence(mechanism), epsilon)
    assert low <= delta_of(epsilon, sigma) <= high


def test_the_privacy_profile_of_laplace_noise():
    epsilon = 0.2
    mechanism = LaplaceMechanism(0.5, random_state=0).fit([[0.0]])
    p, q = (mechanism.transform(np.full((N, 1), value))[:, 0] for value in (1.0, 0.0))
    low, high = divergence((p, q), epsilon)
    assert low <= -np.expm1((epsilon - 0.5) / 2) <= high


@pytest.mark.parametrize("mechanism, _", mechanisms())
def test_noise_has_the_size_that_is_claimed(mechanism, _):
    mechanism = clone(mechanism).set_params(random_state=1).fit(WIDTHS[None])
    noise = mechanism.transform(np.tile(WIDTHS / 2, (N, 1))) - WIDTHS / 2
    is_laplace = hasattr(mechanism, "scale_")
    claimed = np.sqrt(2) * mechanism.scale_ if is_laplace else mechanism.sigma_
    kurtosis = 6 if is_laplace else 3
    error = claimed * np.sqrt((kurtosis - 1) / (4 * N))
    assert (np.abs(noise.std(axis=0) - claimed) < 4 * error).all()
    assert (np.abs(noise.mean(axis=0)) < 4 * claimed / np.sqrt(N)).all()
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 4 / np.sqrt(N)


def test_non_spherical_noise_costs_the_same_and_its_trace_is_no_larger():
    unit = gaussian_sigma(0.5, 1e-5)
    traces = {}
    for allocation in ("proportional", "minimum_trace"):
        mechanism = NonSphericalGaussianMechanism(0.5, widths=WIDTHS, allocation=allocation)
        sigma = mechanism.fit(WIDTHS[None]).sigma_
        assert np.linalg.norm(WIDTHS / sigma) == pytest.approx(1 / unit)
        traces[allocation] = (sigma**2).sum()
    assert traces["proportional"] == pytest.approx(unit**2 * 3 * (WIDTHS**2).sum())
    assert traces["minimum_trace"] == pytest.approx(unit**2 * WIDTHS.sum() ** 2)
    # No other allocation of the same budget has a smaller trace.
    rng = np.random.default_rng(0)
    for shares in rng.dirichlet(np.ones(3), 200):
        variances = unit**2 * WIDTHS**2 / shares
        assert variances.sum() >= traces["minimum_trace"] * (1 - 1e-12)


def test_the_published_variance_is_the_classic_one():
    mechanism = NonSphericalGaussianMechanism(0.5, 1e-5, widths=WIDTHS, calibration="classic")
    wanted = 3 * WIDTHS**2 * 2 * np.log(5 / 4e-5) / 0.5**2
    np.testing.assert_allclose(mechanism.fit(WIDTHS[None]).sigma_ ** 2, wanted)


def test_values_outside_the_bounds_are_moved_to_them():
    mechanism = NonSphericalGaussianMechanism(lower=[0, 7], upper=[1e-9, 7], random_state=0)
    released = mechanism.fit([[0, 0]]).transform([[-3, 100], [5, -100]])
    np.testing.assert_allclose(released, [[0, 7], [0, 7]], atol=1e-6)
    np.testing.assert_array_equal(released[:, 1], 7)  # a known value needs no noise


def test_no_two_calls_share_their_noise():
    X = np.zeros((5, 2))
    for seed in (None, 0):
        mechanism = GaussianMechanism(random_state=seed).fit(X)
        assert not np.isin(mechanism.transform(X), mechanism.transform(X)).any()
    copies = [pickle.loads(pickle.dumps(GaussianMechanism().fit(X))) for _ in range(2)]
    assert not np.isin(copies[0].transform(X), copies[1].transform(X)).any()


def test_a_seed_repeats_the_calls_after_fit():
    X = np.zeros((5, 2))
    mechanism = LaplaceMechanism(random_state=0)
    first, second = ([mechanism.fit(X).transform(X), mechanism.transform(X)] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    LaplaceMechanism().fit(X).transform(X)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_one_ends_a_pipeline():
    X = np.random.default_rng(0).normal(size=(50, 2))
    private = make_pipeline(MinMaxScaler(), NonSphericalGaussianMechanism(lower=0, upper=1))
    assert private.fit_transform(X).shape == X.shape
    assert private.get_feature_names_out().tolist() == ["x0", "x1"]


def test_without_opacus_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opacus", None)
    model = DPSGDClassifier(print, noise_multiplier=1.0)
    with pytest.raises(ImportError, match=r'pip install "skmia\[dp\]"'):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "mechanism, message",
    [
        (LaplaceMechanism(0), "'epsilon' parameter of LaplaceMechanism"),
        (LaplaceMechanism(np.inf), "'epsilon' parameter"),
        (LaplaceMechanism(sensitivity=-1), "'sensitivity' parameter"),
        (GaussianMechanism(delta=1), "'delta' parameter"),
        (GaussianMechanism(1.0, calibration="classic"), "below 1 only.* got epsilon=1.0"),
        (NonSphericalGaussianMechanism(), "either both of lower and upper, or widths"),
        (NonSphericalGaussianMechanism(lower=0), "either both of lower and upper, or widths"),
        (NonSphericalGaussianMechanism(lower=0, upper=1, widths=1), "either both of lower"),
        (NonSphericalGaussianMechanism(lower=0, upper=[1, -1]), "got 0.0 and -1.0 in column 1"),
        (NonSphericalGaussianMechanism(lower=0, upper=[1, 1, 1]), r"2 columns; got .*\(3,\)"),
        (NonSphericalGaussianMechanism(widths=[1, -1]), "widths must be 0 or more; got -1.0"),
        (NonSphericalGaussianMechanism(lower=0, upper=[1, np.inf]), "upper must be finite"),
    ],
)
def test_settings_are_checked(mechanism, message):
    with pytest.raises(ValueError, match=message):
        mechanism.fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0, 1e-5), "epsilon must be .*; got 0"),
        ((1, 0), "delta must be .*; got 0"),
        ((1, 1e-5, np.inf), "sensitivity must be .*; got inf"),
        ((1, 1e-5, 1, "best"), "method must be 'exact' or 'classic'; got 'best'"),
    ],
)
def test_arguments_of_the_function_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        gaussian_sigma(*arguments)
