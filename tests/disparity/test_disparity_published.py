from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skmia.disparity import DisparityTest

RACES = ["asian", "black", "hisp", "other", "white"]
N_ROUNDS = 200


def make_table_of_statistic(statistic):
    """200 rounds of five groups with the F that is asked for."""
    rng = np.random.default_rng(0)
    residual = rng.normal(size=(N_ROUNDS, 5))
    residual -= residual.mean(axis=0)
    residual -= residual.mean(axis=1, keepdims=True)
    effect = np.array([3.0, 1, 2, 1, -7])
    mean_square = (residual**2).sum() / (199 * 4)
    effect *= np.sqrt(statistic * mean_square * 4 / (N_ROUNDS * (effect**2).sum()))
    return pd.DataFrame(residual + effect + rng.normal(size=(N_ROUNDS, 1)), columns=RACES)


@pytest.mark.parametrize(
    "statistic, pvalue",
    [
        ("19.185115", "4.44002e-15"),
        ("234.553506", "5.44031e-133"),
        # As the first table prints it, without the leading 1; its p-value is that of 19.185115.
        ("9.185115", "2.94527e-07"),
    ],
)
def test_published_analyses_of_variance(statistic, pvalue):
    test = DisparityTest.from_table(make_table_of_statistic(float(statistic)))
    assert test.anova_["df"].tolist() == [4, 199, 796]
    assert f"{test.anova_statistic_:.6f}" == statistic
    assert f"{test.anova_pvalue_:.5e}" == pvalue


# Of the pairs of races in order, to four digits; what is printed as 0 is less than 0.00005.
PUBLISHED = np.array([0.0455, 0.7586, 0.0053, 0, 0.0586, 0.1562, 0, 0.0079, 0, 0])
RANKS = stats.rankdata(PUBLISHED, method="max")


def make_published_rounds():
    """Rounds whose pairwise t have the p-values that the published, adjusted ones belong to.

    Adjusting multiplies the p-value of rank k by 10 / k where no larger one comes out smaller,
    which is so here.
    """
    pvalues = np.where(PUBLISHED > 0, PUBLISHED * RANKS / 10, 1e-20)
    wanted = stats.t.isf(pvalues / 2, N_ROUNDS - 1)
    means = np.array([3.79, 1.48, 3.48, 0.0, -10.0])
    squares = np.zeros((5, 5))
    for (i, j), t in zip(combinations(range(5), 2), wanted, strict=True):
        squares[i, j] = squares[j, i] = N_ROUNDS * ((means[i] - means[j]) / t) ** 2
    # The covariance with these variances of the differences.
    centering = np.eye(5) - 1 / 5
    values, vectors = np.linalg.eigh(-centering @ squares @ centering / 2)
    assert values.min() > -1e-9
    noise = np.random.default_rng(0).normal(size=(N_ROUNDS, 5))
    noise -= noise.mean(axis=0)
    noise = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))).T
    rounds = noise @ (vectors * np.sqrt(np.maximum(values, 0))).T + means
    return pd.DataFrame(rounds, columns=RACES)


def test_published_pairs_are_adjusted_by_benjamini_and_hochberg():
    table = make_published_rounds()
    test = DisparityTest.from_table(table, correction="fdr_bh", confidence_level=0.99)
    pairs = test.pairwise_
    assert pairs[["group", "other"]].to_numpy().tolist() == [
        list(p) for p in combinations(RACES, 2)
    ]
    np.testing.assert_array_equal(pairs["t_pvalue_adjusted"].round(4), PUBLISHED)
    assert (pairs["t_df"] == 199).all()
    # Bonferroni's numbers, which the thesis names; from p-values that are known to half a digit.
    bonferroni = DisparityTest.from_table(
        table, correction="bonferroni", confidence_level=0.99
    ).pairwise_
    for place, expected in ((0, 0.3184), (1, 1.0), (2, 0.0264), (7, 0.0476)):
        got = bonferroni["t_pvalue_adjusted"][place]
        assert got == pytest.approx(expected, abs=0.00005 * (RANKS[place] + 1))
    rejected = [frame["t_pvalue_adjusted"] <= 0.01 for frame in (pairs, bonferroni)]
    only_here = pairs[rejected[0] & ~rejected[1]]
    assert only_here[["group", "other"]].to_numpy().tolist() == [
        ["asian", "other"],
        ["hisp", "other"],
    ]
