import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from skmia import Outputs
from skmia.signals import (
    Confidence,
    Entropy,
    Hinge,
    LogResidual,
    Loss,
    Merlin,
    ScaledLogit,
    SquaredError,
)
from skmia.signals._base import LogitSmoothing, ResidualSmoothing
from skmia.signals._registry import auto_of, kinds_of, what_to_keep, what_to_read

OUTSIDE = np.ones((1, 4), dtype=bool)


@pytest.mark.parametrize(
    "kind, name",
    [
        ("proba", "scaled_logit"),
        ("logits", "scaled_logit"),
        ("decision", "hinge"),
        ("value", "log_residual"),
        ("label", "correctness"),
    ],
)
def test_kind_of_answers_decides_the_signal(kind, name):
    assert auto_of(kind).name == name
    assert kind in kinds_of(name)


@pytest.mark.parametrize("signal", [ScaledLogit(), ScaledLogit(2.0), Hinge()])
def test_log_likelihood_is_exact_at_both_ends(signal):
    np.testing.assert_allclose(
        signal.log_likelihood(np.array([-1000.0, -40, 0, 1, 40, 1000])),
        [-1000, -40, -np.log(2), np.log(expit(1)), -np.exp(-40), 0],
        rtol=1e-14,
    )


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-12), (np.float32, 2e-6)])
@pytest.mark.parametrize("r", [1e-3, 0.02, 0.5])
def test_smoothed_logit_is_that_of_the_moved_probability(dtype, rtol, r):
    p = np.array([1e-6, 0.02, 0.3, 0.5, 0.98])
    moved = (p + r / 2) / (1 + r)
    with np.errstate(divide="ignore"):
        raw = np.append(np.log(p / (1 - p)), [-np.inf, np.inf]).astype(dtype)
    moved = np.append(moved, [r / 2 / (1 + r), (1 + r / 2) / (1 + r)])
    smoothed = LogitSmoothing(resolution=r)(raw)
    assert smoothed.dtype == dtype
    np.testing.assert_allclose(smoothed, np.log(moved / (1 - moved)), rtol=rtol, atol=rtol)


def test_smoothing_here_and_in_outputs_is_the_same():
    outputs = Outputs([[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]], [0, 1])
    raw = ScaledLogit().raw(outputs, np.array([1, 1, 1]), 0.1)
    assert np.isinf(raw[:2]).all()
    expected = outputs.scaled_logit([1, 1, 1], resolution=0.1)
    np.testing.assert_allclose(LogitSmoothing(resolution=0.1)(raw), expected)
    moved = outputs.smoothed([1, 1, 1], 0.1)
    np.testing.assert_allclose(moved.values.sum(axis=1), 1)
    np.testing.assert_allclose(moved.scaled_logit([1, 1, 1]), expected)


def test_step_is_the_smallest_positive_probability_or_its_complement():
    raw = np.array([[[np.inf, -np.inf, np.log(0.05 / 0.95), np.log(0.9 / 0.1)]]])
    fit = ScaledLogit().fit_smoothing
    np.testing.assert_allclose(fit(raw, OUTSIDE, np.float64).resolution, 0.05)
    raw[0, 0, 2] = np.log(0.97 / 0.03)
    np.testing.assert_allclose(fit(raw, OUTSIDE, np.float64).resolution, 0.03)


def test_a_step_that_is_given_is_that_of_the_probabilities_themselves():
    raw = np.array([[[np.inf, 0.0, 1.0, 2.0]]])
    assert ScaledLogit().fit_smoothing(raw, OUTSIDE, np.float64, 0.25).resolution == 0.25
    of_tempered = ScaledLogit(2.0).fit_smoothing(raw, OUTSIDE, np.float64, 0.25).resolution
    np.testing.assert_allclose(of_tempered, expit(-2.0))


def test_one_infinite_value_of_any_model_moves_all():
    finite = np.array([[[1.0, 2.0], [3.0, 0.0]]])
    for k in (0, 1):
        raw = finite.copy()
        raw[0, k, 0] = np.inf
        smoothing = ScaledLogit().fit_smoothing(raw, np.ones((2, 2), bool), np.float64)
        largest = (3.0, 2.0)[k]
        np.testing.assert_allclose(smoothing.resolution, expit(-largest))
        for moved in (smoothing(finite), smoothing.of_models(finite)):
            np.testing.assert_allclose(
                moved,
                np.log(expit(finite) + expit(-largest) / 2)
                - np.log(expit(-finite) + expit(-largest) / 2),
            )


def test_values_of_a_signal_without_smoothing_stay():
    raw = np.array([[[np.inf, 1.0, -np.inf, 2.0]]])
    smoothing = Entropy().fit_smoothing(raw, OUTSIDE, np.float64, 0.5)
    for found in (smoothing(raw), smoothing.of_models(raw)):
        np.testing.assert_array_equal(found, raw)


def test_finite_logits_need_no_step():
    raw = np.array([[[-30.0, 2.0, 700.0, 0.0]]])
    for signal in (ScaledLogit(), ScaledLogit(2.0), Hinge()):
        smoothing = signal.fit_smoothing(raw, OUTSIDE, np.float64)
        assert smoothing.resolution == 0
        assert smoothing(raw) is raw


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_step_is_no_finer_than_floats_next_to_one(dtype):
    raw = np.array([[[np.inf, -300.0]]])
    smoothing = ScaledLogit().fit_smoothing(raw, OUTSIDE, dtype)
    assert smoothing.resolution == np.finfo(dtype).eps


def test_answers_that_are_all_certain_stay_finite_and_ordered():
    raw = np.array([[[-np.inf, np.inf, np.inf, -np.inf]]], dtype=np.float32)
    smoothed = ScaledLogit().fit_smoothing(raw, OUTSIDE, np.float32)(raw)
    assert np.isfinite(smoothed).all()
    assert smoothed[0, 0, 0] == smoothed[0, 0, 3] < smoothed[0, 0, 1] == smoothed[0, 0, 2]


def test_infinite_margin_becomes_the_largest_one():
    raw = np.array([[[-np.inf, 2.0, -5.0, np.inf]]])
    smoothing = Hinge().fit_smoothing(raw, OUTSIDE, np.float64, resolution=0.1)
    assert smoothing.resolution == 5
    assert smoothing(raw)[0, 0].tolist() == [-5.0, 2.0, -5.0, 5.0]


@pytest.mark.parametrize("signal", [ScaledLogit(), ScaledLogit(2.0), Hinge()])
def test_infinite_values_of_a_victim_are_finite_where_none_of_the_pool_were_infinite(signal):
    raw = np.array([[[-4.0, 2.0, -5.0, 3.0]]])
    smoothing = signal.fit_smoothing(raw, OUTSIDE, np.float64)
    values = smoothing(np.array([-np.inf, 1.0, np.inf]))
    assert values[1] == 1.0
    half = expit(-5) / 2  # of the smallest probability that the pool shows
    largest = 5 if isinstance(signal, Hinge) else np.log((1 + half) / half)
    np.testing.assert_allclose(values[[0, 2]], [-largest, largest])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_residual_is_that_of_the_root_of_squares(dtype):
    outputs = Outputs([1.0, 2.0, -4.0], kind="value")
    raw = LogResidual().raw(outputs, np.array([1.0, 2.5, 6.0])).astype(dtype)
    smoothed = ResidualSmoothing(resolution=0.2)(raw)
    assert smoothed.dtype == dtype
    expected = [-np.log(np.sqrt(d**2 + 0.2**2)) for d in (0, 0.5, 10)]
    np.testing.assert_allclose(smoothed, expected, rtol=3e-6)


@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1.0, 1e6, 1e15])
def test_unit_of_a_real_target_shifts_the_signal_by_its_logarithm(unit):
    residual = np.array([0.3, 1.0, 2.0, 0.0])
    with np.errstate(divide="ignore"):
        raw = -np.log(residual).astype(np.float32)
        other = -np.log(residual * unit).astype(np.float32)
    smoothed = ResidualSmoothing(resolution=0.1 * unit)(other)
    expected = ResidualSmoothing(resolution=0.1)(raw) - np.log(unit)
    np.testing.assert_allclose(smoothed, expected, atol=2e-5)


def test_residual_step_is_a_share_of_what_unseen_records_show():
    inside = np.array([[False, False, False, True, True, True]])
    with np.errstate(divide="ignore"):
        raw = -np.log(np.array([[[2.0, 4.0, 7.0, 0.0, 0.0, 1e-9]]]))
    smoothing = LogResidual().fit_smoothing(raw, inside, np.float64)
    np.testing.assert_allclose(smoothing.resolution, 0.1 * 4.0)
    # Of an even number it is the mean of the middle ones, over all models, of the first query.
    raw = -np.log(np.array([[[1.0, 0.5, 9.0], [5.0, 7.0, 0.1]], np.full((2, 3), 1e-3)]))
    inside = np.array([[False, True, False], [False, False, True]])
    smoothing = LogResidual().fit_smoothing(raw, inside, np.float64)
    np.testing.assert_allclose(smoothing.resolution, 0.1 * (5.0 + 7.0) / 2)


def test_residuals_of_zero_everywhere_count_as_1e_minus_12():
    raw = np.full((1, 1, 4), np.inf)
    smoothing = LogResidual().fit_smoothing(raw, ~OUTSIDE, np.float64)
    np.testing.assert_allclose(smoothing(raw), -np.log(1e-12))


@pytest.mark.parametrize(
    "signal, scale, value, expected",
    [
        (Loss(), None, np.log(0.3), np.log(0.3)),
        (Loss(), 2.0, -8.0, -1.0),  # half of the squared residual by the variance
        (SquaredError(), 2.0, -8.0, -1.0),
        (LogResidual(), 2.0, -np.log(3.0), -9 / 8),
        (Confidence(), None, 0.3, np.log(0.3)),
        (Confidence(), None, 0.0, np.log(1e-12)),
        (ScaledLogit(), None, np.log(3.0), np.log(0.75)),
        (Hinge(), None, np.log(3.0), np.log(0.75)),
        (Hinge(), 2.0, 2 * np.log(3.0), np.log(0.75)),
    ],
)
def test_likelihoods_by_hand(signal, scale, value, expected):
    assert signal.has_likelihood
    np.testing.assert_allclose(signal.log_likelihood(np.array([value]), scale), [expected])
    likelihood = signal.likelihood(np.array([value]), scale)
    np.testing.assert_allclose(likelihood, [np.exp(expected)])
    assert signal.likelihood(np.array([value], np.float32), scale).dtype == np.float32


def test_likelihood_of_a_residual_is_normal():
    residual = np.array([0.5, 1.0, 3.0])
    got = LogResidual().log_likelihood(-np.log(residual), 2.0)
    expected = norm.logpdf(residual, 0, 2.0) - norm.logpdf(0, 0, 2.0)
    np.testing.assert_allclose(got, expected)


def test_likelihood_of_a_label_is_its_probability():
    p = np.array([0.01, 0.5, 0.99])
    got = ScaledLogit().log_likelihood(np.log(p / (1 - p)))
    np.testing.assert_allclose(got, np.log(p))
    np.testing.assert_allclose(Loss().log_likelihood(np.log(p)), np.log(p))
    np.testing.assert_allclose(Confidence().log_likelihood(p), np.log(p))


def test_loss_and_confidence_follow_from_the_log_odds():
    outputs = Outputs([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]], [0, 1])
    y = np.array([0, 0, 1])
    logits = ScaledLogit()(outputs, y)
    for signal in (Loss(), Confidence()):
        derive = signal.derive_from(ScaledLogit())
        np.testing.assert_allclose(derive(logits), signal(outputs, y))
        assert signal.derive_from(ScaledLogit(2.0)) is None
        assert signal.derive_from(Hinge()) is None
    residuals = Outputs([1.0, -2.0], kind="value")
    for signal in (Loss(), SquaredError()):
        derive = signal.derive_from(LogResidual())
        y = np.array([3.0, 0.5])
        np.testing.assert_allclose(derive(LogResidual()(residuals, y)), signal(residuals, y))


@pytest.mark.parametrize(
    "signal, kept",
    [
        ("auto", "auto"),
        ("scaled_logit", "auto"),
        (ScaledLogit(2.0), ("auto", 2.0)),
        ("loss", "auto"),
        ("confidence", "auto"),
        ("log_residual", "auto"),
        ("squared_error", "auto"),
        ("hinge", Hinge()),
        ("entropy", Entropy()),
        ("merlin", Merlin()),
    ],
)
def test_what_a_pool_keeps_for_a_signal(signal, kept):
    assert what_to_keep(what_to_read(signal)) == kept


def test_a_signal_without_a_likelihood_says_so():
    assert not Entropy().has_likelihood
    with pytest.raises(ValueError, match="'entropy' does not determine the probability"):
        Entropy().log_likelihood(np.zeros(2))
