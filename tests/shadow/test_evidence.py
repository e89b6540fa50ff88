import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from skmia import Outputs
from skmia.shadow._evidence import evidence_named, evidence_of, log_sigmoid

OUTSIDE = np.ones((1, 4), dtype=bool)


@pytest.mark.parametrize(
    "kind, name",
    [
        ("proba", "scaled_logit"),
        ("logits", "scaled_logit"),
        ("decision", "hinge"),
        ("value", "log_residual"),
    ],
)
def test_kind_of_answers_decides_the_evidence(kind, name):
    assert evidence_of(kind).name == name
    assert evidence_named(name) is evidence_of(kind)


def test_predicted_labels_are_too_little():
    with pytest.raises(ValueError, match="the estimator has only predict"):
        evidence_of("label")


def test_log_sigmoid_is_exact_at_both_ends():
    np.testing.assert_allclose(
        log_sigmoid(np.array([-1000.0, -40, 0, 1, 40, 1000])),
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
    smoothed = evidence_named("scaled_logit").smooth(raw, r)
    assert smoothed.dtype == dtype
    np.testing.assert_allclose(smoothed, np.log(moved / (1 - moved)), rtol=rtol, atol=rtol)


def test_smoothing_here_and_in_outputs_is_the_same():
    outputs = Outputs([[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]], [0, 1])
    evidence = evidence_named("scaled_logit")
    raw = evidence.compute(outputs, [1, 1, 1], 1.0, step=0.1)
    np.testing.assert_allclose(
        evidence.smooth(raw, 0.1), outputs.scaled_logit([1, 1, 1], resolution=0.1)
    )


def test_step_is_the_smallest_positive_probability_or_its_complement():
    evidence = evidence_named("scaled_logit")
    raw = np.array([[[np.inf, -np.inf, np.log(0.05 / 0.95), np.log(0.9 / 0.1)]]])
    np.testing.assert_allclose(evidence.find_resolution(raw, np.float64, OUTSIDE), 0.05)
    raw[0, 0, 2] = np.log(0.97 / 0.03)
    np.testing.assert_allclose(evidence.find_resolution(raw, np.float64, OUTSIDE), 0.03)


def test_finite_logits_need_no_step():
    raw = np.array([[[-30.0, 2.0, 700.0, 0.0]]])
    assert evidence_named("scaled_logit").find_resolution(raw, np.float64, OUTSIDE) == 0
    assert evidence_named("hinge").find_resolution(raw, np.float64, OUTSIDE) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_step_is_no_finer_than_floats_next_to_one(dtype):
    raw = np.array([[[np.inf, -300.0]]])
    step = evidence_named("scaled_logit").find_resolution(raw, dtype, OUTSIDE)
    assert step == np.finfo(dtype).eps


def test_answers_that_are_all_certain_stay_finite_and_ordered():
    evidence = evidence_named("scaled_logit")
    raw = np.array([[[-np.inf, np.inf, np.inf, -np.inf]]], dtype=np.float32)
    smoothed = evidence.smooth(raw, evidence.find_resolution(raw, np.float32, OUTSIDE))
    assert np.isfinite(smoothed).all()
    assert smoothed[0, 0, 0] == smoothed[0, 0, 3] < smoothed[0, 0, 1] == smoothed[0, 0, 2]


def test_infinite_margin_becomes_the_largest_one():
    evidence = evidence_named("hinge")
    raw = np.array([[[-np.inf, 2.0, -5.0, np.inf]]])
    step = evidence.find_resolution(raw, np.float64, OUTSIDE)
    assert step == 5
    assert evidence.smooth(raw, step)[0, 0].tolist() == [-5.0, 2.0, -5.0, 5.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_residual_is_that_of_the_root_of_squares(dtype):
    evidence = evidence_named("log_residual")
    outputs = Outputs([1.0, 2.0, -4.0], kind="value")
    raw = evidence.compute(outputs, np.array([1.0, 2.5, 6.0]), 1.0, 0.0).astype(dtype)
    smoothed = evidence.smooth(raw, 0.2)
    assert smoothed.dtype == dtype
    expected = [-np.log(np.sqrt(d**2 + 0.2**2)) for d in (0, 0.5, 10)]
    np.testing.assert_allclose(smoothed, expected, rtol=3e-6)


@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1.0, 1e6, 1e15])
def test_unit_of_a_real_target_shifts_the_evidence_by_its_logarithm(unit):
    evidence = evidence_named("log_residual")
    residual = np.array([0.3, 1.0, 2.0, 0.0])
    with np.errstate(divide="ignore"):
        raw = -np.log(residual).astype(np.float32)
        other = -np.log(residual * unit).astype(np.float32)
    np.testing.assert_allclose(
        evidence.smooth(other, 0.1 * unit), evidence.smooth(raw, 0.1) - np.log(unit), atol=2e-5
    )


def test_residual_step_is_a_share_of_what_unseen_records_show():
    evidence = evidence_named("log_residual")
    inside = np.array([[False, False, False, True, True, True]])
    with np.errstate(divide="ignore"):
        raw = -np.log(np.array([[[2.0, 4.0, 7.0, 0.0, 0.0, 1e-9]]]))
    np.testing.assert_allclose(evidence.find_resolution(raw, np.float64, inside), 0.1 * 4.0)


def test_likelihood_of_a_residual_is_normal():
    evidence = evidence_named("log_residual")
    residual = np.array([0.5, 1.0, 3.0])
    got = evidence.log_likelihood(-np.log(residual), 2.0)
    expected = norm.logpdf(residual, 0, 2.0) - norm.logpdf(0, 0, 2.0)
    np.testing.assert_allclose(got, expected)


def test_likelihood_of_a_label_is_its_probability():
    p = np.array([0.01, 0.5, 0.99])
    got = evidence_named("scaled_logit").log_likelihood(np.log(p / (1 - p)), None)
    np.testing.assert_allclose(got, np.log(p))
