"""How much noise mechanisms add, and whether it is enough."""

import functools
import pickle
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skmia.defenses import DPSGDClassifier
from skmia.defenses.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
    _concentrated_multiplier,
    gaussian_sigma,
)

N = 32_000
WIDTHS = np.array([0.2, 1.0, 5.0])


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


def test_exact_noise_is_enough_in_60_digits():
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    with mpmath.workdps(60):
        for _ in range(50):
            epsilon, delta = 10 ** rng.uniform(-9, 3), 10 ** rng.uniform(-30, -0.01)
            shift = 1 / mpmath.mpf(gaussian_sigma(epsilon, delta))
            first, second = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
            spent = mpmath.ncdf(first) - mpmath.exp(epsilon) * mpmath.ncdf(second)
            assert (1 - 1e-2) * delta <= spent <= delta


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


@functools.cache
def released(name):
    """A fitted mechanism, and N releases of each of two neighbors, as far apart as can be."""
    mechanism = clone(MECHANISMS[name]).set_params(random_state=0).fit(WIDTHS[None])
    rows = WIDTHS, np.zeros_like(WIDTHS)
    return mechanism, [(row, mechanism.transform(np.tile(row, (N, 1)))) for row in rows]


def evidence(mechanism, shrink=1.0):
    """Log-likelihood ratios, up to a constant, of the releases; `shrink` multiplies the noise."""
    mechanism, releases = released(repr(mechanism))
    draws = [row + shrink * (noisy - row) for row, noisy in releases]
    if hasattr(mechanism, "scale_"):
        return [np.abs(x).sum(axis=1) - np.abs(x - WIDTHS).sum(axis=1) for x in draws]
    return [x @ (WIDTHS / mechanism.sigma_**2) for x in draws]


MECHANISMS = {repr(mechanism): mechanism for mechanism, _ in mechanisms()}


def divergence(evidence, epsilon):
    """Interval of P(T) - exp(epsilon) Q(T) for one event T, wrong once in 10,000 times.

    T is what half of the draws say tells the neighbors apart best; the other half measures it.
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


# Of the two that are not spherical, the first differs in the shares of the noise alone.
QUICK = [
    pytest.param(*each, marks=[pytest.mark.slow] * (k in (1, 2)))
    for k, each in enumerate(mechanisms())
]


@pytest.mark.parametrize("mechanism, delta", QUICK)
def test_no_event_tells_neighbors_apart_beyond_the_budget(mechanism, delta):
    low, high = divergence(evidence(mechanism), mechanism.epsilon)
    assert low <= delta
    # Nor is there more noise than it takes: the exact calibration reaches its delta.
    assert high > delta or hasattr(mechanism, "scale_")


@pytest.mark.parametrize("mechanism, delta", QUICK)
def test_too_little_noise_is_found_out(mechanism, delta):
    low, _ = divergence(evidence(mechanism, shrink=0.7), mechanism.epsilon)
    assert low > delta


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("mechanism, _", [mechanisms()[1], *QUICK[2:]])
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


def low_bits(values, exponent):
    """How many values are not multiples of 2 ** exponent."""
    scaled = np.ldexp(values, -exponent)
    return int((scaled != np.rint(scaled)).sum())


def proven_epsilon(count, other, n, delta, confidence):
    """Lower limit of epsilon by an event that came so often on the one and on the other side."""
    low = stats.beta.ppf(1 - confidence, count, n - count + 1) if count else 0.0
    high = stats.beta.ppf(confidence, other + 1, n - other) if other < n else 1.0
    return np.log(max(low - delta, 1e-300) / high)


@pytest.mark.parametrize("values", [(0.0, 0.3), (2.0**20, 2.0**20 + 1)])
@pytest.mark.parametrize(
    "mechanism",
    [
        LaplaceMechanism(0.1),
        GaussianMechanism(0.1),
        pytest.param(NonSphericalGaussianMechanism(0.1, widths=1), marks=pytest.mark.slow),
        NonSphericalGaussianMechanism(0.1, widths=1, allocation="minimum_trace"),
    ],
    ids=str,
)
def test_low_bits_of_the_noise_tell_nothing(mechanism, values):
    n, exponents = 5_000, range(-57, -43)
    mechanism = clone(mechanism).fit([[0.0]])
    draws = [mechanism.transform(np.full((n, 1), value))[:, 0] for value in values]
    delta = getattr(mechanism, "delta", 0.0)
    # All grids, both directions and both ends share an error of 5%.
    confidence = 1 - 0.05 / (4 * len(exponents))
    for exponent in exponents:
        for one, other in (draws, draws[::-1]):
            counts = low_bits(one, exponent), low_bits(other, exponent)
            assert proven_epsilon(*counts, n, delta, confidence) <= mechanism.epsilon


def test_the_test_of_low_bits_finds_floating_point_noise():
    rng = np.random.default_rng(0)
    draws = [value + rng.laplace(scale=10, size=5_000) for value in (0.0, 1.0)]
    counts = [low_bits(values, -53) for values in draws]
    assert proven_epsilon(*counts, 5_000, 0.0, 1 - 0.05 / 56) > 1


@pytest.mark.parametrize("columns", [1, 7])
def test_laplace_noise_keeps_its_epsilon_exactly_on_the_grid(columns):
    mechanism = LaplaceMechanism(0.1, 3.0).fit(np.zeros((1, columns)))
    grid = Fraction(2) ** int(mechanism._exponents[0])
    # The largest change of a row in steps: the columns share the sensitivity, and each is rounded.
    steps = int(Fraction(3) / grid) + columns
    assert Fraction(steps, int(mechanism._steps[0])) <= Fraction(0.1)
    assert mechanism.scale_ == pytest.approx(30.0, rel=1e-9)


@pytest.mark.parametrize("epsilon, delta", [(0.5, 1e-5), (50.0, 1e-5), (1e4, 1e-5), (1.0, 1e-28)])
def test_discrete_normal_noise_is_not_less_than_the_normal_one_needs(epsilon, delta):
    sigma = GaussianMechanism(epsilon, delta).fit([[0.0]]).sigma_
    least = gaussian_sigma(epsilon, delta)
    assert least <= sigma < 1.2 * least


def test_the_concentrated_multiplier_is_private_by_the_exact_sum():
    # delta of the discrete normal law by its definition, at a scale that can be summed.
    scale, shift, epsilon = 64, 16, 1.0
    y = np.arange(-20 * scale, 20 * scale + 1)
    p = np.exp(-((y / scale) ** 2) / 2)
    q = np.exp(-(((y - shift) / scale) ** 2) / 2)
    delta = np.maximum(p / p.sum() - np.exp(epsilon) * q / q.sum(), 0).sum()
    assert _concentrated_multiplier(epsilon, delta) >= scale / shift


@pytest.mark.parametrize("x", [0.0, -0.75, 1e-300, 123456.789, -1e18, 1.7e308, -1e300])
def test_a_value_far_beyond_its_grid_is_released_with_its_noise(x):
    mechanism = LaplaceMechanism(1.0, 1e-3, random_state=0).fit([[0.0]])
    released = mechanism.transform(np.full((50, 1), x))
    assert np.isfinite(released).all()
    assert np.abs(released - x).max() <= max(60 * mechanism.scale_, 1e-15 * abs(x))


@pytest.mark.parametrize("mechanism, _", QUICK)
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


def test_ends_and_widths_of_a_series_belong_to_columns_by_their_names():
    X = pd.DataFrame({"share": [0.2], "income": [700.0]})
    known = NonSphericalGaussianMechanism(lower=0, upper=[1, 1000]).fit(X)
    upper = pd.Series({"income": 1000, "share": 1})
    for settings in ({"lower": 0 * upper, "upper": upper}, {"widths": upper}):
        mechanism = NonSphericalGaussianMechanism(**settings).fit(X)
        np.testing.assert_array_equal(mechanism.widths_, [1, 1000])
        np.testing.assert_array_equal(mechanism.sigma_, known.sigma_)
    numbered = NonSphericalGaussianMechanism(widths=pd.Series([1, 1000])).fit(X)
    np.testing.assert_array_equal(numbered.widths_, [1, 1000])


def test_the_published_variance_is_the_classic_one():
    mechanism = NonSphericalGaussianMechanism(0.5, 1e-5, widths=WIDTHS, calibration="classic")
    wanted = 3 * WIDTHS**2 * 2 * np.log(5 / 4e-5) / 0.5**2
    np.testing.assert_allclose(mechanism.fit(WIDTHS[None]).sigma_ ** 2, wanted)


@pytest.mark.parametrize("allocation", ["proportional", "minimum_trace"])
def test_tiny_widths_get_their_noise(allocation):
    mechanism = NonSphericalGaussianMechanism(widths=1e-200, allocation=allocation)
    assert mechanism.fit([[0.0]]).sigma_[0] == pytest.approx(
        1e-200 * gaussian_sigma(1.0, 1e-5), rel=1e-9
    )


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
        (NonSphericalGaussianMechanism(), "either both lower and upper, or widths"),
        (NonSphericalGaussianMechanism(lower=0), "either both lower and upper, or widths"),
        (NonSphericalGaussianMechanism(lower=0, upper=1, widths=1), "either both lower"),
        (NonSphericalGaussianMechanism(lower=0, upper=[1, -1]), "got 0.0 and -1.0 in column 1"),
        (NonSphericalGaussianMechanism(lower=0, upper=[1, 1, 1]), r"2 columns; got .*\(3,\)"),
        (NonSphericalGaussianMechanism(widths=[1, -1]), "widths must be 0 or more; got -1.0"),
        (NonSphericalGaussianMechanism(lower=0, upper=[1, np.inf]), "upper must be finite"),
        (LaplaceMechanism(1e200, 1e-200), "sensitivity / epsilon must be between .* got 0"),
        (LaplaceMechanism(1e5, 1e-320), "sensitivity / epsilon must be between .* got"),
        (LaplaceMechanism(1e-200, 1e200), "sensitivity / epsilon must be between .* got inf"),
        (GaussianMechanism(1e-5, 1e-5, 1e308), "standard deviation of the noise must be"),
        (GaussianMechanism(1e4, 1e-5, 5e-324), "standard deviation of the noise must be"),
        (GaussianMechanism(1e-300, 1e-300), "epsilon must be finite and at least 1e-09"),
        (NonSphericalGaussianMechanism(widths=1e-320), "standard deviation of the noise must be"),
        (NonSphericalGaussianMechanism(lower=-1.7e308, upper=1.7e308), "standard deviation"),
        (LaplaceMechanism(1e-16), "too small for 2 columns"),
    ],
)
def test_settings_are_checked(mechanism, message):
    with pytest.raises(ValueError, match=message):
        mechanism.fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0, 1e-5), "epsilon must be .*; got 0"),
        ((1e-10, 1e-5), "epsilon must be .*at least 1e-09; got 1e-10"),
        ((1, 0), "delta must be .*; got 0"),
        ((1, 1e-5, np.inf), "sensitivity must be .*; got inf"),
        ((1, 1e-5, 1, "best"), "method must be one of 'exact', 'classic'; got 'best'"),
    ],
)
def test_arguments_of_the_function_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        gaussian_sigma(*arguments)
