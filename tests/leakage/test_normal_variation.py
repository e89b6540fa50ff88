"""Total variation of two normal distributions, beside its integral."""

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import integrate, stats

from skmia.leakage import leverage_total_variation, normal_total_variation


def integrate_gap(mean_1, std_1, mean_2, std_2):
    first, second = stats.norm(mean_1, std_1), stats.norm(mean_2, std_2)
    grid = np.linspace(min(mean_1 - 9 * std_1, mean_2 - 9 * std_2), 15.0, 200_001)
    gap = np.abs(first.pdf(grid) - second.pdf(grid))
    return integrate.simpson(gap, x=grid) / 2


@pytest.mark.parametrize(
    "laws", [(0, 1, 1, 1), (0, 1, 0, 2), (3, 0.5, -1, 2), (-1, 2, 3, 0.5), (0, 1, 0.3, 1.01)]
)
def test_it_is_half_of_the_integral(laws):
    assert normal_total_variation(*laws) == pytest.approx(integrate_gap(*laws), abs=1e-6)


def test_limits():
    assert normal_total_variation(0, 1, 0, 1) == 0
    assert normal_total_variation(0, 1, 2, 1) == pytest.approx(2 * stats.norm.cdf(1) - 1)
    # Hardly different stds give what equal ones give, and one point is apart from all others.
    near = normal_total_variation(0, 1, 2, 1 + 1e-14)
    assert near == pytest.approx(2 * stats.norm.cdf(1) - 1, rel=1e-12)
    assert normal_total_variation(0, 1e-300, 0, 1) == pytest.approx(1)
    assert normal_total_variation(0, 1e-300, 1e300, 1e-300) == 1
    got = normal_total_variation([0, 0], 1, [[0], [1]], [1, 2])
    assert got.shape == (2, 2) and got[0, 0] == 0


@parametrize_refusals(
    (lambda: normal_total_variation(0, 0, 0, 1), "std_1 must be finite numbers above 0"),
    (lambda: normal_total_variation(0, 1, np.inf, 1), "mean_2 must be finite numbers"),
    (lambda: normal_total_variation([0, 1], 1, [0, 1, 2], 1), "arrays of one shape"),
    (lambda: leverage_total_variation(1.5), r"leverage must be numbers in \[0, 1\]"),
)
def test_wrong_input_gets_a_sentence(call, words, error):
    check_refusal(call, words, error)


def test_spreads_far_apart_have_nothing_in_common():
    assert normal_total_variation(0.0, 1e-300, 0.0, 1e300) == 1.0
