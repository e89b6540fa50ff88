"""Predictions that are not on the scale of their labels."""

import numpy as np
import pytest

from skmia import Outputs
from skmia.signals import OrientedPrediction, _oriented_prediction, orient_predictions

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


@pytest.mark.parametrize("side", [False, True])
def test_records_without_both_sides_do_not_count(side):
    inside = INSIDE.copy()
    inside[:, :300] = side
    with np.errstate(all="raise"):
        found = orient_predictions(predict(-0.3 * Y), inside, Y)
    assert found == orient_predictions(predict(-0.3 * Y)[:, 300:], INSIDE[:, 300:], Y[300:])


def test_likelihood_is_that_of_log_odds():
    signal = OrientedPrediction((), (1.0,), False, middle=1.0, scale=2.0)
    value = signal(Outputs([5.0], kind="value"), [0.0])
    np.testing.assert_allclose(value, 2)
    np.testing.assert_allclose(signal.likelihood(value), 1 / (1 + np.exp(-2)))
    np.testing.assert_allclose(signal.log_likelihood(value), np.log(signal.likelihood(value)))


def orient(y, gap, level=0.0):
    """Orient predictions of four models, of which each record is in one, by exact gaps."""
    inside = np.arange(4)[:, None] == np.arange(len(y)) % 4
    return orient_predictions(level + gap * np.where(inside, 0.5, -0.5), inside, np.asarray(y))


def test_the_evidence_must_exceed_four_standard_errors():
    # Each record of the label 1 moves away from it, by 1: of k records, the sum of the evidence is
    # 2 k and its standard error 2 sqrt(k).
    gap = np.full(160, -1.0)
    assert orient(np.repeat([1.0, -1.0], [16, 144]), gap) is None
    found = orient(np.repeat([1.0, -1.0], [17, 143]), gap)
    assert (found.edges, found.directions) == ((0.0,), (-1.0, -1.0))


def test_the_fewest_records_are_those_of_four_bins():
    fewest = 4 * _oriented_prediction._FEWEST_IN_BIN
    assert orient(np.ones(fewest - 1), np.full(fewest - 1, -1.0)) is None
    assert orient(np.ones(fewest), np.full(fewest, -1.0)).directions == (-1.0,)


def test_residuals_are_those_of_the_middle_between_both_sides():
    # The records of both labels move toward them from 5.
    y = np.repeat([4.0, 10.0], 80)
    # Those in training sets have passed the labels, at 3.5 and at 11.
    assert orient(y, np.where(y > 5, 12.0, -3.0), level=5.0) is None


def test_a_prediction_of_zero_has_no_logarithm():
    y, gap = np.ones(80), np.full(80, -1.0)
    assert orient(y, gap, level=0.75).is_log
    assert not orient(y, gap, level=0.5).is_log  # the predictions are 0 and 1


def test_a_label_on_an_edge_has_the_direction_of_the_labels_above():
    # The edges of 81 labels are 20, 40 and 60. One record outweighs the others of its bin.
    y = np.arange(81.0)
    gap = np.select([y == 20, y < 40], [2.0, -0.05], -1.0)
    found = orient(y, gap, level=-1000.0)
    assert found.edges == (20.0, 40.0, 60.0)
    assert found.directions == (-1.0, 1.0, -1.0, -1.0)
    above = Outputs(np.full(4, found.middle + 1), kind="value")
    assert found(above, [19.5, 20.0, 39.5, 40.0]).tolist() == [-1.0, 1.0, 1.0, -1.0]


def test_a_label_that_half_of_the_records_lack_has_a_direction():
    # Every second record tells the directions of the others, and none of these has the label 2.
    y = np.where(np.arange(160) % 4 == 0, 2.0, 0.0)
    assert orient(y, np.full(160, -1.0), level=-9.0).directions == (-1.0, -1.0)
