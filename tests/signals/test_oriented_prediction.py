"""Predictions that are not on the scale of their labels."""

import numpy as np
import pytest

from skmia import Outputs
from skmia.signals import OrientedPrediction, orient_predictions

RNG = np.random.default_rng(0)
N, K = 600, 8
Y = RNG.normal(size=N)
INSIDE = np.array([row for _ in range(K // 2) for row in [RNG.random(N) < 0.5]]).repeat(2, axis=0)
INSIDE[1::2] = ~INSIDE[::2]
LEVEL = RNG.normal(size=N)
NOISE = 0.1 * RNG.normal(size=(K, N))


def predict(gap):
    """Predictions that training on a record moves by its gap."""
    return LEVEL + NOISE + np.where(INSIDE, 0.5, -0.5) * gap


def test_predictions_that_move_toward_their_labels_are_compared_by_residuals():
    assert orient_predictions(predict(0.3 * (Y - LEVEL)), INSIDE, Y) is None


def test_predictions_that_do_not_move_are_compared_by_residuals():
    assert orient_predictions(predict(0.0), INSIDE, Y) is None


@pytest.mark.parametrize(
    ("gap", "direction"),
    [(-0.3 * Y, lambda y: -np.sign(y)), (0.3 * (np.abs(Y) > 1) - 0.15, lambda y: np.abs(y) > 1)],
)
def test_directions_are_those_in_which_records_move(gap, direction):
    found = orient_predictions(predict(gap), INSIDE, Y)
    labels = np.array([-2.5, -0.4, 0.4, 2.5])
    moved = found(Outputs(np.full(4, found.middle + 1), kind="value"), labels)
    np.testing.assert_array_equal(moved > 0, direction(labels) > 0)


def test_positive_predictions_are_compared_by_their_logarithms():
    hazards = np.exp(predict(-0.3 * Y))
    found = orient_predictions(hazards, INSIDE, Y)
    assert found.is_log
    values = found(Outputs([1.0, np.e], kind="value"), [-2.5, -2.5])
    np.testing.assert_allclose(np.diff(values), 1)
    assert not orient_predictions(predict(-0.3 * Y), INSIDE, Y).is_log


def test_few_labels_have_a_direction_each():
    y = np.arange(N) % 3
    found = orient_predictions(predict(np.array([0.3, -0.3, 0.3])[y]), INSIDE, y.astype(float))
    assert found.edges == (0.5, 1.5)
    assert found.directions == (1.0, -1.0, 1.0)


def test_few_records_are_compared_by_residuals():
    some = slice(60)
    assert orient_predictions(predict(-0.3 * Y)[:, some], INSIDE[:, some], Y[some]) is None


def test_records_without_both_sides_do_not_count():
    inside = INSIDE.copy()
    inside[:, :300] = True
    with np.errstate(all="raise"):
        found = orient_predictions(predict(-0.3 * Y), inside, Y)
    assert found == orient_predictions(predict(-0.3 * Y)[:, 300:], INSIDE[:, 300:], Y[300:])


def test_likelihood_is_that_of_log_odds():
    signal = OrientedPrediction((), (1.0,), False, middle=1.0, scale=2.0)
    value = signal(Outputs([5.0], kind="value"), [0.0])
    np.testing.assert_allclose(value, 2)
    np.testing.assert_allclose(signal.likelihood(value), 1 / (1 + np.exp(-2)))
    np.testing.assert_allclose(signal.log_likelihood(value), np.log(signal.likelihood(value)))
