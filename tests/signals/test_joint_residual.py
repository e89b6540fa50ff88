"""Residuals of several targets, joined to one."""

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals

from skmia import Outputs
from skmia.signals import JointResidual, LogResidual, Loss, SquaredError

N_MODELS, N = 6, 2000
RNG = np.random.default_rng(0)
INSIDE = RNG.random((N_MODELS, N)) < 0.5
MIX = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 3.0, 4.0]])


def draw(ratios):
    """Residuals with correlated targets; the directions shrink by these ratios in training sets."""
    noise = RNG.normal(size=(3, N_MODELS, N))
    noise *= np.where(INSIDE, np.reshape(ratios, (3, 1, 1)), 1.0)
    return np.einsum("jk,kmn->jmn", MIX, noise), noise


def test_values_of_single_models_by_hand():
    outputs = Outputs([[1.0, 2.0], [0.0, 0.0]], kind="values")
    y = np.array([[4.0, 6.0], [1.0, 7.0]])
    np.testing.assert_allclose(Loss()(outputs, y), [-12.5, -25.0])
    np.testing.assert_allclose(SquaredError()(outputs, y), [-12.5, -25.0])
    np.testing.assert_allclose(LogResidual()(outputs, y), -0.5 * np.log([12.5, 25.0]))
    np.testing.assert_array_equal(LogResidual().raw_parts(outputs, y), [[3.0, 1.0], [4.0, 7.0]])


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_targets_that_are_learned_alike_count_by_their_mahalanobis_length(ratio):
    residuals, noise = draw([ratio] * 3)
    length = np.exp(-JointResidual.from_residuals(residuals, INSIDE)(residuals))
    mahalanobis = np.sqrt(np.square(noise).sum(axis=0) / 3)
    # The covariances are estimated from 6,000 vectors, to one or two percent.
    np.testing.assert_allclose(length / mahalanobis, 1, atol=0.06)


def test_a_direction_that_alone_is_memorized_counts_most():
    residuals, noise = draw([1.0, 0.2, 1.0])
    length = np.exp(-JointResidual.from_residuals(residuals, INSIDE)(residuals))
    assert np.corrcoef(length.ravel(), np.abs(noise[1]).ravel())[0, 1] > 0.95


def test_the_unit_of_a_target_does_not_matter():
    residuals, _ = draw([0.3, 0.5, 0.9])
    scaled = residuals * np.array([1.0, 1e6, 1e-6])[:, None, None]
    values = [JointResidual.from_residuals(one, INSIDE)(one) for one in (residuals, scaled)]
    np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("inside", "weight"), [(0.5, 4 / 5), (0.2, 25 / 26), (1e-3, 100 / 101)])
def test_weights_are_inverse_to_the_ratio_of_variances_by_hand(inside, weight):
    # The first target is memorized, down to a share of its residual, and the second one is not.
    # The last two records are in all training sets.
    membership = np.array([[1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1]], dtype=bool)
    first = np.where(membership, inside, 1.0)
    second = 3.0 * np.where(np.arange(6) % 2, -1.0, 1.0) * np.ones((2, 1))
    joint = JointResidual.from_residuals(np.array([first, second]), membership)
    lengths = np.exp(-joint(np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 3.0, -6.0, 0.0]])))
    one, other = np.sqrt([weight, 1 - weight])
    np.testing.assert_allclose(lengths, [one, other, 2 * other, 2 * one], rtol=1e-6)


def test_equal_targets_and_targets_without_residuals():
    residuals, _ = draw([0.3, 0.5, 0.9])
    residuals[1], residuals[2] = residuals[0], 0.0
    values = JointResidual.from_residuals(residuals, INSIDE)(residuals)
    single = -np.log(np.abs(residuals[0]))
    away = values - single
    assert np.isfinite(values).all()
    np.testing.assert_allclose(away, np.median(away), atol=1e-3)
    assert np.isposinf(JointResidual.from_residuals(residuals, INSIDE)(np.zeros((3, 1)))).all()


def test_few_records_and_many_targets_are_shrunk():
    residuals = RNG.normal(size=(10, N_MODELS, 8))
    joint = JointResidual.from_residuals(residuals, INSIDE[:, :8])
    assert np.isfinite(joint(residuals)).all()
    assert np.linalg.cond(joint.weights) < 100


def test_the_sign_of_a_record_does_not_matter():
    # So few records are shrunk, by how much their means vary about 0 and not about their own mean.
    residuals = 2.0 + RNG.normal(size=(3, N_MODELS, 8))
    turned = residuals * np.where(np.arange(8) % 2, 1.0, -1.0)
    values = [JointResidual.from_residuals(one, INSIDE[:, :8])(one) for one in (residuals, turned)]
    np.testing.assert_allclose(*values, rtol=1e-9)


@parametrize_refusals(
    (
        lambda: Loss()(Outputs(np.ones((2, 3)), kind="values"), [1.0, 2.0]),
        r"y of shape \(2,\) and predictions of shape \(2, 3\)",
    ),
    (
        lambda: Loss()(Outputs([1.0, 2.0], kind="value"), np.ones((2, 3))),
        r"y of shape \(2, 3\) and predictions of shape \(2,\)",
    ),
    (lambda: Outputs(np.ones((2, 3)), kind="value"), 'shape \\(2, 3\\). Use kind="values"'),
    (
        lambda: Outputs([1.0, 2.0], kind="values"),
        "one value for each of several targets per record",
    ),
)
def test_predictions_and_targets_must_agree(call, words, error):
    check_refusal(call, words, error)
