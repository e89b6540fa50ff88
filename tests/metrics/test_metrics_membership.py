import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refusal, parametrize_refusals
from scipy.stats import ks_2samp
from sklearn.metrics import auc, balanced_accuracy_score, roc_auc_score, roc_curve

from skmia.exceptions import ResolutionWarning
from skmia.metrics import (
    best_advantage_score,
    fpr_at_tpr_score,
    membership_advantage_score,
    membership_roc_curve,
    precision_at_prior,
    tpr_at_fpr_score,
)

SCORE_METRICS = [
    membership_roc_curve,
    tpr_at_fpr_score,
    fpr_at_tpr_score,
    best_advantage_score,
]


@st.composite
def tied_evaluations(draw):
    """Membership and scores with many ties, both classes present."""
    members = draw(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
    nonmembers = draw(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
    order = draw(st.permutations(range(len(members) + len(nonmembers))))
    membership = np.repeat([1, 0], [len(members), len(nonmembers)])[order]
    scores = np.array(members + nonmembers, dtype=float)[order] / 2
    return membership, scores


def all_points(membership, scores):
    """Rates of every threshold, straight from their definition."""
    for threshold in [np.inf, *np.unique(scores)[::-1]]:
        guess = scores >= threshold
        yield guess[membership == 0].mean(), guess[membership == 1].mean(), threshold


@given(tied_evaluations())
@settings(max_examples=60, deadline=None)
def test_roc_curve_holds_every_realizable_point(evaluation):
    expected = list(all_points(*evaluation))
    np.testing.assert_allclose(np.transpose(membership_roc_curve(*evaluation)), expected)


@given(tied_evaluations(), st.integers(0, 24), st.integers(1, 24))
@settings(max_examples=40, deadline=None)
def test_tpr_at_fpr_is_the_maximum_over_all_thresholds(evaluation, numerator, denominator):
    max_fpr = min(numerator / denominator, 1.0)
    expected = max(tpr for fpr, tpr, _ in all_points(*evaluation) if fpr <= max_fpr)
    assert tpr_at_fpr_score(*evaluation, max_fpr=max_fpr, on_unresolvable="ignore") == expected


@given(tied_evaluations(), st.integers(0, 24), st.integers(1, 24))
@settings(max_examples=40, deadline=None)
def test_fpr_at_tpr_is_the_minimum_over_all_thresholds(evaluation, numerator, denominator):
    min_tpr = min(numerator / denominator, 1.0)
    expected = min(fpr for fpr, tpr, _ in all_points(*evaluation) if tpr >= min_tpr)
    assert fpr_at_tpr_score(*evaluation, min_tpr=min_tpr) == expected


@given(tied_evaluations(), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_interpolated_fpr_is_where_the_polyline_first_reaches_the_tpr(evaluation, permille):
    min_tpr = permille / 1000
    points = [(fpr, tpr) for fpr, tpr, _ in all_points(*evaluation)]
    crossings = [fpr for fpr, tpr in points if tpr >= min_tpr]
    for (fpr_0, tpr_0), (fpr_1, tpr_1) in pairwise(points):
        if tpr_0 < min_tpr <= tpr_1:
            crossings.append(fpr_0 + (fpr_1 - fpr_0) * (min_tpr - tpr_0) / (tpr_1 - tpr_0))
    got = fpr_at_tpr_score(*evaluation, min_tpr=min_tpr, interpolate=True)
    assert got == pytest.approx(min(crossings), abs=1e-9)


@given(tied_evaluations())
@settings(max_examples=60, deadline=None)
def test_best_scores_are_the_maxima_over_all_thresholds(evaluation):
    best = max(tpr - fpr for fpr, tpr, _ in all_points(*evaluation))
    assert best_advantage_score(*evaluation) == pytest.approx(best, abs=1e-12)


def test_best_advantage_is_the_kolmogorov_smirnov_statistic():
    rng = np.random.default_rng(0)
    members, nonmembers = rng.normal(0.5, size=80), rng.normal(size=120)
    membership = np.repeat([1, 0], [80, 120])
    advantage = best_advantage_score(membership, np.concatenate([members, nonmembers]))
    assert advantage == pytest.approx(ks_2samp(members, nonmembers, alternative="less").statistic)


@pytest.mark.parametrize("metric", SCORE_METRICS[1:])
def test_only_the_order_of_scores_counts(metric):
    rng = np.random.default_rng(1)
    membership, scores = rng.permutation(np.repeat([1, 0], 2000)), rng.normal(size=4000)
    scores = scores.round(1)
    order = rng.permutation(4000)
    expected = metric(membership, scores)
    assert metric(membership[order], scores[order]) == expected
    assert metric(membership, np.exp(scores / 10)) == expected


def test_tpr_at_fpr_known_by_hand():
    membership = [1, 1, 1, 1, 0, 0, 0, 0]
    scores = [9, 7, 5, 3, 8, 4, 2, 1]
    rates = {0.0: 0.25, 0.24: 0.25, 0.25: 0.75, 0.5: 1.0, 1.0: 1.0}
    got = [
        tpr_at_fpr_score(membership, scores, max_fpr=rate, on_unresolvable="ignore")
        for rate in rates
    ]
    assert got == list(rates.values())


def test_records_tied_with_the_threshold_are_guessed_together():
    membership, scores = [1, 1, 0, 0], [5, 5, 5, 0]
    options = {"on_unresolvable": "ignore"}
    assert tpr_at_fpr_score(membership, scores, max_fpr=0.49, **options) == 0.0
    assert tpr_at_fpr_score(membership, scores, max_fpr=0.5, **options) == 1.0


def test_bound_with_rounding_error_means_the_rate_it_names():
    membership = np.repeat([1, 0], 100)
    scores = np.concatenate([np.full(100, 90.0), np.arange(1, 101)])
    bound = 1 - 0.9 - 0.01 + 0.02
    assert bound < 0.11
    assert tpr_at_fpr_score(membership, scores, max_fpr=bound) == 1.0


def test_constant_scores_are_worth_guessing():
    assert best_advantage_score([1, 0, 1, 0, 0], np.zeros(5)) == 0.0


def test_constant_scores_at_a_rate():
    membership, scores = np.repeat([1, 0], [30, 2000]), np.full(2030, 7.0)
    assert tpr_at_fpr_score(membership, scores) == 0.0
    assert fpr_at_tpr_score(membership, scores) == 1.0
    assert fpr_at_tpr_score(membership, scores, interpolate=True) == pytest.approx(0.95)


def test_perfect_and_reversed_scores():
    membership = np.repeat([1, 0], [30, 2000])
    assert tpr_at_fpr_score(membership, membership) == 1.0
    assert fpr_at_tpr_score(membership, membership) == 0.0
    assert tpr_at_fpr_score(membership, -membership) == 0.0
    assert fpr_at_tpr_score(membership, -membership) == 1.0
    assert best_advantage_score(membership, -membership) == 0.0


def test_one_member_and_one_nonmember():
    assert best_advantage_score([1, 0], [2.0, 1.0]) == 1.0
    assert tpr_at_fpr_score([1, 0], [2.0, 1.0], on_unresolvable="ignore") == 1.0
    assert fpr_at_tpr_score([1, 0], [1.0, 2.0]) == 1.0


@given(tied_evaluations())
@settings(max_examples=40, deadline=None)
def test_roc_curve_is_that_of_scikit_learn_to_the_bit(evaluation):
    expected = roc_curve(*evaluation, drop_intermediate=False)
    for one, other in zip(membership_roc_curve(*evaluation), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_roc_curve_of_scores_at_the_ends_of_the_range_of_floats():
    fpr, tpr, _ = membership_roc_curve([0, 1, 1], [-1.7e308, 1.7e308, 1.7e308])
    assert (fpr.tolist(), tpr.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_roc_curve_has_the_area_of_scikit_learn():
    rng = np.random.default_rng(2)
    membership, scores = rng.integers(2, size=300), rng.integers(10, size=300)
    fpr, tpr, _ = membership_roc_curve(membership, scores)
    assert auc(fpr, tpr) == pytest.approx(roc_auc_score(membership, scores))


def test_too_few_nonmembers_warn():
    membership, scores = np.repeat([1, 0], [50, 999]), np.arange(1049)
    with pytest.warns(ResolutionWarning, match=r"max_fpr=0.01 .* 999 non-members.*9.99 false"):
        tpr_at_fpr_score(membership, scores)
    with pytest.raises(ValueError, match="cannot be resolved"):
        tpr_at_fpr_score(membership, scores, on_unresolvable="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tpr_at_fpr_score(membership, scores, on_unresolvable="ignore")


@pytest.mark.parametrize("max_fpr", [0.1, 0.01, 0.001, 0.05, 0.07])
def test_ten_allowed_false_positives_are_enough(max_fpr):
    n_nonmembers = int(np.ceil(10 / max_fpr - 1e-9))
    membership = np.repeat([1, 0], [3, n_nonmembers])
    tpr_at_fpr_score(membership, np.arange(len(membership)), max_fpr=max_fpr)


def test_advantage_known_by_hand():
    membership, guess = [1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0]
    assert membership_advantage_score(membership, guess) == 0.25
    assert membership_advantage_score(membership, membership) == 1.0
    assert membership_advantage_score(membership, 1 - np.array(membership)) == -1.0
    assert membership_advantage_score(membership, np.ones(6)) == 0.0


def test_weighted_advantage_is_that_of_repeated_records():
    rng = np.random.default_rng(3)
    membership, guess = rng.integers(2, size=60), rng.integers(2, size=60)
    weight = rng.integers(4, size=60)
    repeated = membership_advantage_score(membership.repeat(weight), guess.repeat(weight))
    weighted = membership_advantage_score(membership, guess, sample_weight=weight)
    assert weighted == pytest.approx(repeated)
    balanced = balanced_accuracy_score(membership, guess, sample_weight=weight, adjusted=True)
    assert weighted == pytest.approx(balanced)


@pytest.mark.parametrize(
    "container",
    [
        lambda bits: bits == 1,
        lambda bits: bits.astype(float),
        lambda bits: bits.astype(np.uint8),
        lambda bits: (bits == 1).astype(object),
        list,
        lambda bits: pd.Series(bits, index=bits[::-1].cumsum()),
        lambda bits: pd.Series(bits, dtype="boolean"),
    ],
)
def test_every_way_to_write_bits_means_the_same(container):
    bits = np.array([1, 0, 1, 1, 0])
    guess = np.array([1, 0, 0, 1, 1])
    expected = membership_advantage_score(bits, guess)
    assert membership_advantage_score(container(bits), container(guess)) == expected
    assert best_advantage_score(container(bits), guess) == best_advantage_score(bits, guess)


@pytest.mark.parametrize("metric", [*SCORE_METRICS, membership_advantage_score])
@pytest.mark.parametrize(
    "y_true, sentence",
    [
        ([1, 2, 0], "y_true must hold 1 for members and 0 for non-members; got the value 2"),
        ([-1, 1, 1], "got the value -1"),
        ([1, np.nan, 0], "got the value nan"),
        (["in", "out", "in"], "got dtype <U3"),
        ([1, 0.5, 0], "got the value 0.5"),
        ([1, None, 0], "got dtype object"),
        ([1, 1, 1], r"must hold both members and non-members; got members only \(n = 3\)"),
        ([0, 0, 0], r"got non-members only \(n = 3\)"),
        ([[1], [0], [1]], r"y_true must be one-dimensional; got an array of shape \(3, 1\)"),
        ([1, 0], "must have equal lengths; got 2 and 3"),
    ],
)
def test_wrong_membership_is_one_sentence(metric, y_true, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        metric(y_true, [1, 0, 1])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("metric", SCORE_METRICS)
@pytest.mark.parametrize(
    "y_score, sentence",
    [
        ([0.1, np.nan, 0.2], "y_score must be finite; got nan at position 1"),
        ([0.1, 0.2, np.inf], "y_score must be finite; got inf at position 2"),
        (["a", "b", "c"], "y_score must hold real numbers; got dtype <U1"),
        (np.ones((3, 2)), r"y_score must be one-dimensional; got an array of shape \(3, 2\)"),
        ([1.0], "y_true and y_score must have equal lengths; got 3 and 1"),
    ],
)
def test_wrong_scores_are_one_sentence(metric, y_score, sentence):
    with pytest.raises(ValueError, match=sentence):
        metric([1, 0, 1], y_score)


@parametrize_refusals(
    (
        lambda: fpr_at_tpr_score([1, 0], [1, 0], interpolate="yes"),
        "interpolate must be True or False; got 'yes'",
    ),
    (lambda: best_advantage_score([], []), "both members and non-members; got no records"),
    (
        lambda: tpr_at_fpr_score([1, 0], [1, 0], on_unresolvable="hush"),
        "one of 'warn', 'ignore', 'raise'; got 'hush'",
    ),
    (
        lambda: membership_advantage_score([1, 0], [0.7, 0.2]),
        "y_pred must hold 1 .* got the value 0.7",
    ),
    (
        lambda: membership_advantage_score([1, 0], [1, 0], sample_weight=[-1, 1]),
        "sample_weight must be non-negative; got -1",
    ),
    (
        lambda: membership_advantage_score([1, 0], [1, 0], sample_weight=[0, 1]),
        "positive for some members; got only zeros",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


@pytest.mark.parametrize("rate", [1.5, -0.1, np.nan, "0.1", None])
def test_rates_are_fractions(rate):
    for metric, name in ((tpr_at_fpr_score, "max_fpr"), (fpr_at_tpr_score, "min_tpr")):
        with pytest.raises(ValueError, match=rf"{name} must be a fraction in \[0, 1\]"):
            metric([1, 0], [1, 0], **{name: rate})


def test_input_is_left_alone():
    membership, scores = np.array([1, 0, 1, 0]), np.array([0.3, 0.1, 0.2, 0.4])
    membership.flags.writeable = scores.flags.writeable = False
    for metric in SCORE_METRICS[2:]:
        metric(membership, scores)


def test_precision_at_published_priors():
    priors = [0.5, 0.1, 0.01]
    np.testing.assert_allclose(
        precision_at_prior(0.1, 0.001, priors), [0.99, 0.92, 0.50], atol=5e-3
    )
    np.testing.assert_allclose(
        precision_at_prior(0.005, 0.001, priors), [0.83, 0.36, 0.05], atol=5e-3
    )


def test_precision_at_prior_is_precision_of_a_population():
    tpr, fpr, prior = 0.3, 0.02, 0.25
    true, false = 4000 * prior * tpr, 4000 * (1 - prior) * fpr
    assert precision_at_prior(tpr, fpr, prior) == pytest.approx(true / (true + false))


def test_precision_limits():
    assert isinstance(precision_at_prior(0.5, 0.5, 0.3), float)
    assert precision_at_prior(0.5, 0.5, 0.3) == pytest.approx(0.3)
    assert precision_at_prior(0.5, 0.0, 0.3) == 1.0
    assert precision_at_prior(0.5, 0.1, 0.0) == 0.0
    assert np.isnan(precision_at_prior(0.0, 0.0, 0.3))
    rates = np.float32([0.1, 0.3, 0.7])
    assert precision_at_prior(*rates) == precision_at_prior(*rates.tolist())
    assert precision_at_prior([[0.1], [0.2]], 0.1, [0.1, 0.5, 0.9]).shape == (2, 3)
    with pytest.raises(ValueError, match="fpr must be a fraction .* not percent; got 10.0"):
        precision_at_prior(0.5, [0.1, 10], 0.5)
