"""Intervals of shares of records, and of differences of shares, also of people with several."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm

from skmia.metrics import clopper_pearson
from skmia.metrics._intervals import paired_share_interval, share_interval


def test_independent_records_by_hand():
    hits = np.arange(50) < 20
    assert share_interval(hits) == (0.4, *clopper_pearson(20, 50))
    assert share_interval(hits, np.arange(50)) == share_interval(hits)
    assert share_interval(hits[:0])[1:] == (0.0, 1.0)


def make_pairs(*counts):
    """Return pairs: both hits, the first alone, the other alone, none."""
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


def test_pairs_that_all_agree_have_an_interval():
    for n in (1, 5, 300):
        expected = norm.ppf(0.975) ** 2 / (n + norm.ppf(0.975) ** 2)
        found = paired_share_interval(*make_pairs(n, 0, 0, 0))
        assert found == pytest.approx((0, -expected, expected))
        assert found == paired_share_interval(*make_pairs(0, 0, 0, n))
        low = (n - norm.ppf(0.975) ** 2) / (n + norm.ppf(0.975) ** 2)  # of pairs that all differ
        assert paired_share_interval(*make_pairs(0, n, 0, 0)) == pytest.approx((1, low, 1))
        assert paired_share_interval(*make_pairs(0, 0, n, 0)) == pytest.approx((-1, -1, -low))


@pytest.mark.parametrize("counts", [(36, 12, 2, 0), (43, 0, 1, 10), (3, 9, 0, 1)])
@pytest.mark.parametrize("confidence_level", [0.8, 0.95])
def test_limits_are_differences_that_the_score_test_just_rejects(counts, confidence_level):
    _, first, other, _ = counts
    n, z = sum(counts), norm.isf((1 - confidence_level) / 2)
    gap, *limits = paired_share_interval(*make_pairs(*counts), confidence_level=confidence_level)
    assert gap == (first - other) / n
    for limit in limits:

        def deviance(share, limit=limit):
            agree = n - first - other
            parts = [(agree, 1 - 2 * share - limit), (first, share + limit), (other, share)]
            return -sum(count * np.log(part) for count, part in parts if count)

        bounds = max(0.0, -limit), (1 - limit) / 2
        share = minimize_scalar(deviance, bounds=bounds, options={"xatol": 1e-10}).x
        error = ((2 * share + limit - limit**2) / n) ** 0.5
        assert abs(gap - limit) / error == pytest.approx(z, rel=1e-4)


def test_a_difference_of_people_with_equal_rows_is_that_of_people():
    pairs, person = make_pairs(20, 12, 4, 9), np.arange(45)
    rows = [np.tile(side, 3) for side in pairs]
    alone, people = paired_share_interval(*pairs), paired_share_interval(*rows, np.tile(person, 3))
    assert people.estimate == alone.estimate
    width, narrow = people.high - people.low, alone.high - alone.low
    assert narrow < width < 1.1 * narrow  # Student's t distribution of 45 people


def test_a_difference_that_people_do_not_share_is_one_of_rows():
    person, row = np.divmod(np.arange(300), 10)
    # Of each person, two hits, two misses and six more of one kind; others differ among the four.
    hits = np.where(row < 4, row < 2, person < 15)
    others = hits ^ ((row < 4) & (np.random.default_rng(0).random(300) < 0.5))
    gaps = [paired_share_interval(hits, others, one) for one in (person, None)]
    shares = [share_interval(hits, one) for one in (person, None)]
    wider = [(people.high - people.low) / (rows.high - rows.low) for people, rows in (gaps, shares)]
    assert wider[0] < 1.4 < 2 < wider[1]


@pytest.mark.parametrize("rate, n_people", [(0.5, 30), (0.1, 60)])
def test_intervals_over_people_cover_and_over_rows_do_not(rate, n_people):
    rng, n_trials = np.random.default_rng(0), 100
    person, covered = np.repeat(np.arange(n_people), 10), np.zeros(4)
    for _ in range(n_trials):
        shared = rng.normal(size=(2, n_people))[:, person]
        scores = 0.7**0.5 * shared + 0.3**0.5 * rng.normal(size=(2, len(person)))
        hits, others = scores > norm.isf(rate)
        found = share_interval(hits, person), paired_share_interval(hits, others, person)
        found += share_interval(hits), paired_share_interval(hits, others)
        true = np.array([rate, 0, rate, 0])
        covered += [low <= value <= high for value, (_, low, high) in zip(true, found, strict=True)]
    assert (covered[:2] >= binom.ppf(0.001, n_trials, 0.95)).all()
    assert (covered[2:] < binom.ppf(0.001, n_trials, 0.85)).all()
