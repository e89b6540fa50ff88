"""Confidence sequences of a rate: known answers, and how often they are ever wrong."""

import numpy as np
import pytest
from scipy.stats import binom

from skmia.metrics import clopper_pearson, rate_sequence


@pytest.mark.parametrize(
    "k, n, low, high",
    [(0, 10, 0, 0.3770), (5, 100, 0.0071, 0.1558), (50, 1000, 0.0287, 0.0792)],
)
def test_known_answers(k, n, low, high):
    found = rate_sequence(k, n)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    assert found.estimate == k / n
    mirrored = rate_sequence(n - k, n)
    assert mirrored.low == pytest.approx(1 - found.high)
    exact = clopper_pearson(k, n)
    assert found.low <= exact[0] and found.high >= exact[1]


def test_no_trials_say_nothing():
    assert rate_sequence(0, 0) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_the_rate_is_rarely_ever_outside(rate):
    rng, n_runs, n = np.random.default_rng(0), 100, 30
    limits = {}
    ever = 0
    for _ in range(n_runs):
        for trials, k in enumerate(np.cumsum(rng.random(n) < rate).tolist(), start=1):
            if (k, trials) not in limits:
                found = rate_sequence(k, trials)
                limits[k, trials] = found.low <= rate <= found.high
            if not limits[k, trials]:
                ever += 1
                break
    assert ever <= binom.ppf(0.999, n_runs, 0.05)


@pytest.mark.parametrize(
    "k, n, words",
    [
        (-1, 3, "successes must be an integer from 0 to 3; got -1"),
        (4, 3, "successes must be an integer from 0 to 3; got 4"),
        (0.5, 3, "successes must be an integer from 0 to 3; got 0.5"),
        (0, -1, "trials must be an integer from 0 to .*; got -1"),
    ],
)
def test_bad_counts_are_refused(k, n, words):
    with pytest.raises(ValueError, match=words):
        rate_sequence(k, n)
