"""Scores of people: by hand, what adding up gains, and intervals over people."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA
from skmia.metrics import auc_interval, score_people

NAMES = ["b", "a", "b", "c", "b"]


@pytest.mark.parametrize(
    "combine, expected", [("sum", [2, 9, -1]), ("mean", [2, 3, -1]), ("max", [2, 5, -1])]
)
def test_scores_by_hand(combine, expected):
    found = score_people([5, 2, 3, -1, 1], NAMES, combine=combine, y_true=[1, 0, 1, 0, 1])
    assert found.people.tolist() == ["a", "b", "c"]
    assert found.scores.tolist() == expected
    assert found.membership.tolist() == [False, True, False]
    alone = score_people([5, 2, 3], ["b", "a", "c"], combine=combine, y_true=[1, 0, 1])
    assert alone.membership.tolist() == [False, True, True]
    assert found.n_records.tolist() == [1, 3, 1]
    columns = np.column_stack([[5, 2, 3, -1, 1], np.zeros(5)])
    both = score_people(columns, NAMES, combine=combine)
    assert both.membership is None and both.scores[:, 0].tolist() == expected


@pytest.mark.parametrize("combine", ["sum", "mean"])
def test_people_with_equal_scores_in_another_order_tie(combine):
    values = np.log([0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
    rng = np.random.default_rng(0)
    scores, person = (
        np.concatenate([rng.permutation(values) for _ in range(40)]),
        np.arange(240) // 6,
    )
    assert len({sum(part) for part in scores.reshape(40, 6).tolist()}) > 1
    for given in (scores, np.column_stack([scores, -scores])):
        assert (np.ptp(score_people(given, person, combine=combine).scores, axis=0) == 0).all()


def test_means_of_one_score_tie_whatever_the_number_of_records():
    person = np.repeat(np.arange(30), np.arange(1, 31))
    assert set(score_people(np.full(len(person), 0.1), person, combine="mean").scores) == {0.1}


def draw(rng, n_people, k, correlation, shift=1.0):
    person = np.repeat(np.arange(n_people), k)
    inside = person < n_people // 2
    shared = rng.normal(size=n_people)[person]
    noise = correlation**0.5 * shared + (1 - correlation) ** 0.5 * rng.normal(size=len(person))
    return shift * inside + noise, person, inside


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_people_with_ten_records_are_found_more_surely(correlation):
    scores, person, inside = draw(np.random.default_rng(0), 2000, 10, correlation)
    alone = auc_interval(inside, scores, groups=person, confidence_level=0.999)
    found = score_people(scores, person, y_true=inside)
    together = auc_interval(found.membership, found.scores, confidence_level=0.999)
    distance = (10 / (1 + 9 * correlation)) ** 0.5
    assert alone.low < norm.cdf(1 / 2**0.5) < alone.high < together.low
    assert together.low < norm.cdf(distance / 2**0.5) < together.high


def test_intervals_over_people_cover():
    rng, n_trials, covered = np.random.default_rng(0), 300, 0
    truth = norm.cdf((5 / (1 + 4 * 0.5)) ** 0.5 / 2**0.5)
    for _ in range(n_trials):
        scores, person, inside = draw(rng, 60, 5, 0.5)
        found = score_people(scores, person, y_true=inside)
        interval = auc_interval(found.membership, found.scores)
        covered += interval.low <= truth <= interval.high
    assert covered >= binom.ppf(0.001, n_trials, 0.95)


def test_lira_on_people():
    # People of 1 to 20 records; the sum alone is set by the people with many records.
    rng, n_people = np.random.default_rng(0), 200
    person = np.repeat(np.arange(n_people), rng.integers(1, 21, size=n_people))
    is_in = rng.random((33, n_people)) < 0.5
    level = rng.normal(size=n_people)[person, None]  # how easy the records of a person are
    log_odds = 2 * level + is_in[:, person].T + rng.normal(size=(len(person), 33))
    of_people = score_people(log_odds, person, combine="mean").scores.T
    people = Records.from_ids(np.arange(n_people), np.zeros(n_people))
    pool = ShadowPool.from_outputs(of_people[1:], is_in[1:], people, kind="log_odds")
    asked = people.with_fields(outputs=Outputs(of_people[0], kind="log_odds"))
    scores = LiRA(None, pool).fit(asked).score_samples(asked)
    raw = score_people(log_odds[:, 0], person)
    assert auc_interval(is_in[0], scores).low > auc_interval(is_in[0], raw.scores).high


@pytest.mark.parametrize(
    "scores, groups, settings, message",
    [
        ([1.0, 2.0], ["a"], {}, "one value for each of 2 records"),
        ([1.0, np.nan], ["a", "b"], {}, "y_score must be finite"),
        (np.zeros((2, 1, 1)), ["a", "b"], {}, r"of shape \(n,\) or \(n, k\); got \(2, 1, 1\)"),
        ([], [], {}, r"y_score must be finite, of shape .* got \(0,\)"),
        ([1e308, 1e308], ["a", "a"], {}, "overflow"),
        ([1.0, 2.0], ["a", None], {}, "no value for 1 of 2 records"),
        ([1.0, 2.0], ["a", "a"], {"combine": "min"}, "combine must be"),
        ([1.0, 2.0], ["a", "a"], {"combine": np.array(["sum", "max"])}, "combine must be one of"),
        ([1.0, 2.0], ["a", "a"], {"y_true": [0, 1]}, "1 of 1 people have records that are members"),
        ([1.0, 2.0], [7, 7], {"y_true": [0, 1]}, "and records that are not, such as 7[.]"),
        ([1.0, 2.0, 3.0], [7, 9, 9], {"y_true": [1, 0, 1]}, "1 of 2 people .* such as 9[.]"),
        ([1.0, 2.0], ["a", "a"], {"y_true": [1]}, "one value for each of 2 records; got 1"),
    ],
)
def test_bad_input_is_refused(scores, groups, settings, message):
    with pytest.raises(ValueError, match=message):
        score_people(scores, groups, **settings)
