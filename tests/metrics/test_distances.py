"""Distances between distributions, by textbook formulas and by hand."""

import numpy as np
import pytest
from scipy.integrate import quad

from skmia.metrics.distances import (
    fisher_rao_distance,
    hockey_stick_divergence,
    normal_fisher_rao_distance,
    renyi_divergence,
)

RNG = np.random.default_rng(0)


def draw(n, n_classes=4):
    return RNG.dirichlet(np.ones(n_classes), size=n)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9, 2.0, 5.0])
def test_renyi_is_the_textbook_formula(alpha):
    p, q = draw(2)
    expected = np.log(np.sum(p**alpha * q ** (1 - alpha))) / (alpha - 1)
    assert renyi_divergence(p, q, alpha) == pytest.approx(expected, rel=1e-12)


def test_renyi_of_a_small_order_is_a_multiple_of_the_reverse_divergence():
    p, q = draw(2)
    alpha = 5e-4
    skew = alpha / (1 - alpha) * renyi_divergence(q, p, 1 - alpha)
    assert renyi_divergence(p, q, alpha) == pytest.approx(skew, rel=1e-9)
    kullback_leibler = np.sum(q * np.log(q / p))
    assert renyi_divergence(p, q, alpha) == pytest.approx(alpha * kullback_leibler, rel=1e-2)
    assert renyi_divergence(q, p, 1.0) == pytest.approx(kullback_leibler, rel=1e-12)
    assert renyi_divergence(q, p, 1 + 1e-9) == pytest.approx(kullback_leibler, rel=1e-6)


@pytest.mark.parametrize("distance", [1e-6, 1e-9, 1e-12])
def test_renyi_keeps_its_digits_close_to_the_order_1(distance):
    p, q = draw(2)
    kullback_leibler = renyi_divergence(p, q, 1.0)
    for alpha in (1 - distance, 1 + distance):
        got = renyi_divergence(p, q, alpha)
        assert got == pytest.approx(kullback_leibler, rel=10 * distance + 1e-14)


def test_renyi_of_large_orders_and_far_distributions_is_finite():
    # Towards infinity it is the largest log ratio.
    assert renyi_divergence([0.9, 0.1], [0.5, 0.5], 1e6) == pytest.approx(np.log(1.8), rel=1e-5)
    assert renyi_divergence([0.5, 0.5], [1, 1e-300], 2) == pytest.approx(np.log(0.25e300))
    assert renyi_divergence([1, 1e-40], [1e-40, 1], 0.5) == pytest.approx(-2 * np.log(2e-20))


def test_fisher_rao_of_normals_with_spreads_far_apart():
    # Up a vertical line of the half plane, the distance is sqrt(2) times the log ratio.
    got = normal_fisher_rao_distance([0.0], 1e-300, [0.0], 1e300)
    assert got == pytest.approx(np.sqrt(2) * 600 * np.log(10))


def test_renyi_of_equal_distributions_is_0():
    p = draw(5)
    np.testing.assert_allclose(renyi_divergence(p, p, 5e-4), 0, atol=1e-15)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_renyi_with_zeros(alpha):
    # q excludes what p has: a share of 1/2 is in common, for an order below 1.
    got = renyi_divergence([0.5, 0.5, 0], [0.5, 0, 0.5], alpha)
    assert got == (pytest.approx(-2 * np.log(0.5)) if alpha < 1 else np.inf)
    # p lacks what q has, as log 2.
    assert renyi_divergence([1, 0], [0.5, 0.5], alpha) == pytest.approx(np.log(2))
    assert renyi_divergence([1, 0], [0, 1], alpha) == np.inf


def test_fisher_rao_is_the_angle_between_roots():
    p, q = draw(2)
    expected = 2 * np.arccos(np.sum(np.sqrt(p * q)))
    assert fisher_rao_distance(p, q) == pytest.approx(expected, rel=1e-10)
    assert fisher_rao_distance(p, p) == 0
    assert fisher_rao_distance([1, 0], [0, 1]) == pytest.approx(np.pi)
    near = p * np.array([1 + 1e-9, 1, 1, 1])
    assert 0 < fisher_rao_distance(p, near) < 1e-9


def test_fisher_rao_of_normals_is_the_length_of_the_geodesic():
    # In the half plane (mean / sqrt 2, std) the geodesic of equal stds is an arc of a circle around
    # the middle of the means; its length is sqrt 2 times the hyperbolic length.
    gap, std = 1.7, 0.6
    half = gap / np.sqrt(2) / 2
    angle = np.arctan2(std, half)
    length = np.sqrt(2) * quad(lambda t: 1 / np.sin(t), angle, np.pi - angle)[0]
    assert normal_fisher_rao_distance([0.0], std, [gap], std) == pytest.approx(length, rel=1e-9)
    both = normal_fisher_rao_distance([0.0, 0.0], std, [gap, gap], [std, std])
    assert both == pytest.approx(np.sqrt(2) * length, rel=1e-9)


def test_fisher_rao_of_normals_with_two_spreads():
    first, second = (0.3, 0.5), (-1.1, 2.0)
    gap, spread = (first[0] - second[0]) ** 2, (first[1] - second[1]) ** 2
    expected = np.sqrt(2) * np.arccosh(1 + (gap / 2 + spread) / (2 * first[1] * second[1]))
    got = normal_fisher_rao_distance([first[0]], first[1], [second[0]], second[1])
    assert got == pytest.approx(expected, rel=1e-12)


def test_shapes_are_broadcast():
    p, q = draw(5), draw(1)[0]
    rows = [fisher_rao_distance(row, q) for row in p]
    np.testing.assert_array_equal(fisher_rao_distance(p, q), rows)
    assert renyi_divergence(p[:, None], p, 0.5).shape == (5, 5)
    assert normal_fisher_rao_distance(p, 1.0, q, [1.0, 2.0, 1.0, 2.0]).shape == (5,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: renyi_divergence([0.5, 0.6], [0.5, 0.5], 2), "p must sum to 1 along the last"),
        (lambda: renyi_divergence([0.5, 0.5], [0.5, np.nan], 2), "q must be probabilities"),
        (lambda: renyi_divergence([0.5, 0.5], [1.0], 2), "p and q must have the same classes"),
        (lambda: renyi_divergence([0.5, 0.5], [0.5, 0.5], 0), "alpha must be a number above 0"),
        (lambda: fisher_rao_distance([[0.5, 0.5]] * 2, [[1, 0]] * 3), "arrays of one shape"),
        (lambda: normal_fisher_rao_distance([0], 0, [0], 1), "std_1 must be finite numbers above"),
        (lambda: normal_fisher_rao_distance([0, 1, 2], 1, [0, 1], 1), "arrays of one shape"),
        (lambda: normal_fisher_rao_distance([0], 1, [np.nan], 1), "mean_2 must be finite numbers"),
        (lambda: normal_fisher_rao_distance([np.inf], 1, [0], 1), "mean_1 must be finite numbers"),
        (lambda: normal_fisher_rao_distance([0], 1, [0], -1), "std_2 must be finite numbers above"),
        (
            lambda: hockey_stick_divergence([0.5, 0.5], [1, 0], -0.5),
            "epsilon must be a finite number, at least 0; got -0.5",
        ),
    ],
)
def test_wrong_input_gets_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
