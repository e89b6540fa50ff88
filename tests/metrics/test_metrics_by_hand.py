"""Small functions of metrics at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan
from scipy.stats import beta, norm, t

from skmia.metrics import (
    _comparison,
    _intervals,
    _membership,
    _operating_point,
    _plot_comparison,
    _ranks,
    distances,
)


def refuse_interval(*ends):
    message = tell_refusal(lambda: _intervals.difference_interval((0.5, 0.5, 0.5), ends))
    return message and message.partition("with ")[2]


def auc_variance(membership, scores, people=None):
    return _intervals.auc_variance(array(membership, dtype=bool), array(scores), people)


# One person with two rows, and two people with one.
THREE = _intervals.PeopleOfSide(array([5, 5, 7, 9]), 4)
ONE, ROWS = _intervals.PeopleOfSide(array([1, 1]), 2), _intervals.PeopleOfSide(None, 3)
TRUSTED = 8 / 3 * (norm.ppf(0.975) / t.ppf(0.975, 5 / 3)) ** 2
# Persons 1 and 3 have records on both sides.
MIXED = array([1, 1, 1, 1, 1, 0, 0, 0], dtype=bool)
BOTH = _intervals.split_people(array([1, 1, 2, 3, 4, 1, 3, 3]), MIXED)
ON_BOTH = array([1.0, 0.0, 1.0, 0.0, 0.0]), array([0.0, 1.0, 2.0])
VARIANCE = (1 / 225 + 9 / 400 + 2 / 100) * 3 / 4  # of the members' mean
LONELY = _intervals.split_people(array([1, 1, 1, 2, 3]), array([1, 1, 0, 0, 0], dtype=bool))
APART = _intervals.split_people(array([1, 1, 2, 3, 4]), array([1, 1, 1, 0, 0], dtype=bool))
ALONE = _intervals.split_people(None, array([1, 1, 1, 0, 0], dtype=bool))
ON_ALONE = array([0.0, 1.0, 2.0]), array([1.0, 2.0])
# With the rows at or above 3, 2 and 1 the people vary as 5 records, and as few as they may be: 3.
PAIRS = array([1, 1, 2, 2, 3, 3]), array([1.0, 1.0, 2.0, 2.0, 1.0, 3.0])


def describe_side(side):
    return side.alone, side.worth, side.freedom


def size_pairs(membership, thresholds, make=_intervals.sizes_of_sides, **settings):
    """Return sizes and freedom, of members with two rows and others with one."""
    people, scores = np.tile(PAIRS[0], 2), np.tile(PAIRS[1], 2)
    people[6:] += 3 * np.arange(1, 7)
    sides = _intervals.split_people(people, membership)
    return make(scores, membership, sides, array(thresholds), **settings)


def find_mass(weights, counts, tail):
    """Return the mass of a mixture of beta laws below its quantile, which is the tail."""
    weights, counts, sizes = array([weights]), array([counts]), array([[10.0, 10.0]])
    (x,) = _operating_point._beta_quantile(weights, counts, sizes, tail)
    laws = [beta(count, 11 - count) if count else None for count in counts[0]]
    masses = [1.0 if law is None else law.cdf(x) for law in laws]
    return float(weights[0] @ masses)


HALF = np.arange(12) < 6
TWICE = [2.0, 2.0, 4.0, 4.0, 1.0, 1.0, 3.0, 3.0]

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _comparison: [
        (lambda: _comparison._holds_vectors([1, 2]), False),
        (lambda: _comparison._holds_vectors([[1], [2]]), True),
        (lambda: _comparison._holds_vectors(3), False),
        (lambda: _comparison._holds_vectors([]), False),
        (
            lambda: _comparison._conclude(0.1, 0.05, inf, 0.95, 1, 2),
            (0.1, 0.00200180077, 0.197998199, 0.05, 0.0455002639, 1, 2),
        ),
        (
            lambda: _comparison._conclude(-0.1, 0.05, 4, 0.95, 1, 2),
            (-0.1, -0.238822255, 0.0388222553, 0.05, 0.116116524, 1, 2),
        ),
        (lambda: _comparison._conclude(0.0, 0.0, inf, 0.95, 1, 2), (0.0, 0.0, 0.0, 0.0, 1.0, 1, 2)),
        (
            lambda: _comparison._conclude(0.5, 0.0, inf, 0.95, 1, 2),
            (0.5, -1.0, 1.0, inf, 1.0, 1, 2),
        ),
        (
            lambda: _comparison._conclude(0.9, 0.2, inf, 0.95, 1, 2),
            (0.9, 0.508007203, 1.0, 0.2, 6.79534625e-06, 1, 2),
        ),
    ],
    _intervals: [
        (
            lambda: _intervals.beta_limits(array([0, 2, 4]), array([4, 4, 4]), 0.025),
            ([0.0, 0.0675859865, 0.397635364], [0.602364636, 0.932414014, 1.0]),
        ),
        (lambda: refuse_interval(0.5, 0.6, 0.4), "low <= high; got (0.5, 0.6, 0.4)."),
        (lambda: refuse_interval(nan, 0.4, 0.6), "low <= high; got (nan, 0.4, 0.6)."),
        (lambda: refuse_interval(0.5, nan, 0.6), "low <= high; got (0.5, nan, 0.6)."),
        (lambda: refuse_interval(0.4, 0.4, 0.4), None),
        # An estimate outside of its interval counts as the end that is next to it.
        (
            lambda: _intervals.difference_interval((0.9, 0.5, 0.75), (0.1, 0.25, 0.5)),
            (0.5, 0.146446609, 0.5),
        ),
        (
            lambda: _intervals.difference_interval((0.5, 0.25, 0.75), (0.9, 0.5, 0.75)),
            (-0.25, -0.5, 0.103553391),
        ),
        (lambda: _intervals._join_distances(3.0, 4.0, 0.0), 5.0),
        (lambda: _intervals._join_distances(3.0, 4.0, 0.5), 3.60555128),
        (lambda: _intervals._join_distances(3.0, 3.0, 1.0), 0.0),
        (lambda: describe_side(THREE), (False, 8 / 3, 5 / 3)),
        (lambda: describe_side(ONE), (False, 1.0, 1.0)),
        (lambda: describe_side(ROWS), (True, 3.0, inf)),
        # The mean is 3.5, and 5.5, 10 / 3 and 7 / 3 without a person, times the root of 2 / 3.
        (
            lambda: THREE.shifts(array([1.0, 2.0, 4.0, 7.0])) * 1.5**0.5,
            [-2.0, 1 / 6, 7 / 6],
        ),
        (lambda: THREE.mean_variance(array([1.0, 2.0, 4.0, 7.0])), 97 / 27),
        (lambda: ONE.mean_variance(array([0.0, 1.0])), nan),
        (lambda: ROWS.shifts(array([0.0, 1.0, 2.0])) * 6**0.5, [-1.0, 0.0, 1.0]),
        (lambda: ROWS.mean_variance(array([0.0, 1.0, 2.0])), 1 / 3),
        # The variance of the mean of 1, 1, 0, 1 is 19 / 216 by people.
        *(
            (
                lambda variance=variance: THREE.effective_size(
                    array([1.0, 1.0, 0.0, 1.0]), variance
                ),
                3 / (2 / size + 3 / 8),
            )
            for variance, size in ((0.1, 8 / 3), (0.3, 0.3 * 216 / 19), (1.0, 4.0))
        ),
        (lambda: THREE.effective_size(np.ones(4), 0.25), 8 / 3),
        (lambda: ONE.effective_size(array([0.0, 1.0]), 0.25), 1.0),
        (lambda: ROWS.effective_size(array([0.0, 1.0, 2.0]), 9.0), 3.0),
        # By the sample variance, 1/4, over the variance of the mean of persons, 19/216.
        (
            lambda: _intervals._size(array([1.0, 1.0, 0.0, 1.0]), THREE, 0.025),
            _intervals.EffectiveSizes(3 / (2 * 19 / 54 + 3 / 8), THREE.freedom).trusted(0.025),
        ),
        # Three of four hits of three people, with five thirds of a degree of freedom.
        (
            lambda: [*_intervals.share_interval([1, 1, 0, 1], [5, 5, 7, 9])],
            [
                0.75,
                beta.ppf(0.025, 0.75 * TRUSTED, 0.25 * TRUSTED + 1),
                beta.ppf(0.975, 0.75 * TRUSTED + 1, 0.25 * TRUSTED),
            ],
        ),
        # Quantiles of the normal law and of Student's with five degrees of freedom.
        (
            lambda: _intervals.EffectiveSizes(array([10.0, 20.0]), 5.0).trusted(0.025),
            [10 * (1.959963985 / 2.570581836) ** 2, 20 * (1.959963985 / 2.570581836) ** 2],
        ),
        (lambda: _intervals.EffectiveSizes(array([10.0]), inf).trusted(0.025), [10.0]),
        (
            lambda: _intervals.EffectiveSizes(array([1.0, 2.0, 3.0]), 5.0).take([2, 0]),
            ([3.0, 1.0], 5.0),
        ),
        # Shifts of persons 1 and 3, times the roots of 3 / 4 and of 1 / 2.
        (
            lambda: _intervals.shared_covariance(BOTH, ON_BOTH),
            (1 / 15 * -1 / 2 + -1 / 10 * 1) * (3 / 8) ** 0.5,
        ),
        (lambda: _intervals.shared_covariance(ALONE, ON_ALONE), 0.0),
        (
            lambda: _intervals.shared_correlation(BOTH, ON_BOTH),
            -2 / 15 * (3 / 8) ** 0.5 / (VARIANCE * 5 / 8) ** 0.5,
        ),
        (lambda: _intervals.shared_covariance(APART, ON_ALONE), 0.0),
        (lambda: _intervals.shared_covariance(LONELY, (ON_ALONE[1], ON_ALONE[0])), 0.0),
        (
            lambda: _intervals.shared_correlation(BOTH, (ON_BOTH[0], -ON_BOTH[1])),
            2 / 15 * (3 / 8) ** 0.5 / (VARIANCE * 5 / 8) ** 0.5,
        ),
        (lambda: _intervals.shared_correlation(ALONE, ON_ALONE), 0.0),
        (
            lambda: _intervals.join_variances(BOTH, ON_BOTH, len, few=False),
            (
                VARIANCE + 5 / 8 - 4 / 15 * (3 / 8) ** 0.5,
                (VARIANCE + 5 / 8) ** 2 / (VARIANCE**2 / (18 / 7) + 25 / 64),
            ),
        ),
        # Variances of 1 / 3 and 1 / 4, whose degrees of freedom count for few records alone.
        (
            lambda: _intervals.join_variances(ALONE, ON_ALONE, len, few=False),
            (7 / 12, inf),
        ),
        (
            lambda: _intervals.join_variances(ALONE, ON_ALONE, len, few=True),
            (7 / 12, (7 / 12) ** 2 / (1 / 9 / 2 + 1 / 16)),
        ),
        # A single person of two rows has the largest variance, here 2, of all degrees of freedom.
        (
            lambda: _intervals.join_variances((ROWS, ONE), ON_ALONE, len, few=True),
            (7 / 3, 49 / 9 / (1 / 9 / 2)),
        ),
        (
            lambda: size_pairs(HALF, [1.0, 2.0, 3.0]),
            [([3.0, 3.0, 45 / 11], 2.0), ([6.0, 6.0, 6.0], inf)],
        ),
        (
            lambda: size_pairs(HALF, [4.0, 3.0, 2.0, 1.0, 0.0], _intervals.thinned_sizes, most=3)[
                0
            ],
            ([3.0, 45 / 11, 41 / 11, 37 / 11, 3.0], 2.0),
        ),
        (lambda: _intervals._wilson(0.3, 10, 0.05), (0.3, 0.126876584, 0.558300204)),
        (lambda: _intervals._wilson(0.0, 10, 0.05), (0.0, 0.0, 0.21294197)),
        (lambda: _intervals._wilson(1.0, 10, 0.05), (1.0, 0.78705803, 1.0)),
        # Placements of members 1/2, 1 and of non-members 1/2, 1, or of one member 3/4.
        (lambda: auc_variance([1, 1, 0, 0], [2.0, 4.0, 1.0, 3.0]), 0.125),
        (lambda: auc_variance([1, 0, 0, 0, 0], [2.5, 0.0, 1.0, 2.0, 3.0]), 0.25),
        # Two people on each side with two equal records, or one person on both sides.
        (lambda: auc_variance([1, 1, 1, 1, 0, 0, 0, 0], TWICE, [1, 1, 2, 2, 3, 3, 4, 4]), 0.125),
        (lambda: auc_variance([1, 1, 0, 0], [2.0, 4.0, 1.0, 3.0], [1, 2, 3, 1]), 0.1875),
    ],
    _membership: [
        (lambda: _membership.point_at_fpr(array([0.0, 0.25, 0.25, 0.5]), 0.25), 2),
        (lambda: _membership.point_at_fpr(array([0.0, 0.25, 0.25, 0.5]), 0.3), 2),
    ],
    _operating_point: [
        # Of 1024 flips of ten coins 56 have up to 2 heads, 792 have 3 to 6, and 176 have more.
        (
            lambda: _operating_point._iter_binomial_blocks(array([10.0]), array([0.5]), 1e-6, 3),
            ([[0.0, 3.0, 7.0]], [[2.0, 6.0, 10.0]], [[56 / 1024, 792 / 1024, 176 / 1024]]),
        ),
        (
            lambda: _operating_point._iter_binomial_blocks(
                array([1.0, 2.0]), array([0.5, 0.5]), 1e-6, 9
            ),
            (
                [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0]],
                [[-1.0, 0.0, 1.0], [0.0, 1.0, 2.0]],
                [[0.0, 0.5, 0.5], [0.25, 0.5, 0.25]],
            ),
        ),
        (
            lambda: _operating_point._binomial_survival(
                array([0, 2, 4, 5]), array([4, 4, 4, 4]), 0.5
            ),
            [1.0, 0.6875, 0.0625, 0.0],
        ),
        (
            lambda: _operating_point._members_above(
                NS(nonmembers=array([1, 3, 3]), members=array([10, 20, 30])), array([0, 1, 2, 3, 4])
            ),
            [0, 10, 10, 10, 30],
        ),
        (
            lambda: _operating_point._mean_above(
                NS(nonmembers=array([1, 3, 3]), members=array([10, 20, 30])),
                [array([1]), array([4])],
            ),
            [20.0],
        ),
        # Of one law, of two far apart, and where a count of 0 has a part of the mass, or all of it.
        *(
            (
                lambda weights=weights, counts=counts: find_mass(weights, counts, 0.05),
                0.05,
            )
            for weights, counts in (
                ([1.0, 0.0], [3.0, 9.0]),
                ([0.5, 0.5], [1.0, 9.0]),
                ([0.1, 0.9], [0.5, 8.0]),
                ([0.04, 0.96], [0.0, 9.0]),
            )
        ),
        (
            lambda: _operating_point._beta_quantile(
                array([[0.05, 0.95]]), array([[0.0, 9.0]]), array([[10.0, 10.0]]), 0.05
            ),
            [0.0],
        ),
        (
            lambda: _operating_point._matched_quantile(
                array([[0.5, 0.5]]), array([[0.25, 0.5]]), array([[10.0, 10.0]]), 0.05
            ),
            [0.0995320051],
        ),
    ],
    _plot_comparison: [
        (
            lambda: _plot_comparison._is_efficient(
                array([1.0, 2.0, 1.0, nan]), array([1.0, 3.0, 2.0, 0.0])
            ),
            [True, True, False, False],
        ),
        (
            lambda: _plot_comparison._is_efficient(array([1.0, 1.0]), array([1.0, 1.0])),
            [True, True],
        ),
    ],
    _ranks: [
        (lambda: _ranks.center_ranks(array([3.0, 1.0, 3.0])), [1.0, -2.0, 1.0]),
        (lambda: _ranks.find_highest(array([3.0, 1.0, 5.0, 3.0]), 2), [2, 0, 3]),
        (
            lambda: _ranks.find_highest(
                array([3.0, 1.0, 5.0, 4.0]), 2, array([True, True, False, True])
            ),
            [3, 0],
        ),
        (lambda: _ranks.find_highest(array([3.0]), 1, array([False])), []),
        (
            lambda: _ranks.compute_auc(
                array([True, False, True, False, False]), array([3.0, 1.0, 2.0, 2.0, 5.0])
            ),
            0.583333333,
        ),
        (
            lambda: _ranks.placements(
                array([True, False, True, False, False]), array([3.0, 1.0, 2.0, 2.0, 5.0])
            ),
            ([0.666666667, 0.5], [1.0, 0.75, 0.0]),
        ),
        (
            lambda: _ranks.count_points(array([0.0, 0.5, 1.0]), array([0.25, 0.75, 1.0]), 4, 2),
            ([0.0, 1.0, 2.0], [1.0, 3.0, 4.0]),
        ),
    ],
    distances: [
        (
            lambda: tell_refusal(lambda: distances.fisher_rao_distance([0.5, 0.75], [0.5, 0.5])),
            "p must sum to 1 along the last axis; got a sum of 1.25.",
        ),
        (
            lambda: tell_refusal(lambda: distances.fisher_rao_distance([0.5, 0.5], [0.5, 0.75])),
            "q must sum to 1 along the last axis; got a sum of 1.25.",
        ),
        (
            lambda: tell_refusal(
                lambda: distances.hockey_stick_divergence([0.5, 0.5], [0.5, 0.25, 0.25], 1)
            ),
            "p and q must have the same classes; got 2 and 3 columns.",
        ),
        (lambda: distances.hockey_stick_divergence([0.75, 0.25, 0.0], [0.25, 0.0, 0.75], 0), 0.75),
        (
            lambda: distances.hockey_stick_divergence(
                [[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]], [0.25, 0.0, 0.75], np.log(2.0)
            ),
            [0.5, 0.0],
        ),
        (lambda: distances.hockey_stick_divergence([0.0, 1.0], [0.0, 1.0], 1e4), 0.0),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import metrics
    from skmia.metrics import distances

    found, n_compared = compare_defaults_of(metrics, distances)
    assert not found
    assert n_compared >= 80
