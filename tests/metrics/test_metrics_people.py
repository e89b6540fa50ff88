"""Intervals where people have several records."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import binom, norm, t

from skmia.metrics import advantage_interval, auc_interval, operating_point

FUNCTIONS = [auc_interval, advantage_interval, operating_point]


def make_people(n_people, n_rows, correlation, rng):
    """People of whom the first half are members, and scores that know nothing of it."""
    people = np.repeat(np.arange(n_people), n_rows)
    shared, own = rng.normal(size=n_people)[people], rng.normal(size=len(people))
    scores = correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
    return people < n_people // 2, people, scores


def limits(function, membership, scores, groups=None, **settings):
    answers = scores > 0 if function is advantage_interval else scores
    if function is operating_point:
        settings |= {"max_fpr": 0.1, "on_unresolvable": "ignore"}
    found = function(membership, answers, groups=groups, **settings)
    return (found.tpr_low, found.tpr_high) if function is operating_point else found[1:]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_people_with_one_record_each_are_independent_records(function):
    rng = np.random.default_rng(0)
    membership, _, scores = make_people(300, 1, 0.0, rng)
    names = np.array([f"person {number}" for number in rng.permutation(300)])
    np.testing.assert_allclose(
        limits(function, membership, scores, names),
        limits(function, membership, scores),
        rtol=1e-12,
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_and_order_of_people_do_not_matter(function):
    rng = np.random.default_rng(1)
    membership, people, scores = make_people(40, 5, 0.5, rng)
    order = rng.permutation(len(people))
    names = np.array([f"person {number}" for number in rng.permutation(40)])[people]
    np.testing.assert_allclose(
        limits(function, membership[order], scores[order], names[order]),
        limits(function, membership, scores, people),
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_order_of_rows_of_people_with_one_on_each_side_does_not_matter(function):
    rng = np.random.default_rng(3)
    _, people, scores = make_people(60, 2, 0.9, rng)
    membership, order = np.arange(120) % 2 == 0, rng.permutation(120)
    np.testing.assert_allclose(
        limits(function, membership[order], scores[order], people[order]),
        limits(function, membership, scores, people),
    )
    low, high = limits(function, membership, scores)
    if function is not operating_point:  # whose rates are each of one side
        assert np.diff(limits(function, membership, scores, people)) < 0.6 * (high - low)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_people_who_answer_as_one_count_once(function):
    # Ten copies of each row: the interval is about that of the people.
    rng = np.random.default_rng(2)
    membership, _, scores = make_people(400, 1, 0.0, rng)
    people = np.repeat(np.arange(400), 10)
    alone = limits(function, membership, scores)
    copied = limits(function, np.repeat(membership, 10), np.repeat(scores, 10), people)
    rows = limits(function, np.repeat(membership, 10), np.repeat(scores, 10))
    assert 0.99 < (copied[1] - copied[0]) / (alone[1] - alone[0]) < 1.1
    assert (copied[1] - copied[0]) / (rows[1] - rows[0]) > 2.5


def test_auc_variance_by_people_known_from_the_sums_of_placements():
    rng = np.random.default_rng(3)
    membership, people, scores = make_people(60, 4, 0.5, rng)
    wins = (scores[membership][:, None] > scores[~membership]).astype(float)
    auc, variance, freedom = wins.mean(), 0.0, 0.0
    for placements in (wins.mean(axis=1), wins.mean(axis=0)):
        sums = (placements - auc).reshape(30, 4).sum(axis=1)
        part = 30 / 29 * (sums**2).sum() / 120**2
        variance, freedom = variance + part, freedom + part**2 / 29
    reach = t.isf(0.025, variance**2 / freedom) * np.sqrt(variance) / (auc * (1 - auc))
    estimate, low, high = auc_interval(membership, scores, groups=people)
    assert estimate == pytest.approx(auc)
    np.testing.assert_allclose(logit([low, high]), logit(auc) + reach * np.array([-1, 1]))


def test_effective_sizes_of_a_point_lie_between_people_and_rows():
    rng = np.random.default_rng(4)
    sizes = []
    for correlation in (0.0, 0.5, 1.0):
        membership, people, scores = make_people(400, 10, correlation, rng)
        point = operating_point(membership, scores, 0.1, groups=people)
        assert 200 <= point.n_nonmembers <= 2000
        assert 200 <= point.n_members <= 2000
        sizes.append(point.n_nonmembers)
    assert sizes[0] > 1500 > sizes[1] > 300 > sizes[2]


def test_a_rate_that_people_do_not_resolve_is_not_resolvable():
    rng = np.random.default_rng(5)
    membership, people, scores = make_people(40, 100, 1.0, rng)
    assert operating_point(membership, scores, 0.05).resolvable
    point = operating_point(membership, scores, 0.05, groups=people, on_unresolvable="ignore")
    assert not point.resolvable


def test_a_person_with_most_of_the_rows_leaves_little_to_be_known():
    # On either side one person has 900 of 1,000 rows: worth little more than one record each.
    rng = np.random.default_rng(6)
    people = np.repeat(np.arange(202), [900, *[1] * 100, 900, *[1] * 100])
    membership = people < 101
    scores = rng.normal(size=202)[people]
    for function in (auc_interval, advantage_interval):
        low, high = limits(function, membership, scores, people)
        assert high - low > 0.8


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_person_on_a_side_says_nearly_nothing(function):
    rng = np.random.default_rng(7)
    people = np.concatenate([np.zeros(50), np.arange(1, 51)])
    membership, scores = np.repeat([1, 0], 50), rng.normal(size=100)
    low, high = limits(function, membership, scores, people)
    assert high - low > 0.9


@pytest.mark.parametrize("n_people", [1, 2])
def test_few_people_who_are_no_members_leave_the_tpr_unknown(n_people):
    rng = np.random.default_rng(11)
    people = np.concatenate([np.arange(50) % n_people, np.arange(50, 100)])
    membership, scores = np.repeat([0, 1], 50), rng.normal(size=100)
    low, high = limits(operating_point, membership, scores, people)
    assert (low, high) == pytest.approx((0, 1), abs=1e-6)


@pytest.mark.parametrize("function", [auc_interval, advantage_interval])
def test_a_person_on_both_sides_makes_the_difference_surer(function):
    # What is common to a person's records drops out where they are on both sides.
    rng = np.random.default_rng(8)
    _, people, scores = make_people(100, 10, 0.8, rng)
    half, whole = np.arange(1000) % 2 == 0, people < 50
    both, apart = (limits(function, side, scores, people) for side in (half, whole))
    assert both[1] - both[0] < 0.6 * (apart[1] - apart[0])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_groups_are_one_known_person_per_record(function):
    membership, scores = np.repeat([1, 0], 50), np.arange(100.0)
    for groups, message in (
        (np.arange(99), "groups needs one value for each of 100 records"),
        (np.where(np.arange(100) == 7, np.nan, 1.0), "groups has no value for 1 of 100 records"),
        ([None] * 50 + ["a"] * 50, "groups has no value for 50 of 100 records"),
    ):
        with pytest.raises(ValueError, match=message):
            limits(function, membership, scores, groups)


@pytest.mark.parametrize("function, truth", [(auc_interval, 0.5), (advantage_interval, 0.0)])
@pytest.mark.parametrize("n_people, correlation", [(60, 0.5), (14, 0.5)])
def test_intervals_of_people_cover_the_truth_where_those_of_rows_do_not(
    function, truth, n_people, correlation
):
    rng = np.random.default_rng(9)
    n_runs, covered = 100, np.zeros(2)
    for _ in range(n_runs):
        membership, people, scores = make_people(n_people, 10, correlation, rng)
        for place, groups in enumerate((people, None)):
            low, high = limits(function, membership, scores, groups)
            covered[place] += low <= truth <= high
    assert covered[0] >= binom.ppf(0.001, n_runs, 0.95)
    assert covered[1] < 0.85 * n_runs


def test_the_tpr_of_people_covers_the_truth():
    rng = np.random.default_rng(10)
    n_runs, covered = 75, 0
    truth = norm.sf(norm.isf(0.1) - 1)
    for _ in range(n_runs):
        membership, people, scores = make_people(60, 10, 0.5, rng)
        low, high = limits(operating_point, membership, scores + membership, people)
        covered += low <= truth <= high
    assert covered >= binom.ppf(0.001, n_runs, 0.95)


def test_rates_of_people_whose_rows_are_independent_are_those_of_rows():
    rng = np.random.default_rng(5)
    people = np.arange(400) // 2
    membership, guess = people < 100, rng.random(400) < 0.4
    by_person, by_row = (advantage_interval(membership, guess, groups=g) for g in (people, None))
    assert by_person.estimate == by_row.estimate
    assert 1 < (by_person.high - by_person.low) / (by_row.high - by_row.low) < 1.1
