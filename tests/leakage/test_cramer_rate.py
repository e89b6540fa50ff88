"""The rate of large deviations, beside closed forms and in the bound that takes it."""

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy.special import rel_entr

from skmia.leakage.bounds import cramer_rate, generalization_gap_probability_bound


@pytest.mark.parametrize("gap", [1e-3, 0.3, 20.0])
def test_of_a_normal_variable(gap):
    assert cramer_rate(gap, lambda t: 0.7 * t**2 / 2) == pytest.approx(gap**2 / 1.4, rel=1e-9)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.8])
def test_of_a_coin_it_is_the_divergence_of_two_coins(p):
    def cumulant(t):  # the expected loss p minus the loss
        return t * p + np.log(1 - p + p * np.exp(-t))

    gap = 0.6 * p
    wanted = rel_entr(p - gap, p) + rel_entr(1 - p + gap, 1 - p)
    assert cramer_rate(gap, cumulant) == pytest.approx(wanted, rel=1e-9)
    assert wanted > 2 * gap**2  # what a bounded loss has at least


def test_where_the_expectation_is_infinite():
    # R + 1 is exponential: the cumulant is infinite from 1 on.
    def cumulant(t):
        return -t - np.log1p(-t) if t < 1 else np.inf

    assert cramer_rate(2.0, cumulant) == pytest.approx(2 - np.log(3), rel=1e-9)


def test_a_gap_that_cannot_be_has_no_probability():
    rate = cramer_rate(1.5, lambda t: np.logaddexp(t, -t) - np.log(2))
    assert rate > 1e50
    assert generalization_gap_probability_bound(1.5, 1.0, 10, rate=rate) < 1e-50


def test_the_bound_takes_a_rate():
    normal = cramer_rate(0.1, lambda t: 0.25 * t**2 / 2)
    plain = generalization_gap_probability_bound(0.1, 5.0, 10_000, proxy_variance=0.25)
    assert generalization_gap_probability_bound(0.1, 5.0, 10_000, rate=normal) == pytest.approx(
        plain, rel=1e-9
    )


@parametrize_refusals(
    (lambda: cramer_rate(0.0, np.square), "gap must be positive"),
    (lambda: cramer_rate(1.0, lambda t: 1.0 + t), "cumulant must be 0 at 0; got 1.0"),
    (lambda: cramer_rate(1.0, lambda t: np.nan if t else 0.0), "got NaN"),
    (
        lambda: generalization_gap_probability_bound(1, 1, 10, rate=1, proxy_variance=1),
        "give one of the two",
    ),
    (lambda: generalization_gap_probability_bound(1, 1, 10, rate=0), "rate must be"),
)
def test_wrong_input_gets_a_sentence(call, words, error):
    check_refusal(call, words, error)


@pytest.mark.parametrize("cumulant", [0.5, None, len, lambda: 0.0])
def test_a_cumulant_is_a_function_of_a_number(cumulant):
    with pytest.raises(TypeError, match=r"cumulant must be a function .* called as f\(number\)"):
        cramer_rate(0.5, cumulant)
    with pytest.raises(TypeError, match="cumulant must return a number; got 'a'|got None"):
        cramer_rate(0.5, lambda number: None)


def test_an_error_inside_the_cumulant_is_its_own():
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        cramer_rate(0.5, lambda number: number + "a")
    assert "cumulant" not in str(caught.value)
