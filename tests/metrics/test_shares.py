"""Intervals of shares and means of records, of which a person may have several."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from skmia.metrics import clopper_pearson
from skmia.metrics._intervals import mean_interval, share_interval


def test_independent_records_by_hand():
    hits = np.arange(50) < 20
    assert share_interval(hits) == (0.4, *clopper_pearson(20, 50))
    assert share_interval(hits, np.arange(50)) == share_interval(hits)
    reach = norm.ppf(0.975) * (0.24 / 50) ** 0.5
    assert mean_interval(hits) == pytest.approx((0.4, 0.4 - reach, 0.4 + reach))
    assert share_interval(hits[:0])[1:] == (0.0, 1.0)


@pytest.mark.parametrize("rate, n_people", [(0.5, 30), (0.1, 60)])
def test_intervals_over_people_cover_and_over_rows_do_not(rate, n_people):
    rng, n_trials = np.random.default_rng(0), 200
    person, covered = np.repeat(np.arange(n_people), 10), np.zeros(3)
    for _ in range(n_trials):
        shared = rng.normal(size=n_people)[person]
        scores = 0.7**0.5 * shared + 0.3**0.5 * rng.normal(size=len(person))
        hits = scores > norm.isf(rate)
        found = share_interval(hits, person), mean_interval(hits, person), share_interval(hits)
        covered += [low <= rate <= high for _, low, high in found]
    assert covered[0] >= binom.ppf(0.001, n_trials, 0.95)
    assert covered[1] >= binom.ppf(0.001, n_trials, 0.92)  # Student's t, of skewed means
    assert covered[2] < binom.ppf(0.001, n_trials, 0.85)
