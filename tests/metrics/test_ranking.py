"""Ranks over scenarios, and which methods they tell apart."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from sklearn.exceptions import NotFittedError

from skmia.exceptions import ResolutionWarning
from skmia.metrics import RankingTest
from skmia.metrics._comparison import _list_cliques, _signed_rank_test

RNG = np.random.default_rng(0)


def test_ranks_are_those_of_the_hand():
    table = pd.DataFrame([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]] * 5, columns=["a", "b", "c"])
    test = RankingTest().fit(table)
    assert test.average_ranks_.to_dict() == {"a": 2.0, "b": 1.75, "c": 2.25}
    reversed_ = RankingTest(higher_is_better=False).fit(table)
    assert reversed_.average_ranks_.to_dict() == {"a": 2.0, "b": 2.25, "c": 1.75}


def test_methods_are_named_as_the_columns_also_by_numbers():
    values = np.random.default_rng(0).random((6, 3))
    for columns in ([16, 4, 8], ["16", "4", "8"]):
        table = pd.DataFrame(values, columns=columns)
        with pytest.warns(ResolutionWarning):
            test = RankingTest().fit(table)
        assert test.average_ranks_.index.tolist() == ["16", "4", "8"]
        assert sorted(test.cliques_[0]) == ["16", "4", "8"]


def test_friedman_is_that_of_the_textbook_without_ties():
    table = RNG.uniform(size=(12, 5))
    test = RankingTest().fit(table)
    n, k = table.shape
    ranks = test.average_ranks_.to_numpy()
    expected = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert test.statistic_ == pytest.approx(expected, rel=1e-12)


def test_without_ties_the_signed_rank_test_is_that_of_scipy():
    for n in (5, 9, 20):
        one, other = RNG.normal(size=(2, n))
        expected = wilcoxon(one, other, method="exact")
        statistic, pvalue = _signed_rank_test(one, other)
        assert statistic == expected.statistic
        assert pvalue == pytest.approx(expected.pvalue, rel=1e-12)


def test_with_ties_and_zeros_it_counts_all_signs():
    one = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    other = np.array([2.0, 2.0, 2.0, 1.0, 7.0, 6.0, 1.0])
    difference = (one - other)[one != other]
    ranks = pd.Series(np.abs(difference)).rank().to_numpy()
    sums = np.array([ranks @ signs for signs in product([0, 1], repeat=len(ranks))])
    observed = min(ranks[difference > 0].sum(), ranks[difference < 0].sum())
    statistic, pvalue = _signed_rank_test(one, other)
    assert statistic == observed
    assert pvalue == pytest.approx(min(1, 2 * np.mean(sums <= observed)), rel=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e-7])
def test_differences_that_are_equal_but_for_rounding_tie(unit):
    whole = np.array([[7, 6], [8, 7], [9, 8], [6, 5], [5, 6], [4, 5], [3, 3]])
    values = whole / 10 * unit
    values[-1] = [0.3 * unit, (0.1 + 0.2) * unit]
    assert len(set(np.abs(values[:-1, 0] - values[:-1, 1]))) > 1
    assert _signed_rank_test(*values.T) == _signed_rank_test(*whole.T) == (7.0, 0.6875)
    tied, expected = RankingTest().fit(values), RankingTest().fit(whole)
    np.testing.assert_array_equal(tied.average_ranks_, expected.average_ranks_)


def test_rounding_is_that_of_the_larger_value_of_each_pair():
    # All differences but the first are 0.3 but for rounding.
    first = np.array([0.1, 0.3, 1000.3, 0.0, 0.1 + 0.2])
    second = np.array([0.0, 0.0, 1000.0, 0.3, 0.0])
    assert len(set(np.abs(first - second))) == 4
    assert _signed_rank_test(first, second) == _signed_rank_test(
        np.array([1, 3, 3, 0, 3]), np.array([0, 0, 0, 3, 0])
    )
    # Of the ranks 1, 2.5, 2.5 and 4 six of sixteen sums are at most 3.5.
    assert _signed_rank_test(np.array([0, 0, 2, 3]), np.array([1, 2, 0, 0])) == (3.5, 0.75)


def test_methods_whose_values_are_equal_but_for_rounding_tie():
    values = np.array([[0.3, 0.1 + 0.2, 0.1], [0.6, 0.7, 0.7 * (1 - 1e-12)]] * 5)
    assert values[0, 0] != values[0, 1]
    assert RankingTest().fit(values).average_ranks_.tolist() == [2.25, 1.25, 2.5]


def test_a_scenario_of_large_values_leaves_the_others_their_ranks():
    values = np.array([[2e15, 1e15], [0.1, 0.2], [0.2, 0.4], [0.3, 0.6]])
    expected = RankingTest(alpha=0.2).fit(values * [[1e-12], [1], [1], [1]])
    test = RankingTest(alpha=0.2).fit(values)
    assert test.average_ranks_.tolist() == expected.average_ranks_.tolist() == [1.75, 1.25]
    pd.testing.assert_frame_equal(test.pairwise_, expected.pairwise_)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_methods_that_agree_everywhere_are_not_told_apart(value):
    test = RankingTest().fit(np.full((20, 3), value))
    assert (test.statistic_, test.pvalue_) == (0.0, 1.0)
    assert (test.pairwise_["pvalue"] == 1).all()
    assert test.cliques_ == [["0", "1", "2"]]


def test_holm_is_that_of_the_hand():
    test = RankingTest().fit(RNG.normal(size=(15, 4)) + [0, 0, 1, 2])
    p = test.pairwise_["pvalue"].to_numpy()
    expected, largest = np.empty(len(p)), 0.0
    for k, row in enumerate(np.argsort(p)):
        largest = expected[row] = max(largest, min(1, (len(p) - k) * p[row]))
    np.testing.assert_allclose(test.pairwise_["pvalue_corrected"], expected, rtol=1e-12)
    assert list(zip(test.pairwise_["first"], test.pairwise_["second"], strict=True)) == list(
        combinations("0123", 2)
    )


def test_cliques_are_maximal_runs_of_mutually_unseparated_methods():
    ranks = np.array([3.0, 1.0, 2.0, 4.0])  # order: 1, 2, 0, 3
    rejected = np.zeros((4, 4), dtype=bool)
    rejected[1, 3] = rejected[3, 1] = rejected[1, 0] = rejected[0, 1] = True
    assert _list_cliques(ranks, rejected) == [[1, 2], [2, 0, 3]]
    assert _list_cliques(ranks, np.ones((4, 4), dtype=bool)) == []
    assert _list_cliques(ranks, np.zeros((4, 4), dtype=bool)) == [[1, 2, 0, 3]]


def test_too_few_scenarios_are_said_to_be_too_few():
    # Seven scenarios and four methods: 2 / 2**7 = .0156 where the first of six needs .0083.
    with pytest.warns(ResolutionWarning, match=r"smallest p-value of a pair is 0\.016.* 0\.094 if"):
        test = RankingTest().fit(RNG.normal(size=(7, 4)) + [0, 10, 20, 30])
    assert not test.pairwise_["significant"].any()
    assert test.pvalue_ < 1e-3  # while the methods do differ
    RankingTest().fit(RNG.normal(size=(8, 4)))


@pytest.mark.parametrize("correction", ["fdr_bh", "hommel", "simes-hochberg"])
def test_corrections_by_which_all_pairs_can_be_significant_are_not_warned_of(correction):
    # Of six scenarios the smallest p-value is 2 / 2**6 = 0.031, of all pairs.
    test = RankingTest(correction=correction).fit(RNG.uniform(size=(6, 4)) + [0, 10, 20, 30])
    assert test.pairwise_["significant"].all()
    few = r"is 0\.062, and 0\.062 if corrected for the number of pairs, 6: at alpha=0\.05 no"
    with pytest.warns(ResolutionWarning, match=few):
        RankingTest(correction=correction).fit(RNG.uniform(size=(5, 4)))


def test_two_methods_have_one_pair_and_no_friedman():
    test = RankingTest().fit(RNG.normal(size=(10, 2)) + [0, 5])
    assert np.isnan(test.statistic_)
    assert test.pairwise_["pvalue"].tolist() == [2 / 2**10]
    assert "Friedman" not in test.summary()


def test_the_summary_says_what_was_found():
    table = pd.DataFrame(RNG.normal(size=(12, 3)) + [0, 0, 9], columns=["loss", "odin", "LiRA"])
    test = RankingTest().fit(table)
    lines = test.summary().splitlines()
    assert lines[-2] == f"Friedman: chi2(2) = {test.statistic_:.3f}, p = {test.pvalue_:.3g}"
    assert lines[0] == "Average ranks over 12 scenarios (1 = best)"
    assert lines[1].split() == ["1.00", "LiRA"]
    assert lines[-1].endswith("(Wilcoxon, holm): 2 of 3")
    test.set_params(alpha=0.5, correction="bonferroni")  # of another fit
    assert test.summary().splitlines() == lines
    with pytest.raises(NotFittedError):
        RankingTest().summary()


def test_too_few_rows_or_columns_are_refused():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        RankingTest().fit(RNG.normal(size=(1, 3)))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        RankingTest().fit(RNG.normal(size=(9, 1)))


def test_the_best_method_is_predicted_and_the_score_is_the_agreement_of_ranks():
    values = np.array([[0.9, 0.5, 0.7]] * 8)
    test = RankingTest().fit(values)
    assert test.predict([[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]]).tolist() == [0, 0]
    assert test.score(values) == pytest.approx(1.0)
    assert test.score(-values) == pytest.approx(-1.0)
    assert test.score([[0.9, 0.7, 0.5]]) == pytest.approx(0.5)  # 1 - 6 * 2 / (3 * 8)
    assert test.score([[1.0, 1.0, 1.0], [0.9, 0.5, 0.7]]) == pytest.approx(0.5)
    least = RankingTest(higher_is_better=False).fit(values)
    assert least.predict(values[:1]).tolist() == [1]
    assert least.score(values) == pytest.approx(1.0)
    two = RankingTest().fit(values[:, :2])
    assert two.score(values[:, :2]) == pytest.approx(1.0)
    for method in (two.predict, two.score):
        with pytest.raises(ValueError, match="has 3 features, but RankingTest is expecting 2"):
            method(values)
